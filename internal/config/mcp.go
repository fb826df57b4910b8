package config

import (
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"

	"ponder/internal/netaddr"
	"ponder/internal/textkit"
)

// MCP says which MCP servers have tools for conversations and research. Only the user's
// own file may.
type MCP struct {
	Servers map[string]MCPServer `toml:"servers"` // by name, which begins the names of their tools
}

// An MCPServer is an MCP server: a program with Command, or an address with URL.
type MCPServer struct {
	Off bool `toml:"off"`

	Command []string `toml:"command"` // the program and its arguments; no shell reads them
	Dir     string   `toml:"dir"`     // where it runs
	Env     []string `toml:"env"`     // names of variables that it is given, beside PATH, HOME and LANG

	URL        string            `toml:"url"`         // of streamable HTTP
	TokenEnv   string            `toml:"token_env"`   // the variable with the token that requests carry
	HeadersEnv map[string]string `toml:"headers_env"` // by name of a header, the variable that has it

	Tools    []string `toml:"tools"`     // names of those that are used; all if none
	ReadOnly bool     `toml:"read_only"` // its tools only look, but for Writes
	Reads    []string `toml:"reads"`     // names of tools that only look
	Writes   []string `toml:"writes"`    // names of tools that may change something, though ReadOnly is set

	Owners  []string `toml:"owners"`  // whose conversations have its tools; the user's alone if none
	Timeout Duration `toml:"timeout"` // of a call; 1m if zero, at most 10m
}

// MCPTimeout is the longest that a call of a tool of an MCP server may take.
const MCPTimeout = 10 * time.Minute

// ServerNames returns the names of the servers that are not off, in order.
func (m MCP) ServerNames() (names []string) {
	for _, name := range slices.Sorted(maps.Keys(m.Servers)) {
		if !m.Servers[name].Off {
			names = append(names, name)
		}
	}
	return names
}

// maxServerName is how long the name of a server may be: what a provider takes for the
// name of a tool leaves room for the rest.
const maxServerName = 24

// Check returns what is wrong with a server of a name, or nil.
func (s MCPServer) Check(name string) error {
	switch {
	case name == "" || len(name) > maxServerName || strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789_-") != "":
		return fmt.Errorf("%q is no name: small letters, digits, - and _, at most %d", textkit.Truncate(name, 40), maxServerName)
	case len(s.Command) > 0 && s.URL != "":
		return errors.New("has command and url: keep one of them")
	case len(s.Command) == 0 && s.URL == "":
		return errors.New(`has neither command nor url: set command = ["program", "argument"] or url = "https://..."`)
	case s.URL == "" && s.Command[0] == "":
		return errors.New("command begins with nothing: write the program and its arguments")
	case s.URL == "" && (s.TokenEnv != "" || len(s.HeadersEnv) > 0):
		return errors.New("token_env and headers_env are for a url: give a command variables with env")
	case s.URL != "" && (s.Dir != "" || len(s.Env) > 0):
		return errors.New("dir and env are for a command: send a url what it needs with token_env or headers_env")
	case s.Timeout > Duration(MCPTimeout):
		return fmt.Errorf("timeout is %s, and may be %s", s.Timeout, Duration(MCPTimeout))
	}
	return s.checkHTTP()
}

// checkHTTP checks what goes over a network.
func (s MCPServer) checkHTTP() error {
	if s.URL == "" {
		return nil
	}
	u, err := url.Parse(s.URL)
	if err != nil {
		return errors.New("url must be an address such as https://mcp.example.org/mcp")
	}
	if secret := s.TokenEnv != "" || len(s.HeadersEnv) > 0; secret && u.Scheme != "https" && !netaddr.IsLoopback(u.Hostname()) {
		return errors.New("url begins with http:, and what is secret would be sent without encryption: use https:")
	}
	for name := range s.HeadersEnv {
		if !isHeader(name) {
			return fmt.Errorf("headers_env: %q is no name of a header, or one that Ponder sets itself", textkit.Truncate(name, 40))
		}
	}
	return nil
}

// isHeader reports whether a name is that of a header which the user may set.
func isHeader(name string) bool {
	ok := name != "" && len(name) <= maxName && !strings.ContainsFunc(name, func(r rune) bool {
		return r != '-' && r != '_' && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z') && (r < '0' || r > '9')
	})
	lower := strings.ToLower(name)
	return ok && !strings.HasPrefix(lower, "mcp-") && !slices.Contains([]string{
		"accept", "connection", "content-length", "content-type", "host", "last-event-id", "te", "trailer", "transfer-encoding", "upgrade",
	}, lower)
}

// MCPHeader returns the headers that requests to a server carry, from the environment.
func (c *Config) MCPHeader(s MCPServer) (map[string]string, error) {
	header := make(map[string]string)
	token, err := c.Secret(s.TokenEnv)
	if err != nil {
		return nil, fmt.Errorf("token_env: %w", err)
	}
	if token != "" {
		header["Authorization"] = "Bearer " + strings.TrimSpace(string(token))
	}
	for _, name := range slices.Sorted(maps.Keys(s.HeadersEnv)) {
		value, err := c.Secret(s.HeadersEnv[name])
		if err != nil {
			return nil, fmt.Errorf("headers_env.%s: %w", name, err)
		}
		header[name] = strings.TrimSpace(string(value))
	}
	for name, value := range header {
		if strings.ContainsFunc(value, func(r rune) bool { return r < ' ' || r == 0x7f }) {
			return nil, fmt.Errorf("the variable for the header %s has control characters in it: export it without", name)
		}
	}
	return header, nil
}

// mcpKeys are the settings of MCP servers.
func mcpKeys() []Key {
	const t = "mcp.servers.*."
	return []Key{
		{t + "off", "leave the MCP server out: true or false", boolean},
		{t + "command", "a program that is an MCP server, and its arguments", list},
		{t + "dir", "folder that it runs in", text},
		{t + "env", "names of variables that it is given", variables},
		{t + "url", "address of an MCP server", link},
		{t + "token_env", "the variable that has the token for it", variable},
		{t + "headers_env.*", "the variable that has a header for it", variable},
		{t + "tools", "names of its tools that are used; all if none", list},
		{t + "read_only", "its tools only look: true or false", boolean},
		{t + "reads", "names of its tools that only look", list},
		{t + "writes", "names of its tools that may change something, though read_only is set", list},
		{t + "owners", "whose conversations have its tools; local is the user", owners},
		{t + "timeout", "time that a call may take, like 30s", span},
	}
}

// owners reads names of owners with commas between.
func owners(v string) (string, error) { return listOf(v, ownerName) }
