package research

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"ponder"
	"ponder/internal/textkit"
	"ponder/knowledge/evidence"
	"ponder/mode/internal/usage"
)

type viewFold struct {
	budget ponder.Budget
	spent  ponder.Cost
	begun  bool
	began  time.Duration // elapsed time of the thread at the run's first write
	now    time.Duration // elapsed time of the thread at the newest event
	cited  map[string]bool
	places map[string]int
	same   map[string][]int
}

// NewView returns the view of an empty thread. On a thread with several runs it shows the newest.
func NewView() View {
	return View{
		Research: Research{Status: ponder.Created, Usage: Usage{Models: []ModelUsage{}}},
		Plans:    []Plan{}, Queries: []Query{}, Evidence: []Evidence{}, Claims: []Claim{}, Conflicts: []ponder.Conflict{},
		Removed: []string{}, Timeline: []Moment{}, Questions: []Question{}, References: Summary{Tools: map[string]int{}},
		fold: viewFold{cited: map[string]bool{}, places: map[string]int{}, same: map[string][]int{}},
	}
}

// Apply returns the view after ev, the next event of the thread. It may change v; to keep or share
// v, take a [View.Clone].
func (v View) Apply(ev ponder.Event) View {
	if b, ok := ev.Body.(ponder.RunStarted); ok {
		return v.start(ev, b)
	}
	if !v.concerns(ev) {
		return v
	}
	v.fold.see(ev, v.Research.Run)
	v.Research.Elapsed = v.fold.worked().Seconds()
	switch b := ev.Body.(type) {
	case ponder.Plan:
		v.planned(b)
	case ponder.Evidence:
		v.found(ev, b)
	case ponder.ToolCall:
		v.asked(ev, b)
	case ponder.ToolResult:
		v.answered(ev, b)
	case ponder.Progress:
		v.progress(ev, b)
	case ponder.SubQuestion:
		v.raised(b)
	case ponder.QuestionUpdated:
		v.updated(b)
	case ponder.Claim:
		v.claimed(b)
	case ponder.Synthesis:
		v.concluded(b)
	case ponder.CallFinished:
		v.charged(b)
		v.broke(ev, b)
	case ponder.Steer:
		v.addCommand(ev, b)
	case ponder.SystemNote:
		v.note(b)
	default:
		v.lifecycle(ev)
	}
	v.Research.Percentage = v.percentage(v.fold.worked())
	return v
}

// Clone returns a copy that later Apply calls do not change.
func (v View) Clone() View {
	v.Plans, v.Queries, v.Evidence, v.Claims = slices.Clone(v.Plans), slices.Clone(v.Queries), slices.Clone(v.Evidence), slices.Clone(v.Claims)
	v.Timeline, v.Questions, v.Steering = slices.Clone(v.Timeline), slices.Clone(v.Questions), slices.Clone(v.Steering)
	v.Pinned, v.Banned, v.Notes = slices.Clone(v.Pinned), slices.Clone(v.Banned), slices.Clone(v.Notes)
	v.Research.Usage.Models = slices.Clone(v.Research.Usage.Models)
	v.fold.cited, v.fold.places, v.fold.same = maps.Clone(v.fold.cited), maps.Clone(v.fold.places), maps.Clone(v.fold.same)
	for k, list := range v.fold.same {
		v.fold.same[k] = slices.Clone(list)
	}
	return v
}

// At returns the view after a further duration of work, for live display between events.
func (v View) At(since time.Duration) View {
	if v.Research.Status == ponder.Thinking && since > 0 {
		worked := v.fold.worked() + since
		v.Research.Elapsed, v.Research.Percentage = worked.Seconds(), v.percentage(worked)
	}
	return v
}

func (v View) percentage(worked time.Duration) float64 {
	if v.Research.Status == ponder.Completed {
		return 100
	}
	return usage.Percentage(v.fold.budget, worked, v.fold.spent)
}

// see updates the clocks. Only the holder knows the thread's clock, and its own events have a
// cause.
func (f *viewFold) see(ev ponder.Event, run ponder.RunID) {
	f.now = max(f.now, ev.Elapsed)
	if !f.begun && ev.Run.Within(run) && ev.Cause != "" && !ev.IsInput() {
		f.begun, f.began = true, f.now
	}
}

