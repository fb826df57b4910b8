package app

import (
	"testing"
)

// ok ends a test at an error.
func ok(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
