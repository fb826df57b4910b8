package app

import (
	"context"
	"fmt"
	"iter"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"ponder"
	"ponder/engine"
	"ponder/engine/enginetest"
	"ponder/llm"
	"ponder/mode/chat"
	"ponder/mode/deep"
	"ponder/mode/title"
)

// countingModel counts the requests that it gets by their first words.
type countingModel struct {
	mu    *sync.Mutex
	calls map[string]int
}

func (countingModel) Name() string { return "test/counting" }

func (m countingModel) Generate(ctx context.Context, req *llm.Request) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		what, _, _ := strings.Cut(req.System, " ")
		m.mu.Lock()
		m.calls[what]++
		m.mu.Unlock()
		select {
		case <-time.After(10 * time.Second):
			yield(llm.Delta{Done: &llm.Response{Message: llm.Say(llm.Assistant, strings.Repeat("So it is. ", 60)), Finish: llm.FinishStop, Model: m.Name()}}, nil)
		case <-ctx.Done():
			yield(llm.Delta{}, &llm.Error{Class: llm.Cancelled, Model: m.Name(), Message: "cancelled", Err: ctx.Err()})
		}
	}
}

// TestBackgroundHold ends a process after an answer. The next process makes each background call, and no
// call is made twice.
func TestBackgroundHold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := countingModel{mu: new(sync.Mutex), calls: make(map[string]int)}
		models := enginetest.Models(m, ponder.Price{})
		hold := new(BackgroundHold)
		modes := []ponder.Mode{chat.New(chat.Options{System: "Talk to the user.", Deep: true, DeepAfter: 2, Window: 200}), deep.New(deep.Options{}), title.New()}
		config := engine.Config{Modes: modes, Models: hold.wrap(models)}
		mind := enginetest.Start(t, config)
		hold.Start()
		for i := range 2 {
			mind.Put("", fmt.Sprint("m", i), ponder.UserMessage{Content: "Why?"})
			time.Sleep(15 * time.Second)
			synctest.Wait()
		}
		for what, n := range m.calls {
			if what != "Talk" || n != 2 {
				t.Errorf("%d calls %q while the calls are held", n, what)
			}
		}
		mind.Stop()
		config.Store, config.Models = mind.Store, models
		mind = enginetest.Start(t, config)
		time.Sleep(time.Hour)
		synctest.Wait()
		if fmt.Sprint(m.calls) != "map[Below:1 Name:1 Talk:2 You:1]" {
			t.Errorf("calls: %v", m.calls)
		}
		var done []string
		for _, ev := range mind.Events() {
			switch ev.Body.(type) {
			case ponder.TitleGenerated, ponder.InnerMonologue, ponder.Summary:
				done = append(done, ev.Body.Type())
			}
		}
		if len(done) != 3 {
			t.Errorf("the next process wrote %v", done)
		}
	})
}
