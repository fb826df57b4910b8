package session

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"
)

// extractedText returns the text extracted from pieces of n bytes.
func extractedText(text string, n int) string { return textOf(&TextStream{}, text, n) }

func textOf(w *TextStream, text string, n int) string {
	var b strings.Builder
	for len(text) > 0 {
		piece := text[:min(n, len(text))]
		text = text[len(piece):]
		b.WriteString(w.Add(piece))
	}
	b.WriteString(w.Close())
	return b.String()
}

func TestWriting(t *testing.T) {
	for _, tt := range []struct{ name, text, want string }{
		{"an answer", `{"answer":"It is salt.","insights":["a"],"confidence":0.5}`, "It is salt."},
		{"a synthesis behind others", `{"insights":["the \"answer\": ] {", {"answer":"no"}],"confidence":0.5,"x":null,"synthesis":"It is\nsalt."}`, "It is\nsalt."},
		{"in a fence", "Here it is:\n```json\n{\n  \"answer\" : \"It is salt.\"\n}\n```", "It is salt."},
		{"escapes", `{"answer":"a\n\"b\"\\ \u00e9 \ud83d\ude00 \/\t."}`, "a\n\"b\"\\ é 😀 /\t."},
		{"half a letter", `{"answer":"a\ud83d b\ud83d\n\udc00"}`, "a\ufffd b\ufffd\n\ufffd"},
		{"two at once", `{"answer":"a\ud83d\ud83d\ude00"}`, "a\ufffd😀"},
		{"what controls", `{"answer":"a\u001b[31mb\r\u0000"}`, "a[31mb"},
		{"as far as it has come", `{"insights":[],"answer":"It is s`, "It is s"},
		{"no letter is cut", `{"answer":"日`[:12], ""},
		{"other members", `{"insights":["answer"],"confidence":"answer","remaining":[]}`, ""},
		{"within another", `{"result":{"answer":"It is salt."}}`, ""},
		{"a number", `{"answer":5,"synthesis":"It is salt."}`, "It is salt."},
		{"only the first", `{"answer":"It is salt.","synthesis":"no"}`, "It is salt."},
		{"a list", `[{"thought":"no"}]`, ""},
		{"thoughts", `{"thoughts":[{"thought":"no","type":"insight"}]}`, ""},
		{"labels", "SYNTHESIS: It is salt.\n\nAnd wet.\nINSIGHTS:\n- no\nCONFIDENCE: 0.5\n", "It is salt.\n\nAnd wet."},
		{"labels with marks", "**Answer:**\nIt is {salt}.\n{\n**Key insights:**\n- no\n", "It is {salt}.\n{"},
		{"the last line is not whole", "SYNTHESIS: It is salt.\nAnd w", "It is salt."},
		{"prose", "It is salt.\nAnd wet.\n", ""},
		{"nothing", "", ""},
		{"after reasoning", "\n<think>\n{\"answer\":\"no\"}\nSYNTHESIS: no\n</think>\n\n{\"answer\":\"It is salt.\"}", "It is salt."},
		{"after long reasoning", "[THINK]" + strings.Repeat("SYNTHESIS: no [/\n", 100) + "[/THINK]SYNTHESIS: It is salt.\n", "It is salt."},
		{"in a channel", "<|channel|>analysis<|message|>SYNTHESIS: no\n<|end|><|start|>assistant<|channel|>final<|message|>{\"answer\":\"It is salt.\"}<|return|>", "It is salt."},
		{"reasoning only", "<think>\nSYNTHESIS: no\n", ""},
		{"almost a tag", "<thin>\nSYNTHESIS: It is salt.\n", "It is salt."},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for n := 1; n <= len(tt.text)+1; n++ {
				if got := extractedText(tt.text, n); got != tt.want {
					t.Fatalf("in pieces of %d: got %q, want %q", n, got, tt.want)
				}
			}
		})
	}
}

