package compat

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"ponder"
	"ponder/internal/app"
	"ponder/internal/textkit"
	"ponder/llm"
)

// Begin starts the request and returns its work. Invalid requests give an [app.Error] or a [Fault]. Started
// work continues after ctx is cancelled.
func (d *Desk) Begin(ctx context.Context, a Ask) (Work, error) {
	ctx = context.WithoutCancel(ctx)
	if err := a.check(); err != nil {
		return Work{}, err
	}
	if err := d.unspent(ctx, a); err != nil {
		return Work{}, err
	}
	switch way := a.way(); way {
	case Exchange:
		return d.exchange(ctx, a)
	case Chat:
		return d.talk(ctx, a)
	default:
		return d.think(ctx, a, way)
	}
}

// way returns how to answer a. Client tools, their results and schemas need an exchange.
func (a Ask) way() Way {
	if a.Model.Way == Chat && (a.Apart || len(a.Tools) > 0 || a.Schema != nil || a.uses()) {
		return Exchange
	}
	return a.Model.Way
}

func (a Ask) uses() bool {
	for _, m := range a.Messages {
		for _, p := range m.Parts {
			if p.Call != nil || p.Result != nil {
				return true
			}
		}
	}
	return false
}

func (a Ask) check() error {
	if len(a.Messages) == 0 {
		return Wrong("messages", "there is nothing to answer: at least one message is needed")
	}
	if way := a.way(); way != Exchange && strings.TrimSpace(a.question()) == "" && (way != Chat || len(media(a.last())) == 0) {
		return Wrong("messages", "the last message is the one to answer: expected one of the user, with a text")
	}
	return nil
}

func (a Ask) last() llm.Message { return a.Messages[len(a.Messages)-1] }

// question returns the text of the last message, or "" if it is not the user's.
func (a Ask) question() string {
	if m := a.last(); m.Role == llm.User {
		return m.Text()
	}
	return ""
}

func media(m llm.Message) (list []llm.Media) {
	for _, p := range m.Parts {
		if p.Media != nil {
			list = append(list, *p.Media)
		}
	}
	return list
}

// newThread returns At, an id derived from the key or, without both, a random id.
func (a Ask) newThread() ponder.ThreadID {
	switch {
	case a.At != "":
		return a.At
	case a.Key == "":
		return ponder.ThreadID(ponder.NewID("thr"))
	}
	return threadOf(a.Owner, "dialect", a.Key)
}

func (d *Desk) exchange(ctx context.Context, a Ask) (Work, error) {
	x := a.exchange()
	id := a.newThread()
	w := Work{Thread: id, Way: Exchange, Model: a.Model.Model, Fresh: true}
	x.Made = func() { w.ear = d.listen(id, 0) }
	err := d.Service.Relay(ctx, a.Owner, id, x)
	if err == nil {
		info, err := d.Store.Thread(ctx, id)
		w.Begun = info.Created // the stored time, so that repeated requests return the same
		return w, err
	}
	w.Forget()
	if errors.Is(err, ponder.ErrTaken) {
		return d.same(ctx, a, id, x.Cause)
	}
	return Work{}, err
}

func (a Ask) exchange() app.Exchange {
	x := app.Exchange{
		Title: textkit.TruncateBytes(strings.TrimSpace(a.question()), maxTitle), Model: a.Model.Model, NoWeb: a.NoWeb, NoMemory: a.NoMemory, Budget: a.Budget, Keep: a.Keep,
		Own: len(a.Tools) == 0 && a.Schema == nil,
		Request: llm.Request{
			System: a.System, Messages: a.Messages, Tools: a.Tools, ToolChoice: a.ToolChoice, Schema: a.Schema, MaxTokens: a.MaxTokens,
			Temperature: a.Temperature, Effort: modelEffort(a.Effort),
		},
	}
	x.Cause = words(x)
	return x
}

func (d *Desk) think(ctx context.Context, a Ask, way Way) (Work, error) {
	st := a.start(way)
	id := a.newThread()
	err := d.Service.Begin(ctx, a.Owner, id, st)
	if errors.Is(err, ponder.ErrTaken) {
		return d.same(ctx, a, id, st.Cause)
	}
	if err != nil {
		return Work{}, err
	}
	info, err := d.Store.Thread(ctx, id)
	return Work{Thread: id, Way: way, Model: cmp.Or(a.Model.Model, info.Model), Begun: info.Created, Fresh: true}, err
}

