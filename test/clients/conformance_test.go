package clients

import (
	"net/http"
	"testing"

	"ponder/internal/compat"
	"ponder/internal/compat/mcp"
	"ponder/internal/compat/protocoltest"
)

// TestConformance runs the whole conformance suite against the server of `ponder serve` and
// `ponder mcp`, with the tools that the suite expects.
func TestConformance(t *testing.T) {
	t.Parallel()
	run := node(t)
	if run == nil {
		t.Skip("what runs it is not installed")
	}
	rig := protocoltest.New(t, protocoltest.Options{Routes: func(d *compat.Dispatcher) map[string]http.Handler {
		return mcp.New(mcp.Config{Desk: d, Version: "test", Extra: suite()}).Routes()
	}})
	s := &testServer{url: rig.Server().URL, token: protocoltest.Mine, env: []string{"PONDER_SUITE=all"}}
	s.checks(t, ".", append(run, "conformance.test.mjs")...)
}
