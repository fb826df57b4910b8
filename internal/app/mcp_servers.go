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

// How long is waited for MCP servers that have not answered yet.
const (
	ChatPatience = time.Second      // a conversation has their tools with its next turn
	OncePatience = 10 * time.Second // where there is no next turn
)

// MCPServers are the MCP servers that are configured. All copies of an app share them, and
// all conversations one session with each. The zero value has connected to none; nil has
// none.
type MCPServers struct {
	mu     sync.Mutex
	Pool   *mcp.Pool
	owners map[string][]string
	Failed map[string]error // of servers that lack something outside of the configuration
}

// OpenMCPServers returns them, having read what is configured. The pool is nil if there are none.
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
	owners, failed := make(map[string][]string), make(map[string]error)
	for _, name := range names {
		s := cfg.MCP.Servers[name]
		if err := s.Check(name); err != nil {
			return Invalidf("", "mcp.servers.%s in %s: %w", textkit.Truncate(name, 40), cfg.File, err)
		}
		header, err := cfg.MCPHeader(s)
		if err != nil {
			slog.Warn("the tools of an MCP server are missing", "server", name, "error", err)
			failed[name] = err
			continue
		}
		owners[name] = s.Owners
		c.Servers = append(c.Servers, mcp.Server{
			Name: name, Command: s.Command, Dir: cfg.Path(s.Dir), Env: s.Env, URL: s.URL, Header: header,
			Tools: s.Tools, ReadOnly: s.ReadOnly, Reads: s.Reads, Writes: s.Writes, Timeout: time.Duration(s.Timeout),
		})
	}
	m.owners, m.Failed, m.Pool = owners, failed, mcp.Open(c)
	return nil
}

// ownNames are the names of tools that no server may take.
func ownNames() (names []string) {
	for _, t := range approval.Ours() {
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

// Version returns a number that is another when there are other tools than before.
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

// Allows reports whether a server is for an owner: for the user, unless its owners are
// named.
func (m *MCPServers) Allows(server, who string) bool {
	list := m.owners[server]
	if len(list) == 0 {
		return who == LocalOwner
	}
	return slices.Contains(list, who)
}

// mcpTools returns the tools of MCP servers that the owner of what is thought may use,
// and the number of changed that they belong to. It waits so long for servers that have
// not answered yet.
func (a *App) mcpTools(ctx context.Context, patience time.Duration) (list []mcp.Tool, changed uint64, err error) {
	m, err := a.OpenMCPServers()
	if err != nil || m == nil || m.Pool == nil {
		return nil, 0, err
	}
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(patience, ChatPatience))
	defer cancel()
	for range 2 { // the second time if they came meanwhile, and then at once
		changed = m.Version()
		list = m.Pool.Tools(ctx, func(server string) bool { return m.Allows(server, a.Owner()) })
		if m.Version() == changed {
			break
		}
	}
	return list, changed, nil
}

// readOnly returns those that only look.
func readOnly(list []mcp.Tool) []mcp.Tool {
	return slices.DeleteFunc(slices.Clone(list), func(t mcp.Tool) bool { return t.Changes })
}

// MCPToolsFor returns the tools of MCP servers that a mind has which is equipped for t, and
// tells t of them. Where no user is asked, as in research and in exchanges, there are only
// those that look.
func (a *App) MCPToolsFor(ctx context.Context, t *ChatSetup) (tools []ponder.Tool, err error) {
	if !t.Sources.OtherTools || t.Extractive {
		return nil, nil
	}
	list, changed, err := a.mcpTools(ctx, t.Sources.Patience)
	if err != nil {
		return nil, err
	}
	t.Gated, t.ToolsVersion = nil, changed
	if t.Relay || t.Sources.Research {
		list = readOnly(list)
	}
	for _, one := range list {
		g := approval.Tool{Name: one.Name, Changes: one.Changes}
		if one.Changes {
			g.Needs = []approval.Condition{approval.Confirmed()}
		}
		tools, t.Gated = append(tools, one.Tool), append(t.Gated, g)
	}
	return tools, nil
}

// ReadOnlyMCPTools returns the tools of MCP servers that only look, as models are told of them.
func (a *App) ReadOnlyMCPTools(ctx context.Context, patience time.Duration) (list []llm.Tool, err error) {
	others, _, err := a.mcpTools(ctx, patience)
	for _, t := range readOnly(others) {
		list = append(list, t.Tool.Tool)
	}
	return list, err
}

// An MCPServer is a server with its tools.
type MCPServer struct {
	Server  string          `json:"server"`
	Is      string          `json:"is,omitempty"` // what it calls itself
	Error   string          `json:"error,omitempty"`
	Tools   []MCPServerTool `json:"tools"`
	LeftOut []string        `json:"left_out,omitempty"` // and why
}

// An MCPServerTool is a tool of a server.
type MCPServerTool struct {
	Name    string `json:"name"`   // that models are told
	Theirs  string `json:"theirs"` // on its server
	Changes bool   `json:"changes"`
}

// serverTime is how long servers may take to say which tools they have.
const serverTime = 30 * time.Second

// LookAtMCPServers asks all configured servers for their tools.
func (a *App) LookAtMCPServers(ctx context.Context) (rows []MCPServer, err error) {
	m, err := a.OpenMCPServers()
	if err != nil || m == nil || m.Pool == nil {
		return nil, err
	}
	for _, name := range slices.Sorted(maps.Keys(m.Failed)) {
		rows = append(rows, MCPServer{Server: name, Error: m.Failed[name].Error(), Tools: []MCPServerTool{}})
	}
	ctx, cancel := context.WithTimeout(ctx, serverTime)
	defer cancel()
	for _, r := range m.Pool.Look(ctx) {
		rows = append(rows, serverOf(r))
	}
	return rows, nil
}

func serverOf(r mcp.Report) MCPServer {
	row := MCPServer{Server: r.Name, Is: r.Is, Tools: []MCPServerTool{}, LeftOut: r.LeftOut}
	if r.Err != nil {
		row.Error = r.Err.Error()
	}
	for _, t := range r.Tools {
		row.Tools = append(row.Tools, MCPServerTool{t.Name, textkit.OneLine(t.Theirs), t.Changes})
	}
	return row
}

// Text writes r for people.
func (r MCPServer) Text() string {
	var b strings.Builder
	switch {
	case r.Error != "":
		fmt.Fprintf(&b, "%s cannot be reached: %s\n", r.Server, textkit.OneLine(r.Error))
	default:
		fmt.Fprintf(&b, "%s is %q and has %s\n", r.Server, textkit.OneLine(r.Is), textkit.Count(len(r.Tools), "tool", "tools"))
	}
	for _, t := range r.Tools {
		does := "looks"
		if t.Changes {
			does = "may change something: it asks before"
		}
		fmt.Fprintf(&b, "  %-40s %s\n", t.Name, does)
	}
	for _, line := range r.LeftOut {
		fmt.Fprintf(&b, "  left out: %s\n", textkit.OneLine(line))
	}
	return b.String()
}
