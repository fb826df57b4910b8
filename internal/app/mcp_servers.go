package app

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"ponder"
	"ponder/internal/config"
	"ponder/internal/textkit"
	"ponder/llm"
	"ponder/tool/approval"
	"ponder/tool/mcp"
)

// How long to wait for slow MCP servers.
const (
	ChatPatience = time.Second      // the next turn of a conversation gets late tools
	OncePatience = 10 * time.Second // without a next turn
)

// MCPServers holds one session with each configured MCP server. Copies of an App share it. The
// zero value is not connected; nil has no servers.
type MCPServers struct {
	mu       sync.Mutex
	Pool     *mcp.Pool
	owners   map[string][]string
	reviewed map[string]string // digests by server
	Failed   map[string]error  // servers with an error outside the configuration
}

// OpenMCPServers connects to the configured servers once. Without any it returns nil.
func (a *App) OpenMCPServers() (*MCPServers, error) {
	if a.servers == nil {
		return nil, nil
	}
	cfg, err := a.Config()
	if err != nil {
		return nil, err
	}
	return a.servers, a.servers.Open(cfg, a.Options.Version)
}

func (m *MCPServers) Open(cfg *config.Config, version string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	names := cfg.MCP.ServerNames()
	if m.Pool != nil || len(names) == 0 {
		return nil
	}
	c := mcp.Config{Version: version, Taken: ownNames()}
	owners, reviewed, failed := make(map[string][]string), make(map[string]string), make(map[string]error)
	for _, name := range names {
		s := cfg.MCP.Servers[name]
		if err := s.Check(name); err != nil {
			return Invalidf("", "mcp.servers.%s in %s: %w", textkit.Truncate(name, 40), cfg.File, err)
		}
		header, err := cfg.MCPHeader(s)
		if err != nil {
			slog.Warn("cannot use the tools of an MCP server", "server", name, "error", err)
			failed[name] = err
			continue
		}
		owners[name], reviewed[name] = s.Owners, s.Reviewed
		c.Servers = append(c.Servers, mcp.Server{
			Name: name, Command: s.Command, Dir: cfg.Path(s.Dir), Env: s.Env, URL: s.URL, Header: header,
			Tools: s.Tools, ReadOnly: s.ReadOnly, Reads: s.Reads, Writes: s.Writes, Timeout: time.Duration(s.Timeout),
		})
	}
	m.owners, m.reviewed, m.Failed, m.Pool = owners, reviewed, failed, mcp.Open(c)
	return nil
}

func ownNames() (names []string) {
	for _, t := range approval.Declarations() {
		names = append(names, t.Name)
	}
	return append(names, "deepThinkProgress", "webSearch", "think_about")
}

func (m *MCPServers) Close() {
	if m == nil {
		return
	}
	m.mu.Lock()
	pool := m.Pool
	m.Pool = nil
	m.mu.Unlock()
	if pool != nil {
		pool.Close()
	}
}

// Version returns a number that changes with the set of tools.
func (m *MCPServers) Version() uint64 {
	if m == nil {
		return 0
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.Pool == nil {
		return 0
	}
	return m.Pool.Changed()
}

// Allows reports whether an owner may use a server. By default, only the local user may.
func (m *MCPServers) Allows(server, who string) bool {
	list := m.owners[server]
	if len(list) == 0 {
		return who == LocalOwner
	}
	return slices.Contains(list, who)
}

// mcpTools returns the owner's MCP tools and their version. It waits up to patience for slow
// servers.
func (a *App) mcpTools(ctx context.Context, patience time.Duration) (list []mcp.Tool, changed uint64, err error) {
	m, err := a.OpenMCPServers()
	if err != nil || m == nil || m.Pool == nil {
		return nil, 0, err
	}
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(patience, ChatPatience))
	defer cancel()
	for range 2 {
		changed = m.Version()
		list = m.Pool.Tools(ctx, func(server string) bool { return m.Allows(server, a.Owner()) })
		if m.Version() == changed {
			break
		}
	}
	return list, changed, nil
}

func readOnly(list []mcp.Tool) []mcp.Tool {
	return slices.DeleteFunc(slices.Clone(list), func(t mcp.Tool) bool { return t.Changes })
}

