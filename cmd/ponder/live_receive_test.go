package main

import (
	"slices"
	"testing"

	"ponder"
	"ponder/client"
	"ponder/mode/research"
	"ponder/mode/session"
)

// Received text of a research is shown by line, as in the process that writes it.
func TestDeltaReceiver(t *testing.T) {
	w := &sessionScreen{}
	h := deltaReceiver{deliver: w.onDelta}
	piece := func(key, text string) client.Update { return client.Update{Piece: &client.Piece{Key: key, Text: text}} }
	event := func(b ponder.Body) client.Update { return client.Update{Event: &ponder.Event{Body: b}} }
	for _, u := range []client.Update{
		piece("write-1", "The sea is salt.\nIt h"), piece("write-1", "as been "), event(ponder.Thought{Content: "?"}), piece("write-1", "so"),
	} {
		h.applyUpdate(u)
	}
	lines := func() (list []string) {
		for _, it := range w.draft.Items(session.NewView(), research.NewView()) {
			list = append(list, it.Text)
		}
		return list
	}
	if got := lines(); !slices.Equal(got, []string{"The sea is salt."}) {
		t.Errorf("%q before it has ended", got)
	}
	h.applyUpdate(event(ponder.Progress{Stage: "verify"}))
	h.applyUpdate(piece("write-2", "Anew"))
	h.applyUpdate(piece("final-1", "no draft"))
	h.applyUpdate(event(ponder.RunFinished{}))
	if got := lines(); !slices.Equal(got, []string{"It has been so", "Anew"}) {
		t.Errorf("%q", got)
	}
	if n := w.writtenBytes.Load(); n == 0 {
		t.Error("nobody is seen to write")
	}
}
