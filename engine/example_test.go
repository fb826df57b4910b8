package engine_test

import (
	"context"
	"fmt"
	"time"

	"ponder"
	"ponder/engine"
	"ponder/llm"
	"ponder/llm/llmtest"
	"ponder/mode/chat"
	"ponder/store/memory"
)

// An engine answers a message of a conversation. Work returns when nothing is left to do.
func Example() {
	ctx := context.Background()
	store := memory.New()
	model := &llmtest.Model{Answer: func(r *llm.Request) (llm.Message, error) {
		return llm.Say(llm.Assistant, "The whale."), nil
	}}
	e, err := engine.New(engine.Config{
		Store: store, Modes: []ponder.Mode{chat.New(chat.Options{})},
		Models: map[ponder.Role][]ponder.Model{ponder.Fast: {{Model: model}}},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := e.Open(ctx); err != nil {
		fmt.Println(err)
		return
	}
	defer e.Close(ctx)
	message := ponder.Event{Body: ponder.UserMessage{Content: "Which animal is the largest?"}}
	if err := store.Create(ctx, ponder.Thread{ID: "thr_1", Kind: ponder.KindConversation}, message); err != nil {
		fmt.Println(err)
		return
	}
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	if err := e.Work(ctx, "thr_1"); err != nil {
		fmt.Println(err)
		return
	}
	for ev, err := range store.Events(ctx, "thr_1", 0) {
		if err != nil {
			fmt.Println(err)
			return
		}
		if b, ok := ev.Body.(ponder.AssistantMessage); ok {
			fmt.Println(b.Content)
		}
	}
	// Output: The whale.
}
