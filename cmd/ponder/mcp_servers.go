package main

import (
	"cmp"
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"ponder"
	"ponder/internal/config"
	"ponder/llm"
	"ponder/tool/approval"
	"ponder/tool/mcp"
)

// How long is waited for MCP servers that have not answered yet.
const (
	chatPatience = time.Second      // a conversation has their tools with its next turn
	oncePatience = 10 * time.Second // where there is no next turn
)

// mcpServers are the MCP servers that are configured. All copies of an app share them, and
// all conversations one session with each. The zero value has connected to none; nil has
// none.
type mcpServers struct {
	mu     sync.Mutex
	pool   *mcp.Pool
	owners map[string][]string
	failed map[string]error // of servers that lack something outside of the configuration
}

// outside returns them, having read what is configured. The pool is nil if there are none.
func (a *cli) outside() (*mcpServers, error) {
	if a.servers == nil {
		return nil, nil
	}
	cfg, err := a.config()
	if err != nil {
		return nil, err
	}
	return a.servers, a.servers.open(cfg)
}

// open reads what is configured, once.
func (m *mcpServers) open(cfg *config.Config) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	names := cfg.MCP.ServerNames()
	if m.pool != nil || len(names) == 0 {
		return nil
	}
	c := mcp.Config{Version: thisBuild().Version, Taken: ownNames()}
	owners, failed := make(map[string][]string), make(map[string]error)
	for _, name := range names {
		s := cfg.MCP.Servers[name]
		if err := s.Check(name); err != nil {
			return usagef("mcp.servers.%s in %s: %w", clip(name, 40), cfg.File, err)
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
	m.owners, m.failed, m.pool = owners, failed, mcp.Open(c)
	return nil
}

// ownNames are the names of tools that no server may take.
func ownNames() (names []string) {
	for _, t := range approval.Ours() {
		names = append(names, t.Name)
	}
	return append(names, "deepThinkProgress", "webSearch", "think_about")
}

// close ends all sessions.
func (m *mcpServers) close() {
	if m == nil {
		return
	}
	m.mu.Lock()
	pool := m.pool
	m.pool = nil
	m.mu.Unlock()
	if pool != nil {
		pool.Close()
	}
}

// changed returns a number that is another when there are other tools than before.
func (m *mcpServers) changed() uint64 {
	if m == nil {
		return 0
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.pool == nil {
		return 0
	}
	return m.pool.Changed()
}

// serve reports whether a server is for an owner: for the user, unless its owners are
// named.
func (m *mcpServers) serve(server, who string) bool {
	list := m.owners[server]
	if len(list) == 0 {
		return who == owner
	}
	return slices.Contains(list, who)
}

// othersTools returns the tools of MCP servers that the owner of what is thought may use,
// and the number of changed that they belong to. It waits so long for servers that have
// not answered yet.
func (a *cli) othersTools(ctx context.Context, patience time.Duration) (list []mcp.Tool, changed uint64, err error) {
	m, err := a.outside()
	if err != nil || m == nil || m.pool == nil {
		return nil, 0, err
	}
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(patience, chatPatience))
	defer cancel()
	for range 2 { // the second time if they came meanwhile, and then at once
		changed = m.changed()
		list = m.pool.Tools(ctx, func(server string) bool { return m.serve(server, a.who()) })
		if m.changed() == changed {
			break
		}
	}
	return list, changed, nil
}

// looking returns those that only look.
func looking(list []mcp.Tool) []mcp.Tool {
	return slices.DeleteFunc(slices.Clone(list), func(t mcp.Tool) bool { return t.Changes })
}

// othersFor returns the tools of MCP servers that a mind has which is equipped for t, and
// tells t of them. Where no user is asked, as in research and in exchanges, there are only
// those that look.
func (a *cli) othersFor(ctx context.Context, t *talking) (tools []ponder.Tool, err error) {
	if !t.sight.others || t.quotes {
		return nil, nil
	}
	list, changed, err := a.othersTools(ctx, t.sight.patience)
	if err != nil {
		return nil, err
	}
	t.others, t.outer = nil, changed
	if t.relays || t.sight.researches {
		list = looking(list)
	}
	for _, one := range list {
		g := approval.Tool{Name: one.Name, Changes: one.Changes}
		if one.Changes {
			g.Needs = []approval.Condition{approval.Confirmed()}
		}
		tools, t.others = append(tools, one.Tool), append(t.others, g)
	}
	return tools, nil
}

// lookingTools returns the tools of MCP servers that only look, as models are told of them.
func (a *cli) lookingTools(ctx context.Context, patience time.Duration) (list []llm.Tool, err error) {
	others, _, err := a.othersTools(ctx, patience)
	for _, t := range looking(others) {
		list = append(list, t.Tool.Tool)
	}
	return list, err
}
