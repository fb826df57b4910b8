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

const (
	mostInner  = 5
	mostRaised = 3
	raisedFor  = 7 * 24 * time.Hour
	mostOpen   = 50          // pending escalations
	beginsFor  = time.Minute // grace time to create a new conversation
)

const (
	innerFold    = "inner"
	innerVersion = "1"
	innerKeep    = 50   // events between checkpoints
	innerRead    = 2000 // events to read without a checkpoint
)

// Observations that record deliveries, as mindrunner writes them. Their Source is the
// conversation.
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

// A BackgroundFeed is the view of an owner's subconscious for conversations and sessions. It
// reads only new events of its thread.
type BackgroundFeed struct {
	Owner    string // empty: LocalOwner
	at, kept ponder.Seq
	folded   innerFolded
	state    subconscious.State // fold of folded and after
	stale    bool
	after    []ponder.Event // changes since folded
}

type innerFolded struct {
	State json.RawMessage     `json:"state,omitempty"`
	Open  []PendingEscalation `json:"open,omitempty"`
}

// A PendingEscalation is an escalation not yet delivered to a conversation.
type PendingEscalation struct {
	ID         string          `json:"id"`
	Text       string          `json:"text"`
	Source     string          `json:"source,omitempty"`
	Signatures []string        `json:"signatures,omitempty"`
	Untrusted  bool            `json:"untrusted,omitempty"`
	At         time.Time       `json:"at"`
	Thread     ponder.ThreadID `json:"thread,omitempty"`
	Began      time.Time       `json:"began,omitzero"`
	Tries      int             `json:"tries,omitempty"`
}

// cause is the key that makes the observation unique in a conversation.
func (e PendingEscalation) cause() string { return "escalated-" + e.ID }

func (e PendingEscalation) Observation() ponder.Event {
	return ponder.Event{Internal: true, Cause: e.cause(), Body: ponder.Observation{
		Sensor: subconscious.FeedSensor, Subject: e.ID, State: subconscious.EscalatedState, Content: e.Text, Source: e.Source, Untrusted: e.Untrusted,
	}}
}

func (u *BackgroundFeed) thread() ponder.ThreadID {
	return subconscious.ThreadOf(cmp.Or(u.Owner, LocalOwner))
}

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

// keep writes the checkpoint. An error only costs a longer read next time.
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

// Background returns the events about the subconscious to append before the text said. It omits
// observations of untrusted content unless strangers is set.
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

// Raise claims escalations for conversation in to deliver. It records each attempt on the
// subconscious's thread, so that no other conversation delivers it, and completes attempts of
// dead processes.
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
		case errors.Is(err, ponder.ErrTaken): // another conversation delivers it
		case err != nil:
			return list, err
		default:
			list = append(list, e)
		}
	}
	return list, nil
}

// resume completes an attempt of another process. It reports false if the conversation does not
// exist and beginsFor has passed.
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

// settled reports whether the user has since dismissed the escalation.
func (u *BackgroundFeed) settled(e PendingEscalation) bool {
	return slices.ContainsFunc(u.now().Aside.Settled, func(s subconscious.Settled) bool {
		return s.At.After(e.At) && slices.ContainsFunc(s.Signature, func(sign string) bool { return slices.Contains(e.Signatures, sign) })
	})
}

func (u *BackgroundFeed) Told(ctx context.Context, store ponder.Log, e PendingEscalation) error {
	err := u.tell(ctx, store, e, "delivery:conversation:1:sent:"+e.ID, subconscious.Delivery, toldChannel)
	if errors.Is(err, ponder.ErrTaken) {
		return nil
	}
	return err
}

func (u *BackgroundFeed) tell(ctx context.Context, store ponder.Log, e PendingEscalation, cause, sensor, state string) error {
	_, err := store.Append(ctx, u.thread(), 0, ponder.Event{Internal: true, Cause: cause, Body: ponder.Observation{
		Sensor: sensor, Subject: e.ID, State: state, Source: string(e.Thread),
	}})
	if err != nil && !errors.Is(err, ponder.ErrTaken) {
		return fmt.Errorf("note that %s is told: %w", e.ID, err)
	}
	return err
}

// BackgroundFor returns the background events for the start of a session. It omits untrusted
// content, because a session draws conclusions from it and searches the web.
func BackgroundFor(ctx context.Context, store innerStore, who, question string) []ponder.Event {
	u := BackgroundFeed{Owner: who}
	if err := u.Read(ctx, store); err != nil {
		slog.Warn("the subconscious is not handed on", "error", err)
		return nil
	}
	return u.Background(question, "", false, time.Now())
}