// A final answer is Markdown with a trailer.
func TestWritingMarkdown(t *testing.T) {
	for _, tt := range []struct{ name, text, want string }{
		{"an answer", "It is salt.\n\n## Why\n\n- So.\n\n---\nCONFIDENCE: 0.7\nINSIGHTS:\n- no\n", "It is salt.\n\n## Why\n\n- So."},
		{"with a label", "**Answer:** It is salt.\nIndeed.\nCONFIDENCE: 0.7\n", "It is salt.\nIndeed."},
		{"a rule within", "It is salt.\n\n---\n\nIndeed.\n", "It is salt.\n\n---\n\nIndeed."},
		{"JSON", `{"insights":[],"answer":"It is salt."}`, "It is salt."},
		{"JSON in a fence", "```json\n{\"answer\":\"It is salt.\"}\n```", "It is salt."},
		{"code", "```go\nx := 1\n```\nSo.\n", "```go\nx := 1\n```\nSo."},
		{"a trailer first", "CONFIDENCE: 0.7\nIt is salt.\n", "It is salt."},
		{"after reasoning", "<think>no</think>\nIt is salt.\n", "It is salt."},
		{"without a last line break", "It is salt.\n\nIndeed.", "It is salt.\n\nIndeed."},
		{"a long line", strings.Repeat("It is sält, ", 12) + "as said: so.\nCONFIDENCE: 0.7", strings.Repeat("It is sält, ", 12) + "as said: so."},
		{"a long label", "Final answer: " + strings.Repeat("It is salt, ", 12) + "or\nso.", strings.Repeat("It is salt, ", 12) + "or\nso."},
		{"a long trailer", "It is salt.\nRemaining questions: " + strings.Repeat("why, ", 30), "It is salt."},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for n := 1; n <= len(tt.text)+1; n++ {
				if got := textOf(&TextStream{free: true}, tt.text, n); got != tt.want {
					t.Fatalf("in pieces of %d: got %q, want %q", n, got, tt.want)
				}
			}
		})
	}
}

func TestWritingIsBounded(t *testing.T) {
	for _, text := range []string{`{"answer":"` + strings.Repeat("é", maxAnswer), "SYNTHESIS: " + strings.Repeat("a\n", 2*maxAnswer), strings.Repeat("a", 3*maxAnswer)} {
		if got := extractedText(text, 1000); len(got) > maxAnswer+utf8.UTFMax {
			t.Errorf("%d bytes of %.20s", len(got), text)
		}
	}
	var w TextStream
	for range 100 {
		w.Add(strings.Repeat(`"`+strings.Repeat("x", 1000), 10))
	}
	if size := len(w.pending); size > 4*maxAnswer {
		t.Errorf("it keeps %d bytes", size)
	}
}

// FuzzWriting checks that cuts do not matter, and that valid JSON gives its text.
func FuzzWriting(f *testing.F) {
	f.Add(`{"answer":"It is \u00e9 salt.","insights":["a"]}`, "It is salt.", uint8(3))
	f.Add("SYNTHESIS: It is salt.\nINSIGHTS:\n- a\n", "a\"\\\n\x00é😀\xff", uint8(1))
	f.Add(`{"a":[{"b":"]}"}],"synthesis":"x"}`, "", uint8(7))
	f.Add("```json\n{\"answer\":\"\\ud83d\\ude00", "日本", uint8(2))
	f.Fuzz(func(t *testing.T, text, answer string, n uint8) {
		whole := extractedText(text, max(1, len(text)))
		if got := extractedText(text, int(n)+1); got != whole {
			t.Errorf("%q in pieces of %d: %q, at once %q", text, n, got, whole)
		}
		if strings.ContainsAny(whole, "\x00\x1b\r") || !utf8.ValidString(whole) {
			t.Errorf("%q gives out %q", text, whole)
		}
		js, err := json.Marshal(map[string]any{"confidence": 0.5, "Before": []string{text, answer}, "synthesis": answer, "z": text})
		if err != nil {
			t.Fatal(err)
		}
		var read struct {
			Text string `json:"synthesis"`
		}
		if err := json.Unmarshal(js, &read); err != nil {
			t.Fatal(err)
		}
		want := strings.Map(dropControl, read.Text)
		if got := extractedText(string(js), int(n)+1); got != want && len(read.Text) < maxAnswer {
			t.Errorf("%s: got %q, want %q", js, got, want)
		}
	})
}
