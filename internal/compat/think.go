package compat

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"ponder"
	"ponder/internal/app"
	"ponder/internal/steering"
	"ponder/internal/textkit"
	"ponder/llm"
	"ponder/mode/chat"
	"ponder/mode/research"
)

// A thinkProjector projects a session or research. It waits for the stored answer, because Ponder edits the
// text of the model.
type thinkProjector struct {
	mode string // research.Name or session.Name

	run    ponder.RunID
	refs   research.References
	tools  activeTools
	cited  map[string]ponder.Evidence
	steers map[string]Part // pending steers by event
	calls  chat.CallTotals
	models []string
	cut    string // the limit, or ""
	paused bool
	fin    *ponder.RunFinished
}

func newThinkProjector(mode string) *thinkProjector {
	return &thinkProjector{mode: mode, cited: make(map[string]ponder.Evidence), steers: make(map[string]Part)}
}

func (t *thinkProjector) applyEvent(ev ponder.Event) (list []Part) {
	if t.fin != nil {
		return nil
	}
	if b, ok := ev.Body.(ponder.RunStarted); ok && b.Mode == t.mode && ev.Run.Parent() == "" {
		t.run = ev.Run
	}
	if t.mode == research.Name {
		list = t.refsOf(ev)
	}
	if b, ok := ev.Body.(ponder.CallFinished); ok && ev.Run.IsWithin(t.run) {
		t.calls.Apply(b)
	}
	if ev.Run != t.run || t.run == "" || ev.Internal {
		return list
	}
	switch b := ev.Body.(type) {
	case ponder.ToolCall, ponder.ToolResult:
		return append(list, t.tools.applyEvent(ev)...)
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
		t.steers[ev.ID] = Part{Kind: Steered, Item: ev.Cause, Text: b.Content}
	case ponder.Progress:
		if p, ok := t.steers[b.Ref]; ok && b.Stage == "steered" {
			delete(t.steers, b.Ref)
			p.Refused = b.Refused
			return append(list, p)
		}
	case ponder.BudgetSpent:
		if b.What != "time" { // the regular end
			t.cut = textkit.TruncateBytes(Plain(b.String()), maxWhy)
		}
	case ponder.RunPaused:
		p := Part{Kind: Paused, Item: ev.ID, Text: textkit.TruncateBytes(Plain(b.Reason), maxWhy)}
		if b.Reason == research.PlanWaits {
			p.Stage = "plan"
		}
		t.paused = true
		return append(list, p)
	case ponder.RunResumed:
		t.paused = false
		return append(list, Part{Kind: Resumed, Item: ev.ID})
	case ponder.RunFinished:
		return append(list, t.finishRun(ev, b)...)
	}
	return list
}

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

func planText(b ponder.Plan) string {
	lines := []string{strings.TrimSpace(b.Content)}
	for _, step := range b.Steps {
		lines = append(lines, "- "+strings.TrimSpace(step))
	}
	return strings.TrimSpace(strings.Join(lines, "\n"))
}

func (t *thinkProjector) finishRun(ev ponder.Event, b ponder.RunFinished) (list []Part) {
	t.fin = &b
	if b.Answer == "" {
		return nil
	}
	var c chunker
	for _, text := range append(c.add(b.Answer), c.takeRest()...) {
		list = append(list, Part{Kind: Text, Item: ev.ID, Text: text, Models: t.models})
	}
	return append(list, Part{Kind: TextEnd, Item: ev.ID, Text: b.Answer, Citations: t.citationsIn(b.Answer)})
}

// markers matches [e7] or [e7, e8].
var markers = regexp.MustCompile(`\[(?:[A-Za-z]+\d+)(?:\s*,\s*[A-Za-z]+\d+)*\]`)

// earlier prefixes sources that are earlier sessions.
const earlier = "thread:thr_"

const maxCitations = 200

func (t *thinkProjector) citationsIn(answer string) (list []Citation) {
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

func (*thinkProjector) applyDelta(ponder.Delta) []Part { return nil }

func (t *thinkProjector) isOver() (over, last bool) { return t.fin != nil, t.fin != nil }

func (*thinkProjector) close() []Part { return nil }

func (t *thinkProjector) endState() End {
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
		e.ErrorClass, e.NotBefore = t.calls.FailureClass(), t.calls.Last.NotBefore
		e.Reason = whyEnded(*t.fin, e.ErrorClass)
	case t.cut != "":
		e.Finish, e.Reason = llm.FinishLength, t.cut
	}
	if t.calls.FailureClass() == "" && t.fin.EndReason() != ponder.EndModelFailed { // errors of providers are not for clients
		e.StopReason = textkit.TruncateBytes(Plain(t.fin.Reason), maxWhy)
	}
	return e
}

// AddQuestion returns an urgent question.
func AddQuestion(text string) steering.Request {
	return steering.Request{Order: ponder.AddQuestion, Content: text, Priority: urgent}
}

