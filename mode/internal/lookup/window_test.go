package lookup

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const page = "The node dies. Another one takes the lease. It reads the log. It sends the request again. Then it goes on."

// windowOf returns the window from the first sentence to the last, with a quote.
func windowOf(id, quote, first, last string) Window {
	at, end := strings.Index(page, first), strings.Index(page, last)+len(last)
	q := strings.Index(page, quote)
	return Window{Page: "p", ID: id, Text: page[at:end], Start: at, QuoteStart: q, QuoteEnd: q + len(quote)}
}

func TestMergeWindows(t *testing.T) {
	for name, tt := range map[string]struct {
		windows []Window
		want    []Passage
	}{
		"none": {nil, nil},
		"one": {[]Window{windowOf("e1", "It reads the log.", "Another", "again.")}, []Passage{{"p", []Part{
			{"", "Another one takes the lease."}, {"e1", "It reads the log."}, {"", "It sends the request again."}}}}},
		"overlapping": {[]Window{windowOf("e2", "It sends the request again.", "It reads", "on."), windowOf("e1", "Another one takes the lease.", "The node", "log.")}, []Passage{{"p", []Part{
			{"", "The node dies."}, {"e1", "Another one takes the lease."}, {"", "It reads the log."}, {"e2", "It sends the request again."}, {"", "Then it goes on."}}}}},
		"apart": {[]Window{windowOf("e2", "Then it goes on.", "Then", "on."), windowOf("e1", "The node dies.", "The node", "dies.")}, []Passage{
			{"p", []Part{{"e2", "Then it goes on."}}}, {"p", []Part{{"e1", "The node dies."}}}}},
		"a quote in a quote": {[]Window{windowOf("e1", "It reads the log. It sends the request again.", "It reads", "again."), windowOf("e2", "It reads the log.", "It reads", "log.")}, []Passage{
			{"p", []Part{{"e1", "It reads the log. It sends the request again."}}}}},
		"other text at the same place": {[]Window{{Page: "p", ID: "e1", Text: "One.", QuoteEnd: 4}, {Page: "p", ID: "e2", Text: "Two.", QuoteEnd: 4}}, []Passage{
			{"p", []Part{{"e1", "One."}}}, {"p", []Part{{"e2", "Two."}}}}},
		"other pages": {[]Window{{Page: "b", ID: "e1", Text: "One.", QuoteEnd: 4}, {Page: "a", ID: "e2", Text: "One.", QuoteEnd: 4}}, []Passage{
			{"b", []Part{{"e1", "One."}}}, {"a", []Part{{"e2", "One."}}}}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, MergeWindows(tt.windows)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// The passages of any windows of a page have each of their words once, and each quote under its ID.
func TestMergeWindowsKeepsAll(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		var list []Window
		shown, quoted := make([]bool, len(page)), make([]bool, len(page))
		for i := range 1 + r.IntN(6) {
			start := r.IntN(len(page) - 1)
			end := start + 1 + r.IntN(len(page)-start)
			end = min(end, len(page))
			from := start + r.IntN(end-start)
			to := from + 1 + r.IntN(end-from)
			to = min(to, end)
			list = append(list, Window{Page: "p", ID: "e" + string(rune('1'+i)), Text: page[start:end], Start: start, QuoteStart: from, QuoteEnd: to})
			for k := start; k < end; k++ {
				shown[k] = true
				quoted[k] = quoted[k] || k >= from && k < to
			}
		}
		want, wantQuoted, got, gotQuoted := 0, 0, 0, 0
		for k, c := range []byte(page) {
			if c != ' ' && shown[k] {
				want++
			}
			if c != ' ' && quoted[k] {
				wantQuoted++
			}
		}
		for _, p := range MergeWindows(list) {
			for _, part := range p.Parts {
				n := len(strings.ReplaceAll(part.Text, " ", ""))
				if got += n; part.ID != "" {
					gotQuoted += n
				}
			}
		}
		if got != want || gotQuoted != wantQuoted {
			t.Fatalf("%+v: %d of %d bytes, %d of %d quoted: %+v", list, got, want, gotQuoted, wantQuoted, MergeWindows(list))
		}
	}
}

func TestQuoteWindow(t *testing.T) {
	quote := "It reads the log."
	at := strings.Index(page, quote)
	hit := Hit{Quote: quote, Start: at, End: at + len(quote)}
	for name, tt := range map[string]struct {
		context string
		want    string
		start   int
	}{
		"none":                {"", quote, at},
		"without the quote":   {"Another one takes the lease. … It sends the request again.", quote, at},
		"with it":             {page, page, 0},
		"twice":               {page + " " + quote, quote, at},
		"longer before it":    {strings.Repeat("x", at+1) + page, quote, at},
		"a part of the start": {page[15:], page[15:], 15},
	} {
		t.Run(name, func(t *testing.T) {
			h := hit
			h.Context = tt.context
			if text, start := QuoteWindow(h); text != tt.want || start != tt.start {
				t.Errorf("%q from %d, want %q from %d", text, start, tt.want, tt.start)
			}
		})
	}
	long := strings.Repeat("é", MaxWindow)
	h := Hit{Quote: quote, Start: len(long), End: len(long) + len(quote), Context: long + quote + long}
	text, start := QuoteWindow(h)
	if len(text) > MaxWindow || len(text) < MaxWindow-4 || !strings.HasPrefix(text, "é") || !strings.HasSuffix(text, "é") || text[h.Start-start:h.End-start] != quote {
		t.Errorf("%d bytes from %d", len(text), start)
	}
}
