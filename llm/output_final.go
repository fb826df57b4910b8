package llm

import (
	"encoding/json"
	"strings"
)

// FinalText returns the answer in a text of an old log, or of a model without adapter: the text
// without reasoning and markers, or "". JSON is unchanged.
func FinalText(text string) string {
	if !strings.ContainsAny(text, "<[◁") && !strings.HasPrefix(strings.TrimSpace(text), "a") {
		return strings.TrimSpace(text)
	}
	if json.Valid([]byte(text)) {
		return text
	}
	r := NewOutputReader(OutputConfig{Hold: true, Verbatim: true})
	r.Add(text)
	r.Close(false)
	var b strings.Builder
	for _, s := range r.segs {
		if s.kind == outText {
			b.Write(r.raw[s.from:s.to])
		}
	}
	return strings.TrimSpace(b.String())
}
