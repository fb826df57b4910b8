package llm

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestSpoken(t *testing.T) {
	for _, tt := range []struct{ name, text, want string }{
		{"nothing", "", ""},
		{"no reasoning", "It is salt.", "It is salt."},
		{"JSON", ` {"answer":"a\n</think>\nb"} `, ` {"answer":"a\n</think>\nb"} `},
		{"tags", "<think>\nHm.\n</think>\n\nIt is salt.", "It is salt."},
		{"other tags", " <reasoning>Hm.</reasoning> It is salt.", "It is salt."},
		{"Mistral", "[THINK]Hm.[/THINK]It is salt.", "It is salt."},
		{"twice", "<think></think>\n<think>Hm.</think>It is salt.", "It is salt."},
		{"no end", "<think>\nHm. It is", ""},
		{"only an end", "Hm, {salt}.\n</think>\n\nIt is salt.", "It is salt."},
		{"only an end, in a line", "Hm.</think>\nIt is salt.", "It is salt."},
		{"only an end, then JSON", `Hm.</think>{"answer":"It is salt."} So.`, `{"answer":"It is salt."} So.`},
		{"only an end, and no more", "Hm.\n</think>", "Hm."},
		{"of tags", "Models write </think> when they are done.", "Models write </think> when they are done."},
		{"of tags in code", "So:\n```\n<think>\nHm.\n</think>\n```\nDone.", "So:\n```\n<think>\nHm.\n</think>\n```\nDone."},
		{"of tags in marks", "It ends with `</think>`\nand goes on.", "It ends with `</think>`\nand goes on."},
		{"harmony", "<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant<|channel|>final<|message|>It is salt.<|return|>", "It is salt."},
		{"harmony in JSON", `<|start|>assistant<|channel|>final <|constrain|>json<|message|>{"a":1}<|return|>`, `{"a":1}`},
		{"harmony without an answer", "<|channel|>analysis<|message|>Hm.<|end|>", ""},
		{"an end of a turn", "It is salt.<|im_end|>\n<|endoftext|>\n", "It is salt."},
		{"a turn", "<|im_start|>assistant\nIt is salt.</s>", "It is salt."},
		{"an end within", "It ends with <|im_end|> always.", "It ends with <|im_end|> always."},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := FinalText(tt.text); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

// FinalText makes nothing up, and leaves JSON unchanged.
func FuzzSpoken(f *testing.F) {
	for _, text := range []string{"<think>a</think>b", "a\n</think>\nb</s>", "<|channel|>analysis<|message|>a<|channel|>final<|message|>b", "[THINK][/THINK][THINK]", "</think></think>", "{</think>}", "{}"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got := FinalText(text)
		if !isSubsequence(got, text) {
			t.Errorf("%q: %q", text, got)
		}
		if json.Valid([]byte(text)) && strings.TrimSpace(got) != strings.TrimSpace(text) {
			t.Errorf("%q is JSON, and %q", text, got)
		}
	})
}

func BenchmarkSpoken(b *testing.B) {
	text := `{"thoughts":[` + strings.Repeat(`{"thought":"A mill and/or a shop in [Lenta] burned down, and its owners left.","confidence":0.7},`, 12) + `{}]}`
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		FinalText(text)
	}
}
