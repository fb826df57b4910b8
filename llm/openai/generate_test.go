package openai

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"ponder/llm"
)

type servedBody string

func (s servedBody) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"text/event-stream"}},
		Body: io.NopCloser(strings.NewReader(string(s))), Request: r}, nil
}

func BenchmarkGenerate(b *testing.B) {
	chat := strings.Repeat(sayChunk("word "), 20) + finish + counted + done
	resp := strings.Repeat(event1("response.output_text.delta", `,"item_id":"i","output_index":0,"delta":"word "`), 20) + event1("response.completed", completed)
	for name, body := range map[string]string{"chat": chat, "responses": resp} {
		b.Run(name, func(b *testing.B) {
			p := New(Config{Chat: name == "chat", HTTP: &http.Client{Transport: servedBody(body)}})
			m, req := p.Model("gpt-5.2"), fullRequest("m")
			b.ReportAllocs()
			for b.Loop() {
				if _, err := llm.Collect(m.Generate(b.Context(), req)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkAsk measures a thought's cost without a network.
func BenchmarkAsk(b *testing.B) {
	const head = `data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1795244585,"model":"m","system_fingerprint":null,`
	word := head + `"choices":[{"index":0,"delta":{"content":` + string(rawJSON(strings.Repeat("Text of an \"answer\".\n", 20))) + `},"finish_reason":null}],"usage":null}` + "\n\n"
	body := strings.Repeat(word, 4) + head + `"choices":[{"index":0,"delta":{},"finish_reason":"stop"}],"usage":null}` + "\n\n" + counted + done
	m := New(Config{BaseURL: "http://x", HTTP: &http.Client{Transport: servedBody(body)}}).Model("m")
	said := llm.Say(llm.User, strings.Repeat("- an \"earlier\" thought about what was asked\n", 70))
	type thought struct{ Text, Type string }
	for name, schema := range map[string]*llm.Schema{"words": nil, "schema": llm.SchemaFor[[]thought]("thoughts")} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				req := &llm.Request{Messages: []llm.Message{said}, Schema: schema}
				if _, err := llm.Collect(m.Generate(b.Context(), req)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
