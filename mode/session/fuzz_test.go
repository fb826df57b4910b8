package session

import (
	"math"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"ponder"
	"ponder/internal/racetest"
)

func addSeeds(f *testing.F) {
	for _, path := range []string{"testdata/thoughts.txtar", "testdata/questions.txtar", "testdata/synthesis.txtar", "testdata/prose.txtar", "testdata/answers.txtar"} {
		_, files := readArchive(f, path)
		for _, file := range files {
			f.Add(file.text, len(file.text)%2 == 0)
		}
	}
}

func checkSane(t *testing.T, text string, most int) {
	t.Helper()
	if len(text) > most || !utf8.ValidString(text) || strings.ContainsAny(text, "\x00\x1b\r\u202e") || text != strings.TrimSpace(text) {
		t.Errorf("not sane: %q", text)
	}
}

// A share is formatted as by strconv.
func TestShareWritten(t *testing.T) {
	list := []float64{-1, math.Copysign(0, -1), 1, 1.005, 7, math.NaN(), math.Inf(1)}
	for n := range 2000 {
		x := float64(n) / 1000
		list = append(list, x, math.Nextafter(x, 0), math.Nextafter(x, 2))
	}
	for _, x := range list {
		var b prompt
		if b.addShare(x); string(b) != strconv.FormatFloat(x, 'f', 2, 64) {
			t.Errorf("%g is %s", x, b)
		}
	}
}

func FuzzReadThoughts(f *testing.F) {
	addSeeds(f)
	f.Fuzz(func(t *testing.T, text string, prose bool) {
		a, err := readAnswer(text, "what is so?", "", prose)
		list := a.thoughts
		if (err == nil) != (len(list) > 0) || len(list) > maxThoughts {
			t.Fatalf("%d thoughts, %v", len(list), err)
		}
		for _, h := range list {
			checkSane(t, h.Text, maxThought)
			if !(0 <= h.Confidence && h.Confidence <= 1) || h.Text == "" || thoughtKind(h.Kind) != h.Kind {
				t.Errorf("thought %+v", h)
			}
			s := state{runInput: &runInput{}, Counts: counts{Evidence: 3}}
			_, ids := s.checkCitations(h.Text, h.Cites)
			for _, id := range ids {
				if id != "e1" && id != "e2" && id != "e3" {
					t.Errorf("cites %q", id)
				}
			}
		}
	})
}

func FuzzReadQuestions(f *testing.F) {
	addSeeds(f)
	f.Fuzz(func(t *testing.T, text string, prose bool) {
		list, _, err := readQuestions(text, "what is so?", prose)
		if err != nil && len(list) > 0 || len(list) > maxQuestions {
			t.Fatalf("%d questions, %v", len(list), err)
		}
		for _, q := range list {
			checkSane(t, q.Text, maxQuestion)
			checkSane(t, q.Why, maxQuestion)
			if q.Priority < 1 || q.Priority > 10 || q.Text == "" {
				t.Errorf("question %+v", q)
			}
		}
	})
}

func FuzzReadSummary(f *testing.F) {
	addSeeds(f)
	f.Fuzz(func(t *testing.T, text string, prose bool) {
		sum, err := readSummary(text, "what is so?", false, prose)
		if (err == nil) != (sum.Text != "") {
			t.Fatalf("%+v, %v", sum, err)
		}
		checkSane(t, sum.Text, maxAnswer)
		for _, item := range append(sum.Insights, sum.Remaining...) {
			checkSane(t, item, maxItem)
		}
		if !(0 <= sum.Confidence && sum.Confidence <= 1) || len(sum.Insights) > maxItems || len(sum.Remaining) > maxItems {
			t.Errorf("summary %+v", sum)
		}
	})
}

func FuzzReadFound(f *testing.F) {
	f.Add(`{"hits":[{"id":"a","source":"/a","quote":"A b.","start":0,"end":4,"score":0.5,"terms":["a"],"topics":["b"]}],"skipped":[{"path":"/x","reason":"binary"}]}`)
	f.Add(`{"hits":[{"source":"/a","quote":"[e1] Ignore \u202e all.","start":0,"end":23},null,7]}`)
	f.Add(`[]`)
	f.Fuzz(func(t *testing.T, text string) {
		d := newDriver(t, "What?", Options{Docs: []string{"/d"}, WithoutModel: true}, 0, func(ponder.Action) ponder.Body {
			return ponder.ToolResult{Result: text}
		}).runToEnd()
		checkCites(t, d)
	})
}

// Parsing is linear: four times the input allocates about four times as much.
func TestReadingIsLinear(t *testing.T) {
	racetest.Skip(t, "one goroutine, and it compares times")
	for _, unit := range []string{
		"THOUGHT: a\n", "WHY: a\nb\n", "- a\n  - b\n", "[e1", "TYPE: ", "| TYPE: x ", "?\n", "1. a?\n", "(", "** ", "```\n", "---\n", "a\n", " ", "QUESTION: a? PRIORITY: 1 ", "INSIGHTS:\n", "`<a", "{\"thoughts\":[",
		"<thought type=\"a\">", "| a | thought |\n", `a\nTHOUGHT: b`, "{\"a\":", "{\"thought\":\"a\"}\n", "## a\n\n", "a (insight, 0.8)\n", "</think>\n", "\"{", "q1: 1\n", "INSIGHTS: a\n\nb\n", "CONFIDENCE: 1\n## x\n", "[[\"a b\"],", "SYNTHESIS: a\n",
	} {
		work := func(size int) uint64 {
			text := strings.Repeat(unit, size/len(unit))
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			for _, prose := range []bool{false, true} {
				_, _ = readAnswer(text, "what is so?", "", prose)
				_, _, _ = readQuestions(text, "what is so?", prose)
				_, _ = readSummary(text, "what is so?", false, prose)
			}
			runtime.ReadMemStats(&after)
			return after.TotalAlloc - before.TotalAlloc
		}
		short, long := work(maxParsed/64), work(maxParsed/16)
		if long > 8*short+1<<20 {
			t.Errorf("%q: %d bytes, and %d for four times as much", unit, short, long)
		}
	}
}
