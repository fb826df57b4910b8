package stream

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"sync"

	"ponder"
	"ponder/internal/auth"
	"ponder/internal/links"
	"ponder/internal/toolname"
	"ponder/knowledge/lookup"
	"ponder/llm"
)

// Values of the setting serve.remote_content: the addresses that stay links in answers of models.
const (
	RemoteSources = "sources" // of sources and of the user; images only of the user
	RemoteAll     = "all"
	RemoteNone    = "none"
)

// A LinkGuard makes links and images in texts of models inert, unless the thread has their
// addresses. It treats deltas and events alike. A nil guard changes nothing. It is safe for
// concurrent use.
type LinkGuard struct {
	log     ponder.Log
	sources bool

	mu      sync.Mutex
	threads map[ponder.ThreadID]*threadLinks
	streams map[streamKey]*linkStream
}

// NewLinkGuard returns a guard that reads the addresses of threads in log.
func NewLinkGuard(log ponder.Log, remoteContent string) *LinkGuard {
	if remoteContent == RemoteAll {
		return nil
	}
	return &LinkGuard{log: log, sources: remoteContent != RemoteNone, threads: make(map[ponder.ThreadID]*threadLinks), streams: make(map[streamKey]*linkStream)}
}

// Limits of the memory of a guard. Beyond, it forgets and reads again.
const (
	maxGuardedThreads = 128
	maxGuardedStreams = 1024
	maxThreadLinks    = 100_000
)

// threadLinks are the addresses of a thread, by the first event that has them.
type threadLinks struct {
	mu     sync.Mutex
	head   ponder.Seq
	user   map[string]ponder.Seq
	source map[string]ponder.Seq
	calls  map[ponder.RunID][]ponder.Seq // started calls of models
	args   map[string]map[string]bool    // addresses that a model wrote into arguments, by action
	isJSON bool                          // the client asked for JSON, which it does not show
}

func (g *LinkGuard) linksOf(thread ponder.ThreadID) *threadLinks {
	g.mu.Lock()
	defer g.mu.Unlock()
	t := g.threads[thread]
	if t == nil {
		for other := range g.threads {
			if len(g.threads) < maxGuardedThreads {
				break
			}
			delete(g.threads, other)
		}
		t = &threadLinks{
			user: make(map[string]ponder.Seq), source: make(map[string]ponder.Seq),
			calls: make(map[ponder.RunID][]ponder.Seq), args: make(map[string]map[string]bool),
		}
		g.threads[thread] = t
	}
	return t
}

// applyEvent adds the addresses of an event of a user or a source.
func (t *threadLinks) applyEvent(ev ponder.Event) {
	add := func(to map[string]ponder.Seq, texts ...string) {
		for _, text := range texts {
			links.Find(text, func(key string) {
				if _, ok := to[key]; !ok && len(to) < maxThreadLinks {
					to[key] = ev.Seq
				}
			})
		}
	}
	action := string(ev.Run) + " " + ev.ActionKey()
	switch b := ev.Body.(type) {
	case ponder.UserMessage:
		add(t.user, b.Content)
	case ponder.Steer:
		if ev.IsExternalInput() && b.Do != ponder.Cancel { // a cancelled turn keeps its text there
			add(t.user, b.Content)
		}
	case ponder.RunStarted:
		if ev.Run.Parent() == "" && !ev.Internal && len(t.calls) == 0 { // later runs may have questions of models
			add(t.user, b.Input)
			t.applyRequest(b.Options, add)
		}
	case ponder.AttachmentAdded:
		if ev.Run == "" { // else a model made it
			add(t.source, foreignPart(b))
		}
	case ponder.Evidence:
		add(t.source, b.URL, b.Source, b.Title, b.Content)
	case ponder.Observation:
		add(t.source, b.Source, b.Content)
	case ponder.Escalation:
		add(t.source, b.Sources...)
	case ponder.InnerMonologue:
		add(t.source, b.Sources...)
	case ponder.CallStarted:
		t.calls[ev.Run] = append(t.calls[ev.Run], ev.Seq)
	case ponder.ToolCall:
		if b.Name != toolname.WebFetch { // a page that was read is a source
			written := make(map[string]bool)
			links.Find(string(b.Args), func(key string) { written[key] = true })
			t.args[action] = written
		}
	case ponder.ToolResult:
		links.Find(b.Result, func(key string) {
			if _, ok := t.source[key]; !ok && !t.args[action][key] && len(t.source) < maxThreadLinks {
				t.source[key] = ev.Seq
			}
		})
		delete(t.args, action)
	}
}

// foreignPart returns the part of an attachment that no model wrote. A transcript of a client has
// answers, and a report begins with one.
func foreignPart(b ponder.AttachmentAdded) string {
	switch {
	case b.Name == "what was said before":
		return ""
	case strings.HasPrefix(b.Name, "report of "):
		return b.Content[max(0, strings.LastIndex(b.Content, "\nThe passages:\n")):]
	}
	return b.Content
}

// applyRequest adds the addresses that a client sent, except in answers of models.
func (t *threadLinks) applyRequest(options json.RawMessage, add func(map[string]ponder.Seq, ...string)) {
	var o struct {
		Request llm.Request `json:"request"`
	}
	if json.Unmarshal(options, &o) != nil {
		return
	}
	t.isJSON = o.Request.Schema != nil
	add(t.user, o.Request.System)
	for _, m := range o.Request.Messages {
		for _, p := range m.Parts {
			if p.Result != nil {
				add(t.source, p.Result.Text)
			} else if m.Role == llm.User {
				add(t.user, p.Text)
			}
		}
	}
}

