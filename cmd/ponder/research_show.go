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

func (w *sessionScreen) eventItem(ev ponder.Event, v app.View) (tui.Item, bool) {
	if w.Research != nil {
		if it, ok := researchItem(ev, w.Research.View); ok {
			return it, true
		}
		if _, found := ev.Body.(ponder.Evidence); found {
			return tui.Item{}, false
		}
	}
	return eventItem(ev, v)
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
		it.Text = strings.Join(planQueries(b), " · ")
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
		it.Text = cmp.Or(b.Title, b.URL, b.Source) + ": " + truncate(oneLine(b.Content), maxShownQuote)
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

func planQueries(b ponder.Plan) (list []string) {
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

func (w *sessionScreen) researchReport(r report.Research) {
	if w.flags.json {
		return
	}
	if stderr, ok := w.log.out.(*os.File); ok && !w.flags.quiet && tui.CanShow(stderr) {
		fmt.Fprintln(w.log)
	}
	if r.Answer == "" {
		w.printf("No answer yet.\n")
		return
	}
	w.printf("%s\n", textkit.Clean(r.Text()))
	if w.flags.quiet {
		return
	}
	rows := [][2]string{{"Summary", r.Summary()}, {"Took", w.researchSummary()}, {"Cost", report.CostText(w.View.Session)}, {"Stopped", r.Reason}}
	w.printf("\n")
	for _, row := range rows {
		if row[1] != "" {
			w.printf("%-10s %s\n", row[0], oneLine(row[1]))
		}
	}
	w.printf("Report\n  %s -o report.html\n", w.formatCommand("session export", w.Id))
}

func (w *sessionScreen) researchSummary() string {
	v := w.Research.View
	return strings.Join([]string{
		textkit.Clock(textkit.Seconds(v.Research.Elapsed)), textkit.Count(v.Research.Rounds, "round", "rounds"), textkit.Count(len(v.Queries), "search", "searches"),
		textkit.Count(len(v.Evidence), "passage", "passages") + " found",
	}, ", ")
}

// A draft is an unfinished answer, split into lines. It is safe for concurrent use.
type draft struct {
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

func (d *draft) addDelta(delta ponder.Delta) {
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
		if line := oneLine(d.unfinished[:n]); line != "" && len(d.lines) < maxDraftLines {
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

func (d *draft) takeLines() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	lines := d.lines
	d.lines = nil
	return lines
}

func (w *sessionScreen) draftItems() (list []tui.Item) {
	lines := w.draft.takeLines()
	if len(lines) == 0 {
		return nil
	}
	at := textkit.Seconds(w.CurrentView().Session.Progress.Elapsed)
	known := newCitableSet(w.Research.View)
	for _, line := range lines {
		line, _ = claim.CleanCitations(line, known.hasID, known.hasURL)
		if line = oneLine(line); line != "" {
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

func (w *sessionScreen) researchShow(info ponder.Info, course bool) error {
	v := w.Research.View
	if w.flags.json {
		return w.printJSON(report.NewResearchDetail(info, v, app.IsInterrupted(info)))
	}
	w.printf("%s\n%s, %s, %s, started %s\n\n", oneLine(v.Research.Question), info.ID, info.Kind, w.statusText(info), textkit.Ago(info.Created, time.Now()))
	if course {
		for _, m := range w.Research.Report().Timeline {
			w.printf("%s\n", tui.RenderItem(tui.Item{At: textkit.Seconds(m.At), Kind: oneLine(m.Kind), Text: oneLine(m.Text)}, 100, tui.Style{Plain: true}))
		}
		w.printf("\n")
	}
	if w.hasProposal() {
		return w.showProposal()
	}
	w.researchReport(w.Research.Report())
	if !w.flags.quiet {
		w.printf("%s%s", report.Questions(w.View), w.nextSteps(info, w.View.Session, w.resumeCommand()))
	}
	return nil
}
