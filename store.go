package ponder

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"time"

	"ponder/llm"
)

// A Store keeps everything Ponder has. It is made of parts so that whoever
// needs a part can ask for that alone. All methods are safe for concurrent use,
// by several processes at once where the store is shared.
//
// Package store/storetest checks that a store keeps the promises made here.
type Store interface {
	Log
	Threads
	Nodes
	Leases
	Ledger
	Checkpoints
	Close() error
}

type recordKey struct{}

// OnRecord returns the ctx of an append that has f called as soon as what is appended
// outlasts the process, which may be before it is durable: after a kill it is in the log. It
// is, too, if the append returns an error after that; to append nothing then returns when it
// is durable. A store that has nothing in between need not call f, which must not wait. See
// docs/design/durable.md.
func OnRecord(ctx context.Context, f func()) context.Context {
	return context.WithValue(ctx, recordKey{}, f)
}

// Recorded returns what a store is to call for an append, or nil: see [OnRecord].
func Recorded(ctx context.Context) func() {
	f, _ := ctx.Value(recordKey{}).(func())
	return f
}

// A Log stores threads of events.
type Log interface {
	// Append adds events to the end of a thread, in order, and returns them
	// stamped. It adds all of them or none, and when it returns, they are
	// durable. Appends that come at the same time share a transaction.
	//
	// With a zero fence, all events must be inputs ([Event.IsInput]), else it
	// returns ErrNotInput. With a fence, it returns ErrFenced unless that lease
	// is in force: the thread's newest, of a node that beats.
	//
	// It returns ErrTaken if the thread has an event of the same [Event.Key] as
	// one of them, and that is kept, or two of them have the same; ErrStale if an event has After
	// set, and that was not the newest event when the append began; and
	// ErrNoThread; to the holder of a thread that was removed, ErrFenced; and
	// ErrTooBig if the events are more than the store can take at once. An event
	// that has an ID or a Time keeps it. The store need not keep the key of an event that has
	// After and that only the holder may append, because the holder has read the whole thread.
	// It keeps the keys of calls, of tools and of [RunFinished].
	//
	// If ctx ends before the transaction begins, nothing is added; after that,
	// Append waits for the outcome.
	//
	// What a call costs and was sent goes into the [Ledger] in the same
	// transaction, and the thread's [Info] follows.
	Append(ctx context.Context, thread ThreadID, fence Fence, events ...Event) ([]Event, error)

	// Events iterates over the events of a thread after one, oldest first,
	// without a gap, up to the newest there is when the iteration gets to it; what
	// another process appends meanwhile may be left to who watches.
	// What it yields is durable. It holds no transaction open while the loop body
	// runs. An error, such as ErrNoThread, is the last that it yields.
	Events(ctx context.Context, thread ThreadID, after Seq) iter.Seq2[Event, error]

	// Lookup returns the event of a thread with the [Event.Key] of like, and whether the thread
	// has one. It finds all keys that Append keeps. Its cost does not grow with the thread. The
	// event is durable. It returns ErrNoThread.
	Lookup(ctx context.Context, thread ThreadID, like Event) (ev Event, found bool, err error)

	// Erase erases the content of events for good: all that [Event.WithoutContent]
	// drops of them, what they put into the thread's title, and, with either end
	// of a call, the request of it in the [Ledger]. Their places stay, and what
	// they cost. It erases all of them or none, and when it returns, that is
	// durable. To erase what is erased already does nothing.
	//
	// All checkpoints of the thread are dropped; and if somebody holds it, none
	// is kept until the next lease, for the holder has read what is gone. What
	// other events took over of the content, such as the requests of later
	// calls, is to be erased with it: seqs are whoever's who knows that.
	//
	// It returns ErrNoThread, or ErrNoEvent if the thread has no event of a
	// number.
	Erase(ctx context.Context, thread ThreadID, seqs ...Seq) error

	// Watch returns a channel that is sent the newest seq of the thread after
	// the thread has grown, whoever made it grow. Hints may be merged, late
	// (by 100 ms, if another process appended) or repeated, but the last growth
	// is always hinted at; growth before Watch is not. The removal of the thread
	// is hinted at with a zero. stop ends it; it does not close the channel.
	Watch(thread ThreadID) (heads <-chan Seq, stop func())
}

