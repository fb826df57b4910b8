package openai_test

import (
	"encoding/json"
	"math"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"ponder/internal/compat"
	"ponder/internal/compat/openai"
	"ponder/internal/compat/protocoltest"
	"ponder/llm"
)

type legacyReply struct {
	ID, Object, Model string
	Choices           []struct {
		Text   string
		Index  int
		Finish *string `json:"finish_reason"`
	}
	Usage *struct {
		Total int `json:"total_tokens"`
	}
}

// complete returns the text, the finish and whether there is usage.
func complete(t *testing.T, r *protocoltest.Rig, body string) (text, finish string, usage bool) {
	t.Helper()
	got := r.Stream(protocoltest.Request(t.Context(), http.MethodPost, legacyPath, body), 0)
	if got.Code != http.StatusOK {
		t.Fatalf("%d %s", got.Code, got.Body)
	}
	list := []string{got.Body}
	if strings.Contains(body, `"stream":true`) {
		list = nil
		events := got.Events()
		if n := len(events); n == 0 || events[n-1].Data != "[DONE]" {
			t.Fatalf("no end: %s", got.Body)
		}
		for _, e := range events[:len(events)-1] {
			list = append(list, e.Data)
		}
	}
	for _, js := range list {
		var c legacyReply
		if err := json.Unmarshal([]byte(js), &c); err != nil || c.Object != "text_completion" || !strings.HasPrefix(c.ID, "cmpl-") {
			t.Fatalf("%s: %v", js, err)
		}
		for _, one := range c.Choices {
			text += one.Text
			if one.Finish != nil {
				finish += *one.Finish
			}
		}
		usage = usage || c.Usage != nil && c.Usage.Total > 0
	}
	return text, finish, usage
}

func TestLegacy(t *testing.T) {
	const answer = "One, two,\nObservation: three"
	for _, c := range []struct{ more, text, finish string }{
		{``, answer, "stop"},
		{`,"stop":"\nObservation:"`, "One, two,", "stop"},
		{`,"stop":["zero","three","two"]`, "One, ", "stop"},
		{`,"stop":null,"n":1,"best_of":1,"suffix":""`, answer, "stop"},
		{`,"echo":true`, "Count: " + answer, "stop"},
		{`,"suffix":" End."`, answer, "stop"},
	} {
		for _, stream := range []string{"", `,"stream":true`, `,"stream":true,"stream_options":{"include_usage":true}`} {
			for _, prompt := range []string{`"Count: "`, `["Count: "]`, `[2568,25,220]`, `[[2568,25,220]]`} {
				synctest.Test(t, func(t *testing.T) {
					model := &protocoltest.Model{Answer: func(*llm.Request, int) protocoltest.Answer {
						return protocoltest.Answer{Reasoning: "Hm.", Text: answer, Pause: 1}
					}}
					r := protocoltest.New(t, protocoltest.Options{Model: model, Routes: openai.New, Refuse: writeRefusal})
					text, finish, usage := complete(t, r, `{"model":"ponder","prompt":`+prompt+c.more+stream+`}`)
					if text != c.text || finish != c.finish || usage == (stream == `,"stream":true`) {
						t.Errorf("%s%s: %q, %s, usage %v", c.more, stream, text, finish, usage)
					}
					asked := r.Model.Requests()[0].Messages[0].Text()
					if !strings.Contains(asked, "Count: ") || strings.Contains(c.more, " End.") != strings.Contains(asked, " End.") {
						t.Errorf("asked %q", asked)
					}
				})
			}
		}
	}
}

// The cut does not depend on the pieces.
func FuzzStop(f *testing.F) {
	f.Add("abcabd", "abd", "c", uint8(2))
	f.Fuzz(func(t *testing.T, text, one, two string, size uint8) {
		want := openai.CutPieces(text, []string{one, two}, 1)
		for _, stop := range []string{one, two} {
			if stop != "" && strings.Contains(want, stop) || !strings.HasPrefix(text, want) {
				t.Errorf("%q without %q: %q", text, stop, want)
			}
		}
		if got := openai.CutPieces(text, []string{one, two}, int(size%7)+1); got != want {
			t.Errorf("%q without %q and %q: %q, want %q", text, one, two, got, want)
		}
	})
}

