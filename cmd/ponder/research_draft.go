package main

import (
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"ponder/internal/textkit"

	"ponder"
	"ponder/internal/tui"
	"ponder/knowledge/claim"
	"ponder/knowledge/evidence"
	"ponder/mode/research"
)

// A draft is an answer as it is being written, line by line. It is safe for concurrent
// use.
type draft struct {
	mu    sync.Mutex
	rest  string // of the line that is not whole yet
	lines []string
}

// Bounds of what is shown of a draft.
const (
	leastLine = 60   // bytes, from which on a sentence is a line
	mostLine  = 2000 // bytes
	mostLines = 200  // that wait to be shown
)

// add takes in what a model has written.
func (d *draft) add(delta ponder.Delta) {
	if !research.WritesAnswer(delta.Key) {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.rest += delta.Text
	for {
		n := lineEnd(d.rest)
		if n == 0 && delta.Done != nil {
			n = len(d.rest)
		}
		if n == 0 {
			return
		}
		if line := oneLine(d.rest[:n]); line != "" && len(d.lines) < mostLines {
			d.lines = append(d.lines, line)
		}
		d.rest = d.rest[n:]
	}
}

// lineEnd returns how long the first line of a text is, or 0 if it is not whole.
func lineEnd(text string) int {
	if i := strings.IndexByte(text, '\n'); i >= 0 {
		return i + 1
	}
	for from := 0; ; {
		i := strings.Index(text[from:], ". ")
		if i < 0 {
			break
		}
		if from += i + 2; from >= leastLine {
			return from
		}
	}
	if len(text) < mostLine {
		return 0
	}
	n := mostLine
	if i := strings.LastIndexByte(text[:n], ' '); i >= 0 {
		return i + 1 // what is cited is not cut in two
	}
	for n > 1 && !utf8.RuneStart(text[n-1]) {
		n--
	}
	return n - 1 // the last letter may not be whole
}

// take returns the lines that came since it was called last.
func (d *draft) take() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	lines := d.lines
	d.lines = nil
	return lines
}

// draftItems returns what has been written since it was asked last. What it cites was
// found, as in the answer; all else that is cited is left out.
func (w *viewing) draftItems() (list []tui.Item) {
	lines := w.draft.take()
	if len(lines) == 0 {
		return nil
	}
	at := textkit.Seconds(w.Now().Session.Progress.Elapsed)
	known := citableIn(w.Looked.View)
	for _, line := range lines {
		line, _ = claim.Citations(line, known.id, known.url)
		if line = oneLine(line); line != "" {
			list = append(list, tui.Item{At: at, Kind: "writes", Text: line})
		}
	}
	return list
}

// A citable is what an answer may cite: ids of evidence, and pages.
type citable struct{ ids, pages map[string]bool }

// citableIn returns what an answer may cite of what a research has found so far.
func citableIn(v research.View) citable {
	c := citable{make(map[string]bool), make(map[string]bool)}
	for _, e := range v.Evidence {
		addressed := slices.ContainsFunc(e.Quality, func(s ponder.Signal) bool { return s.Name == "addressed" })
		if e.Banned || addressed {
			continue
		}
		c.ids[e.ID] = true
		if place := evidence.Place(evidence.Piece{URL: e.URL, Source: e.Source}); place != "" {
			c.pages[place] = true
		}
	}
	return c
}

func (c citable) id(id string) bool { return c.ids[strings.ToLower(id)] }

func (c citable) url(url string) bool { return c.pages[evidence.Place(evidence.Piece{URL: url})] }
