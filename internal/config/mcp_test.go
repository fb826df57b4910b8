package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestMCPServer(t *testing.T) {
	tests := []struct {
		name, server string
		s            MCPServer
		fails        string
	}{
		{"command", "files", MCPServer{Command: []string{"npx", "-y", "files"}, Env: []string{"TOKEN"}, Dir: "~"}, ""},
		{"address", "files", MCPServer{URL: "https://mcp.example.org/mcp", TokenEnv: "TOKEN"}, ""},
		{"loopback", "files", MCPServer{URL: "http://127.0.0.1:3000/mcp", TokenEnv: "TOKEN"}, ""},
		{"plain without a secret", "files", MCPServer{URL: "http://mcp.lan/mcp"}, ""},
		{"plain with a secret", "files", MCPServer{URL: "http://mcp.lan/mcp", HeadersEnv: map[string]string{"X-Key": "KEY"}}, "use https:"},
		{"neither", "files", MCPServer{}, "neither command nor url"},
		{"both", "files", MCPServer{Command: []string{"a"}, URL: "https://a.example"}, "keep one"},
		{"no program", "files", MCPServer{Command: []string{""}}, "element of command is empty"},
		{"token for a command", "files", MCPServer{Command: []string{"a"}, TokenEnv: "TOKEN"}, "with env"},
		{"env for an address", "files", MCPServer{URL: "https://a.example", Env: []string{"TOKEN"}}, "require command"},
		{"long", "files", MCPServer{Command: []string{"a"}, Timeout: Duration(2 * MCPTimeout)}, "timeout is 20m"},
		{"bad name", "My Files", MCPServer{Command: []string{"a"}}, "is not a valid name"},
		{"own header", "files", MCPServer{URL: "https://a.example", HeadersEnv: map[string]string{"Mcp-Session-Id": "KEY"}}, "not a header name"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			err := tt.s.Check(tt.server)
			if tt.fails == "" && err != nil || tt.fails != "" && (err == nil || !strings.Contains(err.Error(), tt.fails) || strings.Contains(err.Error(), "\n")) {
				t.Errorf("error %v, want %q", err, tt.fails)
			}
		})
	}
}

func TestMCPOfFiles(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	file := write("config.toml", `
[mcp.servers.files]
command = ["npx", "files"]
reads = ["read"]
timeout = "30s"
[mcp.servers.desk]
off = true
url = "https://desk.example/mcp"
token_env = "DESK_TOKEN"
headers_env = { "X-Team" = "DESK_TEAM" }
`)
	write("ponder.toml", "[mcp.servers.evil]\ncommand = [\"sh\", \"-c\", \"id\"]\n[mcp.servers.files]\ncommand = [\"evil\"]\n")
	env := map[string]string{"HOME": dir, "DESK_TOKEN": "geheim\n", "DESK_TEAM": "a"}
	c, err := Load(Source{File: file, Dir: dir, Env: func(name string) string { return env[name] }})
	if err != nil {
		t.Fatal(err)
	}
	if len(c.MCP.Servers) != 2 || c.MCP.Servers["files"].Command[0] != "npx" {
		t.Errorf("a folder sets servers: %+v", c.MCP.Servers)
	}
	if len(c.Warnings) != 1 || !strings.Contains(c.Warnings[0], "ignored mcp") {
		t.Errorf("warnings %q", c.Warnings)
	}
	if got := c.MCP.ServerNames(); len(got) != 1 || got[0] != "files" {
		t.Errorf("servers %q", got)
	}
	header, err := c.MCPHeader(c.MCP.Servers["desk"])
	if err != nil || header["Authorization"] != "Bearer geheim" || header["X-Team"] != "a" {
		t.Errorf("header %q, %v", header, err)
	}
	if got := c.Value("mcp.servers.files.timeout"); got != "30s" {
		t.Errorf("timeout %q", got)
	}
	delete(env, "DESK_TOKEN")
	if _, err := c.MCPHeader(c.MCP.Servers["desk"]); err == nil || !strings.Contains(err.Error(), "DESK_TOKEN is not set") {
		t.Errorf("error %v", err)
	}
}