func (a Ask) start(way Way) app.Start {
	question := strings.TrimSpace(a.question())
	st := app.Start{
		Kind: ponder.KindSession, Question: question, Model: a.Model.Model, NoWeb: a.NoWeb, NoMemory: a.NoMemory, Persona: a.Persona,
		Context: a.context(), Title: textkit.TruncateBytes(question, maxTitle), Budget: a.budget(),
	}
	if way == Research {
		st.Kind, st.Rounds = ponder.KindResearch, efforts[a.Effort].rounds
	}
	st.Cause = cmp.Or(a.Cause, words(st))
	return st
}

// same returns the work of a reused key. A request with other words is an Invalid error.
func (d *Desk) same(ctx context.Context, a Ask, id ponder.ThreadID, cause string) (Work, error) {
	for ev, err := range d.Store.Events(ctx, id, 0) {
		if err != nil {
			return Work{}, fmt.Errorf("read %s: %w", id, err)
		}
		if _, ok := ev.Body.(ponder.RunStarted); ok {
			if ev.Cause == cause {
				return d.Work(ctx, a.Owner, strings.TrimPrefix(string(id), "thr_"))
			}
			break
		}
	}
	return Work{}, otherWords()
}

func otherWords() error {
	return app.Invalidf("Idempotency-Key", "this key was used for another request: choose a new one")
}

// talk posts the last message. If the cached state is stale, it repeats the lookup from the store.
func (d *Desk) talk(ctx context.Context, a Ask) (Work, error) {
	at, err := d.conversation(ctx, a)
	if err != nil {
		return Work{}, err
	}
	if a.Key == "" {
		a.Cause = a.messageKey(at.ID) // identifies the message after a retry
	}
	w, err := d.talkAt(ctx, a, at)
	if at.after == "" || !errors.Is(err, ponder.ErrStale) && !errors.Is(err, ponder.ErrNoThread) {
		return w, err
	}
	d.recent.forget(at.ID)
	if a.After.told != "" {
		return Work{}, ErrStale
	}
	return d.talk(ctx, a)
}

func (d *Desk) talkAt(ctx context.Context, a Ask, at spot) (Work, error) {
	info, key := at.Info, a.messageKey(at.ID)
	if !at.told && !at.fresh {
		var err error
		if at.told, err = d.isLast(ctx, info, a.before()); err != nil {
			return Work{}, err
		}
	}
	if !at.told {
		if err := d.recallBefore(ctx, info, key, a.Known, a.before()); err != nil {
			return Work{}, err
		}
	}
	w := Work{Thread: info.ID, Way: Chat, Model: cmp.Or(a.Model.Model, info.Model), Fresh: at.fresh, ear: &ear{Watcher: d.Hub.WatchOn(info)}}
	m := app.Message{UserMessage: ponder.UserMessage{Content: a.question(), Media: media(a.last())}, NoWeb: a.NoWeb, Deep: deepEffort(a.Effort), System: a.System, Note: a.Note, After: at.after}
	if a.Model.Model != info.Model {
		m.Model = a.Model.Model
	}
	ev, err := d.Service.Say(ctx, info, key, m)
	if err != nil {
		w.Forget()
	}
	if errors.Is(err, ponder.ErrTaken) {
		return d.saidBefore(ctx, info, key, m)
	}
	if err != nil {
		return Work{}, err
	}
	w.After, w.Message, w.Begun, w.Noted = ev.Seq-1, ev.ID, ev.Time, a.Note != nil
	t := turn{info: info, seq: ev.Seq, message: ev.ID, begun: ev.Time, said: m.Content}
	if a.isNamed() {
		d.recent.note(t)
	} else {
		w.noted = d.note(ctx, a, t)
	}
	return w, nil
}

func (a Ask) messageKey(id ponder.ThreadID) string {
	return cmp.Or(a.Cause, "post-"+hexOf(a.Owner, string(id), cmp.Or(a.Key, ponder.NewID("key"))))
}

