package session

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"ponder"
)

// What is found for a question about a topic speaks of the topic, or may.
func TestOnTopic(t *testing.T) {
	s := start(ponder.Run{ID: testRun, Input: "What does water cost?", Options: []byte(`{"docs":["/docs"],"without_model":true}`)})
	s.Focus = focus{Question: "q1", Text: topicQuestion + "Pipe-laying?"}
	list := []hit{
		{ID: "a", Quote: "See the water page for more on water.", Terms: []string{"water"}},
		{ID: "b", Quote: "Water flows in pipes.", Terms: []string{"Pipe", "water"}},
		{ID: "c", Quote: "The laying of it takes a year.", Terms: []string{"cost"}},
		{ID: "d", Quote: "Tubes are put under the ground.", Terms: nil},
	}
	for i := range list {
		list[i].Source, list[i].End, list[i].Score = "/docs/a.md", len(list[i].Quote), 0.5
	}
	if n := s.looked(&cell{N: 2, Focus: s.Focus, Found: found{Hits: list}}); n != 3 {
		t.Errorf("%d passages", n)
	}
	var got []string
	for _, e := range s.passages(s.Focus) {
		got = append(got, e.Quote)
	}
	if diff := cmp.Diff([]string{list[1].Quote, list[2].Quote, list[3].Quote}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := s.query(s.Focus); got != "Pipe-laying What does water cost?" {
		t.Errorf("query = %q", got)
	}
}

// A sentence of a document is quoted in full, in whatever script.
func TestWholeSentences(t *testing.T) {
	sentence := strings.Repeat("น้ำ", 66) + "." // of 595 bytes
	answer := fmt.Sprintf(`{"hits":[{"id":"h1","source":"/docs/a.md","quote":%q,"start":0,"end":%d,"score":0.5}]}`, sentence, len(sentence))
	d := newDriver(t, "น้ำ?", Options{Docs: []string{"/docs"}, WithoutModel: true}, time.Minute, func(ponder.Action) ponder.Body {
		return ponder.ToolResult{Result: answer}
	}).work()
	if !strings.Contains(d.fin.Answer, "“"+sentence+"” [e1]") {
		t.Errorf("finished %+v", d.fin)
	}
}

// Names are asked about as they are written.
func TestTopics(t *testing.T) {
	s := start(ponder.Run{ID: testRun, Input: "Who ploughed?", Options: []byte(`{"docs":["/docs"],"without_model":true}`)})
	for _, names := range [][]string{{"Ibn al-Imad", "dry farming", ""}, {"Dry farming", "DRY FARMING"}, {strings.Repeat("x", 61), "ploughed"}} {
		s.note(names)
	}
	want := []asked{
		{Text: topicQuestion + "dry farming?", Priority: 6, Why: "It comes up beside what was found."},
		{Text: topicQuestion + "Ibn al-Imad?", Priority: 4, Why: "It comes up beside what was found."},
	}
	if diff := cmp.Diff(want, s.topicQuestions()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
