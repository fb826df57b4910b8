package lookup

import (
	"cmp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"ponder/internal/textkit"
)

// MaxWindow limits a window, in bytes: about 400 tokens.
const MaxWindow = 1600

// A Window is a quote with the exact text around it. Without text around it, Text is the quote.
type Window struct {
	Page       string // equal for windows of one text
	ID         string // of the quote
	Text       string
	Start      int // of Text in its page, in bytes
	QuoteStart int // of the quote in its page
	QuoteEnd   int
}

// QuoteWindow returns the text around a hit and its start, or the quote alone if the context of the hit
// does not contain it once.
func QuoteWindow(h Hit) (text string, start int) {
	from := strings.Index(h.Context, h.Quote)
	if h.Quote == "" || from < 0 || from > h.Start || strings.Contains(h.Context[from+1:], h.Quote) {
		return h.Quote, h.Start
	}
	to, half := from+len(h.Quote), max(0, (MaxWindow-len(h.Quote))/2)
	cut := max(0, from-half)
	for cut < from && !utf8.RuneStart(h.Context[cut]) {
		cut++
	}
	return h.Context[cut:to] + textkit.Prefix(h.Context[to:], half), h.Start - (from - cut)
}

// A Passage is a stretch of a page: windows that overlap or touch.
type Passage struct {
	Page  string
	Parts []Part
}

// A Part is a quote with its ID, or text between quotes without one.
type Part struct {
	ID   string
	Text string
}

// MergeWindows returns the passages of windows, so that no text is shown twice. A passage stands where
// its first window was. A quote within another one is part of it, and its ID is left out.
func MergeWindows(list []Window) (passages []Passage) {
	type group struct {
		first   int
		windows []Window
		end     int
	}
	order := make([]int, len(list))
	for i := range list {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		return cmp.Or(strings.Compare(list[a].Page, list[b].Page), cmp.Compare(list[a].Start, list[b].Start))
	})
	var groups []group
	for _, i := range order {
		w := list[i]
		n := len(groups) - 1
		if n < 0 || groups[n].windows[0].Page != w.Page || w.Start > groups[n].end || !agree(groups[n].windows, w) {
			groups = append(groups, group{first: i, windows: []Window{w}, end: w.Start + len(w.Text)})
			continue
		}
		g := &groups[n]
		g.first, g.windows, g.end = min(g.first, i), append(g.windows, w), max(g.end, w.Start+len(w.Text))
	}
	slices.SortFunc(groups, func(a, b group) int { return cmp.Compare(a.first, b.first) })
	for _, g := range groups {
		passages = append(passages, Passage{g.windows[0].Page, splitParts(g.windows)})
	}
	return passages
}

// agree reports whether the text of w equals that of the windows where they overlap.
func agree(windows []Window, w Window) bool {
	for _, o := range windows {
		from, to := max(o.Start, w.Start), min(o.Start+len(o.Text), w.Start+len(w.Text))
		if from < to && o.Text[from-o.Start:to-o.Start] != w.Text[from-w.Start:to-w.Start] {
			return false
		}
	}
	return true
}

// splitParts joins windows in order of their start and splits the text at the quotes.
func splitParts(windows []Window) (parts []Part) {
	start := windows[0].Start
	text := ""
	for _, w := range windows {
		if have := start + len(text) - w.Start; have < len(w.Text) {
			text += w.Text[have:]
		}
	}
	slices.SortStableFunc(windows, func(a, b Window) int {
		return cmp.Or(cmp.Compare(a.QuoteStart, b.QuoteStart), cmp.Compare(b.QuoteEnd, a.QuoteEnd))
	})
	at := 0
	add := func(id, s string) {
		if s = strings.TrimFunc(s, unicode.IsSpace); s != "" {
			parts = append(parts, Part{id, s})
		}
	}
	for _, w := range windows {
		from, to := max(w.QuoteStart-start, at), w.QuoteEnd-start
		if to <= from {
			continue // within another quote
		}
		add("", text[at:from])
		add(w.ID, text[from:to])
		at = to
	}
	add("", text[at:])
	return parts
}