func (d *Desk) saidBefore(ctx context.Context, info ponder.Info, key string, m app.Message) (Work, error) {
	w := Work{Thread: info.ID, Way: Chat, Model: info.Model}
	for ev, err := range d.Store.Events(ctx, info.ID, 0) {
		if err != nil {
			return Work{}, fmt.Errorf("read %s: %w", info.ID, err)
		}
		if w.Message != "" { // a note follows the message
			w.Noted = ev.Cause == app.NoteCause(key)
			break
		}
		b, ok := ev.Body.(ponder.UserMessage)
		if !ok || ev.Cause != key {
			continue
		}
		if Bare(b.Content) != Bare(m.Content) {
			break
		}
		w.Begun, w.After, w.Message = ev.Time, ev.Seq-1, ev.ID
	}
	if w.Message == "" {
		return Work{}, otherWords()
	}
	return w, nil
}

// Pause pauses a session or research. It returns a [Fault] if the run has ended.
func (d *Desk) Pause(ctx context.Context, w Work, reason string) error {
	return d.command(ctx, w, ponder.Event{Body: ponder.RunPaused{Reason: reason}})
}

// Resume continues a paused session or research, or one without a holder. It returns a [Fault] if the run has
// ended.
func (d *Desk) Resume(ctx context.Context, w Work) error {
	return d.wish(ctx, w, ponder.Event{Body: ponder.RunResumed{}}, func(tell func() error) error {
		return app.Resume(ctx, d.Service, w.Thread, "", tell)
	})
}

// command appends ev to a session or research and starts work.
func (d *Desk) command(ctx context.Context, w Work, ev ponder.Event) error {
	return d.wish(ctx, w, ev, func(tell func() error) error {
		if err := tell(); err != nil {
			return err
		}
		return d.Service.Go(ctx, w.Thread, "")
	})
}

func (d *Desk) wish(ctx context.Context, w Work, ev ponder.Event, do func(tell func() error) error) error {
	run, err := d.run(ctx, w)
	if err != nil {
		return err
	}
	if run == "" || w.Way != Session && w.Way != Research {
		return &Fault{http.StatusConflict, "", "it has ended, or cannot be steered"}
	}
	return do(func() error {
		ev.Run = run
		_, err := ponder.SendCommands(ctx, d.Store, w.Thread, ev)
		if errors.Is(err, ponder.ErrEnded) {
			return &Fault{http.StatusConflict, "", "it has ended"}
		}
		if err != nil {
			return fmt.Errorf("tell %s: %w", w.Thread, err)
		}
		return nil
	})
}

// Wait calls each for the parts of w, and returns the end. It calls flush after each batch, and quiet when a
// heartbeat is due; both may be nil. It stops at an error, or when d.Gone ends.
func (d *Desk) Wait(ctx context.Context, w Work, each func(Part) error, flush, quiet func() error) (End, error) {
	return d.wait(ctx, d.Feed(w, false), each, flush, quiet)
}

func (d *Desk) wait(ctx context.Context, f *Feed, each func(Part) error, flush, quiet func() error) (End, error) {
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

// A Telling encodes parts in the protocol of a client. It sends nothing before Flush.
type Telling interface {
	Part(p Part) // ignores kinds that the protocol lacks
	Quiet()      // adds a heartbeat
	Fail(f *Fault)
	End(e End)
	Flush() error
}

// Tell streams w to t, with a conversation title if titled. It reports whether the client received
// everything.
//
// It never retracts text, so no part has Again. A restarted answer must extend the sent text, or Tell fails;
// a repeated request then streams the answer from its start.
func (d *Desk) Tell(ctx context.Context, w Work, titled bool, t Telling) bool {
	if t.Flush() != nil {
		w.Forget()
		return false
	}
	s := sentText{tell: t.Part}
	return d.Feed(w, titled).send(ctx, t, s.part, s.end)
}

// Tell is [Desk.Tell] for a protocol that can retract text. It closes f.
func (f *Feed) Tell(ctx context.Context, t Telling) bool {
	return f.send(ctx, t, func(p Part) error {
		t.Part(p)
		return nil
	}, func(End) error { return nil })
}

// send calls each for every part, and last with the end. Their errors go to Fail of t.
func (f *Feed) send(ctx context.Context, t Telling, each func(Part) error, last func(End) error) bool {
	end, err := f.desk.wait(ctx, f, each, t.Flush, func() error {
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
		t.Fail(f.desk.FaultOf(err))
	default:
		t.End(end)
	}
	return t.Flush() == nil && !errors.Is(err, errAnew)
}
