package stream

import (
	"context"
	"sync"

	"ponder"
	"ponder/internal/links"
)

type streamKey struct {
	thread ponder.ThreadID
	run    ponder.RunID
	key    string
}

// A linkStream filters the deltas of one attempt at a call.
type linkStream struct {
	mu              sync.Mutex
	cause           string
	attempt         int
	policy          links.Policy
	text, reasoning *links.Filter
	offset          int // bytes of text that it returned
	reasoned        int
	reasons         bool // reasoning is open
}

// guardDelta returns a delta as deltas of inert text. The caller gives all deltas of a call in
// their order.
func (g *LinkGuard) guardDelta(d ponder.Delta) []ponder.Delta {
	if g == nil {
		return []ponder.Delta{d}
	}
	s := g.streamOf(d)
	s.mu.Lock()
	defer s.mu.Unlock()
	isEnd, text, reasoning := d.Done != nil, d.Text, d.Reasoning
	var list []ponder.Delta
	add := func(text, reasoning string) {
		if text == "" && reasoning == "" {
			return
		}
		next := d
		next.Text, next.Reasoning, next.Offset, next.Reasoned = text, reasoning, s.offset, s.reasoned
		s.offset, s.reasoned = s.offset+len(text), s.reasoned+len(reasoning)
		list = append(list, next)
	}
	if reasoning != "" {
		s.reasons = true
		add("", s.reasoning.Write(reasoning))
	}
	if s.reasons && (text != "" || isEnd) {
		add("", s.reasoning.Close())
		s.reasons, s.reasoning = false, links.New(s.policy)
	}
	text = s.text.Write(text)
	if isEnd {
		text += s.text.Close()
	}
	add(text, "")
	return list
}

// streamOf returns the filters of the call of a delta, and forgets those of ended calls.
func (g *LinkGuard) streamOf(d ponder.Delta) *linkStream {
	g.mu.Lock()
	defer g.mu.Unlock()
	by := streamKey{d.Thread, d.Run, d.Key}
	s := g.streams[by]
	if s == nil || s.cause != d.Cause || s.attempt != d.Attempt {
		for other := range g.streams {
			if len(g.streams) < maxGuardedStreams {
				break
			}
			delete(g.streams, other)
		}
		p := &linkPolicy{guard: g, ctx: context.Background(), thread: d.Thread, after: d.Began}
		s = &linkStream{cause: d.Cause, attempt: d.Attempt, policy: p, text: links.New(p), reasoning: links.New(p)}
		s.text.EndsFence = isRound(d.Key)
		g.streams[by] = s
	}
	if d.Done != nil {
		delete(g.streams, by)
	}
	return s
}
