package session

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"ponder"
	"ponder/internal/textkit"
	"ponder/mode/internal/lookup"
	"ponder/mode/internal/steerstate"
	"ponder/mode/internal/usage"
)

type viewFold struct {
	budget         ponder.Budget
	clock          clock
	spent          ponder.Cost
	places         map[string]int // indexes of sources, questions and steering by id
	origins        steerstate.Origins
	questionByText map[string]int

	calibration Calibration
	basis       ponder.Basis // of the newest synthesis
}

// NewView returns the view of an empty thread.
func NewView() View {
	return View{
		Session: Session{
			Status: ponder.Created, Confidence: []float64{}, Usage: Usage{Models: []ModelUsage{}},
			Certainty: Certainty{Calibration: uncalibrated},
		},
		Thoughts: []Thought{}, Questions: []Question{}, Syntheses: []Synthesis{}, Sources: []Source{},
		fold: viewFold{places: make(map[string]int), origins: make(steerstate.Origins), questionByText: make(map[string]int)},
	}
}

// Apply returns the view after ev, the next event of the thread, in constant time. It may change v;
// to keep or share v, take a [View.Clone]. Of several sessions the newest is shown.
func (v View) Apply(ev ponder.Event) View {
	if b, ok := ev.Body.(ponder.RunStarted); ok {
		if b.Mode == Name && (v.Session.Run == "" || v.Session.Status.Ended()) {
			return newRunView(ev, b).Calibrate(v.fold.calibration)
		}
		return v
	}
	v.markStarted(ev)
	if !v.isRelevant(ev) {
		return v
	}
	v.fold.clock = v.fold.clock.observeEvent(ev, v.Session.Run)
	v.Session.Progress.Elapsed = toSeconds(v.fold.clock.Milliseconds())
	switch b := ev.Body.(type) {
	case ponder.Progress:
		v.applyProgress(ev, b)
	case ponder.Thought:
		v.addThought(ev, b)
	case ponder.SubQuestion:
		v.addQuestion(ev, b)
	case ponder.QuestionUpdated:
		v.updateQuestion(b)
	case ponder.Synthesis:
		v.addSynthesis(ev, b)
	case ponder.Evidence:
		v.addSource(b)
	case ponder.SystemNote:
		v.Notes = append(v.Notes, textkit.OneLine(b.Content))
	case ponder.Steer:
		v.addCommand(ev, b)
	case ponder.Resolution:
		v.Session.Resolution = &Resolution{Outcome: b.Outcome, Note: textkit.OneLine(b.Content), Created: ev.Time}
	case ponder.CallFinished:
		v.addUsage(b)
		v.markBrokeOff(ev, b)
	default:
		v.applyLifecycle(ev)
	}
	v.measureBudget(v.fold.clock.Milliseconds())
	return v
}

// markStarted notes the first event of a holder: the work has started.
func (v *View) markStarted(ev ponder.Event) {
	_, ended := ev.Body.(ponder.RunFinished)
	if s := &v.Session; s.Started == nil && s.Run != "" && ev.Run.IsWithin(s.Run) && !ev.IsInput() && !ended {
		at := ev.Time
		s.Started = &at
	}
}

// Clone returns a copy that later Apply calls do not change.
func (v View) Clone() View {
	v.Thoughts, v.Questions, v.Syntheses, v.Sources = slices.Clone(v.Thoughts), slices.Clone(v.Questions), slices.Clone(v.Syntheses), slices.Clone(v.Sources)
	v.Steering, v.Corrections, v.Notes = slices.Clone(v.Steering), slices.Clone(v.Corrections), slices.Clone(v.Notes)
	v.Pinned, v.Banned = slices.Clone(v.Pinned), slices.Clone(v.Banned)
	for i := range v.Corrections {
		v.Corrections[i].Against = slices.Clone(v.Corrections[i].Against)
	}
	s := &v.Session
	s.Confidence, s.Progress.Foci, s.Usage.Models = slices.Clone(s.Confidence), slices.Clone(s.Progress.Foci), slices.Clone(s.Usage.Models)
	v.fold.places, v.fold.questionByText, v.fold.origins = maps.Clone(v.fold.places), maps.Clone(v.fold.questionByText), maps.Clone(v.fold.origins)
	return v
}

func (v *View) applyProgress(ev ponder.Event, b ponder.Progress) {
	switch b.Stage {
	case "focus":
		v.addFocus(b)
	case "merged":
		v.countMerged(b)
	case "steered":
		v.applyAck(ev, b)
	}
}

