package session

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"ponder"
)

func TestFounded(t *testing.T) {
	const (
		deep   = "The trench was sounded in 1875 and found to be 10,984 metres deep."
		around = "Nobody had thought that it was so deep, and 3.5 percent of it is salt."
	)
	long := deep + strings.Repeat(" And so on it goes.", 40) + " It weighs 45,300 tons."
	found := fmt.Sprintf(`{"hits":[{"id":"a","source":"/d/sea.md","title":"Sea","quote":%s,"start":0,"end":%d,"score":0.9,"context":%s}]}`, quoteJSON(long), len(long), quoteJSON(around))
	lots := func(end string) string {
		var list []string
		for i := range 12 {
			list = append(list, fmt.Sprintf("It is %d km deep [e1]%s", 20+i, end))
		}
		return strings.Join(list, " ")
	}
	const lost = "a citation of an unknown source"
	for name, test := range map[string]struct{ answer, want, note string }{
		"all is there":     {"It is 10984 m deep, said in 1875 [e1]. It weighs 45,300 tons [e1]. “Nobody had thought that it was so deep” [e1]; salt is 3.5 % [e1].", "", ""},
		"other words":      {"Far down the sea has its lowest place, and nobody knew [e1].", "", ""},
		"of the user":      {"In 777 years it will be as deep [e1], as in the 888 years that you name.", "", ""},
		"of the writer":    {"It may be 20,000 metres deep. I reckon with 30,000.", "", ""},
		"a figure":         {"It is 12,700 metres deep [e1]. It is deep.", "It is 12,700 metres deep [e1]. [unverified] It is deep.", "12,700 metres"},
		"a quotation":      {"- “Everybody knew that it was as deep as that” [e1]", "- “Everybody knew that it was as deep as that” [e1] [unverified]", "“Everybody knew that it was as deep as that”"},
		"a year, and more": {"In 1903 it was sounded [e1], 4 of 5 say. It weighs 9,000 tons [e1].", "In 1903 it was sounded [e1], 4 of 5 say. [unverified] It weighs 9,000 tons [e1]. [unverified]", "1903; 9,000 tons"},
		"many":             {lots("."), lots(". [unverified]"), "20 km; 21 km; 22 km; 23 km; 24 km; 25 km; 26 km; 27 km; and 4 more"},
		"no such source": {
			`According to [e77], "everybody there confessed to it in June" was why. In 1987 it cost 4,500,000 dollars [e88]. It says: "never go down there before noon" [e99]. It was "because of a rock from the sky" [e1].`,
			`According to [no such source], "everybody there confessed to it in June" was why. [unverified] In 1987 it cost 4,500,000 dollars. [unverified] It says: "never go down there before noon". [unverified] It was "because of a rock from the sky" [e1]. [unverified]`,
			lost + "; “because of a rock from the sky”",
		},
		"none of it":        {"Nobody knew [e77, e78]. Nobody knows. [e79] It is so.", "Nobody knew. [unverified] Nobody knows. [unverified] It is so.", lost},
		"some of it":        {"It is 10,984 m deep [e1, e77], and old [e77][e1]. It is deep [E1]【e77】.", "It is 10,984 m deep [e1], and old [e1]. It is deep [e1].", ""},
		"some, and wrong":   {"It is 12,700 metres deep [e1][e77].", "It is 12,700 metres deep [e1]. [unverified]", "12,700 metres"},
		"in lists":          {"- Deep it is ([e77])\n- Salt it is [e77], [e78]\n\n| it is | [e1] |\n|--|--|\n| so deep | very [e77] |", "- Deep it is [unverified]\n- Salt it is [unverified]\n\n| it is | [e1] |\n|--|--|\n| so deep | very [unverified] |", lost},
		"other numberings":  {"It is deep [65]. So it is[^1], as of [q7] [66].", "It is deep. So it is, as of [no such source].", ""},
		"an index":          {"Add w[e77] to it.\n```\nw[e78] = 5000\n```\nSo `w[e79]` is 10,984 [e1].", "", ""},
		"behind a word":     {"It cost 4,500,000 dollars[e88]. It is 12,700 metres deep[e78][e1].", "It cost 4,500,000 dollars[e88]. [unverified] It is 12,700 metres deep[e78][e1]. [unverified]", lost + "; 12,700 metres"},
		"asked, and behind": {"Is it deep [e77]? It is not known.", "Is it deep? It is not known.", ""},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDriver(t, "How deep is the sea in 777 years?", Options{Docs: []string{"/d"}, SynthesisInterval: 5}, 30*time.Second, func(a ponder.Action) ponder.Body {
				switch what, n := stepOf(keyOf(a)); what {
				case lookupStep:
					if n > 1 {
						return ponder.ToolResult{Name: SearchTool, Result: `{"hits":[]}`}
					}
					return ponder.ToolResult{Name: SearchTool, Result: found}
				case thoughts:
					return textAnswer(fmt.Sprintf(`{"thoughts":[{"thought":"It is %d metres deep [e1], and so [e77].","type":"insight","confidence":0.7}]}`, 99000+n))
				case final:
					return textAnswer(`{"answer":` + quoteJSON(test.answer) + `,"insights":[],"confidence":0.8,"remaining":[]}`)
				}
				return defaultAnswer(a)
			}).runToEnd()
			want, note := test.want, ""
			if want == "" {
				want = test.answer
			}
			if test.note != "" {
				note = "Not in the cited passages: " + test.note
			}
			got := ""
			for _, n := range bodiesOf[ponder.SystemNote](d) {
				got += n.Content
			}
			if d.fin.Answer != want || got != note {
				t.Errorf("answer %q, note %q; want %q, %q", d.fin.Answer, got, want, note)
			}
			for _, b := range bodiesOf[ponder.Thought](d) {
				if strings.ContainsRune(b.Content, '[') && !strings.HasSuffix(b.Content, "metres deep [e1], and so.") {
					t.Errorf("thought %q", b.Content)
				}
			}
			if e := d.state.(*state).Evidence[0]; len(e.Quote) > maxKeptText+len("…") || e.fullText() != long+"\n"+around {
				t.Errorf("evidence %+v", e)
			}
			checkCites(t, d)
		})
	}
}

