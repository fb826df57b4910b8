package compat

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"ponder"
	"ponder/internal/app"
	"ponder/internal/textkit"
	"ponder/llm"
)

// Begin starts the request and returns its work. Invalid requests give an [app.Error] or a [APIError]. Started
// work continues after ctx is cancelled.
func (d *Dispatcher) Begin(ctx context.Context, a Request) (Job, error) {
	ctx = context.WithoutCancel(ctx)
	if err := a.check(); err != nil {
		return Job{}, err
	}
	if err := d.checkKeyUnused(ctx, a); err != nil {
		return Job{}, err
	}
	if a.Model.Kind == Chat && !a.isNamed() && len(a.Decisions) == 0 {
		q, found, err := app.FindAnswered(ctx, d.Store, a.Owner, a.questionText())
		if err != nil {
			return Job{}, err
		}
		if found {
			a.answers = q.Thread
		}
	}
	switch way := a.jobKind(); way {
	case Exchange:
		return d.startExchange(ctx, a)
	case Chat:
		return d.postMessage(ctx, a)
	default:
		return d.startThinking(ctx, a, way)
	}
}

// jobKind returns how to answer a. Client tools, their results and schemas need an exchange.
func (a Request) jobKind() JobKind {
	if a.answers != "" {
		return Chat
	}
	if a.Model.Kind == Chat && (a.Standalone || a.WebSearch || a.prefillText() != "" || len(a.Tools) > 0 || a.Schema != nil || a.usesTools()) {
		return Exchange
	}
	return a.Model.Kind
}

func (a Request) usesTools() bool {
	for _, m := range a.Messages {
		for _, p := range m.Parts {
			if p.Call != nil || p.Result != nil {
				return true
			}
		}
	}
	return false
}

func (a Request) check() error {
	if len(a.Messages) == 0 {
		return InvalidField("messages", "no message to answer: at least one message is needed")
	}
	if m := a.lastMessage(); m.Role == llm.Assistant && len(m.Calls()) > 0 {
		return InvalidField("messages", "messages: the last message calls tools; add their results")
	}
	if way := a.jobKind(); way != Exchange && strings.TrimSpace(a.questionText()) == "" && (way != Chat || len(mediaParts(a.lastMessage())) == 0) {
		return InvalidField("messages", "messages: the last message must have the role user and contain text")
	}
	return nil
}

func (a Request) lastMessage() llm.Message { return a.Messages[len(a.Messages)-1] }

// questionText returns the text of the last message, or "" if it is not the user's.
func (a Request) questionText() string {
	if m := a.lastMessage(); m.Role == llm.User {
		return m.Text()
	}
	return ""
}

func mediaParts(m llm.Message) (list []llm.Media) {
	for _, p := range m.Parts {
		if p.Media != nil {
			list = append(list, *p.Media)
		}
	}
	return list
}

// newThread returns At, an id derived from the key or, without both, a random id.
func (a Request) newThread() ponder.ThreadID {
	switch {
	case a.At != "":
		return a.At
	case a.Key == "":
		return ponder.ThreadID(ponder.NewID("thr"))
	}
	return threadOf(a.Owner, "dialect", a.Key)
}

func (d *Dispatcher) startExchange(ctx context.Context, a Request) (Job, error) {
	x := a.toExchange()
	approved, err := app.AnswerExchange(ctx, d.Store, a.Owner, a.questionText())
	if err != nil {
		return Job{}, err
	}
	if approved != nil {
		x.Approved = []llm.ToolCall{*approved}
	}
	id := a.newThread()
	w := Job{Thread: id, Kind: Exchange, Model: a.Model.Model, Fresh: true}
	x.Made = func() { w.listener = d.subscribe(ctx, id, 0) }
	err = d.Service.Relay(ctx, a.Owner, id, x)
	if err == nil {
		info, err := d.Store.Thread(ctx, id)
		w.Started = info.Created // the stored time, so that repeated requests return the same
		return w, err
	}
	w.Forget()
	if errors.Is(err, ponder.ErrTaken) {
		return d.findRepeated(ctx, a, id, x.Cause)
	}
	return Job{}, err
}

