package main

import (
	"context"

	"ponder"
	"ponder/client"
	"ponder/llm"
)

// hear takes in what models write on a session that `ponder serve` works on, until stop:
// the events of it, behind after, come from the database like those of any session. Where
// there is no server, or it is not for who asks, nothing is heard.
func (w *viewing) hear(ctx context.Context, after ponder.Seq) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		s, ok := w.served(ctx)
		if !ok {
			return
		}
		h := hearer{take: w.onDelta}
		for u, err := range s.Events(ctx, string(w.Id), after) {
			if err != nil {
				return
			}
			h.update(u)
		}
	}()
	return func() {
		cancel()
		<-ended
	}
}

// A hearer makes of what a stream says what a model in this process would say.
type hearer struct {
	take func(ponder.Delta)
	key  string // of the call whose words come
}

// update takes in what a stream says. The events of calls are not in it, so that a call
// is taken to have ended when what it was for is there, or words of another come.
func (h *hearer) update(u client.Update) {
	finished := false
	if u.Event != nil {
		switch u.Event.Body.(type) {
		case ponder.Synthesis, ponder.AssistantMessage, ponder.Progress, ponder.RunFinished:
			finished = true
		}
	}
	if p := u.Piece; h.key != "" && (finished || p != nil && p.Key != h.key) {
		h.take(ponder.Delta{Key: h.key, Delta: llm.Delta{Done: &llm.Response{}}})
		h.key = ""
	}
	if u.Piece != nil {
		h.key = u.Piece.Key
		h.take(ponder.Delta{Run: u.Piece.Run, Key: u.Piece.Key, Delta: llm.Delta{Text: u.Piece.Text}})
	}
}
