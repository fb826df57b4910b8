// Package mcp makes tools of those of MCP servers that the user has configured.
//
// All that a server says is what a stranger says: the names, descriptions and schemas of
// its tools, its results and its errors are bounded and rid of what cannot be seen, and
// whatever it claims of a tool, one may change the world unless the user says that it
// only looks. A server is offered nothing of ours: no roots, no sampling, no questions to
// the user.
//
// A [Pool] has one session with each server, for all that use it. It connects when tools
// are wanted first, and again after a session was lost. A server that cannot be reached
// costs its tools, and a line in the log.
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

// A Server says how an MCP server is reached, and what of it is used. It has a Command or
// a URL.
type Server struct {
	Name string // begins the names of its tools

	Command []string // a program that speaks over its standard streams, and its arguments
	Dir     string   // where it runs; the working folder if empty
	Env     []string // names of variables that it is given, beside PATH, HOME and LANG

	URL    string            // of streamable HTTP
	Header map[string]string // of each request; its values are secret

	Tools    []string // names of those that are used; all if empty
	ReadOnly bool     // its tools only look, but for Writes
	Reads    []string // names of tools that only look
	Writes   []string // names of tools that may change the world, whatever else says

	Timeout time.Duration // of a call; [CallTime] if zero, at most [MostTime]
}

// changes reports whether a tool may change the world.
func (s Server) changes(tool string) bool {
	return slices.Contains(s.Writes, tool) || !s.ReadOnly && !slices.Contains(s.Reads, tool)
}

// Bounds.
const (
	CallTime = time.Minute
	MostTime = 10 * time.Minute

	MostTools   = 64       // of a server
	MostName    = 64       // bytes, which is what providers of models take
	MostDoc     = 1000     // bytes of a description
	MostSchema  = 16 << 10 // bytes
	MostSchemas = 96 << 10 // bytes, of all tools of a server
	MostResult  = 32 << 10 // bytes of text that a model is shown
	MostMessage = 4 << 20  // bytes of what a server says at once
)

// A Tool is a tool of a server.
type Tool struct {
	ponder.Tool
	Server  string
	Theirs  string // its name on the server
	Changes bool   // it may change the world, for all that the user says
}

// Config says what a pool has. The zero value has no servers.
type Config struct {
	Servers []Server
	Version string            // of the program, which servers are told
	Taken   []string          // names that no tool of a server may have
	Client  http.RoundTripper // what HTTP goes through; [http.DefaultTransport] if nil
}

// A Pool has the servers. It is safe for concurrent use.
type Pool struct {
	links   []*link
	changed atomic.Uint64
	end     context.CancelFunc
	ended   sync.WaitGroup
}

// Open returns a pool, which has connected to nobody yet. The caller closes it.
func Open(c Config) *Pool {
	ctx, cancel := context.WithCancel(context.Background())
	p := &Pool{end: cancel}
	for _, s := range c.Servers {
		if s.Timeout <= 0 {
			s.Timeout = CallTime
		}
		s.Timeout = min(s.Timeout, MostTime)
		p.links = append(p.links, &link{Server: s, pool: p, config: c, life: ctx})
	}
	return p
}

// Changed returns a number that grows whenever there are other tools than before.
func (p *Pool) Changed() uint64 { return p.changed.Load() }

// Tools returns the tools there are of those servers that use takes, all if it is nil.
// It connects to servers, and waits until ctx is done for those that have not answered:
// their tools are there when it is asked again.
func (p *Pool) Tools(ctx context.Context, use func(server string) bool) (list []Tool) {
	taken := make(map[string]bool)
	for _, l := range p.reach(ctx, use) {
		for _, t := range l.offers() {
			if !taken[t.Name] {
				taken[t.Name] = true
				list = append(list, t)
			}
		}
	}
	return list
}

// reach connects to servers, and returns their links.
func (p *Pool) reach(ctx context.Context, use func(server string) bool) (list []*link) {
	var waits []<-chan struct{}
	for _, l := range p.links {
		if use == nil || use(l.Name) {
			list = append(list, l)
			waits = append(waits, l.begin(false))
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

// A Report is how a server is.
type Report struct {
	Name    string
	Is      string // what it calls itself, and its version
	Tools   []Tool
	LeftOut []string // tools that are not used: the name, and why, in a line
	Err     error    // why it cannot be reached; one line
}

// Look asks all servers now, and says how they are. It waits until ctx is done at most.
func (p *Pool) Look(ctx context.Context) (list []Report) {
	for _, l := range p.links {
		l.begin(true)
	}
	for _, l := range p.reach(ctx, nil) {
		list = append(list, l.report())
	}
	return list
}

// Close ends all sessions, and the programs that were started for them.
func (p *Pool) Close() {
	p.end()
	var all sync.WaitGroup
	for _, l := range p.links {
		all.Go(l.close)
	}
	all.Wait()
	p.ended.Wait()
}

// warn writes a line to the log.
func warn(server, what string, err error) {
	args := []any{"server", server}
	if err != nil {
		args = append(args, "error", err)
	}
	slog.Warn("MCP server "+what, args...)
}

// has reports whether a list has a text, whatever its case.
func has(list []string, text string) bool {
	return slices.ContainsFunc(list, func(s string) bool { return strings.EqualFold(s, text) })
}
