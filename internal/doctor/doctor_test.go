package doctor

import (
	"errors"
	"testing"

	"ponder"
)

// The doctor gives the same advice as other commands.
func TestUnopened(t *testing.T) {
	e := &examiner{Options: Options{Explain: func(err error) string {
		if errors.Is(err, ponder.ErrReadOnly) {
			return "make it writable"
		}
		return err.Error()
	}}}
	if f := e.databaseError(ponder.ErrReadOnly); f.State != Broken || f.Message != "make it writable" {
		t.Errorf("%+v", f)
	}
}
