package openai_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"ponder/internal/compat/openai"
	"ponder/internal/compat/protocoltest"
	"ponder/llm"
)

// choicesOf returns the text and the finish by index, and the total tokens.
func choicesOf(t *testing.T, got protocoltest.Stream) (choices map[int]string, tokens int) {
	t.Helper()
	list := []string{got.Body}
	if got.Header.Get("Content-Type") != "application/json" {
		list = nil
		for _, e := range got.Events() {
			if e.Data != "[DONE]" {
				list = append(list, e.Data)
			}
		}
	}
	choices = make(map[int]string)
	ids := make(map[string]bool)
	for _, js := range list {
		var c struct {
			ID      string
			Choices []struct {
				Index          int
				Text           string
				Message, Delta struct{ Content string }
				Finish         string `json:"finish_reason"`
			}
			Usage *struct {
				Total int `json:"total_tokens"`
			}
		}
		if err := json.Unmarshal([]byte(js), &c); err != nil {
			t.Fatal(err)
		}
		ids[c.ID] = true
		for _, one := range c.Choices {
			choices[one.Index] += one.Text + one.Message.Content + one.Delta.Content
			if one.Finish != "" {
				choices[one.Index] += "/" + one.Finish
			}
		}
		if c.Usage != nil {
			tokens += c.Usage.Total
		}
	}
	if len(ids) != 1 {
		t.Errorf("ids %v", ids)
	}
	return choices, tokens
}

// Each of n choices is a separate run, in streams too.
func TestChoices(t *testing.T) {
	for path, question := range map[string]string{at: `"messages":[{"role":"user","content":"How deep?"}]`, legacyPath: `"prompt":"How deep?"`} {
		for _, stream := range []string{"", `,"stream":true,"stream_options":{"include_usage":true}`} {
			synctest.Test(t, func(t *testing.T) {
				model := &protocoltest.Model{Answer: func(_ *llm.Request, n int) protocoltest.Answer {
					return protocoltest.Answer{Text: fmt.Sprintf("answer %d", n), Pause: 1}
				}}
				r := protocoltest.New(t, protocoltest.Options{Model: model, Routes: openai.New, Refuse: writeRefusal})
				ask := func(more string) (map[int]string, int) {
					t.Helper()
					req := protocoltest.Request(t.Context(), http.MethodPost, path, `{"model":"ponder",`+question+more+stream+`}`)
					if strings.Contains(more, "17") {
						req.Header.Set("Idempotency-Key", "k")
					}
					got := r.Stream(req, 0)
					if got.Code != http.StatusOK {
						t.Fatalf("%d %s", got.Code, got.Body)
					}
					return choicesOf(t, got)
				}
				_, double := ask(`,"n":2`)
				before := len(r.Model.Requests())
				choices, tokens := ask(`,"n":3`)
				if len(choices) != 3 || choices[0] == choices[1] || choices[1] == choices[2] || choices[0] == choices[2] || 2*tokens != 3*double {
					t.Errorf("%s%s: %v with %d tokens; two have %d", path, stream, choices, tokens, double)
				}
				for i, text := range choices {
					if !strings.HasPrefix(text, "answer ") || strings.Count(text, "/stop") != 1 || i > 2 {
						t.Errorf("choice %d is %q", i, text)
					}
				}
				if n := len(r.Model.Requests()) - before; n != 3 {
					t.Errorf("%d requests of models", n)
				}
				one, _ := ask(`,"n":2,"seed":17`)
				again, _ := ask(`,"n":2,"seed":17`)
				if n := len(r.Model.Requests()) - before; n != 5 || fmt.Sprint(one) != fmt.Sprint(again) {
					t.Errorf("with a key: %d requests of models, %v and %v", n, one, again)
				}
			})
		}
	}
}

// A failure of one choice fails the response.
func TestFailedChoice(t *testing.T) {
	for _, stream := range []string{"", `,"stream":true`} {
		synctest.Test(t, func(t *testing.T) {
			model := &protocoltest.Model{Answer: func(_ *llm.Request, n int) protocoltest.Answer {
				if n == 1 {
					return protocoltest.Answer{Err: &llm.Error{Class: llm.Auth, Message: "no"}}
				}
				return protocoltest.Plain("deep")
			}}
			r := protocoltest.New(t, protocoltest.Options{Model: model, Routes: openai.New, Refuse: writeRefusal})
			got := r.Stream(protocoltest.Request(t.Context(), http.MethodPost, at, `{"model":"ponder","n":3,"messages":[{"role":"user","content":"How deep?"}]`+stream+`}`), 0)
			if !strings.Contains(got.Body, `"error"`) || strings.Count(got.Body, "[DONE]") > 1 || got.Code == http.StatusOK && stream == "" {
				t.Errorf("%d %s", got.Code, got.Body)
			}
		})
	}
}
