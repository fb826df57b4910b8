package session

import (
	"fmt"
	"sync"
	"testing"

	"ponder"
	"ponder/llm"
)

func TestWritings(t *testing.T) {
	var w TextStreams
	piece := func(run ponder.RunID, key, cause, text string) ponder.Delta {
		return ponder.Delta{Thread: "thr_1", Run: run, Key: key, Cause: cause, Delta: llm.Delta{Text: text, Reasoning: "secret"}}
	}
	done := piece("run_1", "final", "final#2", "")
	done.Done = &llm.Response{}
	for i, tt := range []struct {
		d    ponder.Delta
		want string
	}{
		{piece("run_1", "thoughts-1/2", "thoughts-1/2#1", `{"answer":"no`), ""},
		{piece("run_1", "questions-1", "questions-1#1", `{"answer":"no`), ""},
		{piece("run_1/child", "final", "final#1", `{"answer":"no`), ""},
		{piece("run_1", "finality", "finality#1", `{"answer":"no`), ""},
		{piece("run_1", "final", "final#1", `{"answer":"It `), "It "},
		{piece("run_2", "final", "final#1", `{"insi`), ""},
		{piece("run_1", "final", "final#1", `is`), "is"},
		{piece("run_1", "final", "final#2", `{"answer":"So`), "So"}, // the first attempt broke off
		{piece("run_1", "final", "final#2", `","insights":["no"]`), ""},
		{done, ""},
		{piece("run_1", "final~2", "final~2#1", `{"answer":"So"`), "So"},
		{piece("run_1", "final~other", "final~other#1", `{"answer":"So"`), "So"},
		{piece("run_1", "synthesis-3", "synthesis-3#1", `{"synthesis":"So far"`), "So far"},
		{piece("run_2", "final", "final#1", `ghts":["a"],"answer":"b`), "b"},
	} {
		got, ok := w.Extract(tt.d)
		if got.Text != tt.want || ok != (tt.want != "") || got.Reasoning != "" || ok && (got.Key != tt.d.Cause || got.Run != tt.d.Run || got.Thread != "thr_1" || !IsShown(got.Key)) {
			t.Errorf("%d: %+v, %v", i, got, ok)
		}
	}
}

func TestWritingsAreBounded(t *testing.T) {
	var w TextStreams
	var wg sync.WaitGroup
	for i := range 2 * maxStreams {
		wg.Go(func() {
			w.Extract(ponder.Delta{Thread: ponder.ThreadID(fmt.Sprint(i)), Run: "run_1", Key: "final", Cause: "final#1", Delta: llm.Delta{Text: "{"}})
		})
	}
	wg.Wait()
	if len(w.list) > maxStreams {
		t.Errorf("%d are followed", len(w.list))
	}
}
