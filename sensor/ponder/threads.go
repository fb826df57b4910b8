// Package ponder implements the sensor of Ponder's own threads and memories. It reports:
//
//   - promises, requests for the future and dates in messages of the user,
//   - reports that something is done, if a promise preceded them,
//   - questions without an answer for a day,
//   - results of sessions and research,
//   - runs that failed or paused a day ago,
//   - new memories.
//
// It ignores threads of the subconscious, their output in other threads, internal events and
// messages of the assistant, so that nothing reinforces itself. Text of the user is trusted.
// Results of research, and everything in a thread with web content, are untrusted.
//
// The cursor stores the last event read in each of the 200 most recently changed threads. The
// sensor reads only threads that grew, from that event.
//
// Each sentence of a message is one observation; later ones have "#2" and so on in the Subject.
// Subjects are "message:ID/SEQ", "run:ID/SEQ" and "memory:ID". States are said, done, unanswered,
// answered, completed, failed, paused and new.
package ponder

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"time"

	"ponder"
	"ponder/sensor"
)

// Name is the default name of the sensor.
const Name = "own"

// A Store reads threads.
type Store interface {
	List(ctx context.Context, filter ponder.Filter) ([]ponder.Info, error)
	Events(ctx context.Context, thread ponder.ThreadID, after ponder.Seq) iter.Seq2[ponder.Event, error]
}

// A Memory is a remembered text.
type Memory struct {
	ID               string // increases with time
	Text             string
	Untrusted        bool // based on text of others
	FromSubconscious bool // from the subconscious, not reported
}

// Options configure the sensor.
type Options struct {
	Store Store
	Owner string // of the threads; all if empty

	// Memories, if set, returns the latest memories, newest first.
	Memories func(ctx context.Context) ([]Memory, error)
}

// Limits.
const (
	leftAloneAfter = 24 * time.Hour     // until something counts as left alone
	firstRange     = 3 * 24 * time.Hour // range of the first look
	forgottenAfter = 14 * 24 * time.Hour
	maxThreads     = 200
	maxEvents      = 20_000 // events per look
	maxParts       = 6      // observations per message
	maxInsight     = 3      // insights and questions per session
)

// New returns the sensor.
func New(o Options) sensor.Sensor {
	return sensor.Sensor{Name: Name, Look: func(ctx context.Context, now time.Time, c json.RawMessage) ([]ponder.Observation, json.RawMessage, error) {
		l := newThreadReader(ctx, o, now, c)
		if err := l.readThreads(); err != nil {
			return nil, nil, fmt.Errorf("read the threads: %w", err)
		}
		if err := l.readMemories(); err != nil {
			return nil, nil, fmt.Errorf("read memories: %w", err)
		}
		next, err := json.Marshal(l.cursor)
		return l.out, next, err
	}}
}

type cursor struct {
	Format  int                            `json:"v"`
	Upto    time.Time                      `json:"upto,omitzero"` // later changes were not read
	Threads map[ponder.ThreadID]threadMark `json:"threads,omitempty"`
	Memory  string                         `json:"memory,omitempty"` // the newest reported

	Promised int64 `json:"promised,omitempty"` // time of the last reported promise, Unix seconds
}

const cursorFormat = 1

type threadMark struct {
	Head      ponder.Seq `json:"h"`
	Asked     ponder.Seq `json:"q,omitempty"` // open question of the user
	At        int64      `json:"t,omitempty"` // time of Asked, Unix seconds
	Synthesis ponder.Seq `json:"s,omitempty"` // last synthesis of the open run
	Tainted   bool       `json:"x,omitempty"` // has text of others
	Reported  string     `json:"o,omitempty"` // reported state: unanswered, failed or paused
}

type threadReader struct {
	Options
	ctx    context.Context
	now    time.Time
	first  bool
	since  time.Time // older events are not reported
	cursor cursor
	out    []ponder.Observation
	read   int // number of events
}

