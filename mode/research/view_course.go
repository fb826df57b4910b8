package research

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"ponder"
	"ponder/internal/textkit"
	"ponder/mode/internal/lookup"
	"ponder/mode/internal/steerstate"
	"ponder/mode/internal/usage"
)

// maxShown is the maximum length of a displayed query or command, in bytes.
const maxShown = 1000

// addQuery adds a query; its retries count as one.
func (v *View) addQuery(ev ponder.Event, b ponder.ToolCall) {
	key := "t " + eventActionKey(ev)
	if _, ok := v.fold.places[key]; ok {
		return
	}
	v.fold.places[key] = len(v.Queries)
	v.Queries = append(v.Queries, Query{Tool: textkit.OneLine(b.Name), Text: queryText(b.Args), Round: v.Research.Rounds, At: v.Research.Elapsed})
}

func eventActionKey(ev ponder.Event) string {
	key, _, _ := strings.Cut(ev.Cause, "#")
	return key
}

func queryText(args json.RawMessage) string {
	var in struct {
		Query any `json:"query"`
		URL   any `json:"url"`
		Path  any `json:"path"`
	}
	if json.Unmarshal(args, &in) != nil {
		return ""
	}
	for _, arg := range []any{in.Query, in.URL, in.Path} {
		if s, ok := arg.(string); ok && s != "" {
			return textkit.TruncateBytes(textkit.OneLine(s), maxShown)
		}
	}
	return ""
}

func (v *View) finishQuery(ev ponder.Event, b ponder.ToolResult) {
	i, ok := v.fold.places["t "+eventActionKey(ev)]
	if !ok || !b.RetryAt.IsZero() {
		return
	}
	q := &v.Queries[i]
	q.Age = lookup.CacheAge(b.Result)
	q.Done, q.Took, q.Error = true, max(0, v.Research.Elapsed-q.At), textkit.TruncateBytes(textkit.OneLine(b.Error), maxShown)
}

// creditQuery counts a passage for the newest matching query.
func (v *View) creditQuery(tool, query string) {
	for i := len(v.Queries) - 1; i >= 0; i-- {
		if q := &v.Queries[i]; q.Text != "" && q.Text == query && (tool == "" || q.Tool == tool) {
			q.Found++
			return
		}
	}
}

func (v *View) addCommand(ev ponder.Event, b ponder.Steer) {
	if c, ok := ponder.CallOf(ev); ok {
		model := v.Research.Model
		v.addUsage(c)
		v.Research.Model = model // of the answer
	}
	if v.fold.origins.Add(b, maxShown) {
		return
	}
	d := steerstate.Describe(b, maxShown)
	w := SteerCommand{
		ID: ev.ID, Order: b.Do, Content: textkit.TruncateBytes(textkit.OneLine(b.Content), maxShown), Target: d.Target, At: v.Research.Elapsed, Created: ev.Time,
		Origin: v.fold.origins.Find(b), source: v.evidenceSource(d.Source), name: d.Name, limits: d.Limits,
	}
	if ev.ID != "" {
		v.fold.places["w "+ev.ID] = len(v.Steering)
	}
	v.Steering = append(v.Steering, w)
	v.addMoment(ev, Moment{Stage: "wish", Label: string(b.Do), Message: cmp.Or(w.Content, w.Target, string(b.Do))})
}

func (v *View) evidenceSource(name string) string {
	if i, ok := v.fold.places["e "+strings.ToLower(name)]; ok {
		return v.Evidence[i].Source
	}
	return name
}

func (v *View) applyAck(ev ponder.Event, b ponder.Progress) {
	i, ok := v.fold.places["w "+b.Ref]
	if !ok || v.Steering[i].Seq > 0 {
		return
	}
	w := &v.Steering[i]
	w.Seq, w.Effect, w.Refused, w.Cancelled, w.Effective = ev.Seq, textkit.OneLine(b.Content), b.Refused, oneLines(b.Cancelled), v.Research.Elapsed
	if w.Undo = b.Undo; w.Refused {
		return
	}
	v.markUndone(w.Undoes)
	is := func(s string) bool { return s == w.source }
	switch w.Order {
	case ponder.AnswerNow:
		v.Proposal = nil
	case ponder.SetBudget:
		v.fold.budget = w.limits.Apply(v.fold.budget)
		v.Research.Budget = usage.LimitsOf(v.fold.budget)
	case ponder.SetPersona:
		v.Research.Persona = Persona{Name: w.name, Voice: w.Content}
	case ponder.ReleaseSource:
		v.Pinned, v.Banned = slices.DeleteFunc(v.Pinned, is), slices.DeleteFunc(v.Banned, is)
	case ponder.PinSource:
		v.Pinned, v.Banned = unionTexts(v.Pinned, []string{w.source}), slices.DeleteFunc(v.Banned, is)
	case ponder.BanSource:
		v.Banned, v.Pinned = unionTexts(v.Banned, []string{w.source}), slices.DeleteFunc(v.Pinned, is)
	}
	v.markSources()
}

