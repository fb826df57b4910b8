package app

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"time"

	"ponder"
	"ponder/mode/subconscious"
)

// What is handed on of the subconscious.
const (
	mostInner  = 5                  // entries
	mostRaised = 3                  // escalations at a time
	raisedFor  = 7 * 24 * time.Hour // after which one is not told of any more
	mostOpen   = 50                 // that wait for that
	beginsFor  = time.Minute        // that a new conversation may take to be there
)

// What is kept of its thread, so that it need not be read again.
const (
	innerFold    = "inner"
	innerVersion = "1"
	innerKeep    = 50   // events after which it is kept anew
	innerRead    = 2000 // events that are read where nothing is kept
)

// What stands on its thread of the telling, as of what the minder tells: of which sensor,
// and in which state. The source of an attempt is the conversation.
const (
	TellingSensor = subconscious.Name + ":delivery"
	toldChannel   = "conversation"
	toldSending   = toldChannel + ":sending"
)

type innerStore interface {
	ponder.Log
	ponder.Threads
	ponder.Checkpoints
}

// An undercurrent is the owner's subconscious as conversations and sessions are told of
// it. It reads the thread only as far as that has grown. Without such a thread it costs
// a look whether there is one.
type BackgroundFeed struct {
	Owner    string // the user, if empty
	at, kept ponder.Seq
	folded   innerFolded
	state    subconscious.State // of folded and after
	stale    bool               // state is
	after    []ponder.Event     // what changed it since
}

type innerFolded struct {
	State json.RawMessage     `json:"state,omitempty"` // of the newest tick
	Open  []PendingEscalation `json:"open,omitempty"`  // escalations, oldest first
}

// An untold is an escalation that no conversation has told of.
type PendingEscalation struct {
	ID         string          `json:"id"`
	Text       string          `json:"text"`
	Source     string          `json:"source,omitempty"`
	Signatures []string        `json:"signatures,omitempty"`
	Untrusted  bool            `json:"untrusted,omitempty"`
	At         time.Time       `json:"at"`
	Thread     ponder.ThreadID `json:"thread,omitempty"` // that somebody has begun to tell it in
	Began      time.Time       `json:"began,omitzero"`   // when
	Tries      int             `json:"tries,omitempty"`
}

// cause is the key of the observation in a conversation, so that it stands there once.
func (e PendingEscalation) cause() string { return "escalated-" + e.ID }

// observation returns what a conversation is told.
func (e PendingEscalation) Observation() ponder.Event {
	return ponder.Event{Internal: true, Cause: e.cause(), Body: ponder.Observation{
		Sensor: subconscious.FeedSensor, Subject: e.ID, State: subconscious.EscalatedState, Content: e.Text, Source: e.Source, Untrusted: e.Untrusted,
	}}
}

// thread returns the id of the thread that it is of.
func (u *BackgroundFeed) thread() ponder.ThreadID {
	return subconscious.ThreadOf(cmp.Or(u.Owner, LocalOwner))
}

// read brings it up to date.
func (u *BackgroundFeed) Read(ctx context.Context, store innerStore) error {
	thread := u.thread()
	info, err := store.Thread(ctx, thread)
	switch {
	case errors.Is(err, ponder.ErrNoThread):
		*u = BackgroundFeed{Owner: u.Owner}
		return nil
	case err != nil:
		return err
	case info.Head < u.at:
		*u = BackgroundFeed{Owner: u.Owner}
	}
	if u.at == 0 && info.Head > 0 {
		if err := u.load(ctx, store, info); err != nil {
			return err
		}
	}
	if info.Head == u.at {
		return nil
	}
	for ev, err := range store.Events(ctx, thread, u.at) {
		if err != nil {
			return err
		}
		u.hears(ev)
	}
	if u.at-u.kept >= innerKeep {
		u.keep(ctx, store)
	}
	return nil
}

// load takes what was kept, or begins a while before the end.
func (u *BackgroundFeed) load(ctx context.Context, store ponder.Checkpoints, info ponder.Info) error {
	at, js, err := store.LoadCheckpoint(ctx, info.ID, innerFold, innerVersion)
	if err != nil {
		return err
	}
	if js == nil || at > info.Head || json.Unmarshal(js, &u.folded) != nil {
		u.folded = innerFolded{}
		at = max(0, info.Head-innerRead)
	} else {
		u.kept = at
	}
	u.at, u.stale = at, true
	return nil
}

// keep keeps it. Without it, the thread is read again the next time, and no harm is done.
func (u *BackgroundFeed) keep(ctx context.Context, store ponder.Checkpoints) {
	f := u.folded
	if len(u.after) > 0 {
		js, err := json.Marshal(u.now())
		if err != nil {
			return
		}
		f.State = js
	}
	js, err := json.Marshal(f)
	if err == nil && store.SaveCheckpoint(ctx, u.thread(), innerFold, innerVersion, u.at, js) == nil {
		u.kept = u.at
	}
}

func (u *BackgroundFeed) hears(ev ponder.Event) {
	u.at = ev.Seq
	switch b := ev.Body.(type) {
	case ponder.Subconscious:
		if len(b.State) > 0 {
			u.folded.State, u.after, u.stale = b.State, nil, true
		}
	case ponder.Resolved:
		u.after, u.stale = append(u.after, ev), true
	case ponder.Escalation:
		known := slices.ContainsFunc(u.folded.Open, func(e PendingEscalation) bool { return e.ID == b.ID })
		if b.Outcome == "message" && b.ID != "" && b.Content != "" && !known {
			e := PendingEscalation{ID: b.ID, Text: b.Content, Signatures: b.Signatures, Untrusted: b.Untrusted, At: ev.Time}
			if len(b.Sources) > 0 {
				e.Source = b.Sources[0]
			}
			u.folded.Open = append(u.folded.Open, e)
			u.folded.Open = u.folded.Open[max(0, len(u.folded.Open)-mostOpen):]
		}
	case ponder.Observation:
		u.delivered(ev.Time, b)
	}
}