func newThreadReader(ctx context.Context, o Options, now time.Time, c json.RawMessage) *threadReader {
	l := &threadReader{Options: o, ctx: ctx, now: now}
	if len(c) > sensor.MaxCursor || json.Unmarshal(c, &l.cursor) != nil || l.cursor.Format != cursorFormat || len(l.cursor.Threads) > maxThreads {
		l.cursor, l.first, l.since = cursor{Format: cursorFormat}, true, now.Add(-firstRange)
	}
	if l.cursor.Threads == nil {
		l.cursor.Threads = make(map[ponder.ThreadID]threadMark)
	}
	return l
}

func (l *threadReader) isFull() bool { return len(l.out) >= sensor.MaxLook }

// addObservation adds an observation and truncates its texts.
func (l *threadReader) addObservation(o ponder.Observation) {
	o.Content, o.Subject, o.Sensor = sensor.Line(o.Content, sensor.MaxText), sensor.Subject(o.Subject), ""
	l.out = append(l.out, o)
}

// readThreads reads the threads in order of their last change, so that the newest remain for the
// next look.
func (l *threadReader) readThreads() error {
	list, err := l.newestThreads()
	if err != nil {
		return err
	}
	upto, marks := l.cursor.Upto, make(map[ponder.ThreadID]threadMark, len(list))
	done := true
	for _, info := range list {
		m, known := l.cursor.Threads[info.ID]
		if !done {
			if known {
				marks[info.ID] = m
			}
			continue
		}
		whole, err := l.readThread(info, &m, known)
		if err != nil {
			return err
		}
		marks[info.ID] = m
		if done = whole; done && info.Updated.After(upto) {
			upto = info.Updated.UTC()
		}
	}
	l.cursor.Upto, l.cursor.Threads = upto, marks
	return nil
}

// newestThreads returns the most recently changed threads, newest last.
func (l *threadReader) newestThreads() ([]ponder.Info, error) {
	list, err := l.Store.List(l.ctx, ponder.Filter{Owner: l.Owner})
	if err != nil {
		return nil, err
	}
	list = slices.DeleteFunc(slices.Clone(list), func(i ponder.Info) bool { return i.Kind == ponder.KindSubconscious })
	slices.SortStableFunc(list, func(a, b ponder.Info) int {
		return cmp.Or(a.Updated.Compare(b.Updated), cmp.Compare(a.ID, b.ID))
	})
	return list[max(0, len(list)-maxThreads):], nil
}

// readThread reads a thread. It returns false if the look is full.
func (l *threadReader) readThread(info ponder.Info, m *threadMark, known bool) (whole bool, err error) {
	l.since = time.Time{}
	switch {
	case l.first:
		l.since = l.now.Add(-firstRange)
	case !known:
		l.since = l.cursor.Upto.Add(time.Nanosecond)
	}
	if info.Updated.Before(l.since) {
		m.Head, m.Tainted = info.Head, true // old events are not read, so their trust is unknown
	}
	if m.Head > info.Head { // another thread with the same ID
		*m = threadMark{}
	}
	if info.Head > m.Head {
		if whole, err = l.readNew(info, m); err != nil || !whole {
			return false, err
		}
	}
	return l.reportLeftAlone(info, m)
}

func (l *threadReader) readMemories() error {
	if l.Memories == nil || l.isFull() {
		return nil
	}
	list, err := l.Memories(l.ctx)
	if err != nil {
		return err
	}
	list = slices.SortedStableFunc(slices.Values(list), func(a, b Memory) int { return cmp.Compare(a.ID, b.ID) })
	for _, m := range list {
		if m.ID <= l.cursor.Memory {
			continue
		}
		if l.isFull() {
			break
		}
		l.cursor.Memory = m.ID
		if l.first || m.FromSubconscious || m.Text == "" {
			continue
		}
		l.addObservation(ponder.Observation{Content: "Remembered: " + m.Text, Subject: "memory:" + m.ID, State: "new", Source: "memory:" + m.ID, Untrusted: m.Untrusted})
	}
	return nil
}
