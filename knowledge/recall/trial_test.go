package recall_test

import (
	"strings"
	"testing"

	"ponder/knowledge/recall"
)

// Finished sessions do not replace their notes.
func TestOriginalsBeforeSessions(t *testing.T) {
	r := newRig(t)
	r.rememberItems(
		recall.Item{Kind: recall.KindJournal, Date: parseDay("2024-03-01"), Text: "The oak counter costs 2,400 euros, said the builders."},
		recall.Item{Kind: recall.KindMemory, Text: "The counter must be of oak."},
	)
	for i, text := range []string{"What does the oak counter cost?\n\nThe oak counter costs 2,400 euros. The oak counter costs that, as the builders said of the oak counter.",
		"Oak counter cost?\n\nThe notes say of the oak counter: cost 2,400 euros. Oak counter, cost.", "Price of the counter\n\nOak counter: it costs 2,400 euros."} {
		r.rememberItems(recall.Item{Kind: recall.KindThread, Source: "ponder", ExternalID: string(rune('a' + i)), Date: parseDay("2024-06-01"), Text: text})
	}
	sessions := func(q string, o recall.SearchOptions) (n, first int) {
		first = -1
		for i, h := range r.searchText(q, o).Hits {
			if h.Item.Kind == recall.KindThread {
				if n++; first < 0 {
					first = i
				}
			}
		}
		return n, first
	}
	if n, first := sessions("what does the oak counter cost", recall.SearchOptions{}); n > 1 || first == 0 {
		t.Errorf("%d sessions, the first at %d", n, first)
	}
	if n, _ := sessions("kind:thread oak counter cost", recall.SearchOptions{}); n < 2 {
		t.Errorf("%d sessions where they are asked for", n)
	}
	if n, _ := sessions("oak counter cost", recall.SearchOptions{Kinds: []recall.Kind{recall.KindThread}}); n < 2 {
		t.Errorf("%d sessions where their kind is asked for", n)
	}
}

func TestTimesAlone(t *testing.T) {
	r := newSampleRig(t)
	for q, want := range map[string]string{
		"what happened in March 2024":    "launch of the new shop",
		"what did I do on 20 February":   "builders",
		"what was going on in June 2024": "Budget meeting",
		"on 5 June":                      "Budget meeting",
	} {
		got := r.searchText(q, recall.SearchOptions{})
		if len(got.Hits) == 0 || !strings.Contains(got.Hits[0].Context, want) || got.Confidence < 0.5 || got.Hits[0].Score < 0.5 {
			t.Errorf("%s: found %q, confidence %.2f", q, hitQuotes(got), got.Confidence)
		}
		if strings.Contains(got.Reason, "Nothing") || strings.Contains(got.Reason, ": .") || strings.Contains(got.Reason, "of 1 word") {
			t.Errorf("%s: says %q", q, got.Reason)
		}
	}
}

// A date in a text counts more than its file's date, and another day of the month does
// not match.
func TestTimesInTexts(t *testing.T) {
	r := newRig(t)
	r.ingestPaths(recall.IngestOptions{}, writeFolder(t, map[string]string{
		"standup1.md": "# Standup, 20 June 2023\n\nCustomers complain about the battery in 2023, and again in 2023.",
		"standup2.md": "# Standup, 2 May 2023\n\nLoad tests fail.",
	}))
	got := r.searchText("in May 2023", recall.SearchOptions{})
	if len(got.Hits) != 1 || !strings.Contains(got.Hits[0].Context, "Load tests") {
		t.Errorf("found %q, says %q", hitQuotes(got), got.Reason)
	}
}

