package llmtest

import (
	"encoding/json"
	"regexp"

	"ponder/llm"
)

func conformTools() []llm.Tool {
	pair := json.RawMessage(`{"type":"object","properties":{"a":{"type":"integer","description":"first"},"b":{"type":"integer"}},"required":["a","b"]}`)
	return []llm.Tool{
		{Name: "add", Doc: "Adds two numbers.", Schema: pair},
		{Name: "multiply", Doc: "Multiplies two numbers.", Schema: pair},
		{Name: "now", Doc: "Tells the time."},
	}
}

func toolTests() []conformTest {
	return []conformTest{
		{name: "calls and results", run: conformCalls},
		{name: "text before a call", config: SimConfig{Script: Script{{
			Match: regexp.MustCompile("add"), Reply: encode("Let me see."), Calls: []ScriptCall{{Name: "add", Input: json.RawMessage(`{"a":1,"b":2}`)}},
		}}}, run: func(r *rig) {
			done := r.askWithTools("Please add 1 and 2.", "")
			if calls := done.Message.Calls(); len(calls) != 1 || done.Message.Text() != "Let me see." {
				r.Errorf("text is %q with calls %v", done.Message.Text(), calls)
			}
		}},
		{name: "a tool without input", run: func(r *rig) {
			done := r.askWithTools("What time is it now?", "")
			if calls := done.Message.Calls(); len(calls) != 1 || calls[0].Name != "now" || string(calls[0].Input) != "{}" {
				r.Errorf("calls are %v, want now with {}", calls)
			}
		}},
		{name: "no tool", run: func(r *rig) {
			done := r.askWithTools("Please add 2 and 3.", "none")
			if len(done.Message.Calls()) > 0 || done.Finish != llm.FinishStop {
				r.Errorf("Finish is %q with calls %v, want an answer", done.Finish, done.Message.Calls())
			}
		}},
		{name: "any tool", needs: NoForcedTools, run: func(r *rig) {
			if done := r.askWithTools("Hello there.", "required"); len(done.Message.Calls()) == 0 {
				r.Errorf("no call: %q", done.Message.Text())
			}
		}},
		{name: "a certain tool", needs: NoForcedTools, run: func(r *rig) {
			done := r.askWithTools("Hello there.", "multiply")
			if calls := done.Message.Calls(); len(calls) != 1 || calls[0].Name != "multiply" {
				r.Errorf("calls are %v, want multiply", calls)
			}
		}},
		{name: "schema beside tools", run: func(r *rig) {
			req := personRequest()
			req.Tools = conformTools()
			done := r.ask(req)
			if len(done.Message.Calls()) > 0 {
				return // it may look around first
			}
			if _, err := llm.Decode[person](done.Message.Text(), req.Schema); err != nil {
				r.Errorf("decode %q: %v", done.Message.Text(), err)
			}
		}},
	}
}

func (r *rig) askWithTools(text, choice string) *llm.Response {
	r.Helper()
	req := question(text)
	req.Tools, req.ToolChoice = conformTools(), choice
	return r.ask(req)
}

// conformCalls has the model call two tools, one of which fails, gives it what
// they returned, and goes on. The server refuses a conversation whose calls and
// results do not belong together.
func conformCalls(r *rig) {
	req := question("Please add and multiply 2 and 3.")
	req.Tools = conformTools()
	done := r.ask(req)
	calls := done.Message.Calls()
	if len(calls) != 2 || calls[0].Name != "add" || calls[1].Name != "multiply" {
		r.Fatalf("calls are %v, want add and multiply", calls)
	}
	if done.Finish != llm.FinishTools {
		r.Errorf("Finish is %q, want %q", done.Finish, llm.FinishTools)
	}
	if calls[0].ID == "" || calls[0].ID == calls[1].ID {
		r.Errorf("ids of calls are %q and %q, want two", calls[0].ID, calls[1].ID)
	}
	for _, c := range calls {
		if got := string(c.Input); got != `{"a":2,"b":3}` {
			r.Errorf("input of %s is %s", c.Name, got)
		}
	}
	req.Messages = append(req.Messages, done.Message, llm.Message{Role: llm.User, Parts: []llm.Part{
		{Result: &llm.ToolResult{ID: calls[0].ID, Name: "add", Text: "the-sum-is-5"}},
		{Result: &llm.ToolResult{ID: calls[1].ID, Name: "multiply", Text: "out of order", Failed: true}},
	}})
	r.record()
	after := r.ask(req)
	if after.Message.Text() == "" || after.Finish != llm.FinishStop {
		r.Errorf("after the results Finish is %q, text %q", after.Finish, after.Message.Text())
	}
	if rec := r.record(); !hasBody(rec.Body, "the-sum-is-5") || !hasBody(rec.Body, "out of order") {
		r.Errorf("the results are not in the request: %s", rec.Body)
	}
	req.Messages = append(req.Messages, after.Message, llm.Say(llm.User, "Thanks. Once more?"))
	r.ask(req)
	r.askOther(req)
}

// askOther sends the conversation to the other model, which must not be sent what
// only the first can read.
func (r *rig) askOther(req *llm.Request) {
	r.Helper()
	if done := r.askOf(r.provider.Model(r.adapter.Other), req); done.Finish == "" {
		r.Errorf("no finish from %s", r.adapter.Other)
	}
}