func (a Request) toExchange() app.Exchange {
	x := app.Exchange{
		Title: textkit.TruncateBytes(strings.TrimSpace(a.questionText()), maxTitle), Model: a.Model.Model, NoWeb: a.NoWeb, NoMemory: a.NoMemory || a.WebSearch && (len(a.Tools) > 0 || a.Schema != nil), Budget: a.Budget, Keep: a.Keep,
		Own: a.WebSearch || len(a.Tools) == 0 && a.Schema == nil,
		Request: llm.Request{
			System: a.System, Messages: a.withContinuation(), Tools: a.Tools, ToolChoice: a.ToolChoice, Schema: a.Schema, MaxTokens: a.MaxTokens,
			Temperature: a.Temperature, Effort: modelEffort(a.Effort),
		},
	}
	if x.Cause = contentDigest(x); a.Choice > 0 {
		x.Cause += "-" + strconv.Itoa(a.Choice)
	}
	return x
}

func (d *Dispatcher) startThinking(ctx context.Context, a Request, way JobKind) (Job, error) {
	st := a.toStart(way)
	id := a.newThread()
	err := d.Service.Begin(ctx, a.Owner, id, st)
	if errors.Is(err, ponder.ErrTaken) {
		return d.findRepeated(ctx, a, id, st.Cause)
	}
	if err != nil {
		return Job{}, err
	}
	info, err := d.Store.Thread(ctx, id)
	return Job{Thread: id, Kind: way, Model: cmp.Or(a.Model.Model, info.Model), Started: info.Created, Fresh: true}, err
}

func (a Request) toStart(way JobKind) app.Start {
	question := strings.TrimSpace(a.questionText())
	st := app.Start{
		Kind: ponder.KindSession, Question: question, Model: a.Model.Model, NoWeb: a.NoWeb, NoMemory: a.NoMemory, Persona: a.Persona,
		Context: a.contextText(), Title: textkit.TruncateBytes(question, maxTitle), Budget: a.effectiveBudget(),
	}
	if way == Research {
		st.Kind, st.Rounds, st.PlanFirst, st.Plan, st.Since = ponder.KindResearch, efforts[a.Effort].rounds, a.PlanFirst, a.Plan, string(a.Since)
	}
	if st.Cause = a.Cause; st.Cause == "" {
		short := st
		short.Question, short.Context = KeyText(st.Question), KeyText(st.Context)
		st.Cause = contentDigest(short)
	}
	return st
}

// findRepeated returns the work of a reused key. A request with other words is an Invalid error.
func (d *Dispatcher) findRepeated(ctx context.Context, a Request, id ponder.ThreadID, cause string) (Job, error) {
	for ev, err := range d.Store.Events(ctx, id, 0) {
		if err != nil {
			return Job{}, fmt.Errorf("read %s: %w", id, err)
		}
		if _, ok := ev.Body.(ponder.RunStarted); ok {
			if ev.Cause == cause {
				return d.FindJob(ctx, a.Owner, strings.TrimPrefix(string(id), "thr_"))
			}
			break
		}
	}
	return Job{}, reusedKeyError()
}

func reusedKeyError() error {
	return app.Invalidf("Idempotency-Key", "this key belongs to another request: use a new key")
}

// postMessage posts the last message. If the cached state is stale, it repeats the lookup from the store.
func (d *Dispatcher) postMessage(ctx context.Context, a Request) (Job, error) {
	at, err := d.findConversation(ctx, a)
	if err != nil {
		return Job{}, err
	}
	if a.Key == "" {
		a.Cause = a.messageKey(at.ID) // identifies the message after a retry
	}
	w, err := d.postTo(ctx, a, at)
	if at.after == "" || !errors.Is(err, ponder.ErrStale) && !errors.Is(err, ponder.ErrNoThread) {
		return w, err
	}
	d.turns.forgetTurn(at.ID)
	if a.After.lastInput != "" {
		return Job{}, ErrStale
	}
	return d.postMessage(ctx, a)
}

