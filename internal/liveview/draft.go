package liveview

import (
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"ponder"
	"ponder/internal/app"
	"ponder/internal/textkit"
	"ponder/internal/tui"
	"ponder/knowledge/claim"
	"ponder/knowledge/evidence"
)

// A Draft is an unfinished answer, split into lines. It is safe for concurrent use.
type Draft struct {
	mu         sync.Mutex
	unfinished string
	lines      []string
}

// Limits of a draft.
const (
	minLineBytes  = 60   // bytes
	maxLineBytes  = 2000 // bytes
	maxDraftLines = 200
)

// Add appends text, unless it belongs to another call than the answer.
func (d *Draft) Add(delta ponder.Delta) {
	if !app.WritesFindings(delta.Key) {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.unfinished += delta.Text
	for {
		n := lineEnd(d.unfinished)
		if n == 0 && delta.Done != nil {
			n = len(d.unfinished)
		}
		if n == 0 {
			return
		}
		if line := textkit.OneLine(d.unfinished[:n]); line != "" && len(d.lines) < maxDraftLines {
			d.lines = append(d.lines, line)
		}
		d.unfinished = d.unfinished[n:]
	}
}

// lineEnd returns the length of the first line, or 0 if incomplete.
func lineEnd(text string) int {
	if i := strings.IndexByte(text, '\n'); i >= 0 {
		return i + 1
	}
	for from := 0; ; {
		i := strings.Index(text[from:], ". ")
		if i < 0 {
			break
		}
		if from += i + 2; from >= minLineBytes {
			return from
		}
	}
	if len(text) < maxLineBytes {
		return 0
	}
	n := maxLineBytes
	if i := strings.LastIndexByte(text[:n], ' '); i >= 0 {
		return i + 1 // do not split a citation
	}
	for n > 1 && !utf8.RuneStart(text[n-1]) {
		n--
	}
	return n - 1 // the last rune may be incomplete
}

func (d *Draft) takeLines() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	lines := d.lines
	d.lines = nil
	return lines
}

// Items returns the lines that are complete since the last call. It omits citations that the answer
// may not have.
func (d *Draft) Items(v app.View, r app.ResearchView) (list []tui.Item) {
	lines := d.takeLines()
	if len(lines) == 0 {
		return nil
	}
	at := textkit.Seconds(v.Session.Progress.Elapsed)
	known := newCitableSet(r)
	for _, line := range lines {
		line, _ = claim.CleanCitations(line, known.hasID, known.hasURL)
		if line = textkit.OneLine(line); line != "" {
			list = append(list, tui.Item{At: at, Kind: "writes", Text: line})
		}
	}
	return list
}

// A citableSet is a set of evidence ids and pages that an answer may cite.
type citableSet struct{ ids, pages map[string]bool }

func newCitableSet(v app.ResearchView) citableSet {
	c := citableSet{make(map[string]bool), make(map[string]bool)}
	for _, e := range v.Evidence {
		addressed := slices.ContainsFunc(e.Quality, func(s ponder.Signal) bool { return s.Name == "addressed" })
		if e.Banned || addressed {
			continue
		}
		c.ids[e.ID] = true
		if place := evidence.PlaceKey(evidence.Piece{URL: e.URL, Source: e.Source}); place != "" {
			c.pages[place] = true
		}
	}
	return c
}

func (c citableSet) hasID(id string) bool { return c.ids[strings.ToLower(id)] }

func (c citableSet) hasURL(url string) bool {
	return c.pages[evidence.PlaceKey(evidence.Piece{URL: url})]
}