// A linkPolicy decides about a text that was written after some events of a thread.
type linkPolicy struct {
	guard  *LinkGuard
	ctx    context.Context //nolint:containedctx // of the reader of the text
	thread ponder.ThreadID
	after  ponder.Seq                    // the text may have addresses of the events up to this one
	begun  func(*threadLinks) ponder.Seq // refines after, if it is set
	read   *threadLinks
}

// loadLinks reads the thread up to the text.
func (p *linkPolicy) loadLinks() *threadLinks {
	if p.read != nil {
		return p.read
	}
	t := p.guard.linksOf(p.thread)
	p.read = t
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.head < p.after {
		for ev, err := range p.guard.log.Events(p.ctx, p.thread, t.head) {
			if err != nil || ev.Seq > p.after {
				break // without the events, their addresses are unknown
			}
			t.applyEvent(ev)
			t.head = ev.Seq
		}
	}
	if p.begun != nil {
		p.after = p.begun(t)
	}
	return t
}

// Applies implements [links.Policy].
func (p *linkPolicy) Applies() bool {
	t := p.loadLinks()
	t.mu.Lock()
	defer t.mu.Unlock()
	return !t.isJSON
}

// Knows implements [links.Policy].
func (p *linkPolicy) Knows(address string, image bool) bool {
	key, ok := links.Key(address)
	if !ok || !p.guard.sources {
		return false
	}
	t := p.loadLinks()
	t.mu.Lock()
	defer t.mu.Unlock()
	if seq, ok := t.user[key]; ok && seq <= p.after {
		return true
	}
	seq, ok := t.source[key]
	return ok && seq <= p.after && !image
}

// appliesTo reports whether texts for the caller in ctx are filtered.
func (g *LinkGuard) appliesTo(ctx context.Context) bool {
	return g != nil && !auth.CallerOf(ctx).RemoteContent
}

// guardEvent returns an event whose texts of models are inert.
func (g *LinkGuard) guardEvent(ctx context.Context, ev ponder.Event) ponder.Event {
	if !g.appliesTo(ctx) {
		return ev
	}
	p, key := &linkPolicy{guard: g, ctx: ctx, thread: ev.Thread, after: ev.Seq}, ev.ActionKey()
	streamed := func(t *threadLinks) ponder.Seq { // like the deltas
		calls := t.calls[ev.Run]
		i, _ := slices.BinarySearch(calls, ev.Seq)
		if i == 0 {
			return ev.Seq
		}
		return calls[i-1]
	}
	switch b := ev.Body.(type) {
	case ponder.AssistantMessage:
		if b.Model != "" {
			p.begun = streamed
		}
	case ponder.CallFinished:
		p.begun = streamed
	}
	ev.Body = eventMapper{
		written: func(text string) string { return guardText(text, p, key) },
		message: func(m llm.Message) llm.Message { return guardMessage(m, p, key) },
		state:   func(js json.RawMessage) json.RawMessage { return g.guardState(p, js) },
		source:  same[string], program: same[string], sources: same[json.RawMessage],
	}.mapBody(ev.Body)
	return ev
}

// guardState returns JSON whose texts are inert.
func (g *LinkGuard) guardState(p links.Policy, js json.RawMessage) json.RawMessage {
	if g == nil {
		return js
	}
	return lookup.MapStrings(js, func(_, text string) string { return links.Text(text, p) })
}

// guardInfo returns the info of a thread with an inert title, which models write.
func (g *LinkGuard) guardInfo(ctx context.Context, info ponder.Info) ponder.Info {
	if g.appliesTo(ctx) && info.Title != "" {
		info.Title = links.Text(info.Title, &linkPolicy{guard: g, ctx: ctx, thread: info.ID, after: info.Head})
	}
	return info
}

// isRound reports whether the text of an action is a round of an answer, to which others are
// appended.
func isRound(key string) bool {
	return strings.HasPrefix(key, "turn-") || strings.HasPrefix(key, "say-")
}

func guardText(text string, p links.Policy, key string) string {
	f := links.New(p)
	f.EndsFence = isRound(key)
	return f.Write(text) + f.Close()
}

// guardMessage filters the text of an answer as one, and its reasoning up to the next text.
func guardMessage(m llm.Message, p links.Policy, key string) llm.Message {
	m.Parts = slices.Clone(m.Parts)
	text, reasoning := links.New(p), links.New(p)
	text.EndsFence = isRound(key)
	lastText, lastReasoning := -1, -1
	endReasoning := func() {
		if lastReasoning >= 0 {
			m.Parts[lastReasoning].Reasoning += reasoning.Close()
			reasoning, lastReasoning = links.New(p), -1
		}
	}
	for i, part := range m.Parts {
		if part.Reasoning != "" {
			m.Parts[i].Reasoning, lastReasoning = reasoning.Write(part.Reasoning), i
		}
		if part.Text != "" {
			endReasoning()
			m.Parts[i].Text, lastText = text.Write(part.Text), i
		}
	}
	endReasoning()
	if lastText >= 0 {
		m.Parts[lastText].Text += text.Close()
	}
	return m
}
