package mimic

import (
	"encoding/json"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

const thoughts = `Question: What is consciousness?
Current Focus: Exploring the relationship between awareness and self-reflection

Generate 3-5 distinct thoughts about this focus.

Format:
THOUGHT: [your thought]
TYPE: [exploration/critique/connection/insight]
CONFIDENCE: [0.0-1.0]
---
`

func parseBlocks(answer string) (all []map[string]string) {
	for block := range strings.SplitSeq(answer, "---\n") {
		fields := map[string]string{}
		label := ""
		for line := range strings.Lines(block) {
			if l, rest, ok := strings.Cut(line, ":"); ok && isUpperLabel(l) {
				label = l
				line = rest
			}
			fields[label] = strings.TrimSpace(fields[label] + "\n" + strings.TrimSpace(line))
		}
		all = append(all, fields)
	}
	return all
}

func TestLayouts(t *testing.T) {
	tests := []struct {
		name, system, text string
		lo, hi             int
		labels             []string
	}{
		{"placeholders", "", thoughts, 3, 5, []string{"THOUGHT", "TYPE", "CONFIDENCE"}},
		{"in the system prompt", thoughts, "Go on.", 3, 5, []string{"THOUGHT", "TYPE", "CONFIDENCE"}},
		{"up to", "", "Why do foxes dig?\nAsk up to 3 questions.\nQUESTION: [question text]\nPRIORITY: [1-10]\nWHY: [explanation]\n---", 1, 3,
			[]string{"QUESTION", "PRIORITY", "WHY"}},
		{"lists", "", "Why do foxes dig?\n\nSYNTHESIS: [summary]\nINSIGHTS:\n- [key insight 1]\n- [key insight 2]\nCONFIDENCE: [0.0-1.0]\nREMAINING:\n- [question]\n", 1, 1,
			[]string{"SYNTHESIS", "INSIGHTS", "CONFIDENCE", "REMAINING"}},
		{"no placeholders", "", "Why do foxes dig? Write:\nCLAIM:\nREASON:\n", 1, 1, []string{"CLAIM", "REASON"}},
		{"named in a sentence", "", "Why do foxes dig? Give the lines CLAIM: and REASON: please.", 1, 1, []string{"CLAIM", "REASON"}},
		{"after an answer in the same format", "", "Before: \nTHOUGHT: foxes are clever\nTYPE: insight\n\nNow again:\nTHOUGHT: <text>\nTYPE: <a|b>\n", 1, 1, []string{"THOUGHT", "TYPE"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			for seed := range uint64(20) {
				answer := New(seed, Prompt{System: test.system, Text: test.text}).Answer()
				blocks := parseBlocks(answer)
				if len(blocks) < test.lo || len(blocks) > test.hi {
					t.Errorf("%d blocks, want %d to %d:\n%s", len(blocks), test.lo, test.hi, answer)
				}
				for _, b := range blocks {
					for _, l := range test.labels {
						if b[l] == "" || strings.ContainsAny(b[l], "[]<>") {
							t.Errorf("%s is %q in\n%s", l, b[l], answer)
						}
					}
					if len(b) != len(test.labels) {
						t.Errorf("labels are %v, want %v", b, test.labels)
					}
				}
			}
		})
	}
}

func TestHints(t *testing.T) {
	for seed := range uint64(50) {
		for _, b := range parseBlocks(New(seed, Prompt{Text: thoughts}).Answer()) {
			if x, err := strconv.ParseFloat(b["CONFIDENCE"], 64); err != nil || x < 0 || x > 1 {
				t.Errorf("confidence is %q", b["CONFIDENCE"])
			}
			if !slices.Contains([]string{"exploration", "critique", "connection", "insight"}, b["TYPE"]) {
				t.Errorf("type is %q", b["TYPE"])
			}
		}
	}
}

func TestAnswerIsAFunctionOfSeedAndPrompt(t *testing.T) {
	p := Prompt{Text: thoughts}
	if diff := cmp.Diff(New(1, p).Answer(), New(1, p).Answer()); diff != "" {
		t.Errorf("two answers differ: %s", diff)
	}
	if New(1, p).Answer() == New(2, p).Answer() {
		t.Error("two seeds give one answer")
	}
}

func TestAnswerIsAboutThePrompt(t *testing.T) {
	for _, text := range []string{thoughts, "Was sind Bienenvölker?", "意识和智能的关系是什么"} {
		word := map[string]string{thoughts: "consciousness", "Was sind Bienenvölker?": "Bienenvölker", "意识和智能的关系是什么": "意识"}[text]
		found := false
		for seed := range uint64(5) {
			found = found || strings.Contains(strings.ToLower(New(seed, Prompt{Text: text}).Answer()), strings.ToLower(word))
		}
		if !found {
			t.Errorf("no answer to %q says %q", text, word)
		}
	}
}

var citation = regexp.MustCompile(`\[([A-Za-z0-9-]+)\]`)

func TestCitations(t *testing.T) {
	p := Prompt{Text: "What do foxes eat?\n\n[1] Foxes eat mice, berries and what people leave behind in towns.\n[S7] In winter the red fox hunts voles under the snow by sound alone.\n"}
	cited, quoted := 0, 0
	for seed := range uint64(30) {
		answer := New(seed, p).Answer()
		for _, m := range citation.FindAllStringSubmatch(answer, -1) {
			cited++
			if m[1] != "1" && m[1] != "S7" {
				t.Errorf("cites [%s], which there is not: %s", m[1], answer)
			}
		}
		for _, q := range regexp.MustCompile(`says "([^"]+)"`).FindAllStringSubmatch(answer, -1) {
			quoted++
			if !strings.Contains(p.Text, q[1]) {
				t.Errorf("quotes %q, which is not in the prompt", q[1])
			}
		}
	}
	if cited == 0 || quoted == 0 {
		t.Errorf("%d citations and %d quotes in 30 answers", cited, quoted)
	}
	p.FalseCitations = true
	for seed := range uint64(10) {
		for _, m := range citation.FindAllStringSubmatch(New(seed, p).Answer(), -1) {
			if m[1] == "1" || m[1] == "S7" {
				t.Errorf("cites [%s] where citations were to be false", m[1])
			}
		}
	}
}

func TestStretch(t *testing.T) {
	short, long := 0, 0
	for seed := range uint64(20) {
		short += len(New(seed, Prompt{Text: thoughts}).Answer())
		long += len(New(seed, Prompt{Text: thoughts, Stretch: 10}).Answer())
	}
	if long < 5*short {
		t.Errorf("answers of %d bytes are %d when stretched ten times", short, long)
	}
}

func TestSay(t *testing.T) {
	w := New(1, Prompt{Text: "x", Schema: json.RawMessage(`{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]}`)})
	w.Say("as told")
	if got := w.Answer(); got != `{"a":"as told"}` {
		t.Errorf("answer is %s", got)
	}
}

func FuzzAnswer(f *testing.F) {
	f.Add(uint64(1), "", thoughts)
	f.Add(uint64(2), "{\"properties\": {\"a\": {}}}", "[1] x\n[2]\n[\n---\nA: [1-]\nBB: [-1-2]\n---")
	f.Add(uint64(3), "", "LABEL: \n- \n---\n\xff\xfe [")
	f.Fuzz(func(t *testing.T, seed uint64, system, text string) {
		answer := New(seed, Prompt{System: system, Text: text}).Answer()
		if utf8.ValidString(system) && utf8.ValidString(text) && !utf8.ValidString(answer) {
			t.Errorf("answer %q is not UTF-8", answer)
		}
		if answer == "" {
			t.Error("no answer")
		}
	})
}

func BenchmarkThoughts(b *testing.B) {
	text := strings.Repeat("- a thought from before about layered awareness and its measurement in animals\n", 60) + thoughts
	for i := uint64(0); b.Loop(); i++ {
		New(i, Prompt{Text: text}).Answer()
	}
}