// MCPToolsFor returns the MCP tools of a conversation engine, and records them in t. Research
// and exchanges get only read-only tools, since they cannot ask the user.
func (a *App) MCPToolsFor(ctx context.Context, t *ChatSetup) (tools []ponder.Tool, err error) {
	if !t.Sources.OtherTools || t.Extractive {
		return nil, nil
	}
	list, changed, err := a.mcpTools(ctx, t.Sources.Patience)
	if err != nil {
		return nil, err
	}
	t.Gated, t.ToolsVersion, t.Described = nil, changed, !areReviewed(list, t.Config.MCP)
	if t.Relay || t.Sources.Research {
		list = readOnly(list)
	}
	for _, one := range list {
		g := approval.Tool{Name: one.Name, Effect: approval.Ask, Server: one.Server}
		if one.Changes {
			g.Effect = approval.Act
		}
		tools, t.Gated = append(tools, one.Tool), append(t.Gated, g)
	}
	return tools, nil
}

// areReviewed reports whether the user has read all descriptions of tools as they are now.
func areReviewed(list []mcp.Tool, c config.MCP) bool {
	byServer := make(map[string][]mcp.Tool)
	for _, t := range list {
		byServer[t.Server] = append(byServer[t.Server], t)
	}
	for name, tools := range byServer {
		if c.Servers[name].Reviewed != mcp.Digest(tools) {
			return false
		}
	}
	return true
}

func (a *App) ReadOnlyMCPTools(ctx context.Context, patience time.Duration) (list []llm.Tool, err error) {
	others, _, err := a.mcpTools(ctx, patience)
	for _, t := range readOnly(others) {
		list = append(list, t.Tool.Tool)
	}
	return list, err
}

type MCPServer struct {
	Server   string          `json:"server"`
	Is       string          `json:"is,omitempty"`
	Error    string          `json:"error,omitempty"`
	Tools    []MCPServerTool `json:"tools"`
	Digest   string          `json:"descriptions,omitempty"` // of the descriptions
	Reviewed bool            `json:"reviewed"`
	LeftOut  []string        `json:"left_out,omitempty"` // tools left out, with reasons
}

type MCPServerTool struct {
	Name       string `json:"name"`
	ServerName string `json:"theirs"`
	Changes    bool   `json:"changes"`

	Description string `json:"description"` // for models
}

// serverTime limits the wait for a server's tools.
const serverTime = 30 * time.Second

func (a *App) InspectMCPServers(ctx context.Context) (rows []MCPServer, err error) {
	m, err := a.OpenMCPServers()
	if err != nil || m == nil || m.Pool == nil {
		return nil, err
	}
	for _, name := range slices.Sorted(maps.Keys(m.Failed)) {
		rows = append(rows, MCPServer{Server: name, Error: m.Failed[name].Error(), Tools: []MCPServerTool{}})
	}
	ctx, cancel := context.WithTimeout(ctx, serverTime)
	defer cancel()
	for _, r := range m.Pool.Reports(ctx) {
		row := serverOf(r)
		row.Reviewed = row.Digest != "" && m.reviewed[r.Name] == row.Digest
		rows = append(rows, row)
	}
	return rows, nil
}

func serverOf(r mcp.Report) MCPServer {
	row := MCPServer{Server: r.Name, Is: r.Identity, Tools: []MCPServerTool{}, LeftOut: r.LeftOut}
	if r.Err != nil {
		row.Error = r.Err.Error()
	}
	if len(r.Tools) > 0 {
		row.Digest = mcp.Digest(r.Tools)
	}
	for _, t := range r.Tools {
		row.Tools = append(row.Tools, MCPServerTool{t.Name, textkit.OneLine(t.ServerName), t.Changes, t.Doc})
	}
	return row
}

func (r MCPServer) Text() string {
	var b strings.Builder
	switch {
	case r.Error != "":
		fmt.Fprintf(&b, "%s: cannot connect: %s\n", r.Server, textkit.OneLine(r.Error))
	default:
		fmt.Fprintf(&b, "%s: server %q with %s\n", r.Server, textkit.OneLine(r.Is), textkit.Count(len(r.Tools), "tool", "tools"))
	}
	for _, t := range r.Tools {
		does := "reads only"
		if t.Changes {
			does = "may change data; asks for approval"
		}
		fmt.Fprintf(&b, "  %-40s %s\n", t.Name, does)
	}
	switch {
	case r.Reviewed:
		b.WriteString("  you have reviewed the descriptions\n")
	case r.Digest != "":
		fmt.Fprintf(&b, "  to fetch pages without a question, read the descriptions in the JSON, then set reviewed = %q\n", r.Digest)
	}
	for _, line := range r.LeftOut {
		fmt.Fprintf(&b, "  ignored: %s\n", textkit.OneLine(line))
	}
	return b.String()
}