func TestFoundedInsights(t *testing.T) {
	const said = "The trench was found to be 10,984 metres deep."
	d := newDriver(t, "How deep is the sea?", Options{Docs: []string{"/d"}}, 30*time.Second, func(a ponder.Action) ponder.Body {
		switch what, n := stepOf(keyOf(a)); what {
		case lookupStep:
			if n > 1 {
				return ponder.ToolResult{Name: SearchTool, Result: `{"hits":[]}`}
			}
			return ponder.ToolResult{Name: SearchTool, Result: fmt.Sprintf(`{"hits":[{"id":"a","source":"/d/sea.md","quote":%s,"start":0,"end":%d,"score":0.9}]}`, quoteJSON(said), len(said))}
		case thoughts:
			return textAnswer(fmt.Sprintf(`{"thoughts":[{"thought":"It is %d metres deep [e1].","type":"insight","confidence":0.7}]}`, 99000+n))
		case final:
			return textAnswer(`{"answer":"It is 12,700 metres deep [e1].","insights":["It is 10,984 m deep [e1]","The trench is 12,700 metres deep [e1]","It weighs 9,000 tons [e1].","As [e77] says, it is cold","It is cold, they all say [e78].","It is cold, they all say."],"confidence":0.8,"remaining":[]}`)
		}
		return defaultAnswer(a)
	}).runToEnd()
	all := bodiesOf[ponder.Synthesis](d)
	got := all[len(all)-1].Insights
	want := []string{"It is 10,984 m deep [e1]", "The trench is 12,700 metres deep [e1] [unverified]", "It weighs 9,000 tons [e1]. [unverified]", "As [no such source] says, it is cold [unverified]", "It is cold, they all say. [unverified]"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("insights (-want +got):\n%s", diff)
	}
	if notes := bodiesOf[ponder.SystemNote](d); len(notes) != 1 || notes[0].Content != "Not in the cited passages: 12,700 metres; 9,000 tons; a citation of an unknown source" {
		t.Errorf("notes %+v", notes)
	}
}

// Without evidence, citations are marked and code stays.
func TestFoundedOfNothing(t *testing.T) {
	d := newDriver(t, "How deep is the sea?", Options{}, 30*time.Second, func(a ponder.Action) ponder.Body {
		if what, _ := stepOf(keyOf(a)); what == final {
			return textAnswer(`{"answer":"It is deep [e1]. It is salt.\n\nAdd w[e1] and w[e2] to it.","insights":["It is deep, so [e3]"],"confidence":0.8,"remaining":[]}`)
		}
		return defaultAnswer(a)
	}).runToEnd()
	if want := "It is deep. [unverified] It is salt.\n\nAdd w[e1] and w[e2] to it."; d.fin.Answer != want {
		t.Errorf("answer %q, want %q", d.fin.Answer, want)
	}
	all := bodiesOf[ponder.Synthesis](d)
	if diff := cmp.Diff([]string{"It is deep, so [unverified]"}, all[len(all)-1].Insights); diff != "" {
		t.Errorf("insights (-want +got):\n%s", diff)
	}
}

// A sentence that cites only banned evidence is marked; one whose evidence is no longer stored is
// not.
func TestFoundedBanned(t *testing.T) {
	s := state{runInput: &runInput{}, Counts: counts{Evidence: 2}, BannedEvidence: []int{2}}
	got := s.markUnsupported(summary{Text: "It is 5,000 m deep [e2]. It is 6,000 m wide [e1], and so [e2]."})
	text, _ := s.checkCitations(got.Text, nil)
	if want := "It is 5,000 m deep. [unverified] It is 6,000 m wide [e1], and so."; text != want {
		t.Errorf("answer %q, want %q", text, want)
	}
}
