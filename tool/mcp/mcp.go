// Package mcp makes tools from the tools of configured MCP servers.
//
// All data of a server is untrusted. The package limits and cleans the names, descriptions
// and schemas of tools, results and errors. A tool counts as one that changes the world
// unless the user declares it read-only, regardless of the server's claims. Servers get no
// roots, no sampling, and no elicitation.
//
// A [Pool] has one session with each server. It connects on the first use of the tools, and
// again after it lost a session. If a server is unreachable, its tools are missing and the
// log has a line.
package mcp

import (
	"context"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"ponder"
)

// A Server configures an MCP server. It has either a Command or a URL.
type Server struct {
	Name string // the prefix of its tools' names

	Command []string // a program that speaks over its standard streams, and its arguments
	Dir     string   // the working directory; empty: the current one
	Env     []string // names of variables to pass, in addition to PATH, HOME and LANG

	URL    string            // of streamable HTTP
	Header map[string]string // for each request; the values are secret

	Tools    []string // names of the tools to use; empty: all
	ReadOnly bool     // all tools but Writes are read-only
	Reads    []string // names of read-only tools
	Writes   []string // names of tools that may change the world; overrides the others

	Timeout time.Duration // of a call; zero means [CallTime], the maximum is [MaxTime]
}

func (s Server) isChanging(tool string) bool {
	return slices.Contains(s.Writes, tool) || !s.ReadOnly && !slices.Contains(s.Reads, tool)
}

// Limits.
const (
	CallTime = time.Minute
	MaxTime  = 10 * time.Minute

	MaxTools   = 64       // of a server
	MaxName    = 64       // bytes; the limit of model providers
	MaxDoc     = 1000     // bytes of a description
	MaxSchema  = 16 << 10 // bytes
	MaxSchemas = 96 << 10 // bytes of all tools of a server
	MaxResult  = 32 << 10 // bytes of text for a model
	MaxMessage = 4 << 20  // bytes of a message
)

type Tool struct {
	ponder.Tool
	Server     string
	ServerName string // the tool's name on the server
	Changes    bool   // according to the user's configuration
}

// A Config configures a pool. The zero value has no servers.
type Config struct {
	Servers []Server
	Version string            // of the program, for servers
	Taken   []string          // names that no tool may have
	Client  http.RoundTripper // for HTTP; [http.DefaultTransport] if nil
}

// A Pool holds the sessions with servers. It is safe for concurrent use.
type Pool struct {
	links   []*link
	changed atomic.Uint64
	end     context.CancelFunc
	ended   sync.WaitGroup
}

// Open returns a pool without connections. Callers must close it.
func Open(c Config) *Pool {
	ctx, cancel := context.WithCancel(context.Background())
	p := &Pool{end: cancel}
	for _, s := range c.Servers {
		if s.Timeout <= 0 {
			s.Timeout = CallTime
		}
		s.Timeout = min(s.Timeout, MaxTime)
		p.links = append(p.links, &link{Server: s, pool: p, config: c, life: ctx})
	}
	return p
}

// Changed returns a number that grows when the set of tools changes.
func (p *Pool) Changed() uint64 { return p.changed.Load() }

// Tools returns the current tools of the servers for which use returns true, or of all if
// use is nil. It connects to servers, and waits for them until ctx is done. The tools of
// slower servers are in later results.
func (p *Pool) Tools(ctx context.Context, use func(server string) bool) (list []Tool) {
	taken := make(map[string]bool)
	for _, l := range p.connectAll(ctx, use) {
		for _, t := range l.currentTools() {
			if !taken[t.Name] {
				taken[t.Name] = true
				list = append(list, t)
			}
		}
	}
	return list
}

// connectAll connects to servers and returns their links.
func (p *Pool) connectAll(ctx context.Context, use func(server string) bool) (list []*link) {
	var waits []<-chan struct{}
	for _, l := range p.links {
		if use == nil || use(l.Name) {
			list = append(list, l)
			waits = append(waits, l.connectAsync(false))
		}
	}
	for _, ready := range waits {
		select {
		case <-ready:
		case <-ctx.Done():
		}
	}
	return list
}

// A Report is the state of a server.
type Report struct {
	Name     string
	Identity string // the name and version that the server reports
	Tools    []Tool
	LeftOut  []string // unused tools: the name and the reason, in one line
	Err      error    // why it is unreachable, in one line
}

// Reports connects to all servers now, and returns their states. It waits until ctx is done at
// most.
func (p *Pool) Reports(ctx context.Context) (list []Report) {
	for _, l := range p.links {
		l.connectAsync(true)
	}
	for _, l := range p.connectAll(ctx, nil) {
		list = append(list, l.currentReport())
	}
	return list
}

// Close ends all sessions and their programs.
func (p *Pool) Close() {
	p.end()
	var all sync.WaitGroup
	for _, l := range p.links {
		all.Go(l.close)
	}
	all.Wait()
	p.ended.Wait()
}

func logWarning(server, what string, err error) {
	args := []any{"server", server}
	if err != nil {
		args = append(args, "error", err)
	}
	slog.Warn("MCP server "+what, args...)
}

// containsFold reports whether a list contains a text, ignoring case.
func containsFold(list []string, text string) bool {
	return slices.ContainsFunc(list, func(s string) bool { return strings.EqualFold(s, text) })
}