func (v *View) markUndone(group string) {
	for i := range v.Steering {
		if w := &v.Steering[i]; group != "" && cmp.Or(w.Group, w.ID) == group {
			w.Undone = true
		}
	}
}

func (v *View) markSources() {
	for i := range v.Evidence {
		e := &v.Evidence[i]
		e.Pinned = lookup.AnyDenotes(e.Source, v.Pinned) || e.URL != "" && lookup.AnyDenotes(e.URL, v.Pinned)
		e.Banned = lookup.AnyDenotes(e.Source, v.Banned) || e.URL != "" && lookup.AnyDenotes(e.URL, v.Banned)
	}
}

// progressMeta is the part of Meta that has no fields in a progress.
type progressMeta struct {
	Tool       string   `json:"tool,omitempty"`
	Query      string   `json:"query,omitempty"`
	New        int      `json:"new,omitempty"`
	Error      string   `json:"error,omitempty"`
	References *Summary `json:"referenceSummary,omitempty"`
}

func (v *View) addProgress(ev ponder.Event, b ponder.Progress) {
	if b.Stage == ponder.StageSteered {
		v.applyAck(ev, b)
	}
	var meta progressMeta
	_ = json.Unmarshal(b.Meta, &meta) // invalid Meta counts as empty
	if meta.References != nil {
		v.References = meta.References.cleanSummary()
	}
	stage := textkit.OneLine(b.Stage)
	if stage != ponder.StageSteered {
		v.Research.Stage = cmp.Or(stage, v.Research.Stage)
	}
	v.addMoment(ev, Moment{
		Stage: stage, Label: textkit.OneLine(b.Label), Message: textkit.CleanTrim(b.Content), Step: b.Step, Total: b.Total, Iteration: b.Iteration, Confidence: b.Confidence,
		Tool: textkit.OneLine(meta.Tool), Query: textkit.OneLine(meta.Query), New: max(0, meta.New), Error: textkit.OneLine(meta.Error), Meta: b.Meta,
	})
}

func (v *View) addMoment(ev ponder.Event, m Moment) {
	m.At, m.Time = v.Research.Elapsed, ev.Time
	v.Timeline = append(v.Timeline, m)
}

func (v *View) applyLifecycle(ev ponder.Event) {
	r := &v.Research
	switch b := ev.Body.(type) {
	case ponder.RunPaused:
		if r.Status == ponder.Thinking {
			r.Status, r.Paused = ponder.Paused, ev.Time
			v.addMoment(ev, Moment{Stage: "paused", Message: textkit.OneLine(b.Reason)})
		}
	case ponder.RunResumed:
		if r.Status == ponder.Paused {
			r.Status, r.Paused = ponder.Thinking, time.Time{}
			v.addMoment(ev, Moment{Stage: "resumed", Message: textkit.OneLine(b.Reason)})
		}
	case ponder.BudgetSpent:
		r.CutShort = textkit.OneLine(b.What)
		v.addMoment(ev, Moment{Stage: "budget", Message: textkit.OneLine(b.String())})
	case ponder.RunFinished:
		v.finishRun(ev, b)
	}
}

func (v *View) finishRun(ev ponder.Event, b ponder.RunFinished) {
	r := &v.Research
	v.Proposal = nil
	r.Status, r.StopReason, r.End, r.Completed, r.Paused = b.Status, textkit.OneLine(b.Reason), b.EndReason(), ev.Time, time.Time{}
	stage := "finished"
	switch b.Status {
	case ponder.Completed:
		r.Answer, r.Confidence = cmp.Or(textkit.CleanTrim(b.Answer), r.Answer), cmp.Or(b.Confidence, r.Confidence)
	case ponder.Failed:
		r.Error, stage = r.StopReason, "failed"
	default:
		stage = string(b.Status)
	}
	r.Usage.SetTotals(b.Spent)
	v.addMoment(ev, Moment{Stage: stage, Message: r.StopReason, Confidence: r.Confidence})
}
