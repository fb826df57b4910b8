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
	maxBackground  = 5
	maxEscalations = 3
	escalationAge  = 7 * 24 * time.Hour
	maxPending     = 50          // pending escalations
	createGrace    = time.Minute // grace time to create a new conversation
)

const (
	checkpointName     = "inner"
	checkpointVersion  = "1"
	checkpointInterval = 50   // events between checkpoints
	maxReplayed        = 2000 // events to read without a checkpoint
)

// Observations that record deliveries, as mindrunner writes them. Their Source is the
// conversation.
const (
	DeliverySensor      = subconscious.Name + ":delivery"
	conversationChannel = "conversation"
	sendingState        = conversationChannel + ":sending"
)

type backgroundStore interface {
	ponder.Log
	ponder.Threads
	ponder.Checkpoints
}

// A BackgroundFeed is the view of an owner's subconscious for conversations and sessions. It
// reads only new events of its thread.
type BackgroundFeed struct {
	Owner             string // empty: LocalOwner
	lastSeq, savedSeq ponder.Seq
	checkpoint        backgroundCheckpoint
	state             subconscious.State // fold of folded and after
	stale             bool
	newEvents         []ponder.Event // changes since folded
}

type backgroundCheckpoint struct {
	State json.RawMessage  `json:"state,omitempty"`
	Open  []OpenEscalation `json:"open,omitempty"`
}

