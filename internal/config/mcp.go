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

type MCP struct {
	Servers map[string]MCPServer `toml:"servers"` // by name, the prefix of their tools
}

// An MCPServer is a program with Command, or an address with URL.
type MCPServer struct {
	Off bool `toml:"off"`

	Command []string `toml:"command"`
	Dir     string   `toml:"dir"`
	Env     []string `toml:"env"` // names of variables passed on, besides PATH, HOME and LANG

	URL        string            `toml:"url"`
	TokenEnv   string            `toml:"token_env"`
	HeadersEnv map[string]string `toml:"headers_env"`

	Tools    []string `toml:"tools"`     // tools in use; empty: all
	ReadOnly bool     `toml:"read_only"` // its tools have no side effects, except Writes
	Reads    []string `toml:"reads"`
	Writes   []string `toml:"writes"`
	Reviewed string   `toml:"reviewed"` // digest of the descriptions that the user has read

	Owners  []string `toml:"owners"`  // owners with access; empty: only the local user
	Timeout Duration `toml:"timeout"` // of a call; zero: 1m, at most 10m
}

const MCPTimeout = 10 * time.Minute

func (m MCP) ServerNames() (names []string) {
	for _, name := range slices.Sorted(maps.Keys(m.Servers)) {
		if !m.Servers[name].Off {
			names = append(names, name)
		}
	}
	return names
}

// maxServerName leaves room for the rest of a tool's name within the providers' limit.
const maxServerName = 24

func (s MCPServer) Check(name string) error {
	switch {
	case name == "" || len(name) > maxServerName || strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789_-") != "":
		return fmt.Errorf("%q is not a valid name: use lower-case letters, digits, - and _, at most %d", textkit.Truncate(name, 40), maxServerName)
	case len(s.Command) > 0 && s.URL != "":
		return errors.New("has both command and url: keep one")
	case len(s.Command) == 0 && s.URL == "":
		return errors.New(`has neither command nor url: set command = ["program", "argument"] or url = "https://..."`)
	case s.URL == "" && s.Command[0] == "":
		return errors.New("the first element of command is empty: write the program and its arguments")
	case s.URL == "" && (s.TokenEnv != "" || len(s.HeadersEnv) > 0):
		return errors.New("token_env and headers_env require url: pass variables to a command with env")
	case s.URL != "" && (s.Dir != "" || len(s.Env) > 0):
		return errors.New("dir and env require command: send secrets to a url with token_env or headers_env")
	case s.Timeout > Duration(MCPTimeout):
		return fmt.Errorf("timeout is %s; the maximum is %s", s.Timeout, Duration(MCPTimeout))
	}
	return s.checkHTTP()
}

func (s MCPServer) checkHTTP() error {
	if s.URL == "" {
		return nil
	}
	u, err := url.Parse(s.URL)
	if err != nil {
		return errors.New("url must have a form such as https://mcp.example.org/mcp")
	}
	if secret := s.TokenEnv != "" || len(s.HeadersEnv) > 0; secret && u.Scheme != "https" && !netaddr.IsLoopback(u.Hostname()) {
		return errors.New("url with http: would send secrets without encryption: use https:")
	}
	for name := range s.HeadersEnv {
		if !isHeader(name) {
			return fmt.Errorf("headers_env: %q is not a header name, or Ponder sets this header itself", textkit.Truncate(name, 40))
		}
	}
	return nil
}

// isHeader reports whether the user may set a header.
func isHeader(name string) bool {
	ok := name != "" && len(name) <= maxName && !strings.ContainsFunc(name, func(r rune) bool {
		return r != '-' && r != '_' && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z') && (r < '0' || r > '9')
	})
	lower := strings.ToLower(name)
	return ok && !strings.HasPrefix(lower, "mcp-") && !slices.Contains([]string{
		"accept", "connection", "content-length", "content-type", "host", "last-event-id", "te", "trailer", "transfer-encoding", "upgrade",
	}, lower)
}

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
			return nil, fmt.Errorf("the variable for the header %s contains control characters: export it without them", name)
		}
	}
	return header, nil
}

func mcpKeys() []Key {
	const t = "mcp.servers.*."
	return []Key{
		{t + "off", "ignore the MCP server: true or false", boolLiteral},
		{t + "command", "program of an MCP server, and its arguments", listLiteral},
		{t + "dir", "working folder", textLiteral},
		{t + "env", "names of variables to pass to the program", variablesLiteral},
		{t + "url", "URL of an MCP server", urlLiteral},
		{t + "token_env", "environment variable with its token", variableLiteral},
		{t + "headers_env.*", "environment variable with the value of a header", variableLiteral},
		{t + "tools", "names of its tools to use; empty for all", listLiteral},
		{t + "read_only", "all its tools only read: true or false", boolLiteral},
		{t + "reads", "names of its tools that only read", listLiteral},
		{t + "writes", "names of its tools that may change data, despite read_only", listLiteral},
		{t + "owners", "owners whose conversations have its tools; local is the user", ownersLiteral},
		{t + "timeout", "maximum time of a call, such as 30s", durationLiteral},
	}
}

func ownersLiteral(v string) (string, error) { return parseList(v, ownerLiteral) }
