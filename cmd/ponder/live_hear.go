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
		h := deltaReceiver{take: w.onDelta}
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

// A deltaReceiver makes the deltas of a stream what those of a model in this process are.
type deltaReceiver struct {
	take func(ponder.Delta)
	key  string // of the call whose words come
}

// update takes in what a stream says. The events of calls are not in it, so that a call
// is taken to have ended when what it was for is there, or words of another come.
func (r *deltaReceiver) update(u client.Update) {
	finished := false
	if u.Event != nil {
		switch u.Event.Body.(type) {
		case ponder.Synthesis, ponder.AssistantMessage, ponder.Progress, ponder.RunFinished:
			finished = true
		}
	}
	if p := u.Piece; r.key != "" && (finished || p != nil && p.Key != r.key) {
		r.take(ponder.Delta{Key: r.key, Delta: llm.Delta{Done: &llm.Response{}}})
		r.key = ""
	}
	if u.Piece != nil {
		r.key = u.Piece.Key
		r.take(ponder.Delta{Run: u.Piece.Run, Key: u.Piece.Key, Delta: llm.Delta{Text: u.Piece.Text}})
	}
}
