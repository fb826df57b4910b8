// Command tool gives a conversation a custom tool, which counts the words of a file:
// go run ./examples/tool "How many words does README.md have?"
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"strings"

	"ponder"
	"ponder/engine"
	"ponder/llm"
	"ponder/llm/ollama"
	"ponder/mode/chat"
	"ponder/store/memory"
)

type countInput struct {
	File string `json:"file"`
}

var countSchema = json.RawMessage(`{"type":"object","properties":{"file":{"type":"string"}},"required":["file"],"additionalProperties":false}`)

// newCountTool returns a tool that reads only files below dir: a model chooses the name.
func newCountTool(dir string) ponder.Tool {
	return ponder.NewTool("count_words", "Count the words of a text file.", countSchema, func(_ context.Context, in countInput) (string, error) {
		text, err := readFile(dir, in.File)
		if err != nil {
			return "", err
		}
		return fmt.Sprintf("%s has %d words.", filepath.Base(in.File), len(strings.Fields(text))), nil
	})
}

func readFile(dir, name string) (string, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return "", err
	}
	defer root.Close()
	text, err := root.ReadFile(name)
	return string(text), err
}

func main() {
	model := []ponder.Model{{Model: ollama.New(ollama.Config{}).Model("llama3.1")}}
	answer, err := ask(context.Background(), model, newCountTool("."), strings.Join(os.Args[1:], " "))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(answer)
}

func ask(ctx context.Context, model []ponder.Model, tool ponder.Tool, question string) (string, error) {
	store := memory.New()
	e, err := engine.New(engine.Config{
		Store: store, Modes: []ponder.Mode{chat.New(chat.Options{Tools: []llm.Tool{tool.Tool}})},
		Models: map[ponder.Role][]ponder.Model{ponder.Fast: model}, Tools: []ponder.Tool{tool},
	})
	if err != nil {
		return "", err
	}
	if err := e.Open(ctx); err != nil {
		return "", err
	}
	defer e.Close(context.WithoutCancel(ctx))
	thread := ponder.ThreadID(ponder.NewID("thr"))
	message := ponder.Event{Body: ponder.UserMessage{Content: question}}
	if err := store.Create(ctx, ponder.Thread{ID: thread, Kind: ponder.KindConversation}, message); err != nil {
		return "", err
	}
	if err := e.Work(ctx, thread); err != nil {
		return "", err
	}
	var answer string
	for ev, err := range store.Events(ctx, thread, 0) {
		if err != nil {
			return "", err
		}
		if b, ok := ev.Body.(ponder.AssistantMessage); ok {
			answer = b.Content
		}
	}
	return answer, nil
}
