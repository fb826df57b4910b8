package clients

import (
	"net/http"
	"testing"

	"ponder/internal/compat"
	"ponder/internal/compat/dialecttest"
	"ponder/internal/compat/mcp"
)

// All of the conformance suite: with the server that `ponder serve` and `ponder mcp` have,
// and the tools that the suite asks for.
func TestConformance(t *testing.T) {
	t.Parallel()
	run := node(t)
	if run == nil {
		t.Skip("what runs it is not installed")
	}
	rig := dialecttest.New(t, dialecttest.Options{Routes: func(d *compat.Desk) map[string]http.Handler {
		return mcp.New(mcp.Config{Desk: d, Version: "test", Extra: suite()}).Routes()
	}})
	s := &serving{url: rig.Server().URL, token: dialecttest.Mine, env: []string{"PONDER_SUITE=all"}}
	s.checks(t, ".", append(run, "conformance.test.mjs")...)
}