// urgent is of 1 to 10.
const urgent = 9

// Steer sends a command to a running session or research. Errors name field. Equal causes are sent once;
// without a cause, each call sends.
func (d *Dispatcher) Steer(ctx context.Context, w Job, cause, field string, r steering.Request) error {
	commands, err := steering.View{}.Commands([]steering.Request{r})
	var wrong steering.Errors
	if errors.As(err, &wrong) {
		return InvalidField(field, "%s: %s", field, wrong[0].Message)
	}
	if err != nil {
		return err
	}
	steering.JoinGroup(commands, ponder.NewID("steer"))
	return d.sendCommand(ctx, w, ponder.Event{Cause: cause, Body: commands[0]})
}

// SteerSentence applies a sentence in plain words to a running session or research, and returns its
// meaning. A dry run changes nothing. A sentence that is not understood is an error that names field.
func (d *Dispatcher) SteerSentence(ctx context.Context, w Job, field, sentence string, dryRun bool) (string, error) {
	if w.Kind != Session && w.Kind != Research {
		return "", errNotSteerable
	}
	info, err := d.Store.Thread(ctx, w.Thread)
	if err != nil {
		return "", err
	}
	v, err := app.FoldAny(ctx, d.Store, info)
	if err != nil {
		return "", err
	}
	res, err := app.Interpret(ctx, d.Service, info, v, sentence)
	if err != nil {
		return "", err
	}
	if !dryRun || len(res.Calls) > 0 {
		events := res.Events("", sentence, dryRun)
		for i := range events {
			events[i].ID, events[i].Thread = ponder.NewID("evt"), w.Thread
		}
		err := app.RaiseCost(ctx, d.Service, info, v, events, func() error { return d.sendCommand(ctx, w, events...) })
		if err != nil {
			return "", err
		}
		d.awaitAcks(ctx, events)
	}
	if res.Problem != "" {
		return "", InvalidField(field, "%s: %s", field, res.Explain(sentence))
	}
	return res.Explain(sentence), nil
}

// ackTime limits the wait for acknowledgements.
const ackTime = 5 * time.Second

// awaitAcks waits for the acknowledgements of commands, so that an undo can follow at once.
func (d *Dispatcher) awaitAcks(ctx context.Context, events []ponder.Event) {
	ctx, cancel := context.WithTimeout(ctx, ackTime)
	defer cancel()
	for _, ev := range events {
		if b, ok := ev.Body.(ponder.Steer); ok && b.Do != ponder.Interpret {
			_, _ = ponder.AwaitAck(ctx, d.Store, ev) // the log keeps a command without one
		}
	}
}

func (d *Dispatcher) Newest(ctx context.Context, owner string, id ponder.ThreadID) (Job, error) {
	info, err := d.ownedThread(ctx, owner, id)
	if err != nil {
		return Job{}, err
	}
	name := strings.TrimPrefix(string(id), "thr_")
	if info.Kind != ponder.KindConversation {
		return d.FindJob(ctx, owner, name)
	}
	last := ponder.Seq(0)
	for ev, err := range d.Store.Events(ctx, id, max(0, info.Head-readBefore)) {
		if err != nil {
			return Job{}, fmt.Errorf("read %s: %w", id, err)
		}
		if _, ok := ev.Body.(ponder.UserMessage); ok {
			last = ev.Seq
		}
	}
	w, err := d.FindJob(ctx, owner, fmt.Sprintf("%s-%d", name, last))
	if err == nil {
		w.Fresh, err = d.isFirst(ctx, id, last)
	}
	return w, err
}

// A sentText forwards a restarted answer only if it extends the sent text.
type sentText struct {
	forward func(Part)
	text    []byte
	at      int // of the current answer
}

var errRestarted error = &APIError{
	Status: http.StatusBadGateway,
	Detail: "the model restarted its answer with other words after part of it was sent; repeat the request, or turn streaming off",
}

// forwardPart forwards p without the sent text.
func (s *sentText) forwardPart(p Part) error {
	switch p.Kind {
	case Text:
		if p.Again {
			s.at, p.Again = 0, false
		}
		n := min(len(s.text)-s.at, len(p.Text))
		if string(s.text[s.at:s.at+n]) != p.Text[:n] {
			return errRestarted
		}
		p.Text = p.Text[n:]
		s.text = append(s.text, p.Text...)
		if s.at += n + len(p.Text); p.Text == "" {
			return nil
		}
	case TextEnd:
		if p.Less {
			s.at = len(s.text)
		}
		if err := s.checkWhole(); err != nil {
			return err
		}
	}
	s.forward(p)
	return nil
}

func (s *sentText) checkWhole() error {
	if s.at < len(s.text) {
		return errRestarted
	}
	return nil
}

// checkEnd returns errRestarted if a completed answer is too short.
func (s *sentText) checkEnd(e End) error {
	if e.Status != ponder.Completed {
		return nil
	}
	return s.checkWhole()
}