// A passage with "before the launch" matches at any date; file times date no event.
func TestAnchors(t *testing.T) {
	r := newRig(t)
	r.ingestPaths(recall.IngestOptions{}, writeFolder(t, map[string]string{
		"standup.md": "# Standup\n\nThe launch launch launch is on everybody's mind.",
		"plan.md":    "# Plan\n\nThe launch took place on 12 March 2024, with guests.",
		"race.md":    "# Retro\n\nBefore the launch we found a race condition in the queue.",
		"tea.md":     "# Tea\n\nGreen tea needs 70 degrees.",
	}))
	r.rememberItems(recall.Item{Kind: recall.KindJournal, Date: parseDay("2024-02-01"), Text: "Bought paint."}, recall.Item{Kind: recall.KindJournal, Date: parseDay("2024-02-03"), Text: "Ran five miles."},
		recall.Item{Kind: recall.KindJournal, Date: parseDay("2024-02-04"), Text: "Saw a heron."}, recall.Item{Kind: recall.KindJournal, Date: parseDay("2024-02-06"), Text: "Read a novel."})
	for _, q := range []string{"what did we find before the launch", "before the launch"} {
		got := r.searchText(q, recall.SearchOptions{N: 3})
		if all := strings.Join(hitQuotes(got), "\n"); !strings.Contains(all, "race condition") || !strings.Contains(got.Reason, "12 March 2024") || strings.Contains(got.Reason, ": .") {
			t.Errorf("%s: found %q, says %q", q, hitQuotes(got), got.Reason)
		}
	}
	lone := newRig(t)
	lone.ingestPaths(recall.IngestOptions{}, writeFolder(t, map[string]string{"standup.md": "# Standup\n\nThe launch is on everybody's mind. The queue is full."}))
	if got := lone.searchText("queue before the launch", recall.SearchOptions{}); !strings.Contains(got.Reason, "is unknown") {
		t.Errorf("the time of a file dates an event: %q", got.Reason)
	}
}

func TestOwnWords(t *testing.T) {
	filler := strings.Repeat("The keeper counts gulls and the sea was grey and nobody spoke of the wind. ", 9)
	r := newRig(t)
	r.rememberItems(
		recall.Item{Kind: recall.KindDocument, Title: "Rosengasse 14", Text: "# Start\n\nRosengasse 14 is a house. " + filler + "\n\n# Middle\n\n" + filler + "\n\n# End\n\n" + filler},
		recall.Item{Kind: recall.KindJournal, Date: parseDay("2024-03-05"), Text: "Signed the lease of the flat in Rosengasse 14."},
		recall.Item{Kind: recall.KindMemory, Text: "There are 14 gulls."},
	)
	got := r.searchText("Rosengasse 14", recall.SearchOptions{})
	if len(got.Hits) < 2 {
		t.Fatalf("found %q", hitQuotes(got))
	}
	for i, h := range got.Hits {
		own := strings.Count(h.Context, "Rosengasse")
		if own == 0 && h.Score >= 0.3 && !strings.Contains(h.Context, "14") || len(h.Terms) == 2 && own == 0 || i < 2 && own == 0 {
			t.Errorf("%d: %.2f %q is said to have %q", i, h.Score, h.Context[:40], h.Terms)
		}
	}
}

// Hits fall by score; good hits leave noise out.
func TestScoresFall(t *testing.T) {
	r := newSampleRig(t)
	for _, q := range []string{"tell me everything about the counter and the builders", "oak counter price", "prefers coffee", "how to descale the coffee machine", "builders in February 2024"} {
		hits := r.searchText(q, recall.SearchOptions{}).Hits
		for i := range hits {
			if i > 0 && hits[i].Score > hits[i-1].Score {
				t.Errorf("%s: %.3f comes after %.3f", q, hits[i].Score, hits[i-1].Score)
			}
			if hits[0].Score >= 0.5 && hits[i].Score < 0.25 {
				t.Errorf("%s: %.3f beside %.3f", q, hits[i].Score, hits[0].Score)
			}
		}
	}
}

func TestUnspacedScripts(t *testing.T) {
	r := newRig(t)
	r.rememberItems(
		recall.Item{Text: "十月一日出发去北京。酒店预订在王府井附近，每晚六百元。"},
		recall.Item{Text: "来週の会議は水曜日の午後三時からです。資料を忘れないでください。"},
	)
	if got := r.searchText("北京酒店", recall.SearchOptions{}); len(got.Hits) == 0 || got.Confidence < 0.5 || strings.Contains(got.Reason, "0 of 1") {
		t.Errorf("found %q, %.2f, says %q", hitQuotes(got), got.Confidence, got.Reason)
	}
	got := r.searchText("来週の会議", recall.SearchOptions{})
	if len(got.Hits) == 0 || !strings.Contains(got.Hits[0].Snippet, recall.MarkOpen+"来週の会議"+recall.MarkClose) {
		t.Errorf("hits %+v", got.Hits)
	}
}
