package main

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"ponder"
	"ponder/internal/app"
	"ponder/internal/report"
	"ponder/internal/textkit"
	"ponder/internal/tui"
	"ponder/knowledge/claim"
	"ponder/knowledge/evidence"
)

func (w *viewing) itemOf(ev ponder.Event, v app.View) (tui.Item, bool) {
	if w.Looked != nil {
		if it, ok := researchItem(ev, w.Looked.View); ok {
			return it, true
		}
		if _, found := ev.Body.(ponder.Evidence); found {
			return tui.Item{}, false
		}
	}
	return itemOf(ev, v)
}

// researchItem shows an event that only research has.
func researchItem(ev ponder.Event, v app.ResearchView) (tui.Item, bool) {
	it := tui.Item{At: textkit.Seconds(v.Research.Elapsed), Tone: tui.Quiet}
	if ev.Internal {
		return it, false
	}
	switch b := ev.Body.(type) {
	case ponder.Plan:
		it.Kind, it.Tone = "plan", tui.Bright
		it.Text = strings.Join(queriesOf(b), " · ")
		return it, it.Text != ""
	case ponder.ToolCall:
		it.Kind = "search"
		it.Text = lastQuery(v, b.Name)
		return it, it.Text != ""
	case ponder.ToolResult:
		it.Kind, it.Tone, it.Text = "failed", tui.Alarm, b.Name+": "+strings.TrimPrefix(b.Error, b.Name+": ")
		return it, b.Error != "" && !b.Dropped && b.RetryAt.IsZero()
	case ponder.Evidence:
		it.Kind, it.Mark, it.Tone = "evidence", b.ID, tui.Normal
		it.Text = cmp.Or(b.Title, b.URL, b.Source) + ": " + clip(oneLine(b.Content), maxShownQuote)
		if slices.ContainsFunc(b.Quality, func(s ponder.Signal) bool { return s.Name == "addressed" }) {
			it.Text = cmp.Or(b.URL, b.Source) + ": left out, for its words are meant for programs"
		}
		return it, true
	case ponder.Progress:
		if b.Stage == ponder.StageSteered {
			return it, false
		}
		it.Kind, it.Text = cmp.Or(b.Stage, "note"), cmp.Or(b.Content, b.Label)
		return it, it.Text != ""
	}
	return it, false
}

// maxShownQuote is the maximal length of a quote in the live view, in runes.
const maxShownQuote = 160

func queriesOf(b ponder.Plan) (list []string) {
	for _, q := range [][]string{b.Web, b.Memory, b.Queries} {
		for _, text := range q {
			list = append(list, oneLine(text))
		}
	}
	if len(list) == 0 && b.Content != "" {
		list = []string{oneLine(b.Content)}
	}
	return list
}

func lastQuery(v app.ResearchView, tool string) string {
	n := len(v.Queries)
	if n == 0 || v.Queries[n-1].Tool != oneLine(tool) {
		return ""
	}
	return strings.TrimSpace(v.Queries[n-1].Tool + " " + v.Queries[n-1].Text)
}

func researchFrame(f tui.Frame, v app.ResearchView) tui.Frame {
	f.Foci, f.Counts = nil, nil
	for _, q := range v.Queries {
		if !q.Done && len(f.Foci) < maxFoci {
			f.Foci = append(f.Foci, oneLine(q.Tool+" "+q.Text))
		}
	}
	if focus := app.FocusOf(v); f.Foci == nil && focus != "" {
		f.Foci = []string{focus}
	}
	if v.Research.Rounds > 0 {
		f.Counts = append(f.Counts, fmt.Sprintf("round %d of %d", v.Research.Rounds, max(v.Research.Setup.MaxRounds, v.Research.Rounds)))
	}
	f.Counts = append(f.Counts, textkit.Count(len(v.Queries), "search", "searches"), textkit.Count(len(v.Evidence), "passage", "passages"))
	if n := v.References.Unique; n > 0 {
		f.Counts = append(f.Counts, textkit.Count(n, "source", "sources"))
	}
	f.Chart = tui.Chart{}
	return f
}

// maxFoci is the maximal number of searches shown at a time.
const maxFoci = 6

func (w *viewing) researchReport(r report.Research) {
	if w.flags.json {
		return
	}
	if stderr, ok := w.log.out.(*os.File); ok && !w.flags.quiet && tui.CanShow(stderr) {
		fmt.Fprintln(w.log)
	}
	if r.Answer == "" {
		w.printf("There is no answer yet.\n")
		return
	}
	w.printf("%s\n", textkit.Clean(r.Text()))
	if w.flags.quiet {
		return
	}
	rows := [][2]string{{"Summary", r.Summary()}, {"Took", w.took()}, {"Cost", report.CostText(w.View.Session)}, {"Stopped", r.Reason}}
	w.printf("\n")
	for _, row := range rows {
		if row[1] != "" {
			w.printf("%-10s %s\n", row[0], oneLine(row[1]))
		}
	}
	w.printf("Report\n  %s -o report.html\n", w.command("session export", w.Id))
}

func (w *viewing) took() string {
	v := w.Looked.View
	return strings.Join([]string{
		textkit.Clock(textkit.Seconds(v.Research.Elapsed)), textkit.Count(v.Research.Rounds, "round", "rounds"), textkit.Count(len(v.Queries), "search", "searches"),
		textkit.Count(len(v.Evidence), "passage", "passages") + " found",
	}, ", ")
}

// A draft is an unfinished answer, split into lines. It is safe for concurrent use.
type draft struct {
	mu    sync.Mutex
	rest  string
	lines []string
}

// Limits of a draft.
const (
	leastLine = 60   // bytes
	mostLine  = 2000 // bytes
	mostLines = 200
)

func (d *draft) add(delta ponder.Delta) {
	if !app.WritesFindings(delta.Key) {
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
		if from += i + 2; from >= leastLine {
			return from
		}
	}
	if len(text) < mostLine {
		return 0
	}
	n := mostLine
	if i := strings.LastIndexByte(text[:n], ' '); i >= 0 {
		return i + 1 // do not split a citation
	}
	for n > 1 && !utf8.RuneStart(text[n-1]) {
		n--
	}
	return n - 1 // the last rune may be incomplete
}

func (d *draft) take() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	lines := d.lines
	d.lines = nil
	return lines
}

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

// A citable is a set of evidence ids and pages that an answer may cite.
type citable struct{ ids, pages map[string]bool }

func citableIn(v app.ResearchView) citable {
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

func (w *viewing) researchShow(info ponder.Info, course bool) error {
	v := w.Looked.View
	if w.flags.json {
		return w.object(report.ResearchDetailOf(info, v, app.IsInterrupted(info)))
	}
	w.printf("%s\n%s, %s, %s, started %s\n\n", oneLine(v.Research.Question), info.ID, info.Kind, w.statusOf(info), textkit.Ago(info.Created, time.Now()))
	if course {
		for _, m := range w.Looked.Report().Timeline {
			w.printf("%s\n", tui.RenderItem(tui.Item{At: textkit.Seconds(m.At), Kind: oneLine(m.Kind), Text: oneLine(m.Text)}, 100, tui.Style{Plain: true}))
		}
		w.printf("\n")
	}
	w.researchReport(w.Looked.Report())
	if !w.flags.quiet {
		w.printf("%s%s", report.Questions(w.View), w.next(info, w.View.Session, w.goOn()))
	}
	return nil
}