func (f *viewFold) worked() time.Duration {
	if !f.begun {
		return 0
	}
	return max(0, f.now-f.began)
}

func (v View) start(ev ponder.Event, b ponder.RunStarted) View {
	wanted := v.Research.Run == "" || v.Research.Status.Ended()
	if b.Mode != Name || ev.Run == "" || !wanted {
		return v
	}
	v = NewView()
	v.fold.budget = b.Budget
	if b.Budget == (ponder.Budget{}) {
		v.fold.budget = ponder.Budget{Time: duration}
	}
	o, _ := options(ponder.Run{Options: b.Options}) // invalid options fail the run
	r := &v.Research
	r.ID, r.Run, r.Question, r.Status, r.Started = ev.Thread, ev.Run, textkit.CleanTrim(b.Input), ponder.Thinking, ev.Time
	r.Effort, r.Budget = o.Effort, usage.LimitsOf(v.fold.budget)
	r.Persona = Persona{Name: textkit.OneLine(o.Persona.Name), Voice: textkit.CleanTrim(o.Persona.Voice)}
	r.Setup = Setup{
		MaxRounds: o.MaxRounds, MaxItems: o.MaxItemsPerSource, Parallel: o.MaxParallelQueries, ForceWeb: o.ForceWebSearch, Strategy: o.SynthesisStrategy,
		Docs: lines(o.Docs), Memory: o.Memory, Web: o.Web, Others: len(o.Tools) > 0, Unaided: o.WithoutModel,
	}
	if o.Since != nil {
		r.Setup.Since = o.Since.Thread
	}
	return v
}

// concerns reports whether ev belongs to the run. Of child runs and internal events only the cost
// counts.
func (v View) concerns(ev ponder.Event) bool {
	run := v.Research.Run
	if run == "" {
		return false
	}
	switch b := ev.Body.(type) {
	case ponder.CallFinished:
		return ev.Run.Within(run)
	case ponder.RunPaused, ponder.RunResumed, ponder.Steer:
		return !ev.Internal && run.Within(ev.Run)
	case ponder.SystemNote:
		return !ev.Internal && (ev.Run == run || ev.Run == "" && b.From != "")
	}
	return !ev.Internal && ev.Run == run
}

func (v *View) planned(b ponder.Plan) {
	p := Plan{
		Text: textkit.CleanTrim(b.Content), Round: b.Round, Effort: textkit.OneLine(b.Effort), Steps: lines(b.Steps), Terms: lines(b.Terms), Web: lines(b.Web),
		Memory: lines(b.Memory), Queries: lines(b.Queries), Unaided: b.Unaided, Model: textkit.OneLine(b.Model), At: v.Research.Elapsed,
	}
	v.Plans = append(v.Plans, p)
	v.Research.Effort = cmp.Or(p.Effort, v.Research.Effort)
	v.Research.Rounds = max(v.Research.Rounds, b.Round)
}

func (v *View) found(ev ponder.Event, b ponder.Evidence) {
	tool := textkit.OneLine(cmp.Or(b.Found.Tool, b.Tool))
	i, again := v.fold.places["e "+b.ID]
	if again {
		v.Evidence[i].Score = max(v.Evidence[i].Score, b.Score)
	} else {
		i = len(v.Evidence)
		v.fold.places["e "+b.ID] = i
		b.Source, b.Title, b.Author, b.Section = textkit.OneLine(b.Source), textkit.OneLine(b.Title), textkit.OneLine(b.Author), textkit.OneLine(b.Section)
		v.Evidence = append(v.Evidence, Evidence{Evidence: b, Quote: b.Content, FoundBy: []string{}, Cited: v.fold.cited[b.ID], Event: ev.ID, At: v.Research.Elapsed, Created: ev.Time})
		place := cmp.Or(evidence.Place(evidence.Piece{URL: b.URL, Source: b.Source}), "id:"+b.ID)
		v.fold.same[place] = append(v.fold.same[place], i)
		v.credit(tool, textkit.OneLine(b.Found.Query))
	}
	v.agree(i, tool)
	v.mark()
}

