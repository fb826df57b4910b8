package research

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"ponder"
	"ponder/internal/textkit"
	"ponder/mode/internal/steerstate"
	"ponder/mode/internal/usage"
)

type viewFold struct {
	budget    ponder.Budget
	spent     ponder.Cost
	started   bool
	startedAt time.Duration // elapsed time of the thread at the run's first write
	now       time.Duration // elapsed time of the thread at the newest event
	cited     map[string]bool
	places    map[string]int
	bySource  map[string][]int
	origins   steerstate.Origins
}

// NewView returns the view of an empty thread. On a thread with several runs it shows the newest.
func NewView() View {
	return View{
		Research: Research{Status: ponder.Created, Usage: Usage{Models: []ModelUsage{}}},
		Plans:    []Plan{}, Queries: []Query{}, Evidence: []Evidence{}, Claims: []Claim{}, Conflicts: []ponder.Conflict{},
		Removed: []string{}, Timeline: []Moment{}, Questions: []Question{}, References: Summary{Tools: map[string]int{}},
		fold: viewFold{cited: map[string]bool{}, places: map[string]int{}, bySource: map[string][]int{}, origins: steerstate.Origins{}},
	}
}

// Apply returns the view after ev, the next event of the thread. It may change v; to keep or share
// v, take a [View.Clone].
func (v View) Apply(ev ponder.Event) View {
	if b, ok := ev.Body.(ponder.RunStarted); ok {
		return v.startRun(ev, b)
	}
	if !v.isRelevant(ev) {
		return v
	}
	v.fold.updateClocks(ev, v.Research.Run)
	v.Research.Elapsed = v.fold.workTime().Seconds()
	switch b := ev.Body.(type) {
	case ponder.Plan:
		v.addPlan(b)
	case ponder.Evidence:
		v.addEvidence(ev, b)
	case ponder.ToolCall:
		v.addQuery(ev, b)
	case ponder.ToolResult:
		v.finishQuery(ev, b)
	case ponder.Progress:
		v.addProgress(ev, b)
	case ponder.SubQuestion:
		v.addQuestion(b)
	case ponder.QuestionUpdated:
		v.updateQuestion(b)
	case ponder.Claim:
		v.addClaim(b)
	case ponder.Synthesis:
		v.applySynthesis(b)
	case ponder.CallFinished:
		v.addUsage(b)
		v.markBrokeOff(ev, b)
	case ponder.Steer:
		v.addCommand(ev, b)
	case ponder.SystemNote:
		v.addNote(b)
	default:
		v.applyLifecycle(ev)
	}
	v.Research.Percentage = v.budgetPercentage(v.fold.workTime())
	return v
}

// Clone returns a copy that later Apply calls do not change.
func (v View) Clone() View {
	v.Plans, v.Queries, v.Evidence, v.Claims = slices.Clone(v.Plans), slices.Clone(v.Queries), slices.Clone(v.Evidence), slices.Clone(v.Claims)
	v.Timeline, v.Questions, v.Steering = slices.Clone(v.Timeline), slices.Clone(v.Questions), slices.Clone(v.Steering)
	v.Pinned, v.Banned, v.Notes = slices.Clone(v.Pinned), slices.Clone(v.Banned), slices.Clone(v.Notes)
	v.Research.Usage.Models = slices.Clone(v.Research.Usage.Models)
	v.fold.cited, v.fold.places, v.fold.bySource = maps.Clone(v.fold.cited), maps.Clone(v.fold.places), maps.Clone(v.fold.bySource)
	v.fold.origins = maps.Clone(v.fold.origins)
	for k, list := range v.fold.bySource {
		v.fold.bySource[k] = slices.Clone(list)
	}
	return v
}

// WithElapsed returns the view after a further duration of work, for live display between events.
func (v View) WithElapsed(since time.Duration) View {
	if v.Research.Status == ponder.Thinking && since > 0 {
		worked := v.fold.workTime() + since
		v.Research.Elapsed, v.Research.Percentage = worked.Seconds(), v.budgetPercentage(worked)
	}
	return v
}

func (v View) budgetPercentage(worked time.Duration) float64 {
	if v.Research.Status == ponder.Completed {
		return 100
	}
	return usage.Percentage(v.fold.budget, worked, v.fold.spent)
}

