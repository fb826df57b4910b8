package openai

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"ponder/llm"
	"ponder/llm/llmtest"
)

// without Opaque
type told struct {
	Text, Reasoning string
	Calls           []toldCall
	Finish          llm.Finish
	Usage           llm.Usage
	ID, Served      string
}

type toldCall struct {
	ID, Name string
	Input    any
}

func tell(t testing.TB, r *llm.Response) told {
	out := told{Text: r.Message.Text(), Finish: r.Finish, Usage: r.Usage, ID: r.ID, Served: r.Served}
	for _, p := range r.Message.Parts {
		out.Reasoning += p.Reasoning
	}
	for _, c := range r.Message.Calls() {
		var in any
		if err := json.Unmarshal(c.Input, &in); err != nil {
			t.Errorf("input %q: %v", c.Input, err)
		}
		out.Calls = append(out.Calls, toldCall{c.ID, c.Name, in})
	}
	return out
}

func expectChat(t testing.TB, rec llmtest.Recording) (want told) {
	type growing struct{ id, name, args string }
	calls := map[int]*growing{}
	count := 0
	for _, o := range payloads(t, rec) {
		if s := str(o, "id"); s != "" {
			want.ID = s
		}
		if s := str(o, "model"); s != "" {
			want.Served = s
		}
		for _, where := range [][]any{{"usage"}, {"x_groq", "usage"}} {
			if u, ok := at(o, where...).(object); ok {
				want.Usage = expectUsage(u)
			}
		}
		choice := at(o, "choices", 0)
		said := at(choice, "delta")
		if said == nil {
			said = at(choice, "message")
		}
		want.Text += str(said, "content")
		switch {
		case str(said, "reasoning_content") != "":
			want.Reasoning += str(said, "reasoning_content")
		case str(said, "reasoning") != "":
			want.Reasoning += str(said, "reasoning")
		default:
			for _, d := range list(said, "reasoning_details") {
				want.Reasoning += str(d, "text") + str(d, "summary")
			}
		}
		for i, c := range list(said, "tool_calls") {
			if _, ok := at(c, "index").(float64); ok {
				i = num(c, "index")
			}
			if calls[i] == nil {
				calls[i] = &growing{}
				count++
			}
			if s := str(c, "id"); s != "" {
				calls[i].id = s
			}
			if s := str(c, "function", "name"); s != "" {
				calls[i].name = s
			}
			calls[i].args += str(c, "function", "arguments")
		}
		switch str(choice, "finish_reason") {
		case "stop":
			want.Finish = llm.FinishStop
		case "tool_calls":
			want.Finish = llm.FinishTools
		case "length":
			want.Finish = llm.FinishLength
		}
	}
	for i := range count {
		c := calls[i]
		if c == nil {
			t.Fatalf("%s: call %d of %d is missing", rec.File, i, count)
		}
		var in any = object{}
		if c.args != "" {
			if err := json.Unmarshal([]byte(c.args), &in); err != nil {
				t.Fatalf("%s: %q: %v", rec.File, c.args, err)
			}
		}
		want.Calls = append(want.Calls, toldCall{c.id, c.name, in})
	}
	if len(want.Calls) > 0 && want.Finish == llm.FinishStop {
		want.Finish = llm.FinishTools
	}
	return want
}

// As LLM-WIRE defines it.
func expectUsage(u object) llm.Usage {
	prompt, completion := num(u, "prompt_tokens"), num(u, "completion_tokens")
	in, out := "prompt_tokens_details", "completion_tokens_details"
	if _, ok := u["input_tokens"]; ok {
		prompt, completion = num(u, "input_tokens"), num(u, "output_tokens")
		in, out = "input_tokens_details", "output_tokens_details"
	}
	got := llm.Usage{CacheRead: num(u, in, "cached_tokens"), Output: completion, Reasoning: num(u, out, "reasoning_tokens")}
	got.CacheWrite = max(num(u, in, "cache_write_tokens"), num(u, "cache_creation_input_tokens"))
	got.Input = prompt - got.CacheRead - got.CacheWrite
	if got.Reasoning > 0 && num(u, "total_tokens") == prompt+completion+got.Reasoning {
		got.Output += got.Reasoning
	}
	if got.Reasoning > completion && got.Output == completion {
		got.Output += got.Reasoning // Vercel's Gemini: the reported cost agrees
	}
	if ticks, ok := u["cost_in_usd_ticks"].(float64); ok {
		micros := int64(math.Round(ticks / 1e4))
		got.Cost = &micros
	} else if cost, ok := u["cost"].(float64); ok {
		micros := int64(math.Round(cost * 1e6))
		got.Cost = &micros
	}
	return got
}

func expectResponses(t testing.TB, rec llmtest.Recording) (want told) {
	all := payloads(t, rec)
	last := all[len(all)-1]
	if r, ok := last["response"].(object); ok {
		last = r
	}
	want.ID, want.Served, want.Finish = str(last, "id"), str(last, "model"), llm.FinishStop
	want.Usage = expectUsage(last["usage"].(object))
	for _, item := range list(last, "output") {
		switch str(item, "type") {
		case "message":
			for _, p := range list(item, "content") {
				want.Text += str(p, "text")
			}
		case "reasoning":
			var paragraphs []string
			for _, p := range list(item, "summary") {
				paragraphs = append(paragraphs, str(p, "text"))
			}
			want.Reasoning += strings.Join(paragraphs, "\n\n")
		case "function_call":
			var in any
			if err := json.Unmarshal([]byte(str(item, "arguments")), &in); err != nil {
				t.Fatal(err)
			}
			want.Calls = append(want.Calls, toldCall{str(item, "call_id"), str(item, "name"), in})
			want.Finish = llm.FinishTools
		}
	}
	return want
}
