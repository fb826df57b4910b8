package memory_test

import (
	"context"
	"fmt"

	"ponder"
	"ponder/store/memory"
)

// A thread is a log of events. Append returns when they are durable.
func Example() {
	ctx := context.Background()
	store := memory.New()
	if err := store.Create(ctx, ponder.Thread{ID: "thr_1", Kind: ponder.KindConversation}); err != nil {
		fmt.Println(err)
		return
	}
	if _, err := store.Append(ctx, "thr_1", 0, ponder.Event{Body: ponder.UserMessage{Content: "Hello"}}); err != nil {
		fmt.Println(err)
		return
	}
	for ev, err := range store.Events(ctx, "thr_1", 0) {
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(ev.Seq, ev.Body.Type())
	}
	// Output: 1 user_message
}