// updateClocks updates the clocks. Only the holder knows the thread's clock, and its own events have a
// cause.
func (f *viewFold) updateClocks(ev ponder.Event, run ponder.RunID) {
	f.now = max(f.now, ev.Elapsed)
	if !f.started && ev.Run.IsWithin(run) && ev.Cause != "" && !ev.IsInput() {
		f.started, f.startedAt = true, f.now
	}
}

func (f *viewFold) workTime() time.Duration {
	if !f.started {
		return 0
	}
	return max(0, f.now-f.startedAt)
}

func (v View) startRun(ev ponder.Event, b ponder.RunStarted) View {
	wanted := v.Research.Run == "" || v.Research.Status.Ended()
	if b.Mode != Name || ev.Run == "" || !wanted {
		return v
	}
	v = NewView()
	v.fold.budget = b.Budget
	if b.Budget == (ponder.Budget{}) {
		v.fold.budget = ponder.Budget{Time: defaultDuration}
	}
	o, _ := parseOptions(ponder.Run{Options: b.Options}) // invalid options fail the run
	r := &v.Research
	r.ID, r.Run, r.Question, r.Status, r.Started = ev.Thread, ev.Run, textkit.CleanTrim(b.Input), ponder.Thinking, ev.Time
	r.Effort, r.Budget = o.Effort, usage.LimitsOf(v.fold.budget)
	r.Persona = Persona{Name: textkit.OneLine(o.Persona.Name), Voice: textkit.CleanTrim(o.Persona.Voice)}
	r.Setup = Setup{
		MaxRounds: o.MaxRounds, MaxItems: o.MaxItemsPerSource, Parallel: o.MaxParallelQueries, ForceWeb: o.ForceWebSearch, Strategy: o.SynthesisStrategy,
		Docs: oneLines(o.Docs), Memory: o.Memory, Web: o.Web, Others: len(o.Tools) > 0, WithoutModel: o.WithoutModel,
	}
	if o.Since != nil {
		r.Setup.Since = o.Since.Thread
	}
	return v
}

// isRelevant reports whether ev belongs to the run. Of child runs and internal events only the cost
// counts.
func (v View) isRelevant(ev ponder.Event) bool {
	run := v.Research.Run
	if run == "" {
		return false
	}
	switch b := ev.Body.(type) {
	case ponder.CallFinished:
		return ev.Run.IsWithin(run)
	case ponder.RunPaused, ponder.RunResumed, ponder.Steer:
		return !ev.Internal && run.IsWithin(ev.Run)
	case ponder.SystemNote:
		return !ev.Internal && (ev.Run == run || ev.Run == "" && b.From != "")
	}
	return !ev.Internal && ev.Run == run
}

func (v *View) addPlan(b ponder.Plan) {
	p := Plan{
		Text: textkit.CleanTrim(b.Content), Round: b.Round, Effort: textkit.OneLine(b.Effort), Steps: oneLines(b.Steps), Terms: oneLines(b.Terms), Web: oneLines(b.Web),
		Memory: oneLines(b.Memory), Queries: oneLines(b.Queries), WithoutModel: b.WithoutModel, Model: textkit.OneLine(b.Model), At: v.Research.Elapsed,
	}
	if b.Proposed {
		v.Proposal = &p
		return
	}
	v.Proposal, v.Plans = nil, append(v.Plans, p)
	v.Research.Effort = cmp.Or(p.Effort, v.Research.Effort)
	v.Research.Rounds = max(v.Research.Rounds, b.Round)
}

func (v *View) addEvidence(ev ponder.Event, b ponder.Evidence) {
	tool := textkit.OneLine(cmp.Or(b.Found.Tool, b.Tool))
	i, again := v.fold.places["e "+b.ID]
	if again {
		v.Evidence[i].Score = max(v.Evidence[i].Score, b.Score)
	} else {
		i = len(v.Evidence)
		v.fold.places["e "+b.ID] = i
		b.Source, b.Title, b.Author, b.Section = textkit.OneLine(b.Source), textkit.OneLine(b.Title), textkit.OneLine(b.Author), textkit.OneLine(b.Section)
		v.Evidence = append(v.Evidence, Evidence{Evidence: b, Quote: b.Content, FoundBy: []string{}, Cited: v.fold.cited[b.ID], Event: ev.ID, At: v.Research.Elapsed, Created: ev.Time})
		place := placeOf(b)
		v.fold.bySource[place] = append(v.fold.bySource[place], i)
		v.creditQuery(tool, textkit.OneLine(b.Found.Query))
	}
	v.mergeTools(i, tool)
	v.markSources()
}