// Threads knows what threads there are.
type Threads interface {
	// Create makes a thread with its first events, all or nothing. It returns
	// ErrTaken if there is one with the ID, or two events have the same key. A
	// zero Created means now. The events may be of any type, as
	// those of a copy are: their requests go into the ledger, but what they cost
	// is not counted again in its sums.
	Create(ctx context.Context, thread Thread, events ...Event) error

	// Thread returns what is known of a thread, or ErrNoThread: ErrRemoved, which is one too,
	// if there was one with the ID.
	Thread(ctx context.Context, id ThreadID) (Info, error)

	// List returns threads, the newest first, and of those that were made at the same time
	// the one with the greatest ID.
	List(ctx context.Context, filter Filter) ([]Info, error)

	// Remove erases a thread: its events, the bodies in its ledger, its
	// checkpoints. Usage totals stay. Its holder, if any, is fenced out.
	Remove(ctx context.Context, id ThreadID) error
}

// A Thread is the header of a thread.
type Thread struct {
	ID      ThreadID  `json:"thread_id"`
	Kind    Kind      `json:"kind"`
	Title   string    `json:"title,omitempty"`
	Owner   string    `json:"owner,omitempty"` // "local" unless several users share a store
	Created time.Time `json:"created_at"`
	Model   string    `json:"model,omitempty"`
}

// A Kind is what a thread is for.
type Kind string

// The kinds.
const (
	KindConversation Kind = "conversation"
	KindSession      Kind = "session"
	KindResearch     Kind = "research"
	KindSubconscious Kind = "subconscious"
	KindExchange     Kind = "exchange" // one request of a program that keeps the conversation itself
)

// Info is a thread and a few folds over it that lists need.
type Info struct {
	Thread
	Head    Seq       `json:"head"`
	Updated time.Time `json:"updated_at"`
	Status  Status    `json:"status"`              // see [Info.Apply]
	Open    int       `json:"open_runs,omitempty"` // root runs that have not finished
	Held    bool      `json:"held,omitempty"`      // by a process that beats

	// Roots are the runs that Open counts. A store may not know them if a program of an older
	// version wrote the thread: then they are not Open in number.
	Roots []Root `json:"-"`
}

// A Root is a root run that has not finished.
type Root struct {
	ID        RunID `json:"run"`
	Paused    bool  `json:"paused,omitempty"`
	Cancelled bool  `json:"cancelled,omitempty"` // it is to finish, though it may be paused
}

// Apply returns the info after ev; i, with its roots, must be the info after all events
// before ev. As long as root runs are open, the status is Paused if each of them is
// paused and not cancelled, so that there is nothing to do, and else Thinking. Then it is
// that of the one that finished last, or Created if there was none; but while a conversation
// has a message that no run has seen, there is something to do: Thinking.
func (i Info) Apply(ev Event) Info {
	if _, said := ev.Body.(UserMessage); said && i.Kind == KindConversation && i.Open == 0 {
		i.Status = Thinking
	}
	if ev.Run.Parent() != "" {
		return i
	}
	switch b := ev.Body.(type) {
	case RunStarted:
		i.Open, i.Status = i.Open+1, Thinking
		i.Roots = append(slices.Clip(i.Roots), Root{ID: ev.Run})
	case RunPaused:
		return i.mark(ev.Run, func(r *Root) { r.Paused = true })
	case RunResumed:
		return i.mark(ev.Run, func(r *Root) { r.Paused = false })
	case Steer:
		if b.Do == Cancel {
			return i.mark(ev.Run, func(r *Root) { r.Cancelled = true })
		}
	case RunFinished:
		i.Roots = slices.DeleteFunc(slices.Clone(i.Roots), func(r Root) bool { return r.ID == ev.Run })
		if i.Open = max(0, i.Open-1); i.Open > 0 {
			i.Status = standing(i.Roots)
		} else {
			i.Status, i.Roots = b.Status, nil
		}
	}
	return i
}

