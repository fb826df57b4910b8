package memory_test

import (
	"testing"

	"ponder"
	"ponder/store/memory"
	"ponder/store/storetest"
)

func TestStore(t *testing.T) {
	storetest.Run(t, func(*testing.T) ponder.Store { return memory.New() })
}
