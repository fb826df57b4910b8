package openai

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"ponder/llm"
)

// served answers every request with the same stream.
type served string

func (s served) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"text/event-stream"}},
		Body: io.NopCloser(strings.NewReader(string(s))), Request: r}, nil
}

// BenchmarkGenerate asks for a short streamed answer, all but the network.
func BenchmarkGenerate(b *testing.B) {
	chat := strings.Repeat(say("word "), 20) + finish + counted + done
	resp := strings.Repeat(event1("response.output_text.delta", `,"item_id":"i","output_index":0,"delta":"word "`), 20) + event1("response.completed", completed)
	for name, body := range map[string]string{"chat": chat, "responses": resp} {
		b.Run(name, func(b *testing.B) {
			p := New(Config{Chat: name == "chat", HTTP: &http.Client{Transport: served(body)}})
			m, req := p.Model("gpt-5.2"), everything("m")
			b.ReportAllocs()
			for b.Loop() {
				if _, err := llm.Collect(m.Generate(b.Context(), req)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