// mark returns the info after something was wished of root runs: of all, if top is empty.
func (i Info) mark(top RunID, do func(*Root)) Info {
	i.Roots = slices.Clone(i.Roots)
	for n := range i.Roots {
		if r := &i.Roots[n]; r.ID.Within(top) {
			do(r)
			i.Status = standing(i.Roots)
		}
	}
	return i
}

// standing returns the status of a thread whose root runs are open.
func standing(roots []Root) Status {
	if slices.ContainsFunc(roots, func(r Root) bool { return !r.Paused || r.Cancelled }) {
		return Thinking
	}
	return Paused
}

// Interrupted reports whether nobody works on a thread that nobody has paused, as far as is
// known: what was begun a moment ago is taken up in the next.
func (i Info) Interrupted(now time.Time) bool {
	return i.Status == Thinking && !i.Held && now.Sub(i.Updated) > DeadAfter
}

// CurrentStatus returns the status of the thread at a time: Paused if it is interrupted.
func (i Info) CurrentStatus(now time.Time) Status {
	if i.Interrupted(now) {
		return Paused
	}
	return i.Status
}

// A Filter says which threads to list. Zero fields do not matter.
type Filter struct {
	Kind    Kind
	Without Kind // leaves out those of a kind
	Status  Status
	Owner   string
	Prefix  string // of the ID

	// Idle, if set, is when a thread that has something to do is given up: one that
	// nobody holds and that has not grown since counts as [Paused], not as [Thinking],
	// where Status asks for either.
	Idle time.Time

	// Before leaves out what stands in the list up to a position, so that a long list is
	// read in parts, each at the cost of the first, while threads come and go.
	Before Position
	Limit  int
}

// A Position is where a thread stands in lists, whether it is there or not.
type Position struct {
	Created time.Time
	ID      ThreadID
}

// Position returns where the thread stands in lists.
func (t Thread) Position() Position { return Position{t.Created, t.ID} }

// IsZero reports whether the position is none.
func (p Position) IsZero() bool { return p.ID == "" && p.Created.IsZero() }

// Compare returns a negative number if p stands before q in lists, which begin with the
// newest thread, and a positive one if it stands behind.
func (p Position) Compare(q Position) int {
	return cmp.Or(q.Created.Compare(p.Created), cmp.Compare(q.ID, p.ID))
}

// Nodes knows which processes are at work. Times are those of the store's own
// clock. A node is alive while its last beat is younger than [DeadAfter].
type Nodes interface {
	// Join adds a node, which is alive from now on. It returns ErrTaken if there
	// was one with the ID that a store has not forgotten: those that have been dead
	// for a day may be. An ID is not to be used again.
	Join(ctx context.Context, node Node) error

	// Beat keeps a node alive and notes its clock, which is the time that it
	// has been awake. It returns ErrFenced if the node is not alive any more: it
	// must stop, for its threads may be taken.
	Beat(ctx context.Context, id NodeID, clock time.Duration) error

	// AllNodes returns the nodes that have joined and are neither marked dead nor
	// dead for long.
	AllNodes(ctx context.Context) ([]Node, error)

	// MarkDead declares a node dead, so that its threads are free at once. It does
	// nothing for a node that is not there.
	MarkDead(ctx context.Context, id NodeID) error
}

// A NodeID names a process for as long as it lives: "nod_" and a ULID.
type NodeID string

// A Node is a process that may hold threads. Host, Boot, PID and Start tell
// another process on the same machine whether it still runs.
type Node struct {
	ID    NodeID
	Host  string // name of the machine and of its space of process numbers
	Boot  string // changes when the machine boots
	PID   int
	Start string // when the process began, in the system's own words
	Beat  time.Time
}

// How long the lives of nodes are.
const (
	BeatEvery = 2 * time.Second
	DeadAfter = 10 * time.Second
)