func (d *Dispatcher) postTo(ctx context.Context, a Request, at chatTarget) (Job, error) {
	info, key := at.Info, a.messageKey(at.ID)
	if !at.hasAllMessages && !at.fresh {
		var err error
		if at.hasAllMessages, err = d.isLast(ctx, info, a.earlierMessages()); err != nil {
			return Job{}, err
		}
	}
	if !at.hasAllMessages {
		if err := d.recallBefore(ctx, info, key, a.Known, a.earlierMessages()); err != nil {
			return Job{}, err
		}
	}
	w := Job{Thread: info.ID, Kind: Chat, Model: cmp.Or(a.Model.Model, info.Model), Fresh: at.fresh, listener: &listener{Watcher: d.Hub.WatchHead(info)}}
	m := app.Message{UserMessage: ponder.UserMessage{Content: a.questionText(), Media: mediaParts(a.lastMessage()), Decisions: a.Decisions}, NoWeb: a.NoWeb, Deep: deepEffort(a.Effort), System: a.System, Note: a.Note, After: at.after}
	if a.Model.Model != info.Model {
		m.Model = a.Model.Model
	}
	ev, err := d.Service.Say(ctx, info, key, m)
	if err != nil {
		w.Forget()
	}
	if errors.Is(err, ponder.ErrTaken) {
		return d.findPosted(ctx, info, key, m)
	}
	if err != nil {
		return Job{}, err
	}
	w.After, w.Message, w.Started, w.Noted = ev.Seq-1, ev.ID, ev.Time, a.Note != nil
	t := turn{info: info, seq: ev.Seq, message: ev.ID, begun: ev.Time, said: m.Content}
	if a.isNamed() {
		d.turns.noteTurn(t)
	} else {
		w.noted = d.noteDigest(ctx, a, t)
	}
	return w, nil
}

func (a Request) messageKey(id ponder.ThreadID) string {
	return cmp.Or(a.Cause, "post-"+hexOf(a.Owner, string(id), cmp.Or(a.Key, ponder.NewID("key"))))
}

func (d *Dispatcher) findPosted(ctx context.Context, info ponder.Info, key string, m app.Message) (Job, error) {
	w := Job{Thread: info.ID, Kind: Chat, Model: info.Model}
	for ev, err := range d.Store.Events(ctx, info.ID, 0) {
		if err != nil {
			return Job{}, fmt.Errorf("read %s: %w", info.ID, err)
		}
		if w.Message != "" { // a note follows the message
			w.Noted = ev.Cause == app.NoteCause(key)
			break
		}
		b, ok := ev.Body.(ponder.UserMessage)
		if !ok || ev.Cause != key {
			continue
		}
		if Alphanumeric(b.Content) != Alphanumeric(m.Content) {
			break
		}
		w.Started, w.After, w.Message = ev.Time, ev.Seq-1, ev.ID
	}
	if w.Message == "" {
		return Job{}, reusedKeyError()
	}
	return w, nil
}

// Pause pauses a session or research. It returns a [APIError] if the run has ended.
func (d *Dispatcher) Pause(ctx context.Context, w Job, reason string) error {
	return d.sendCommand(ctx, w, ponder.Event{Body: ponder.RunPaused{Reason: reason}})
}

// Resume continues a paused session or research, or one without a holder. It returns a [APIError] if the run has
// ended.
func (d *Dispatcher) Resume(ctx context.Context, w Job) error {
	return d.sendSteer(ctx, w, func(tell func() error) error {
		return app.Resume(ctx, d.Service, w.Thread, "", tell)
	}, ponder.Event{Body: ponder.RunResumed{}})
}

// sendCommand appends events to a session or research and starts work.
func (d *Dispatcher) sendCommand(ctx context.Context, w Job, list ...ponder.Event) error {
	return d.sendSteer(ctx, w, func(tell func() error) error {
		if err := tell(); err != nil {
			return err
		}
		return d.Service.Go(ctx, w.Thread, "")
	}, list...)
}