func TestEmbeddingForms(t *testing.T) {
	r := protocoltest.New(t, protocoltest.Options{Routes: openai.New, Refuse: writeRefusal})
	embed := func(more string) [][]float64 {
		t.Helper()
		w := r.Post("/v1/embeddings", `{"model":"ponder/embed",`+more+`}`)
		var out struct {
			Data []struct{ Embedding []float64 }
		}
		if err := json.Unmarshal(w.Body.Bytes(), &out); err != nil || w.Code != http.StatusOK {
			t.Fatalf("%s: %d %s", more, w.Code, w.Body)
		}
		var list [][]float64
		for _, d := range out.Data {
			list = append(list, d.Embedding)
		}
		return list
	}
	whole := embed(`"input":["hello world","hello world"]`)
	for _, more := range []string{`"input":[15339,1917]`, `"input":[[15339,1917]]`, `"input":"hello world","dimensions":8`, `"input":"hello world","dimensions":null`} {
		if got := embed(more); len(got) != 1 || !slices.Equal(got[0], whole[0]) {
			t.Errorf("%s: %v, want %v", more, got, whole[0])
		}
	}
	short := embed(`"input":"hello world","dimensions":3`)[0]
	length, ratio := 0.0, short[0]/whole[0][0]
	for i, x := range short {
		length += x * x
		if math.Abs(x-ratio*whole[0][i]) > 1e-5 {
			t.Errorf("another direction: %v of %v", short, whole[0])
		}
	}
	if len(short) != 3 || math.Abs(length-1) > 1e-5 {
		t.Errorf("%v has the length %v", short, math.Sqrt(length))
	}
}

// postChat returns the model request for a body, and the answer.
func postChat(t *testing.T, body string) (asked *llm.Request, answer string) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		model := &protocoltest.Model{Answer: func(*llm.Request, int) protocoltest.Answer {
			return protocoltest.Answer{Reasoning: "Let me see.", Text: "fine"}
		}}
		r := protocoltest.New(t, protocoltest.Options{Model: model, Routes: openai.New, Refuse: writeRefusal})
		got := r.Stream(protocoltest.Request(t.Context(), http.MethodPost, at, body), 0)
		if got.Code != http.StatusOK {
			t.Fatalf("%s: %d %s", body, got.Code, got.Body)
		}
		asked, answer = r.Model.Requests()[0], got.Body
	})
	return asked, answer
}

// Values of Mistral and Groq.
func TestOtherValues(t *testing.T) {
	head := `{"model":"ponder","tools":[` + weather + `],`
	const hello = `"messages":[{"role":"user","content":"hello"}]}`
	if req, _ := postChat(t, head+`"tool_choice":"any",`+hello); req.ToolChoice != "required" {
		t.Errorf("any is %q", req.ToolChoice)
	}
	for more, want := range map[string]string{`"reasoning_effort":"default",`: "", `"reasoning_effort":"none",`: "none", `"prompt_mode":"reasoning",`: "high", `"prompt_mode":null,`: ""} {
		if req, _ := postChat(t, head+more+hello); req.Effort != want {
			t.Errorf("%s: effort %q", more, req.Effort)
		}
	}
	for more, shown := range map[string]bool{`"reasoning_format":"hidden",`: false, `"reasoning_format":"parsed",`: true, `"include_reasoning":false,`: false, `"include_reasoning":true,`: true} {
		for _, stream := range []string{"", `"stream":true,`} {
			if _, answer := postChat(t, head+more+stream+hello); strings.Contains(answer, "reasoning_content") != shown || !strings.Contains(answer, "fine") {
				t.Errorf("%s: %s", more, answer)
			}
		}
	}
	req, _ := postChat(t, head+`"safe_prompt":true,"random_seed":7,"messages":[{"role":"system","content":"Be brief."},{"role":"user","content":[{"type":"text","text":"x"},{"type":"document_url","document_url":"https://a.test/b.pdf"}]},
		{"role":"assistant","content":[{"type":"thinking","thinking":[{"type":"text","text":"Hm."}]},{"type":"text","text":"I look."}],"tool_calls":[{"id":"c1","function":{"name":"weather","arguments":{"city":"Rome"}}}]},
		{"role":"tool","name":"weather","tool_call_id":"c1","content":"18"}]}`)
	if !strings.HasPrefix(req.System, "Always assist with care") || !strings.HasSuffix(req.System, "Be brief.") {
		t.Errorf("system %q", req.System)
	}
	if m := req.Messages[0].Parts[1].Media; m == nil || m.URL != "https://a.test/b.pdf" {
		t.Errorf("document %+v", req.Messages[0])
	}
	if p := req.Messages[1].Parts; len(p) != 2 || p[0].Text != "I look." || string(p[1].Call.Input) != `{"city":"Rome"}` {
		t.Errorf("assistant %+v", p)
	}
}

func TestAliases(t *testing.T) {
	r := protocoltest.New(t, protocoltest.Options{Refuse: writeRefusal, Routes: func(d *compat.Dispatcher) map[string]http.Handler {
		d.Aliases = map[string]string{"gpt-5": "ponder/chat", "claude-*": "ponder/chat", "best": "ponder/research"}
		return openai.New(d)
	}})
	var out struct{ Data []struct{ ID string } }
	if err := json.Unmarshal(r.Get("/v1/models").Body.Bytes(), &out); err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, m := range out.Data {
		names = append(names, m.ID)
	}
	if got := strings.Join(names, " "); !strings.HasSuffix(got, " best gpt-5") || strings.Contains(got, "*") {
		t.Errorf("models %s", got)
	}
}
