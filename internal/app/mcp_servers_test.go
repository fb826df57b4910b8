package app

import (
	"testing"
	"time"

	"ponder/internal/config"
)

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
