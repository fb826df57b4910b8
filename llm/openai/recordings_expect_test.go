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
type responseSummary struct {
	Text, Reasoning string
	Calls           []summaryCall
	Finish          llm.Finish
	Usage           llm.Usage
	ID, Served      string
}

type summaryCall struct {
	ID, Name string
	Input    any
}

func summarizeResponse(t testing.TB, r *llm.Response) responseSummary {
	out := responseSummary{Text: r.Message.Text(), Finish: r.Finish, Usage: r.Usage, ID: r.ID, Served: r.Served}
	for _, p := range r.Message.Parts {
		out.Reasoning += p.Reasoning
	}
	for _, c := range r.Message.Calls() {
		var in any
		if err := json.Unmarshal(c.Input, &in); err != nil {
			t.Errorf("input %q: %v", c.Input, err)
		}
		out.Calls = append(out.Calls, summaryCall{c.ID, c.Name, in})
	}
	return out
}

func expectChat(t testing.TB, rec llmtest.Recording) (want responseSummary) {
	type partialAnswer struct{ id, name, args string }
	calls := map[int]*partialAnswer{}
	count := 0
	for _, o := range readPayloads(t, rec) {
		if s := stringAt(o, "id"); s != "" {
			want.ID = s
		}
		if s := stringAt(o, "model"); s != "" {
			want.Served = s
		}
		for _, where := range [][]any{{"usage"}, {"x_groq", "usage"}} {
			if u, ok := valueAt(o, where...).(object); ok {
				want.Usage = expectUsage(u)
			}
		}
		choice := valueAt(o, "choices", 0)
		said := valueAt(choice, "delta")
		if said == nil {
			said = valueAt(choice, "message")
		}
		want.Text += stringAt(said, "content")
		switch {
		case stringAt(said, "reasoning_content") != "":
			want.Reasoning += stringAt(said, "reasoning_content")
		case stringAt(said, "reasoning") != "":
			want.Reasoning += stringAt(said, "reasoning")
		default:
			for _, d := range listAt(said, "reasoning_details") {
				want.Reasoning += stringAt(d, "text") + stringAt(d, "summary")
			}
		}
		for i, c := range listAt(said, "tool_calls") {
			if _, ok := valueAt(c, "index").(float64); ok {
				i = intAt(c, "index")
			}
			if calls[i] == nil {
				calls[i] = &partialAnswer{}
				count++
			}
			if s := stringAt(c, "id"); s != "" {
				calls[i].id = s
			}
			if s := stringAt(c, "function", "name"); s != "" {
				calls[i].name = s
			}
			calls[i].args += stringAt(c, "function", "arguments")
		}
		switch stringAt(choice, "finish_reason") {
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
		want.Calls = append(want.Calls, summaryCall{c.id, c.name, in})
	}
	if len(want.Calls) > 0 && want.Finish == llm.FinishStop {
		want.Finish = llm.FinishTools
	}
	return want
}

// As LLM-WIRE defines it.
func expectUsage(u object) llm.Usage {
	prompt, completion := intAt(u, "prompt_tokens"), intAt(u, "completion_tokens")
	in, out := "prompt_tokens_details", "completion_tokens_details"
	if _, ok := u["input_tokens"]; ok {
		prompt, completion = intAt(u, "input_tokens"), intAt(u, "output_tokens")
		in, out = "input_tokens_details", "output_tokens_details"
	}
	got := llm.Usage{CacheRead: intAt(u, in, "cached_tokens"), Output: completion, Reasoning: intAt(u, out, "reasoning_tokens")}
	got.CacheWrite = max(intAt(u, in, "cache_write_tokens"), intAt(u, "cache_creation_input_tokens"))
	got.Input = prompt - got.CacheRead - got.CacheWrite
	if got.Reasoning > 0 && intAt(u, "total_tokens") == prompt+completion+got.Reasoning {
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

func expectResponses(t testing.TB, rec llmtest.Recording) (want responseSummary) {
	all := readPayloads(t, rec)
	last := all[len(all)-1]
	if r, ok := last["response"].(object); ok {
		last = r
	}
	want.ID, want.Served, want.Finish = stringAt(last, "id"), stringAt(last, "model"), llm.FinishStop
	want.Usage = expectUsage(last["usage"].(object))
	for _, item := range listAt(last, "output") {
		switch stringAt(item, "type") {
		case "message":
			for _, p := range listAt(item, "content") {
				want.Text += stringAt(p, "text")
			}
		case "reasoning":
			var paragraphs []string
			for _, p := range listAt(item, "summary") {
				paragraphs = append(paragraphs, stringAt(p, "text"))
			}
			want.Reasoning += strings.Join(paragraphs, "\n\n")
		case "function_call":
			var in any
			if err := json.Unmarshal([]byte(stringAt(item, "arguments")), &in); err != nil {
				t.Fatal(err)
			}
			want.Calls = append(want.Calls, summaryCall{stringAt(item, "call_id"), stringAt(item, "name"), in})
			want.Finish = llm.FinishTools
		}
	}
	return want
}