// delivered takes in how far the telling of an escalation is.
func (u *BackgroundFeed) delivered(at time.Time, b ponder.Observation) {
	i := slices.IndexFunc(u.folded.Open, func(e PendingEscalation) bool { return e.ID == b.Subject })
	switch {
	case i < 0:
	case b.Sensor == subconscious.Delivery && b.State == toldChannel:
		u.folded.Open = slices.Delete(slices.Clone(u.folded.Open), i, i+1)
	case b.Sensor == TellingSensor && b.State == toldSending:
		u.folded.Open = slices.Clone(u.folded.Open)
		e := &u.folded.Open[i]
		e.Thread, e.Began, e.Tries = ponder.ThreadID(b.Source), at, e.Tries+1
	}
}

func (u *BackgroundFeed) now() subconscious.State {
	if !u.stale {
		return u.state
	}
	u.state, u.stale = subconscious.NewState(), false
	if len(u.folded.State) > 0 {
		u.state = u.state.Apply(ponder.Event{Body: ponder.Subconscious{State: u.folded.State}})
	}
	for _, ev := range u.after {
		u.state = u.state.Apply(ev)
	}
	return u.state
}

// background returns what stands in the log of a thread, before what is said there, of
// what is on the owner's mind. What strangers wrote of is left out unless it is wanted.
func (u *BackgroundFeed) Background(said string, thread ponder.ThreadID, strangers bool, now time.Time) (list []ponder.Event) {
	if len(u.folded.State) == 0 {
		return nil
	}
	for _, n := range u.now().Inner(said, thread, now, mostInner) {
		if strangers || !n.Untrusted {
			list = append(list, ponder.Event{Internal: true, Body: n.Observation()})
		}
	}
	return list
}

// raise returns the escalations that a conversation is to tell of. Who has begun to tell
// of one has said so on the thread of the subconscious, so that no other does; what a
// process left there that ended is told where it was begun.
func (u *BackgroundFeed) Raise(ctx context.Context, store innerStore, in ponder.ThreadID, now time.Time) (list []PendingEscalation, err error) {
	for _, e := range u.folded.Open {
		if len(list) == mostRaised {
			break
		}
		if e.Thread != "" {
			if done, err := u.resume(ctx, store, e, now); err != nil {
				return list, err
			} else if done {
				continue
			}
		}
		if now.Sub(e.At) > raisedFor || u.settled(e) {
			continue
		}
		e.Thread, e.Tries = in, e.Tries+1
		err := u.tell(ctx, store, e, "delivery:conversation:"+strconv.Itoa(e.Tries)+":sending:"+e.ID, TellingSensor, toldSending)
		switch {
		case errors.Is(err, ponder.ErrTaken): // another conversation tells it
		case err != nil:
			return list, err
		default:
			list = append(list, e)
		}
	}
	return list, nil
}

// resume sees to an escalation that somebody has begun to tell, and reports whether
// there is nothing left to do: not where the conversation was never begun, or is gone.
func (u *BackgroundFeed) resume(ctx context.Context, store innerStore, e PendingEscalation, now time.Time) (done bool, err error) {
	_, err = store.Append(ctx, e.Thread, 0, e.Observation())
	switch {
	case errors.Is(err, ponder.ErrNoThread):
		return now.Sub(e.Began) < beginsFor, nil
	case err != nil && !errors.Is(err, ponder.ErrTaken):
		return false, fmt.Errorf("tell %s: %w", e.ID, err)
	}
	return true, u.Told(ctx, store, e)
}

// settled reports whether the user has said since that it needs no more attention.
func (u *BackgroundFeed) settled(e PendingEscalation) bool {
	return slices.ContainsFunc(u.now().Aside.Settled, func(s subconscious.Settled) bool {
		return s.At.After(e.At) && slices.ContainsFunc(s.Signature, func(sign string) bool { return slices.Contains(e.Signatures, sign) })
	})
}

// told notes that a conversation has an escalation in its log.
func (u *BackgroundFeed) Told(ctx context.Context, store ponder.Log, e PendingEscalation) error {
	err := u.tell(ctx, store, e, "delivery:conversation:1:sent:"+e.ID, subconscious.Delivery, toldChannel)
	if errors.Is(err, ponder.ErrTaken) {
		return nil
	}
	return err
}

// tell notes how far the telling of an escalation is.
func (u *BackgroundFeed) tell(ctx context.Context, store ponder.Log, e PendingEscalation, cause, sensor, state string) error {
	_, err := store.Append(ctx, u.thread(), 0, ponder.Event{Internal: true, Cause: cause, Body: ponder.Observation{
		Sensor: sensor, Subject: e.ID, State: state, Source: string(e.Thread),
	}})
	if err != nil && !errors.Is(err, ponder.ErrTaken) {
		return fmt.Errorf("note that %s is told: %w", e.ID, err)
	}
	return err
}

// innerOf returns what stands after the start of a session on a question of what is on
// the owner's mind. What strangers wrote of is no part of it: a session concludes, asks
// the web, and is believed.
func BackgroundFor(ctx context.Context, store innerStore, who, question string) []ponder.Event {
	u := BackgroundFeed{Owner: who}
	if err := u.Read(ctx, store); err != nil {
		slog.Warn("the subconscious is not handed on", "error", err)
		return nil
	}
	return u.Background(question, "", false, time.Now())
}
