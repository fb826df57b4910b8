package main

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"ponder"
	"ponder/llm"
	"ponder/llm/llmtest"
)

func TestAsk(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "note.txt"), []byte("three plain words"), 0o600); err != nil {
		t.Fatal(err)
	}
	for file, want := range map[string]string{"note.txt": "note.txt has 3 words.", "../note.txt": ""} {
		m := &llmtest.Model{Answer: func(r *llm.Request) (llm.Message, error) {
			for _, p := range r.Messages[len(r.Messages)-1].Parts {
				if p.Result != nil {
					return llm.Say(llm.Assistant, p.Result.Text), nil
				}
			}
			input, err := json.Marshal(countInput{file})
			return llm.Message{Role: llm.Assistant, Parts: []llm.Part{{Call: &llm.ToolCall{ID: "1", Name: "count_words", Input: input}}}}, err
		}}
		answer, err := ask(context.Background(), []ponder.Model{{Model: m}}, newCountTool(dir), "How many words?")
		if err != nil || want != "" && answer != want || want == "" && (answer == "" || answer == "note.txt has 3 words.") {
			t.Errorf("%s: answer %q, want %q: %v", file, answer, want, err)
		}
	}
}
