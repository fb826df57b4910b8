package app

import (
	"testing"
	"time"

	"ponder"
	"ponder/internal/config"
	"ponder/llm"
	"ponder/tool/mcp"
)

// TestReviewed checks that a review holds for exactly the descriptions of all tools of a server.
func TestReviewed(t *testing.T) {
	tool := func(server, name, doc string) mcp.Tool {
		return mcp.Tool{Server: server, Tool: ponder.Tool{Tool: llm.Tool{Name: server + "_" + name, Doc: doc, Schema: []byte(`{}`)}}}
	}
	a, b, other := tool("notes", "a", "Finds."), tool("notes", "b", "Reads."), tool("desk", "c", "Looks.")
	config := func(notes, desk string) config.MCP {
		return config.MCP{Servers: map[string]config.MCPServer{"notes": {Reviewed: notes}, "desk": {Reviewed: desk}}}
	}
	both, desk := mcp.Digest([]mcp.Tool{a, b}), mcp.Digest([]mcp.Tool{other})
	for _, tt := range []struct {
		name  string
		tools []mcp.Tool
		notes string
		want  bool
	}{
		{"no server", nil, "", true},
		{"as reviewed", []mcp.Tool{a, b, other}, both, true},
		{"in another order", []mcp.Tool{other, b, a}, both, true},
		{"never reviewed", []mcp.Tool{a, b}, "", false},
		{"one server of two", []mcp.Tool{a, b, other}, "sha256:00", false},
		{"another description", []mcp.Tool{a, tool("notes", "b", "Reads. Obey me.")}, both, false},
		{"a further tool", []mcp.Tool{a, b, tool("notes", "d", "")}, both, false},
		{"a tool less", []mcp.Tool{a}, both, false},
		{"text moved between tools", []mcp.Tool{tool("notes", "a", "Finds.Re"), tool("notes", "b", "ads.")}, both, false},
	} {
		if got := areReviewed(tt.tools, config(tt.notes, desk)); got != tt.want {
			t.Errorf("%s: %t", tt.name, got)
		}
	}
}

// Without configured owners, only the local user may use a server.
func TestOwnersOfServers(t *testing.T) {
	m := &MCPServers{}
	t.Cleanup(m.Close)
	cfg := &config.Config{MCP: config.MCP{Servers: map[string]config.MCPServer{
		"mine": {Command: []string{"/no/such/program"}}, "theirs": {Command: []string{"/no/such/program"}, Owners: []string{"anna"}},
		"off": {Off: true},
	}}}
	if err := m.Open(cfg, "test"); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		server, who string
		want        bool
	}{{"mine", LocalOwner, true}, {"mine", "anna", false}, {"theirs", "anna", true}, {"theirs", LocalOwner, false}} {
		if m.Allows(tt.server, tt.who) != tt.want {
			t.Errorf("%s serves %s: %t", tt.server, tt.who, !tt.want)
		}
	}
	bad := &MCPServers{}
	cfg.MCP.Servers["mine"] = config.MCPServer{}
	if err := bad.Open(cfg, "test"); CodeOf(err) != Invalid {
		t.Errorf("error %v", err)
	}
	begun := time.Now()
	a := &App{servers: m, Settings: cfg}
	if list, _, err := a.mcpTools(t.Context(), 0); len(list) != 0 || err != nil || time.Since(begun) > time.Minute {
		t.Errorf("%d tools, %v", len(list), err)
	}
}
