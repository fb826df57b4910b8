package session

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"ponder"
)

// A hit for a topic question must mention the topic.
func TestOnTopic(t *testing.T) {
	s := newState(ponder.Run{ID: testRun, Input: "What does water cost?", Options: []byte(`{"docs":["/docs"],"without_model":true}`)})
	s.Focus = focus{Question: "q1", Text: docsTopicPrefix + "Pipe-laying?"}
	list := []hit{
		{ID: "a", Quote: "See the water page for more on water.", Terms: []string{"water"}},
		{ID: "b", Quote: "Water flows in pipes.", Terms: []string{"Pipe", "water"}},
		{ID: "c", Quote: "The laying of it takes a year.", Terms: []string{"cost"}},
		{ID: "d", Quote: "Tubes are put under the ground.", Terms: nil},
	}
	for i := range list {
		list[i].Source, list[i].End, list[i].Score = "/docs/a.md", len(list[i].Quote), 0.5
	}
	if n := s.applyHits(&slot{N: 2, Focus: s.Focus, Found: found{Hits: list}}); n != 4 {
		t.Errorf("%d passages", n)
	}
	var got []string
	for _, e := range s.focusPassages(s.Focus) {
		got = append(got, e.Quote)
	}
	if diff := cmp.Diff([]string{list[1].Quote, list[2].Quote, list[3].Quote}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := s.searchQuery(s.Focus); got != "Pipe-laying What does water cost?" {
		t.Errorf("query = %q", got)
	}
}

func TestWholeSentences(t *testing.T) {
	sentence := strings.Repeat("น้ำ", 66) + "." // 595 bytes
	answer := fmt.Sprintf(`{"hits":[{"id":"h1","source":"/docs/a.md","quote":%q,"start":0,"end":%d,"score":0.5}]}`, sentence, len(sentence))
	d := newDriver(t, "น้ำ?", Options{Docs: []string{"/docs"}, WithoutModel: true}, time.Minute, func(ponder.Action) ponder.Body {
		return ponder.ToolResult{Result: answer}
	}).runToEnd()
	if !strings.Contains(d.fin.Answer, "“"+sentence+"” [e1]") {
		t.Errorf("finished %+v", d.fin)
	}
}

func TestTopics(t *testing.T) {
	s := newState(ponder.Run{ID: testRun, Input: "Who ploughed?", Options: []byte(`{"docs":["/docs"],"without_model":true}`)})
	for _, names := range [][]string{{"Ibn al-Imad", "dry farming", ""}, {"Dry farming", "DRY FARMING"}, {strings.Repeat("x", 61), "ploughed"}} {
		s.addTopics(names)
	}
	want := []modelQuestion{
		{Text: docsTopicPrefix + "dry farming?", Priority: 6, Why: "It occurs next to the evidence."},
		{Text: docsTopicPrefix + "Ibn al-Imad?", Priority: 4, Why: "It occurs next to the evidence."},
	}
	if diff := cmp.Diff(want, s.topicQuestions()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestKindOfQuote(t *testing.T) {
	terms := []string{"salt", "sea"}
	for _, tt := range []struct {
		quote string
		other evidence
		want  string
	}{
		{"Is the sea salt?", evidence{}, "question"},
		{"海は塩辛いか？", evidence{}, "question"},
		{"هل البحر مالح؟", evidence{}, "question"},
		{"“Is the sea salt?”", evidence{}, "question"},
		{"The sea is not salt.", evidence{}, "critique"},
		{"The sea is salt.", evidence{Source: "/b", Terms: terms}, "connection"},
		{"The sea is salt.", evidence{Source: "/b", Terms: terms[:1]}, "exploration"},
		{"The sea is salt.", evidence{Source: "/a", Terms: terms}, "exploration"},
		{"The sea is salt.", evidence{Source: "/b", Cluster: "/a", Terms: terms}, "exploration"},
	} {
		e := evidence{Source: "/a", Quote: tt.quote, Terms: terms}
		if got := quoteKind(e, []evidence{e, tt.other}); got != tt.want {
			t.Errorf("%q beside %+v is a %s, want %s", tt.quote, tt.other, got, tt.want)
		}
	}
}

// Pinned passages score higher; the worst cited ones are dropped.
func TestScores(t *testing.T) {
	s := newState(ponder.Run{ID: testRun, Input: "What is the sea?", Options: []byte(`{"docs":["/docs"]}`)})
	s.Pinned = []string{"/docs/a.md"}
	for i := range maxEvidence + 2 {
		quote := fmt.Sprintf("Fact %d holds.", i)
		s.addEvidence(hit{Source: "/docs/" + "ab"[i%2:i%2+1] + ".md", Quote: quote, End: len(quote), Score: 1 + float64(i)/1000}, ponder.Found{})
		s.Evidence[i].Cited = true
	}
	if got := s.Evidence[100].Score; got != pinnedWeight*1.1 || pinnedWeight < 1.5 {
		t.Errorf("pinned: %v", got)
	}
	if s.shedEvidence(); len(s.Evidence) != maxEvidence || s.Evidence[0].id() != "e1" || s.Evidence[1].id() != "e3" || s.Evidence[2].id() != "e5" || s.Evidence[3].id() != "e6" {
		t.Errorf("%d are kept, the first are %s, %s, %s, %s", len(s.Evidence), s.Evidence[0].id(), s.Evidence[1].id(), s.Evidence[2].id(), s.Evidence[3].id())
	}
}

// "Nothing more" requires a repeated look and that all hits are quoted. A failed search does not
// count.
func TestNothingMore(t *testing.T) {
	const all = 12
	for name, test := range map[string]struct {
		fails  int
		weak   bool
		quoted int
		reason string
	}{
		"all is quoted":     {99, false, all, "the documents have nothing more on this"},
		"the rest is weak":  {99, true, 5, "the documents have nothing more on this that fits half as well as the best"},
		"the search breaks": {2, false, 5, "the documents could not be searched: no such folder"},
	} {
		t.Run(name, func(t *testing.T) {
			looks, found := 0, 0
			d := newDriver(t, "What is the fact?", Options{Docs: []string{"/docs"}, WithoutModel: true}, time.Hour, func(a ponder.Action) ponder.Body {
				if looks++; looks >= test.fails {
					return ponder.ToolResult{Outcome: ponder.Outcome{Error: "no such folder"}}
				}
				var hits []string
				if q := string(a.(ponder.Do).Args); !strings.Contains(q, "subject") { // topics find nothing of their own
					for i := found; i < min(found+5, all); i++ {
						quote, score := fmt.Sprintf("Fact %d is so.", i), 0.9
						if test.weak && i >= 5 {
							score = 0.2
						}
						hits = append(hits, fmt.Sprintf(`{"id":"h%d","source":"/docs/a.md","quote":%q,"start":0,"end":%d,"score":%v,"terms":["fact"],"topics":["subject%d"]}`, i, quote, len(quote), score, i))
					}
					if found = min(found+5, all); test.weak {
						found = 5
					}
				}
				return ponder.ToolResult{Result: `{"hits":[` + strings.Join(hits, ",") + `]}`}
			}).runToEnd()
			if n := len(bodiesOf[ponder.Thought](d)); n != test.quoted || d.fin.Reason != test.reason {
				t.Errorf("%d are quoted, and it ends for %q; want %d, %q", n, d.fin.Reason, test.quoted, test.reason)
			}
		})
	}
}

// Without a model, a session ends despite further quotes, with bounded quotations.
func TestQuotesAreBounded(t *testing.T) {
	d := newDriver(t, "What is the fact?", Options{Docs: []string{"/docs"}, WithoutModel: true, ToTheEnd: true}, time.Hour, world{size: 500}.answerAction).runToEnd()
	if n := len(d.actions); n != extractiveRounds || d.fin.Reason != enoughQuoted {
		t.Errorf("%d looks, finished %+v", n, d.fin)
	}
	s := d.state.(*state)
	for i := range 10 {
		s.addQuestions([]modelQuestion{{Text: fmt.Sprintf("What does book %d say of subject%d?", i, i), Priority: 5}}, true)
	}
	for i, q := range s.Open {
		for n := range quotesEach + 1 {
			s.Evidence = append(s.Evidence, evidence{N: 1000 + 10*i + n, Question: q.ID, Quote: "So it is.", Score: 0.5, Cited: true})
		}
	}
	sum, _ := s.quoteSynthesis(quotedSum)
	if n := strings.Count(sum.Text, "\n- “"); n != quotesInAll {
		t.Errorf("%d quotations, want %d, of %d questions:\n%s", n, quotesInAll, len(s.Open), sum.Text)
	}
	for range 2 {
		s.addThoughts([]modelThought{{Text: "“Fact 0 is known.” [e1]", Confidence: 0.5}}, "", true)
	}
	if n := len(s.Thoughts); n < 2 || s.Thoughts[n-1].Text != s.Thoughts[n-2].Text {
		t.Errorf("%+v", s.Thoughts)
	}
}

// Chapters: the question first, then the user's questions, then by best quotation.
func TestChapters(t *testing.T) {
	s := newState(ponder.Run{ID: testRun, Input: "Who ploughed?", Options: []byte(`{"docs":["/docs"],"without_model":true}`)})
	s.Explored = []*question{{ID: "q1", Text: "Of oxen?"}, {ID: "q2", Text: "Of soil?"}, {ID: "q4", Text: "Of rain?"}}
	s.Open = []*question{{ID: "q3", Text: "Of seed?", FromUser: true}}
	for i, e := range []evidence{{Question: "q1", Score: 0.4}, {Question: "q2", Score: 0.5}, {Question: "q2", Score: 0.6}, {Question: "q3", Score: 0.1}, {Score: 0.2}} {
		e.N, e.Quote, e.Cited = i+1, "So it is.", true
		s.Evidence = append(s.Evidence, e)
	}
	sum, _ := s.quoteSynthesis(quotedSum)
	var got []string
	for line := range strings.Lines(sum.Text) {
		if line = strings.TrimSpace(line); strings.HasPrefix(line, "**") || strings.HasPrefix(line, "- ") {
			got = append(got, line)
		}
	}
	want := []string{"**Who ploughed?**", "- “So it is.” [e5]", "**Of seed?**", "- “So it is.” [e4]", "**Of soil?**", "- “So it is.” [e3]", "- “So it is.” [e2]", "**Of oxen?**", "- “So it is.” [e1]"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
