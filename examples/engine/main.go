// Command engine thinks about a question in its own process, with a model of Ollama:
// go run ./examples/engine "Why do large projects run late?"
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"strings"
	"time"

	"ponder"
	"ponder/engine"
	"ponder/llm/ollama"
	"ponder/mode/session"
	"ponder/store/memory"
)

func main() {
	if err := think(context.Background(), strings.Join(os.Args[1:], " ")); err != nil {
		log.Fatal(err)
	}
}

func think(ctx context.Context, question string) error {
	store := memory.New()
	model := []ponder.Model{{Model: ollama.New(ollama.Config{}).Model("llama3.1")}}
	e, err := engine.New(engine.Config{
		Store: store, Modes: []ponder.Mode{session.New()},
		Models: map[ponder.Role][]ponder.Model{ponder.Slow: model, ponder.Frontier: model},
	})
	if err != nil {
		return err
	}
	if err := e.Open(ctx); err != nil {
		return err
	}
	defer e.Close(context.WithoutCancel(ctx))
	thread := ponder.Thread{ID: ponder.ThreadID(ponder.NewID("thr")), Kind: ponder.KindSession}
	run := ponder.RunID(ponder.NewID("run"))
	start := ponder.RunStarted{Mode: session.Name, Input: question, Budget: ponder.Budget{Time: time.Minute}}
	if err := store.Create(ctx, thread, ponder.Event{Run: run, Body: start}); err != nil {
		return err
	}
	if err := e.Work(ctx, thread.ID); err != nil {
		return err
	}
	end, err := ponder.Await(ctx, store, thread.ID, run)
	if err != nil {
		return err
	}
	fmt.Println(end.Answer)
	return nil
}