// mergeTools updates the tools and the best score of all passages of a source.
func (v *View) mergeTools(i int, tool string) {
	e := &v.Evidence[i]
	list := v.fold.bySource[placeOf(e.Evidence)]
	var tools []string
	best := 0.0
	for _, k := range list {
		tools, best = unionTexts(tools, v.Evidence[k].FoundBy), max(best, v.Evidence[k].Score)
	}
	tools = unionTexts(tools, []string{tool})
	for _, k := range list {
		v.Evidence[k].FoundBy, v.Evidence[k].Best = tools, best
	}
}

// unionTexts returns a new list of the distinct non-empty texts of a and b.
func unionTexts(a, b []string) []string {
	all := append([]string{}, a...)
	for _, s := range b {
		if s != "" && !slices.Contains(all, s) {
			all = append(all, s)
		}
	}
	return slices.Clip(all)
}

func (v *View) addClaim(b ponder.Claim) {
	v.Claims = append(v.Claims, Claim{Claim: b, Text: b.Content, Reason: textkit.OneLine(b.Reason)})
	v.markCited(b.Cites)
}

// applySynthesis applies the synthesis. A final one is the run's answer.
func (v *View) applySynthesis(b ponder.Synthesis) {
	r := &v.Research
	r.Model, r.WithoutModel = cmp.Or(textkit.OneLine(b.Model), r.Model), r.WithoutModel || b.WithoutModel
	r.Refused = r.Refused || b.Refused
	r.Insights, r.Remaining = oneLines(b.Insights), oneLines(b.Remaining)
	v.markCited(b.Cites)
	if b.Final {
		r.Answer, r.Confidence = textkit.CleanTrim(b.Content), b.Confidence
		v.Conflicts, v.Removed = append([]ponder.Conflict{}, b.Conflicts...), oneLines(b.Removed)
	}
}

func (v *View) markCited(ids []string) {
	for _, id := range ids {
		v.fold.cited[id] = true
		if i, ok := v.fold.places["e "+id]; ok {
			v.Evidence[i].Cited = true
		}
	}
}

func (v *View) markBrokeOff(ev ponder.Event, b ponder.CallFinished) {
	if ev.Run == v.Research.Run && strings.HasPrefix(ev.Cause, writing+"-") && b.Error == "" && !b.Dropped {
		v.BrokeOff = b.Finish.DescribeIncomplete()
	}
}

func (v *View) addUsage(b ponder.CallFinished) {
	if b.Refused {
		return
	}
	v.fold.spent = v.fold.spent.Add(b.Spent)
	v.Research.Usage.Add(b, v.fold.spent.Money)
	if b.Error == "" && b.Model != "" {
		v.Research.Model = textkit.OneLine(b.Model)
	}
}

func (v *View) addQuestion(b ponder.SubQuestion) {
	q := Question{ID: b.ID, Parent: b.Parent, Text: textkit.OneLine(b.Content), Priority: b.Priority, Why: textkit.OneLine(b.Why), By: textkit.OneLine(b.By), WithoutModel: b.WithoutModel, At: v.Research.Elapsed}
	if _, ok := v.fold.places["q "+b.ID]; ok {
		return
	}
	v.fold.places["q "+b.ID] = len(v.Questions)
	v.Questions = append(v.Questions, q)
}

func (v *View) updateQuestion(b ponder.QuestionUpdated) {
	i, ok := v.fold.places["q "+b.ID]
	if !ok {
		return
	}
	q := &v.Questions[i]
	q.Priority, q.Insights, q.Reason = cmp.Or(b.Priority, q.Priority), cmp.Or(textkit.CleanTrim(b.Insights), q.Insights), cmp.Or(textkit.OneLine(b.Reason), q.Reason)
	q.Explored, q.Dropped = q.Explored || b.Explored, b.Dropped
}

func (v *View) addNote(b ponder.SystemNote) {
	if b.From != "" {
		v.Research.Fork = &Fork{From: b.From, At: b.At}
	}
	v.Notes = append(v.Notes, textkit.OneLine(b.Content))
}

// oneLines returns the non-empty texts as single lines, never nil.
func oneLines(list []string) []string {
	kept := []string{}
	for _, s := range list {
		if s = textkit.OneLine(s); strings.TrimSpace(s) != "" {
			kept = append(kept, s)
		}
	}
	return kept
}
