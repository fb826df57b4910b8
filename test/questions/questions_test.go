// Package questions measures whether evidence reaches the answer. It asks questions about the documents
// of this project, whose answering sentences are known, with a simulated model. A sentence must be in
// the prompt of the final answer.
//
//	go test ./test/questions -v
//
// questions.jsonl has a question a line, and alternatives of its answer: words that a document has in
// this order. Change the alternatives if a document says the same in other words.
package questions

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"

	"ponder"
	"ponder/engine"
	"ponder/engine/enginetest"
	"ponder/internal/racetest"
	"ponder/llm/llmtest"
	"ponder/mode/research"
	"ponder/mode/session"
	"ponder/tool/knowledge"
)

const (
	docs     = "../../docs"
	minFound = 28
)

type question struct {
	Question string   `json:"question"`
	Answers  []string `json:"answers"`
}

func readQuestions(t *testing.T) (list []question) {
	t.Helper()
	f, err := os.Open("questions.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for s := bufio.NewScanner(f); s.Scan(); {
		var q question
		if err := json.Unmarshal(s.Bytes(), &q); err != nil {
			t.Fatalf("question %d: %v", len(list)+1, err)
		}
		list = append(list, q)
	}
	return list
}

// The documents state the answers.
func TestAnswersAreInTheDocuments(t *testing.T) {
	var all strings.Builder
	err := filepath.WalkDir(docs, func(path string, d os.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".md" {
			return err
		}
		text, err := os.ReadFile(path)
		all.WriteString(letters(string(text)) + " ")
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, q := range readQuestions(t) {
		for _, a := range q.Answers {
			if !strings.Contains(all.String(), letters(a)) {
				t.Errorf("no document of %s has %q, an answer to %q: change questions.jsonl", docs, a, q.Question)
			}
		}
	}
}

func TestAnswersReachTheFinalPrompt(t *testing.T) {
	racetest.Skip(t, "one run after another, to count answers")
	root, err := filepath.Abs(docs)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		mode    ponder.Mode
		options any
		budget  ponder.Budget
		final   string // start of the key of the answer's call
	}{
		{research.New(), research.Options{Docs: []string{root}}, ponder.Budget{}, "write-"},
		{session.New(), session.Options{Docs: []string{root}, Unattended: true}, ponder.Budget{Cost: ponder.Cost{Calls: 12}}, "final"},
	} {
		t.Run(tt.mode.Name, func(t *testing.T) {
			tools := knowledge.Tools(knowledge.Options{Roots: []string{root}})
			found, list := 0, readQuestions(t)
			for i, q := range list {
				c := engine.Config{Modes: []ponder.Mode{tt.mode}, Models: enginetest.Models(&llmtest.Model{}, ponder.Price{}), Tools: tools}
				e := enginetest.Start(t, c)
				if fin := e.Ask(tt.mode.Name, q.Question, tt.options, tt.budget); fin.Status != ponder.Completed {
					t.Fatalf("%q: %+v", q.Question, fin)
				}
				prompt, size := finalPrompt(t, e, tt.final)
				e.Stop()
				if q.isAnsweredIn(prompt) {
					found++
				} else {
					t.Logf("missing in %d bytes: %d. %s", size, i+1, q.Question)
				}
			}
			t.Logf("%d of %d answers are in the final prompt", found, len(list))
			if found < minFound {
				t.Errorf("%d of %d answers are in the final prompt, want %d", found, len(list), minFound)
			}
		})
	}
}

func (q question) isAnsweredIn(prompt string) bool {
	for _, a := range q.Answers {
		if strings.Contains(prompt, letters(a)) {
			return true
		}
	}
	return false
}

// finalPrompt returns the letters of the last request whose key begins with final, and its size.
func finalPrompt(t *testing.T, e *enginetest.Engine, final string) (text string, size int) {
	t.Helper()
	cause := ""
	for _, ev := range e.Events() {
		if b, ok := ev.Body.(ponder.CallStarted); ok && strings.HasPrefix(ev.Cause, final) && b.Reserved != (ponder.Cost{}) {
			cause = ev.Cause
		}
	}
	if cause == "" {
		return "", 0
	}
	req, err := e.Store.Request(t.Context(), enginetest.Thread, enginetest.Run, cause)
	if err != nil || req == nil {
		t.Fatalf("request of %s: %v", cause, err)
	}
	for _, m := range req.Messages {
		for _, p := range m.Parts {
			if text += p.Text; p.Result != nil {
				text += p.Result.Text
			}
		}
	}
	return letters(text), len(text)
}

// letters returns the letters and digits of a text in lower case, without Markdown and marks.
func letters(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return unicode.ToLower(r)
		}
		return -1
	}, text)
}