func (v View) isRelevant(ev ponder.Event) bool {
	run := v.Session.Run
	if _, cost := ev.Body.(ponder.CallFinished); ev.Internal && !cost {
		return false
	}
	switch ev.Body.(type) {
	case ponder.CallFinished:
		return run != "" && ev.Run.IsWithin(run)
	case ponder.RunPaused, ponder.RunResumed, ponder.Steer, ponder.Resolution:
		return run != "" && run.IsWithin(ev.Run)
	}
	return run != "" && ev.Run == run
}

func newRunView(ev ponder.Event, b ponder.RunStarted) View {
	v := NewView()
	at := ev.Time
	v.fold.budget = b.Budget
	if b.Budget == (ponder.Budget{}) {
		v.fold.budget = ponder.Budget{Time: defaultDuration}
	}
	o, _ := parseOptions(ponder.Run{Options: b.Options}) // invalid options fail the run
	s := &v.Session
	s.ID, s.Run, s.Question, s.Status = ev.Thread, ev.Run, textkit.CleanTrim(b.Input), ponder.Thinking
	s.Created = &at
	v.setLimits(ponder.LimitChange{})
	s.Metadata = Metadata{SynthesisInterval: o.SynthesisInterval, Docs: o.Docs, Memory: o.Memory, Web: o.Web, WithoutModel: o.WithoutModel, Parallel: parallelOption(b.Options)}
	return v
}

func (v *View) setLimits(c ponder.LimitChange) {
	v.fold.budget = c.Apply(v.fold.budget)
	v.Session.Minutes, v.Session.Budget = v.fold.budget.Time.Minutes(), usage.LimitsOf(v.fold.budget)
}

func (v *View) applyLifecycle(ev ponder.Event) {
	s, at := &v.Session, ev.Time
	switch b := ev.Body.(type) {
	case ponder.RunPaused:
		if s.Status == ponder.Thinking {
			s.Status, s.Paused = ponder.Paused, &at
			if isSelfPaused(ev) {
				s.StopReason = textkit.OneLine(b.Reason)
			}
		}
	case ponder.RunResumed:
		if s.Status == ponder.Paused {
			s.Status, s.StopReason, s.Resumed = ponder.Thinking, "", &at
		}
	case ponder.BudgetSpent:
		v.CutShort = b.What != "time"
		v.clearFoci()
	case ponder.RunFinished:
		s.Status, s.StopReason, s.End, s.Completed = b.Status, textkit.OneLine(b.Reason), b.EndReason(), &at
		v.clearFoci()
		switch b.Status {
		case ponder.Completed:
			s.Final = textkit.CleanTrim(b.Answer)
		case ponder.Failed:
			s.Error = s.StopReason
		}
		s.Usage.SetTotals(b.Spent)
	}
}

func (v *View) addThought(ev ponder.Event, b ponder.Thought) {
	v.Thoughts = append(v.Thoughts, Thought{
		ID: ev.ID, Session: ev.Thread, Number: b.Number, Text: textkit.CleanTrim(b.Content), Kind: b.Kind, Confidence: b.Confidence,
		Importance: b.Importance, Question: b.Question, Focus: textkit.OneLine(b.Focus), Cites: b.Cites, Against: b.Against, WithoutModel: b.WithoutModel, Assumed: b.Assumed,
		Offset: b.Offset, Created: ev.Time,
	})
	v.setModel(b.Model, b.WithoutModel)
	v.markCited(b.Cites)
	v.addContradictions(b.Number, b.Against)
	v.removeFocus(b.Question, textkit.OneLine(b.Focus))
	v.Session.Progress.Thoughts = len(v.Thoughts)
}

func (v *View) countMerged(b ponder.Progress) {
	for _, n := range b.Thoughts {
		i, ok := n, n >= 0 && n < len(v.Thoughts) && v.Thoughts[n].Number == n
		if !ok {
			i, ok = slices.BinarySearchFunc(v.Thoughts, n, func(t Thought, n int) int { return cmp.Compare(t.Number, n) })
		}
		if ok {
			v.Thoughts[i].Repeats++
		}
		v.Session.Progress.Merged++
	}
	if b.Ref != "" {
		v.removeFocus(b.Ref, "")
	}
}