// A OpenEscalation is an escalation not yet delivered to a conversation.
type OpenEscalation struct {
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

// causeKey is the key that makes the observation unique in a conversation.
func (e OpenEscalation) causeKey() string { return "escalated-" + e.ID }

func (e OpenEscalation) Observation() ponder.Event {
	return ponder.Event{Internal: true, Cause: e.causeKey(), Body: ponder.Observation{
		Sensor: subconscious.FeedSensor, Subject: e.ID, State: subconscious.EscalatedState, Content: e.Text, Source: e.Source, Untrusted: e.Untrusted,
	}}
}

func (u *BackgroundFeed) threadID() ponder.ThreadID {
	return subconscious.ThreadOf(cmp.Or(u.Owner, LocalOwner))
}

func (u *BackgroundFeed) Read(ctx context.Context, store backgroundStore) error {
	thread := u.threadID()
	info, err := store.Thread(ctx, thread)
	switch {
	case errors.Is(err, ponder.ErrNoThread):
		*u = BackgroundFeed{Owner: u.Owner}
		return nil
	case err != nil:
		return err
	case info.Head < u.lastSeq:
		*u = BackgroundFeed{Owner: u.Owner}
	}
	if u.lastSeq == 0 && info.Head > 0 {
		if err := u.loadCheckpoint(ctx, store, info); err != nil {
			return err
		}
	}
	if info.Head == u.lastSeq {
		return nil
	}
	for ev, err := range store.Events(ctx, thread, u.lastSeq) {
		if err != nil {
			return err
		}
		u.applyEvent(ev)
	}
	if u.lastSeq-u.savedSeq >= checkpointInterval {
		u.saveCheckpoint(ctx, store)
	}
	return nil
}

func (u *BackgroundFeed) loadCheckpoint(ctx context.Context, store ponder.Checkpoints, info ponder.Info) error {
	at, js, err := store.LoadCheckpoint(ctx, info.ID, checkpointName, checkpointVersion)
	if err != nil {
		return err
	}
	if js == nil || at > info.Head || json.Unmarshal(js, &u.checkpoint) != nil {
		u.checkpoint = backgroundCheckpoint{}
		at = max(0, info.Head-maxReplayed)
	} else {
		u.savedSeq = at
	}
	u.lastSeq, u.stale = at, true
	return nil
}

// saveCheckpoint writes the checkpoint. An error only costs a longer read next time.
func (u *BackgroundFeed) saveCheckpoint(ctx context.Context, store ponder.Checkpoints) {
	f := u.checkpoint
	if len(u.newEvents) > 0 {
		js, err := json.Marshal(u.currentState())
		if err != nil {
			return
		}
		f.State = js
	}
	js, err := json.Marshal(f)
	if err == nil && store.SaveCheckpoint(ctx, u.threadID(), checkpointName, checkpointVersion, u.lastSeq, js) == nil {
		u.savedSeq = u.lastSeq
	}
}

func (u *BackgroundFeed) applyEvent(ev ponder.Event) {
	u.lastSeq = ev.Seq
	switch b := ev.Body.(type) {
	case ponder.Subconscious:
		if len(b.State) > 0 {
			u.checkpoint.State, u.newEvents, u.stale = b.State, nil, true
		}
	case ponder.Resolution:
		u.newEvents, u.stale = append(u.newEvents, ev), true
	case ponder.Escalation:
		known := slices.ContainsFunc(u.checkpoint.Open, func(e OpenEscalation) bool { return e.ID == b.ID })
		if b.Outcome == "message" && b.ID != "" && b.Content != "" && !known {
			e := OpenEscalation{ID: b.ID, Text: b.Content, Signatures: b.Signatures, Untrusted: b.Untrusted, At: ev.Time}
			if len(b.Sources) > 0 {
				e.Source = b.Sources[0]
			}
			u.checkpoint.Open = append(u.checkpoint.Open, e)
			u.checkpoint.Open = u.checkpoint.Open[max(0, len(u.checkpoint.Open)-maxPending):]
		}
	case ponder.Observation:
		u.applyDelivery(ev.Time, b)
	}
}

func (u *BackgroundFeed) applyDelivery(at time.Time, b ponder.Observation) {
	i := slices.IndexFunc(u.checkpoint.Open, func(e OpenEscalation) bool { return e.ID == b.Subject })
	switch {
	case i < 0:
	case b.Sensor == subconscious.Delivery && b.State == conversationChannel:
		u.checkpoint.Open = slices.Delete(slices.Clone(u.checkpoint.Open), i, i+1)
	case b.Sensor == DeliverySensor && b.State == sendingState:
		u.checkpoint.Open = slices.Clone(u.checkpoint.Open)
		e := &u.checkpoint.Open[i]
		e.Thread, e.Began, e.Tries = ponder.ThreadID(b.Source), at, e.Tries+1
	}
}

func (u *BackgroundFeed) currentState() subconscious.State {
	if !u.stale {
		return u.state
	}
	u.state, u.stale = subconscious.NewState(), false
	if len(u.checkpoint.State) > 0 {
		u.state = u.state.Apply(ponder.Event{Body: ponder.Subconscious{State: u.checkpoint.State}})
	}
	for _, ev := range u.newEvents {
		u.state = u.state.Apply(ev)
	}
	return u.state
}

// Background returns the events about the subconscious to append before the text said. It omits
// observations of untrusted content unless strangers is set.
func (u *BackgroundFeed) Background(said string, thread ponder.ThreadID, strangers bool, now time.Time) (list []ponder.Event) {
	if len(u.checkpoint.State) == 0 {
		return nil
	}
	for _, n := range u.currentState().RelevantEntries(said, thread, now, maxBackground) {
		if strangers || !n.Untrusted {
			list = append(list, ponder.Event{Internal: true, Body: n.Observation()})
		}
	}
	return list
}

// ClaimEscalations claims escalations for conversation in to deliver. It records each attempt on the
// subconscious's thread, so that no other conversation delivers it, and completes attempts of
// dead processes.
func (u *BackgroundFeed) ClaimEscalations(ctx context.Context, store backgroundStore, in ponder.ThreadID, now time.Time) (list []OpenEscalation, err error) {
	for _, e := range u.checkpoint.Open {
		if len(list) == maxEscalations {
			break
		}
		if e.Thread != "" {
			if done, err := u.resumeDelivery(ctx, store, e, now); err != nil {
				return list, err
			} else if done {
				continue
			}
		}
		if now.Sub(e.At) > escalationAge || u.isDismissed(e) {
			continue
		}
		e.Thread, e.Tries = in, e.Tries+1
		err := u.noteDelivery(ctx, store, e, "delivery:conversation:"+strconv.Itoa(e.Tries)+":sending:"+e.ID, DeliverySensor, sendingState)
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

// resumeDelivery completes an attempt of another process. It reports false if the conversation does not
// exist and createGrace has passed.
func (u *BackgroundFeed) resumeDelivery(ctx context.Context, store backgroundStore, e OpenEscalation, now time.Time) (done bool, err error) {
	_, err = store.Append(ctx, e.Thread, 0, e.Observation())
	switch {
	case errors.Is(err, ponder.ErrNoThread):
		return now.Sub(e.Began) < createGrace, nil
	case err != nil && !errors.Is(err, ponder.ErrTaken):
		return false, fmt.Errorf("post background entries to %s: %w", e.ID, err)
	}
	return true, u.NoteDelivered(ctx, store, e)
}

// isDismissed reports whether the user has since dismissed the escalation.
func (u *BackgroundFeed) isDismissed(e OpenEscalation) bool {
	return slices.ContainsFunc(u.currentState().Internal.Settled, func(s subconscious.SettledTopic) bool {
		return s.At.After(e.At) && slices.ContainsFunc(s.Signature, func(sign string) bool { return slices.Contains(e.Signatures, sign) })
	})
}

func (u *BackgroundFeed) NoteDelivered(ctx context.Context, store ponder.Log, e OpenEscalation) error {
	err := u.noteDelivery(ctx, store, e, "delivery:conversation:1:sent:"+e.ID, subconscious.Delivery, conversationChannel)
	if errors.Is(err, ponder.ErrTaken) {
		return nil
	}
	return err
}

func (u *BackgroundFeed) noteDelivery(ctx context.Context, store ponder.Log, e OpenEscalation, cause, sensor, state string) error {
	_, err := store.Append(ctx, u.threadID(), 0, ponder.Event{Internal: true, Cause: cause, Body: ponder.Observation{
		Sensor: sensor, Subject: e.ID, State: state, Source: string(e.Thread),
	}})
	if err != nil && !errors.Is(err, ponder.ErrTaken) {
		return fmt.Errorf("record delivery of %s: %w", e.ID, err)
	}
	return err
}

// BackgroundFor returns the background events for the start of a session. It omits untrusted
// content, because a session draws conclusions from it and searches the web.
func BackgroundFor(ctx context.Context, store backgroundStore, who, question string) []ponder.Event {
	u := BackgroundFeed{Owner: who}
	if err := u.Read(ctx, store); err != nil {
		slog.Warn("cannot deliver background entries of the subconscious", "error", err)
		return nil
	}
	return u.Background(question, "", false, time.Now())
}
