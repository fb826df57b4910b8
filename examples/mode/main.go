// Command mode runs a custom mode: a model writes a draft, criticises it and improves it.
// The engine makes each call durable, budgeted and resumable:
// go run ./examples/mode "Why do large projects run late?"
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"strings"
	"time"

	"ponder"
	"ponder/engine"
	"ponder/llm"
	"ponder/llm/ollama"
	"ponder/store/memory"
)

// steps are the prompts of the calls, in order. The key of a call is its name.
var steps = []struct{ key, prompt string }{
	{"draft", "Answer the question."},
	{"critique", "Name the weakest points of the answer."},
	{"improve", "Write the answer again without these weak points. Write only the answer."},
}

func draftMode() ponder.Mode {
	return ponder.Mode{
		Name: "drafts", Version: 1, Layout: 1, Doc: "Answer, criticise, improve.",
		Start: func(r ponder.Run) ponder.State { return state{question: r.Input} },
	}
}

// A state is immutable: Apply returns another one.
type state struct {
	question string
	answers  []string
	failure  string
}

// Apply adds the answer of a finished call.
func (s state) Apply(ev ponder.Event) ponder.State {
	if b, ok := ev.Body.(ponder.CallFinished); ok {
		s.failure = b.Error
		s.answers = append(s.answers[:len(s.answers):len(s.answers)], b.Text())
	}
	return s
}

// Next wants the first call without an answer, or the end.
func (s state) Next(ponder.Moment) []ponder.Action {
	if s.failure != "" {
		return []ponder.Action{ponder.Finish{Status: ponder.Failed, Reason: s.failure}}
	}
	n := len(s.answers)
	if n == len(steps) {
		return []ponder.Action{ponder.Finish{Answer: s.answers[n-1], Reason: "the answer is improved"}}
	}
	messages := []llm.Message{llm.Say(llm.User, s.question)}
	for i, answer := range s.answers {
		messages = append(messages, llm.Say(llm.User, steps[i].prompt), llm.Say(llm.Assistant, answer))
	}
	messages = append(messages, llm.Say(llm.User, steps[n].prompt))
	return []ponder.Action{ponder.Call{Key: steps[n].key, Role: ponder.Slow, Request: llm.Request{Messages: messages}}}
}

func main() {
	model := []ponder.Model{{Model: ollama.New(ollama.Config{}).Model("llama3.1")}}
	answer, err := run(context.Background(), model, strings.Join(os.Args[1:], " "))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(answer)
}

func run(ctx context.Context, model []ponder.Model, question string) (string, error) {
	store := memory.New()
	e, err := engine.New(engine.Config{
		Store: store, Modes: []ponder.Mode{draftMode()}, Models: map[ponder.Role][]ponder.Model{ponder.Slow: model},
	})
	if err != nil {
		return "", err
	}
	if err := e.Open(ctx); err != nil {
		return "", err
	}
	defer e.Close(context.WithoutCancel(ctx))
	thread, id := ponder.ThreadID(ponder.NewID("thr")), ponder.RunID(ponder.NewID("run"))
	start := ponder.RunStarted{Mode: "drafts", Input: question, Options: json.RawMessage("{}"), Budget: ponder.Budget{Time: 5 * time.Minute}}
	if err := store.Create(ctx, ponder.Thread{ID: thread, Kind: ponder.KindSession}, ponder.Event{Run: id, Body: start}); err != nil {
		return "", err
	}
	if err := e.Work(ctx, thread); err != nil {
		return "", err
	}
	end, err := ponder.Await(ctx, store, thread, id)
	if err == nil && end.Status != ponder.Completed {
		err = fmt.Errorf("run %s: %s", end.Status, end.Reason)
	}
	return end.Answer, err
}