func (v *View) setModel(model string, unaided bool) {
	if model != "" {
		v.Session.Model = model
	}
	v.Session.Metadata.WithoutModel = v.Session.Metadata.WithoutModel || unaided
}

func (v *View) addSynthesis(ev ponder.Event, b ponder.Synthesis) {
	v.Syntheses = append(v.Syntheses, Synthesis{
		ID: ev.ID, Session: ev.Thread, Number: b.Number, Text: textkit.CleanTrim(b.Content), Insights: append([]string{}, b.Insights...),
		Confidence: b.Confidence, Remaining: append([]string{}, b.Remaining...), Cites: b.Cites, Final: b.Final,
		Trend: textkit.OneLine(b.Trend), Basis: b.Basis, WithoutModel: b.WithoutModel, Refused: b.Refused, Assumed: b.Assumed, Offset: b.Offset, Created: ev.Time,
	})
	v.Refused = v.Refused || b.Refused
	v.setModel(b.Model, b.WithoutModel)
	v.markCited(b.Cites)
	v.Session.Progress.Syntheses = len(v.Syntheses)
	v.Session.Trend = textkit.OneLine(b.Trend)
	v.fold.basis = b.Basis
	if b.Assumed {
		v.setCertainty(nil)
		return
	}
	v.Session.Confidence = append(v.Session.Confidence, b.Confidence)
	v.setCertainty(&b.Confidence)
}

func (v *View) addSource(b ponder.Evidence) {
	v.fold.places[b.ID] = len(v.Sources)
	v.Sources = append(v.Sources, Source{
		ID: b.ID, Source: textkit.OneLine(b.Source), Title: textkit.OneLine(b.Title), Quote: textkit.CleanTrim(b.Content), Start: b.Start, End: b.End,
		Hash: b.Hash, Score: b.Score, Origin: newOrigin(b),
	})
}

func newOrigin(b ponder.Evidence) Origin {
	o := Origin{
		URL: lookup.Address(b.URL), Section: textkit.OneLine(b.Section), Page: b.Page, Author: textkit.OneLine(b.Author), Original: b.Original,
		Cluster: textkit.OneLine(b.Cluster), Voices: b.Voices, Quality: b.Quality, Untrusted: b.Untrusted,
		Published: optionalTime(b.Published), Fetched: optionalTime(b.Fetched),
	}
	if b.Found != (ponder.Found{}) {
		by := b.Found
		o.FoundBy = &by
	}
	return o
}

func optionalTime(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	at := t
	return &at
}

func (v *View) markCited(ids []string) {
	for _, id := range ids {
		if i, ok := v.fold.places[id]; ok && i < len(v.Sources) && v.Sources[i].ID == id {
			v.Sources[i].Cited = true
		}
	}
}

// WritesAnswer reports whether the action key belongs to a call that writes the answer.
func WritesAnswer(key string) bool { return strings.HasPrefix(key, final) }

func (v *View) markBrokeOff(ev ponder.Event, b ponder.CallFinished) {
	if ev.Run == v.Session.Run && WritesAnswer(ev.Cause) && b.Error == "" && !b.Dropped {
		v.BrokeOff = b.Finish.DescribeIncomplete()
	}
}

func (v *View) addUsage(b ponder.CallFinished) {
	if b.Refused {
		return
	}
	v.fold.spent = v.fold.spent.Add(b.Spent)
	v.Session.Usage.Add(b, v.fold.spent.Money)
	if b.Error == "" && b.Model != "" {
		v.Session.Model = b.Model
	}
}

// WithElapsed returns the view after a further duration of thinking, for live display between events.
func (v View) WithElapsed(since time.Duration) View {
	if v.Session.Status == ponder.Thinking && since > 0 {
		ms := v.fold.clock.Milliseconds() + since.Milliseconds()
		v.Session.Progress.Elapsed = toSeconds(ms)
		v.measureBudget(ms)
	}
	return v
}

// measureBudget sets the used share of the nearest budget and of the time. A completed session has used
// 100 percent.
func (v *View) measureBudget(ms int64) {
	p, worked := &v.Session.Progress, time.Duration(ms)*time.Millisecond
	p.Percentage, p.PercentageOf = usage.NearestBudget(v.fold.budget, worked, v.fold.spent)
	p.TimePercentage = usage.TimePercentage(v.fold.budget, worked)
	if v.Session.Status == ponder.Completed {
		p.Percentage = 100
	}
}

func toSeconds(ms int64) float64 { return float64(ms) / 1000 }
