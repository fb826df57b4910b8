package compat

import (
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"ponder"
	"ponder/internal/textkit"
	"ponder/llm"
	"ponder/mode/chat"
	"ponder/mode/research"
)

// A thinkProjector makes parts of a session or of research. Its answer is what is stored: what a
// model wrote may be marked or put right after it was written.
type thinkProjector struct {
	mode string // research.Name or session.Name

	run    ponder.RunID
	refs   research.References
	tools  activeTools
	cited  map[string]ponder.Evidence // by id
	wishes map[string]Part            // of the user, by event, until it is known what becomes of them
	calls  chat.CallTotals
	models []string
	cut    string // what ended it before it was through, or ""
	paused bool
	fin    *ponder.RunFinished
}

func newThinkProjector(mode string) *thinkProjector {
	return &thinkProjector{mode: mode, cited: make(map[string]ponder.Evidence), wishes: make(map[string]Part)}
}

// event implements [projector].
func (t *thinkProjector) event(ev ponder.Event) (list []Part) {
	if t.fin != nil {
		return nil
	}
	if b, ok := ev.Body.(ponder.RunStarted); ok && b.Mode == t.mode && ev.Run.Parent() == "" {
		t.run = ev.Run
	}
	if t.mode == research.Name {
		list = t.refsOf(ev)
	}
	if b, ok := ev.Body.(ponder.CallFinished); ok && ev.Run.Within(t.run) {
		t.calls.Apply(b)
	}
	if ev.Run != t.run || t.run == "" || ev.Internal {
		return list
	}
	switch b := ev.Body.(type) {
	case ponder.ToolCall, ponder.ToolResult:
		return append(list, t.tools.event(ev)...)
	case ponder.Evidence:
		t.cited[b.ID] = b
	case ponder.Thought:
		return append(list, Part{Kind: Thought, Item: ev.ID, Text: b.Content, Stage: b.Kind})
	case ponder.SubQuestion:
		return append(list, Part{Kind: Question, Item: b.ID, Text: b.Content, Priority: b.Priority})
	case ponder.Plan:
		return append(list, Part{Kind: Thought, Item: ev.ID, Text: planText(b), Stage: "plan"})
	case ponder.Synthesis:
		if !b.Final {
			return append(list, Part{Kind: Interim, Item: ev.ID, Text: b.Content})
		}
		if b.Model != "" && !slices.Contains(t.models, b.Model) {
			t.models = append(slices.Clip(t.models), b.Model)
		}
	case ponder.Steer:
		t.wishes[ev.ID] = Part{Kind: Steered, Item: ev.Cause, Text: b.Content}
	case ponder.Progress:
		if p, ok := t.wishes[b.Ref]; ok && b.Stage == "steered" {
			delete(t.wishes, b.Ref)
			p.Refused = b.Refused
			return append(list, p)
		}
	case ponder.BudgetSpent:
		if b.What != "time" { // which is how thinking ends
			t.cut = "the limit of " + textkit.TruncateBytes(Plain(b.What), 20) + " was reached"
		}
	case ponder.RunPaused, ponder.RunResumed:
		_, t.paused = b.(ponder.RunPaused)
	case ponder.RunFinished:
		return append(list, t.finished(ev, b)...)
	}
	return list
}

// refsOf returns what the seed streams of an event.
func (t *thinkProjector) refsOf(ev ponder.Event) (list []Part) {
	for _, c := range t.refs.Apply(ev) {
		if len(c.Models) > 0 {
			t.models = c.Models
		}
		p := Part{Kind: Progress, Item: ev.ID, Models: t.models, Progress: c.Progress, Sources: c.Sources, Summary: c.Summary}
		if c.Type == research.SourcesChunk {
			p.Kind = Memories
		}
		list = append(list, p)
	}
	return list
}

// planText returns a plan in words.
func planText(b ponder.Plan) string {
	lines := []string{strings.TrimSpace(b.Content)}
	for _, step := range b.Steps {
		lines = append(lines, "- "+strings.TrimSpace(step))
	}
	return strings.TrimSpace(strings.Join(lines, "\n"))
}

// finished returns the answer.
func (t *thinkProjector) finished(ev ponder.Event, b ponder.RunFinished) (list []Part) {
	t.fin = &b
	if b.Answer == "" {
		return nil
	}
	var c chunker
	for _, text := range append(c.add(b.Answer), c.end()...) {
		list = append(list, Part{Kind: Text, Item: ev.ID, Text: text, Models: t.models})
	}
	return append(list, Part{Kind: TextEnd, Item: ev.ID, Text: b.Answer, Citations: t.citations(b.Answer)})
}

// markers are how answers cite: [e7], or several in one pair of brackets.
var markers = regexp.MustCompile(`\[(?:[A-Za-z]+\d+)(?:\s*,\s*[A-Za-z]+\d+)*\]`)

// earlier begins the sources that are sessions of the same owner.
const earlier = "thread:thr_"

// maxCitations is how many are told at most.
const maxCitations = 200

// citations returns what an answer cites, at the places of its markers.
func (t *thinkProjector) citations(answer string) (list []Citation) {
	for _, at := range markers.FindAllStringIndex(answer, -1) {
		for id := range strings.SplitSeq(strings.Trim(answer[at[0]:at[1]], "[]"), ",") {
			e, ok := t.cited[strings.TrimSpace(id)]
			if !ok || len(list) == maxCitations {
				continue
			}
			start := utf8.RuneCountInString(answer[:at[0]])
			c := Citation{
				Start: start, End: start + utf8.RuneCountInString(answer[at[0]:at[1]]), URL: e.URL,
				Title: textkit.TruncateBytes(Plain(e.Title), maxWhy), Quote: textkit.TruncateBytes(Plain(e.Content), maxContent),
			}
			if c.URL == "" {
				c.File = textkit.TruncateBytes(Plain(strings.Replace(e.Source, earlier, "session ", 1)), maxContent)
			}
			list = append(list, c)
		}
	}
	return list
}

// piece implements [projector].
func (*thinkProjector) piece(ponder.Delta) []Part { return nil }

// over implements [projector].
func (t *thinkProjector) over() (over, last bool) { return t.fin != nil, t.fin != nil }

func (*thinkProjector) close() []Part { return nil }

// end implements [projector].
func (t *thinkProjector) end() End {
	e := End{Status: ponder.Thinking, Finish: llm.FinishStop, Usage: t.calls.Usage, Model: t.calls.Model}
	if t.paused {
		e.Status = ponder.Paused
	}
	if t.fin == nil {
		return e
	}
	e.Status, e.Text = t.fin.Status, t.fin.Answer
	switch {
	case e.Status != ponder.Completed:
		e.Trouble = t.calls.Trouble()
		e.Reason = whyEnded(*t.fin, e.Trouble)
	case t.cut != "":
		e.Finish, e.Reason = llm.FinishLength, t.cut
	}
	return e
}