var errNotSteerable error = &APIError{Status: http.StatusConflict, Detail: "the work has ended, or cannot be steered"}

func (d *Dispatcher) sendSteer(ctx context.Context, w Job, do func(tell func() error) error, list ...ponder.Event) error {
	run, err := d.openRun(ctx, w)
	if err != nil {
		return err
	}
	if run == "" || w.Kind != Session && w.Kind != Research {
		return errNotSteerable
	}
	return do(func() error {
		for i := range list {
			list[i].Run = run
		}
		_, err := ponder.SendCommands(ctx, d.Store, w.Thread, list...)
		if errors.Is(err, ponder.ErrEnded) {
			return &APIError{Status: http.StatusConflict, Detail: "the work has ended"}
		}
		if err != nil {
			return fmt.Errorf("steer %s: %w", w.Thread, err)
		}
		return nil
	})
}

// Wait calls each for the parts of w, and returns the end. It calls flush after each batch, and quiet when a
// heartbeat is due; both may be nil. It stops at an error, or when d.Gone ends.
func (d *Dispatcher) Wait(ctx context.Context, w Job, each func(Part) error, flush, quiet func() error) (End, error) {
	return d.waitStream(ctx, d.OpenStream(ctx, w, false), each, flush, quiet)
}

func (d *Dispatcher) waitStream(ctx context.Context, f *Stream, each func(Part) error, flush, quiet func() error) (End, error) {
	defer f.Close()
	ctx, cancel := context.WithCancel(ctx)
	defer context.AfterFunc(d.Gone, cancel)()
	defer cancel()
	for {
		list, err := f.Next(ctx)
		after := flush
		if errors.Is(err, ErrQuiet) {
			err, after = nil, quiet
		}
		for _, p := range list {
			if p.Kind == Ended {
				return *p.End, err
			}
			if err == nil {
				err = each(p)
			}
		}
		if err == nil && after != nil {
			err = after()
		}
		if err != nil {
			return End{}, err
		}
	}
}

// An Encoder encodes parts in the protocol of a client. It sends nothing before Flush.
type Encoder interface {
	Part(p Part) // ignores kinds that the protocol lacks
	Quiet()      // adds a heartbeat
	Fail(f *APIError)
	End(e End)
	Flush() error
}

// EncodeJob streams w to t, with a conversation title if titled. It reports whether the client received
// everything.
//
// It never retracts text, so no part has Again. A restarted answer must extend the sent text, or the encoder fails;
// a repeated request then streams the answer from its start.
func (d *Dispatcher) EncodeJob(ctx context.Context, w Job, titled bool, t Encoder) bool {
	if t.Flush() != nil {
		w.Forget()
		return false
	}
	s := sentText{forward: t.Part}
	return d.OpenStream(ctx, w, titled).encodeParts(ctx, t, s.forwardPart, s.checkEnd)
}

// EncodeTo is [Dispatcher.EncodeJob] for a protocol that can retract text. It closes f.
func (f *Stream) EncodeTo(ctx context.Context, t Encoder) bool {
	return f.encodeParts(ctx, t, func(p Part) error {
		t.Part(p)
		return nil
	}, func(End) error { return nil })
}

// encodeParts calls each for every part, and last with the end. Their errors go to Fail of t.
func (f *Stream) encodeParts(ctx context.Context, t Encoder, each func(Part) error, last func(End) error) bool {
	end, err := f.desk.waitStream(ctx, f, each, t.Flush, func() error {
		t.Quiet()
		return t.Flush()
	})
	if err == nil {
		err = last(end)
	}
	switch {
	case ctx.Err() != nil: // the client disconnected
		return false
	case err != nil:
		t.Fail(f.desk.APIErrorOf(err))
	default:
		t.End(end)
	}
	return t.Flush() == nil && !errors.Is(err, errRestarted)
}
