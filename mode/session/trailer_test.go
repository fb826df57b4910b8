package session

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestReadMarkdown(t *testing.T) {
	want := summary{Text: "It is salt.\n\nIndeed.", Insights: []string{"Rain dissolves rock."}, Confidence: 0.7, Remaining: []string{"Since when?"}}
	const trailer = "CONFIDENCE: 0.7\nINSIGHTS:\n- Rain dissolves rock.\nREMAINING:\n- Since when?"
	for name, text := range map[string]string{
		"as asked":            "It is salt.\n\nIndeed.\n\n" + trailer,
		"with blank lines":    "It is salt.\n\nIndeed.\n\nCONFIDENCE: 0.7\n\nINSIGHTS:\n\n- Rain dissolves rock.\n\nREMAINING:\n\n- Since when?\n",
		"with a rule":         "It is salt.\n\nIndeed.\n\n---\n" + trailer + "\n---",
		"with headings":       "It is salt.\n\nIndeed.\n\n## Confidence\n0.7\n## Insights\n- Rain dissolves rock.\n## Remaining\n- Since when?",
		"with emphasis":       "It is salt.\n\nIndeed.\n\n**Confidence:** 70 %\n**Insights:**\n- Rain dissolves rock.\n**Remaining:**\n- Since when?",
		"without bullets":     "It is salt.\n\nIndeed.\n\nCONFIDENCE: [0.7]\nINSIGHTS:\nRain dissolves rock.\nREMAINING:\nSince when?",
		"after its label":     "**Answer:** It is salt.\n\nIndeed.\n\n" + trailer,
		"after a heading":     "# Answer\n\nIt is salt.\n\nIndeed.\n\n" + trailer,
		"in a fence":          "```markdown\nIt is salt.\n\nIndeed.\n\n" + trailer + "\n```",
		"after reasoning":     "<think>It is sweet.\nCONFIDENCE: 0.1</think>It is salt.\n\nIndeed.\n\n" + trailer,
		"in another order":    "It is salt.\n\nIndeed.\n\nREMAINING:\n- Since when?\n- ...\nINSIGHTS:\n- Rain dissolves rock.\nCONFIDENCE: 0.7",
		"the old labels":      "SYNTHESIS: It is salt.\n\nIndeed.\n" + trailer,
		"old, after a remark": "Here is my answer:\n\nSYNTHESIS: It is salt.\n\nIndeed.\n" + trailer,
		"JSON":                `{"answer":"It is salt.\n\nIndeed.","insights":["Rain dissolves rock."],"confidence":0.7,"remaining":["Since when?"]}`,
		"JSON after a remark": "Here it is:\n```json\n" + `{"answer":"It is salt.\n\nIndeed.","insights":["Rain dissolves rock."],"confidence":0.7,"remaining":["Since when?"]}` + "\n```",
	} {
		got, err := readSummary(text, "what is so?", true, false)
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", name, err, diff)
		}
	}
}

// The body keeps its own headings, lists, rules, code, and words that are labels.
func TestMarkdownBody(t *testing.T) {
	for name, body := range map[string]string{
		"prose":                  "It is salt.",
		"a heading":              "It is salt.\n\n## Why\n\n- Rain\n- Rock\n\n## Limits\n\nFew were measured.",
		"a conclusion":           "It is salt.\n\n**Conclusion:** It is so, and it stays so.",
		"a rule":                 "It is salt.\n\n---\n\nIndeed.",
		"code":                   "It is salt:\n\n```\nCONFIDENCE: 1\n```\n\nIndeed.",
		"a label in the middle":  "Confidence: it is high, as all agree.\n\nIt is salt, and nothing speaks against it.",
		"a list at the end":      "It is salt, since\n\n- rain dissolves rock\n- rivers carry it",
		"a table":                "| a | b |\n|---|---|\n| 1 | 2 |",
		"a brace and a question": "It is {salt}. Is it not?",
	} {
		for _, trailer := range []string{"", "\n\nCONFIDENCE: 0.7\nINSIGHTS:\n- Rain dissolves rock.\nREMAINING:\n"} {
			got, err := readSummary(body+trailer, "what is so?", true, false)
			if err != nil || got.Text != body || got.Assumed != (trailer == "") || len(got.Remaining) > 0 {
				t.Errorf("%s, trailer %q: %v, %+v", name, trailer, err, got)
			}
		}
	}
	for name, text := range map[string]string{
		"nothing": "", "only a trailer": "CONFIDENCE: 0.7\nINSIGHTS:\n- ...\nREMAINING:\n- ...", "a placeholder": "...", "a refusal": "I'm sorry, but I can't help with that.", "other JSON": `{"mood":"fine"}`,
	} {
		if got, err := readSummary(text, "what is so?", true, false); err == nil {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

func FuzzReadMarkdown(f *testing.F) {
	for _, text := range []string{"It is salt.\n\nCONFIDENCE: 0.7\nREMAINING:\n- Why?", "# Answer\n---\n", "```\nINSIGHTS:\n```", "a\n\n* **Remaining:**\n\nb"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		sum, err := readSummary(text, "what is so?", true, false)
		if err != nil {
			return
		}
		checkSane(t, sum.Text, maxAnswer+len("…"))
		if strings.TrimSpace(sum.Text) == "" || !(0 <= sum.Confidence && sum.Confidence <= 1) {
			t.Errorf("%q gives %+v", text, sum)
		}
	})
}