// agree updates the tools and the best score of all passages of a source.
func (v *View) agree(i int, tool string) {
	e := &v.Evidence[i]
	list := v.fold.same[cmp.Or(evidence.Place(evidence.Piece{URL: e.URL, Source: e.Source}), "id:"+e.ID)]
	var tools []string
	best := 0.0
	for _, k := range list {
		tools, best = union(tools, v.Evidence[k].FoundBy), max(best, v.Evidence[k].Score)
	}
	tools = union(tools, []string{tool})
	for _, k := range list {
		v.Evidence[k].FoundBy, v.Evidence[k].Best = tools, best
	}
}

// union returns a new list of the distinct non-empty texts of a and b.
func union(a, b []string) []string {
	all := append([]string{}, a...)
	for _, s := range b {
		if s != "" && !slices.Contains(all, s) {
			all = append(all, s)
		}
	}
	return slices.Clip(all)
}

func (v *View) claimed(b ponder.Claim) {
	v.Claims = append(v.Claims, Claim{Claim: b, Text: b.Content, Reason: textkit.OneLine(b.Reason)})
	v.cite(b.Cites)
}

// concluded applies the synthesis. A final one is the run's answer.
func (v *View) concluded(b ponder.Synthesis) {
	r := &v.Research
	r.Model, r.Unaided = cmp.Or(textkit.OneLine(b.Model), r.Model), r.Unaided || b.Unaided
	r.Insights, r.Remaining = lines(b.Insights), lines(b.Remaining)
	v.cite(b.Cites)
	if b.Final {
		r.Answer, r.Confidence = textkit.CleanTrim(b.Content), b.Confidence
		v.Conflicts, v.Removed = append([]ponder.Conflict{}, b.Conflicts...), lines(b.Removed)
	}
}

func (v *View) cite(ids []string) {
	for _, id := range ids {
		v.fold.cited[id] = true
		if i, ok := v.fold.places["e "+id]; ok {
			v.Evidence[i].Cited = true
		}
	}
}

func (v *View) broke(ev ponder.Event, b ponder.CallFinished) {
	if ev.Run == v.Research.Run && strings.HasPrefix(ev.Cause, writing+"-") && b.Error == "" && !b.Dropped {
		v.BrokeOff = b.Finish.BrokeOff()
	}
}

func (v *View) charged(b ponder.CallFinished) {
	if b.Refused {
		return
	}
	v.fold.spent = v.fold.spent.Add(b.Spent)
	v.Research.Usage.Add(b, v.fold.spent.Money)
	if b.Error == "" && b.Model != "" {
		v.Research.Model = textkit.OneLine(b.Model)
	}
}

func (v *View) raised(b ponder.SubQuestion) {
	q := Question{ID: b.ID, Parent: b.Parent, Text: textkit.OneLine(b.Content), Priority: b.Priority, Why: textkit.OneLine(b.Why), By: textkit.OneLine(b.By), Unaided: b.Unaided, At: v.Research.Elapsed}
	if _, ok := v.fold.places["q "+b.ID]; ok {
		return
	}
	v.fold.places["q "+b.ID] = len(v.Questions)
	v.Questions = append(v.Questions, q)
}

func (v *View) updated(b ponder.QuestionUpdated) {
	i, ok := v.fold.places["q "+b.ID]
	if !ok {
		return
	}
	q := &v.Questions[i]
	q.Priority, q.Insights, q.Reason = cmp.Or(b.Priority, q.Priority), cmp.Or(textkit.CleanTrim(b.Insights), q.Insights), cmp.Or(textkit.OneLine(b.Reason), q.Reason)
	q.Explored, q.Dropped = q.Explored || b.Explored, b.Dropped
}

func (v *View) note(b ponder.SystemNote) {
	if b.From != "" {
		v.Research.Fork = &Fork{From: b.From, At: b.At}
	}
	v.Notes = append(v.Notes, textkit.OneLine(b.Content))
}

// lines returns the non-empty texts as single lines, never nil.
func lines(list []string) []string {
	kept := []string{}
	for _, s := range list {
		if s = textkit.OneLine(s); strings.TrimSpace(s) != "" {
			kept = append(kept, s)
		}
	}
	return kept
}
