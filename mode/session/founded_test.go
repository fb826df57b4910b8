package session

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"ponder"
)

// An answer marks what it has from no passage that it cites, and nothing else.
func TestFounded(t *testing.T) {
	const (
		deep   = "The trench was sounded in 1875 and found to be 10,984 metres deep."
		around = "Nobody had thought that it was so deep, and 3.5 percent of it is salt."
	)
	long := deep + strings.Repeat(" And so on it goes.", 40) + " It weighs 45,300 tons."
	found := fmt.Sprintf(`{"hits":[{"id":"a","source":"/d/sea.md","title":"Sea","quote":%s,"start":0,"end":%d,"score":0.9,"context":%s}]}`, js(long), len(long), js(around))
	lots := func(end string) string {
		var list []string
		for i := range 12 {
			list = append(list, fmt.Sprintf("It is %d km deep [e1]%s", 20+i, end))
		}
		return strings.Join(list, " ")
	}
	for name, test := range map[string]struct{ answer, want, note string }{
		"all is there":     {"It is 10984 m deep, said in 1875 [e1]. It weighs 45,300 tons [e1]. “Nobody had thought that it was so deep” [e1]; salt is 3.5 % [e1].", "", ""},
		"other words":      {"Far down the sea has its lowest place, and nobody knew [e1].", "", ""},
		"of the user":      {"In 777 years it will be as deep [e1], as in the 888 years that you name.", "", ""},
		"of the writer":    {"It may be 20,000 metres deep. I reckon with 30,000.", "", ""},
		"a figure":         {"It is 12,700 metres deep [e1]. It is deep.", "It is 12,700 metres deep [e1]. [unverified] It is deep.", "12,700 metres"},
		"a quotation":      {"- “Everybody knew that it was as deep as that” [e1]", "- “Everybody knew that it was as deep as that” [e1] [unverified]", "“Everybody knew that it was as deep as that”"},
		"a year, and more": {"In 1903 it was sounded [e1], 4 of 5 say. It weighs 9,000 tons [e1].", "In 1903 it was sounded [e1], 4 of 5 say. [unverified] It weighs 9,000 tons [e1]. [unverified]", "1903; 9,000 tons"},
		"many":             {lots("."), lots(". [unverified]"), "20 km; 21 km; 22 km; 23 km; 24 km; 25 km; 26 km; 27 km; and 4 more"},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDriver(t, "How deep is the sea in 777 years?", Options{Docs: []string{"/d"}, SynthesisInterval: 5}, 30*time.Second, func(a ponder.Action) ponder.Body {
				switch what, n := stepOf(keyOf(a)); what {
				case look:
					if n > 1 {
						return ponder.ToolResult{Name: SearchTool, Result: `{"hits":[]}`}
					}
					return ponder.ToolResult{Name: SearchTool, Result: found}
				case thoughts:
					return says(fmt.Sprintf(`{"thoughts":[{"thought":"It is %d metres deep [e1].","type":"insight","confidence":0.7}]}`, 99000+n))
				case final:
					return says(`{"answer":` + js(test.answer) + `,"insights":[],"confidence":0.8,"remaining":[]}`)
				}
				return sensible(a)
			}).work()
			want, note := test.want, ""
			if want == "" {
				want = test.answer
			}
			if test.note != "" {
				note = "Not in the passages that are cited for it: " + test.note
			}
			got := ""
			for _, n := range bodiesOf[ponder.SystemNote](d) {
				got += n.Content
			}
			if d.fin.Answer != want || got != note {
				t.Errorf("answer %q, note %q; want %q, %q", d.fin.Answer, got, want, note)
			}
			if e := d.state.(*state).Evidence[0]; len(e.Quote) > maxKeptText || e.Context != "" || e.whole() != long+"\n"+around {
				t.Errorf("evidence %+v", e)
			}
			checkCites(t, d)
		})
	}
}

// Insights are marked like the answer, and what both have is told once.
func TestFoundedInsights(t *testing.T) {
	const said = "The trench was found to be 10,984 metres deep."
	d := newDriver(t, "How deep is the sea?", Options{Docs: []string{"/d"}}, 30*time.Second, func(a ponder.Action) ponder.Body {
		switch what, n := stepOf(keyOf(a)); what {
		case look:
			if n > 1 {
				return ponder.ToolResult{Name: SearchTool, Result: `{"hits":[]}`}
			}
			return ponder.ToolResult{Name: SearchTool, Result: fmt.Sprintf(`{"hits":[{"id":"a","source":"/d/sea.md","quote":%s,"start":0,"end":%d,"score":0.9}]}`, js(said), len(said))}
		case thoughts:
			return says(fmt.Sprintf(`{"thoughts":[{"thought":"It is %d metres deep [e1].","type":"insight","confidence":0.7}]}`, 99000+n))
		case final:
			return says(`{"answer":"It is 12,700 metres deep [e1].","insights":["It is 10,984 m deep [e1]","The trench is 12,700 metres deep [e1]","It weighs 9,000 tons [e1]."],"confidence":0.8,"remaining":[]}`)
		}
		return sensible(a)
	}).work()
	all := bodiesOf[ponder.Synthesis](d)
	got := all[len(all)-1].Insights
	want := []string{"It is 10,984 m deep [e1]", "The trench is 12,700 metres deep [e1] [unverified]", "It weighs 9,000 tons [e1]. [unverified]"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("insights (-want +got):\n%s", diff)
	}
	if notes := bodiesOf[ponder.SystemNote](d); len(notes) != 1 || notes[0].Content != "Not in the passages that are cited for it: 12,700 metres; 9,000 tons" {
		t.Errorf("notes %+v", notes)
	}
}