// Leases say which node may write what its runs decide on a thread.
type Leases interface {
	// Take leases a thread to a node, and returns ErrHeld if a node that is
	// alive has it, the same one included; ErrFenced if the node itself is not
	// alive; ErrNoThread. A lease lasts as long as its node beats.
	Take(ctx context.Context, thread ThreadID, node NodeID) (Lease, error)

	// Retake takes a thread as Take does, and appends events with the lease as
	// [Log.Append] does, in one transaction. It is for whoever knows the thread as
	// it was released: if Take would not return a lease of that fence and head, it
	// returns ErrStale; else the errors of both. After an error nothing has changed.
	Retake(ctx context.Context, thread ThreadID, node NodeID, want Lease, events ...Event) ([]Event, error)

	// Release ends a lease whose holder has read up to head and counted so much
	// thinking time in all. It returns ErrStale, and the lease goes on, if the
	// thread has grown since; ErrFenced if the lease is not in force.
	Release(ctx context.Context, thread ThreadID, fence Fence, head Seq, elapsed time.Duration) error

	// Abandoned returns the threads that have something to do ([Thinking]) and
	// no lease in force, oldest first.
	Abandoned(ctx context.Context) ([]ThreadID, error)
}

// A Fence is the number of a lease on a thread: greater than all before it.
// Zero is none.
type Fence int64

// A Lease is a node's right to a thread.
type Lease struct {
	Fence   Fence         // the one after that of the lease before, unless something of the thread was erased since that was taken: then a greater one
	Head    Seq           // the newest event
	Elapsed time.Duration // thinking time of the thread, as far as its last holder was heard of: by Release, Beat or an event
}

// A Ledger keeps what was asked and what it cost: a row for every attempt at a
// call or a tool. Log.Append writes it.
type Ledger interface {
	// Request returns the request of an attempt as it was built, or nil if it
	// is not known, or erased.
	Request(ctx context.Context, thread ThreadID, run RunID, cause string) (*llm.Request, error)

	// Usage returns sums over the calls that ended at or after a time, by their
	// keys in order. A call that was refused was never made, and is not in them.
	Usage(ctx context.Context, by GroupBy, since time.Time) ([]UsageRow, error)
}

// GroupBy is what usage is summed by.
type GroupBy string

// What usage can be summed by.
const (
	ByThread GroupBy = "thread"
	ByRun    GroupBy = "run"
	ByRole   GroupBy = "role"
	ByModel  GroupBy = "model"
	ByMode   GroupBy = "mode"
	ByDay    GroupBy = "day" // local time, 2006-01-02
)

// A UsageRow is a sum over attempts.
type UsageRow struct {
	Key     string    `json:"key"`
	Thread  ThreadID  `json:"thread_id,omitempty"` // by run: a fork goes on with runs of the same ids, in a row of its own
	Calls   int       `json:"calls"`               // finished
	Failed  int       `json:"failed"`              // of them; those that were interrupted are none
	Usage   llm.Usage `json:"usage"`
	Money   Money     `json:"micro_usd"`
	Unknown int       `json:"unpriced_calls"` // calls whose price is not known; not in Money
}

// Checkpoints keep folds, so that a long thread opens fast. They are disposable:
// a store may lose them, and what has another version is not found.
type Checkpoints interface {
	LoadCheckpoint(ctx context.Context, thread ThreadID, fold string, version string) (seq Seq, state []byte, err error) // zero and nil if none
	// SaveCheckpoint replaces the checkpoint of the fold, unless that is of the
	// same version and a later seq. See also [Log.Erase].
	SaveCheckpoint(ctx context.Context, thread ThreadID, fold string, version string, seq Seq, state []byte) error
}

// What a store answers when it does not do what it is asked.
var (
	ErrTaken    = errors.New("event key is taken")
	ErrHeld     = errors.New("thread is held by another process")
	ErrFenced   = errors.New("lease is not in force")
	ErrStale    = errors.New("thread has grown since")
	ErrNotInput = errors.New("only the holder of the thread may append this")
	ErrNoThread = errors.New("no such thread")
	ErrNoEvent  = errors.New("no such event")
	ErrTooBig   = errors.New("too big to be written at once")
	ErrFull     = errors.New("disk is full")
	ErrReadOnly = errors.New("database is read-only")
	ErrDamaged  = errors.New("database is damaged")
	ErrLost     = errors.New("database was removed or replaced while it was in use, so that what is written now would be lost")
	ErrNewer    = errors.New("database was made by a newer version")

	ErrDisk    = fmt.Errorf("%w: its disk fails", ErrReadOnly) // which may pass
	ErrRemoved = fmt.Errorf("%w: it was removed", ErrNoThread)
)
