// Package own is the sensor of Ponder's own threads and memories: what its user said in
// conversations that promises something, asks for something in the future or names a date;
// if there was such a thing of late, what the user said was done; questions that stayed
// without an answer for a day, what sessions and research that ended have come to, runs that failed or
// were paused and left alone for a day, and what was remembered.
//
// It reads neither the threads of the subconscious, nor what was put from there into
// others, nor internal events, nor what an assistant wrote, so that nothing reinforces
// itself. What the user said, or asked, is trusted; what rests on the web, or on a thread
// where that was read, and what research found, is not.
//
// The cursor has for each of the 200 threads that changed last the event up to which it
// was read; of others, that they have not changed since. So a thread is read only when it
// has grown, and from there on.
//
// Each sentence of a message is told for itself; those after the first have a subject that
// ends in "#2" and so on. Subjects are "message:ID/SEQ", "run:ID/SEQ" and "memory:ID"; states are said, done,
// unanswered, answered, completed, failed, paused and new.
package own

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

// Name is the name of the sensor, if it is configured once.
const Name = "own"

// A Store is what the sensor reads.
type Store interface {
	List(ctx context.Context, filter ponder.Filter) ([]ponder.Info, error)
	Events(ctx context.Context, thread ponder.ThreadID, after ponder.Seq) iter.Seq2[ponder.Event, error]
}

// A Memory is something that was remembered.
type Memory struct {
	ID        string // those of later ones are greater
	Text      string
	Untrusted bool // strangers wrote of it
	Ours      bool // the subconscious had it remembered: it is not told
}

// Options say what is looked at.
type Options struct {
	Store Store
	Owner string // whose threads; everybody's if empty

	// Memories, if set, returns what was remembered last, the newest first.
	Memories func(ctx context.Context) ([]Memory, error)
}

// Numbers of the sensor.
const (
	alone      = 24 * time.Hour     // after which something was left alone
	recent     = 3 * 24 * time.Hour // that the first look goes back
	forgotten  = 14 * 24 * time.Hour
	maxThreads = 200
	maxEvents  = 20_000 // that a look reads
	maxParts   = 6      // of a message that are told each for itself
	maxInsight = 3      // of a session that are told, and questions
)

// New returns the sensor.
func New(o Options) sensor.Sensor {
	return sensor.Sensor{Name: Name, Look: func(ctx context.Context, now time.Time, c json.RawMessage) ([]ponder.Observation, json.RawMessage, error) {
		l := newLook(ctx, o, now, c)
		if err := l.threads(); err != nil {
			return nil, nil, fmt.Errorf("read the threads: %w", err)
		}
		if err := l.memories(); err != nil {
			return nil, nil, fmt.Errorf("read what is remembered: %w", err)
		}
		next, err := json.Marshal(l.cursor)
		return l.out, next, err
	}}
}

// A cursor is up to where all has been read.
type cursor struct {
	Format  int                      `json:"v"`
	Upto    time.Time                `json:"upto,omitzero"` // threads that have changed since were not read
	Threads map[ponder.ThreadID]mark `json:"threads,omitempty"`
	Memory  string                   `json:"memory,omitempty"` // the newest that was told

	Promised int64 `json:"promised,omitempty"` // when the user last said something that was told, in seconds
}

// format is the Format of cursors.
const format = 1

// A mark is up to where a thread has been read, and what is to be known of that.
type mark struct {
	Head      ponder.Seq `json:"h"`
	Asked     ponder.Seq `json:"q,omitempty"` // a question of the user that nobody has answered
	At        int64      `json:"t,omitempty"` // when it was asked, in seconds
	Synthesis ponder.Seq `json:"s,omitempty"` // the last of the run that is open
	Tainted   bool       `json:"x,omitempty"` // strangers wrote of what is there
	Told      string     `json:"o,omitempty"` // what was left alone, and was told: unanswered, failed, paused
}

// A look is one look.
type look struct {
	Options
	ctx    context.Context
	now    time.Time
	first  bool
	since  time.Time // what is older is not told
	cursor cursor
	out    []ponder.Observation
	read   int // events
}

func newLook(ctx context.Context, o Options, now time.Time, c json.RawMessage) *look {
	l := &look{Options: o, ctx: ctx, now: now}
	if len(c) > sensor.MaxCursor || json.Unmarshal(c, &l.cursor) != nil || l.cursor.Format != format || len(l.cursor.Threads) > maxThreads {
		l.cursor, l.first, l.since = cursor{Format: format}, true, now.Add(-recent)
	}
	if l.cursor.Threads == nil {
		l.cursor.Threads = make(map[ponder.ThreadID]mark)
	}
	return l
}

// full reports whether a look has told as much as it may.
func (l *look) full() bool { return len(l.out) >= sensor.MaxLook }

// tell adds an observation, within the bounds of one.
func (l *look) tell(o ponder.Observation) {
	o.Content, o.Subject, o.Sensor = sensor.Line(o.Content, sensor.MaxText), sensor.Subject(o.Subject), ""
	l.out = append(l.out, o)
}

// threads looks at the threads, those that changed first before the others, so that what
// is left for the next look is the newest.
func (l *look) threads() error {
	list, err := l.newest()
	if err != nil {
		return err
	}
	upto, marks := l.cursor.Upto, make(map[ponder.ThreadID]mark, len(list))
	done := true
	for _, info := range list {
		m, known := l.cursor.Threads[info.ID]
		if !done {
			if known {
				marks[info.ID] = m
			}
			continue
		}
		whole, err := l.thread(info, &m, known)
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

// newest returns the threads that changed last, the last of them last.
func (l *look) newest() ([]ponder.Info, error) {
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

// thread looks at a thread. It reports false if there was too much to tell.
func (l *look) thread(info ponder.Info, m *mark, known bool) (whole bool, err error) {
	l.since = time.Time{}
	switch {
	case l.first:
		l.since = l.now.Add(-recent)
	case !known:
		l.since = l.cursor.Upto.Add(time.Nanosecond)
	}
	if info.Updated.Before(l.since) {
		m.Head, m.Tainted = info.Head, true // what is there is old, and whose it is was not read
	}
	if m.Head > info.Head { // another thread of the same id
		*m = mark{}
	}
	if info.Head > m.Head {
		if whole, err = l.grown(info, m); err != nil || !whole {
			return false, err
		}
	}
	return l.left(info, m)
}

// memories tells what was remembered.
func (l *look) memories() error {
	if l.Memories == nil || l.full() {
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
		if l.full() {
			break
		}
		l.cursor.Memory = m.ID
		if l.first || m.Ours || m.Text == "" {
			continue
		}
		l.tell(ponder.Observation{Content: "Remembered: " + m.Text, Subject: "memory:" + m.ID, State: "new", Source: "memory:" + m.ID, Untrusted: m.Untrusted})
	}
	return nil
}
