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

// A Store stores threads and everything about them. Callers that need a part use the interface
// of that part. All methods are safe for concurrent use, also by several processes that share
// the store.
//
// Package store/storetest tests this contract.
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

// OnRecord returns a ctx for an append. The store calls f as soon as the appended events
// outlast the process, which may be before they are durable. From then on they are in the
// log, also if the append returns an error. An append of no events then blocks until they
// are durable. A store without that stage need not call f. The function f must not block.
// See docs/design/durable.md.
func OnRecord(ctx context.Context, f func()) context.Context {
	return context.WithValue(ctx, recordKey{}, f)
}

// Recorded returns the function that a store calls for an append, or nil: see [OnRecord].
func Recorded(ctx context.Context) func() {
	f, _ := ctx.Value(recordKey{}).(func())
	return f
}

// A Log stores threads of events.
type Log interface {
	// Append adds events to the end of a thread, in order, and returns them stamped. It
	// adds all of them or none, and they are durable when it returns. Concurrent appends
	// may share a transaction.
	//
	// With a zero fence, all events must be inputs ([Event.IsInput]), or Append returns
	// ErrNotInput. With a fence, it returns ErrFenced unless that lease is in force: the
	// newest lease of the thread, of a node that is alive.
	//
	// Append also returns:
	//
	//   - ErrTaken if two of the events have the same [Event.Key], or the store kept that key of an
	//     event of the thread;
	//   - ErrStale if an event has After and the thread has a newer event;
	//   - ErrNoThread, or ErrFenced to the holder of a thread that was removed;
	//   - ErrTooBig if the store cannot write the events at once.
	//
	// An event with an ID or a Time keeps it. The store keeps the keys of calls, of tools
	// and of [RunFinished]. It need not keep other keys of events that have After and that
	// only the holder may append. The holder has read the whole thread.
	//
	// If ctx ends before the transaction begins, Append adds nothing. After that it waits
	// for the outcome.
	//
	// The same transaction writes costs and requests into the [Ledger] and updates the
	// [Info] of the thread.
	Append(ctx context.Context, thread ThreadID, fence Fence, events ...Event) ([]Event, error)

	// Events iterates over the events of a thread after one, oldest first and without gaps, up to
	// the newest event. It may miss events that another process appends during the iteration:
	// see Watch. The events are durable. No transaction is open while the loop body runs. An
	// error, such as ErrNoThread, ends the iteration.
	Events(ctx context.Context, thread ThreadID, after Seq) iter.Seq2[Event, error]

	// Lookup returns the event of a thread with the [Event.Key] of like, and whether the thread
	// has one. It finds all keys that Append keeps. Its cost does not grow with the thread. The
	// event is durable. It returns ErrNoThread.
	Lookup(ctx context.Context, thread ThreadID, like Event) (ev Event, found bool, err error)

	// Erase erases the content of events for good: the fields that [Event.WithoutContent]
	// drops and the title that they gave the thread. If a call starts or ends there, it
	// also erases the request in the [Ledger]. The places and costs of the events stay.
	// Erase erases all of them or none, durably. It does nothing for events that are erased
	// already.
	//
	// Erase drops all checkpoints of the thread. If a process holds the thread, the store keeps no
	// checkpoint until the next lease, because the holder has read the content. The caller must
	// include the events that copied the content, such as later calls with it in their requests.
	//
	// It returns ErrNoThread, or ErrNoEvent if the thread has no event with a number.
	Erase(ctx context.Context, thread ThreadID, seqs ...Seq) error

	// Watch returns a channel that receives the newest seq after the thread has grown, in any
	// process. Hints may be merged, repeated or late (by 100 ms for another process), but the
	// last growth always produces a hint. Growth before Watch does not. The removal of the
	// thread produces a zero. The function stop ends the hints and does not close the channel.
	Watch(thread ThreadID) (heads <-chan Seq, stop func())
}

// Threads stores the headers of threads.
type Threads interface {
	// Create creates a thread with its first events, or nothing. It returns ErrTaken if a thread
	// has the ID or two events have the same key. A zero Created means now. The events may have
	// any type, for copies of threads: the ledger gets their requests, but does not count their
	// costs again.
	Create(ctx context.Context, thread Thread, events ...Event) error

	// Thread returns the info of a thread. It returns ErrNoThread, or ErrRemoved, which wraps it,
	// if the thread was removed.
	Thread(ctx context.Context, id ThreadID) (Info, error)

	// List returns threads, the newest first. Threads with the same time come in descending order
	// of their IDs.
	List(ctx context.Context, filter Filter) ([]Info, error)

	// Remove erases a thread: its events, its requests and its checkpoints. The totals of the
	// usage stay. A holder loses its lease.
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

// A Kind is the purpose of a thread.
type Kind string

// The kinds.
const (
	KindConversation Kind = "conversation"
	KindSession      Kind = "session"
	KindResearch     Kind = "research"
	KindSubconscious Kind = "subconscious"
	KindExchange     Kind = "exchange" // one request of a program that stores the conversation itself
)

// Info is the header of a thread and a summary of its events for lists.
type Info struct {
	Thread
	Head    Seq       `json:"head"`
	Updated time.Time `json:"updated_at"`
	Status  Status    `json:"status"`              // see [Info.Apply]
	Open    int       `json:"open_runs,omitempty"` // root runs that have not finished
	Held    bool      `json:"held,omitempty"`      // by a process that is alive

	// Roots are the runs that Open counts. A store may not know them if a program of an older
	// version wrote the thread: then they are not Open in number.
	Roots []Root `json:"-"`
}

// A Root is a root run that has not finished.
type Root struct {
	ID        RunID `json:"run"`
	Paused    bool  `json:"paused,omitempty"`
	Cancelled bool  `json:"cancelled,omitempty"` // it must finish, also if it is paused
}

// Apply returns the info after ev. The receiver, with its roots, must be the info after all
// events before ev. While root runs are open, the status is Paused if all of them are
// paused and not cancelled, and Thinking otherwise. Without open root runs, it is the
// status of the run that finished last, or Created. It is Thinking if a conversation has a
// message that no run has observed.
func (i Info) Apply(ev Event) Info {
	if _, isMessage := ev.Body.(UserMessage); isMessage && i.Kind == KindConversation && i.Open == 0 {
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
		return i.markRoots(ev.Run, func(r *Root) { r.Paused = true })
	case RunResumed:
		return i.markRoots(ev.Run, func(r *Root) { r.Paused = false })
	case Steer:
		if b.Do == Cancel {
			return i.markRoots(ev.Run, func(r *Root) { r.Cancelled = true })
		}
	case RunFinished:
		i.Roots = slices.DeleteFunc(slices.Clone(i.Roots), func(r Root) bool { return r.ID == ev.Run })
		if i.Open = max(0, i.Open-1); i.Open > 0 {
			i.Status = openStatus(i.Roots)
		} else {
			i.Status, i.Roots = b.Status, nil
		}
	}
	return i
}

// markRoots returns the info after a change of the root runs within top; of all, if top is empty.
func (i Info) markRoots(top RunID, do func(*Root)) Info {
	i.Roots = slices.Clone(i.Roots)
	for n := range i.Roots {
		if r := &i.Roots[n]; r.ID.IsWithin(top) {
			do(r)
			i.Status = openStatus(i.Roots)
		}
	}
	return i
}

// openStatus returns the status of a thread with open root runs.
func openStatus(roots []Root) Status {
	if slices.ContainsFunc(roots, func(r Root) bool { return !r.Paused || r.Cancelled }) {
		return Thinking
	}
	return Paused
}

// Interrupted reports whether a thread has work and no process works on it. It reports false
// shortly after the last event, because a process may be about to take the thread.
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

// A Filter selects threads. Zero fields select all.
type Filter struct {
	Kind    Kind
	Without Kind // excludes a kind
	Status  Status
	Owner   string
	Prefix  string // of the ID

	// Idle, if set, makes Status treat some threads as [Paused] instead of [Thinking]: those that
	// no process holds and that have no event since then.
	Idle time.Time

	// Before excludes threads up to a position of the list. With it, the pages of a long
	// list have equal cost, also while threads are created and removed.
	Before Position
	Limit  int
}

// A Position is the position of a thread in lists. The thread need not exist.
type Position struct {
	Created time.Time
	ID      ThreadID
}

// Position returns the position of the thread in lists.
func (t Thread) Position() Position { return Position{t.Created, t.ID} }

func (p Position) IsZero() bool { return p.ID == "" && p.Created.IsZero() }

// Compare returns a negative number if p precedes q in lists, which start with the newest
// thread, and a positive number if p follows q.
func (p Position) Compare(q Position) int {
	return cmp.Or(q.Created.Compare(p.Created), cmp.Compare(q.ID, p.ID))
}

// Nodes registers the processes that work on threads. Times are those of the clock of the
// store. A node is alive while its last heartbeat is younger than [DeadAfter].
type Nodes interface {
	// Join adds a node, which is then alive. It returns ErrTaken if the store knows a node with
	// the ID. A store may forget nodes that have been dead for a day, but an ID must not be used
	// again.
	Join(ctx context.Context, node Node) error

	// Heartbeat keeps a node alive and stores its clock, the time for which it has been awake. It
	// returns ErrFenced if the node is dead. The node must then stop, because other nodes may
	// take its threads.
	Heartbeat(ctx context.Context, id NodeID, clock time.Duration) error

	// AllNodes returns the nodes that are not marked dead and that the store has not forgotten.
	AllNodes(ctx context.Context) ([]Node, error)

	// MarkDead declares a node dead, so that its threads are free at once. It does nothing
	// for an unknown node.
	MarkDead(ctx context.Context, id NodeID) error
}

// A NodeID identifies a process: "nod_" and a ULID.
type NodeID string

// A Node is a process that may hold threads. Host, Boot, PID and Start let other processes on
// the machine check whether it still runs.
type Node struct {
	ID    NodeID
	Host  string // the machine and its PID namespace
	Boot  string // identifies the boot of the machine
	PID   int
	Start string // the start time of the process, in the form of the system
	Beat  time.Time
}

// The interval of heartbeats, and the age at which a node is dead.
const (
	HeartbeatInterval = 2 * time.Second
	DeadAfter         = 10 * time.Second
)

// Leases control which node may append decisions to a thread.
type Leases interface {
	// Take leases a thread to a node. It returns ErrHeld if a node that is alive has the lease,
	// also if it is the same node; ErrFenced if the node is dead; and ErrNoThread. A lease lasts
	// while its node is alive.
	Take(ctx context.Context, thread ThreadID, node NodeID) (Lease, error)

	// Retake takes a thread as Take does and appends events as [Log.Append] does, in one
	// transaction. It is for a node that knows the released thread. It returns ErrStale if Take
	// would return a lease with another fence or head than want, or the errors of Take and
	// Append. After an error nothing has changed.
	Retake(ctx context.Context, thread ThreadID, node NodeID, want Lease, events ...Event) ([]Event, error)

	// Release ends a lease. Its holder has read the thread up to head and has counted elapsed as
	// the total thinking time. Release returns ErrStale, and the lease stays, if the thread has
	// newer events; and ErrFenced if the lease is not in force.
	Release(ctx context.Context, thread ThreadID, fence Fence, head Seq, elapsed time.Duration) error

	// Abandon ends a lease whose holder stops before the end of its work. It returns ErrFenced
	// if the lease is not in force.
	Abandon(ctx context.Context, thread ThreadID, fence Fence, elapsed time.Duration) error

	// Abandoned returns the threads without a lease in force that a process must take, oldest
	// first: those with work ([Thinking]), and those whose last holder died or abandoned the
	// lease. Such a holder may have left interrupted calls without results, also of ended runs.
	Abandoned(ctx context.Context) ([]ThreadID, error)
}

// A Fence is the number of a lease on a thread. It is greater than all earlier ones. Zero is no
// lease.
type Fence int64

// A Lease is a node's right to a thread.
type Lease struct {
	Fence   Fence         // one more than the last fence, or more if events were erased since then
	Head    Seq           // the newest event
	Elapsed time.Duration // thinking time of the thread, by the last Release, Beat or event of its last holder
}

// A Ledger stores requests and costs, with a row for each attempt at a call or a tool.
// [Log.Append] writes it.
type Ledger interface {
	// Request returns the request of an attempt, or nil if it is unknown or erased.
	Request(ctx context.Context, thread ThreadID, run RunID, cause string) (*llm.Request, error)

	// Usage returns sums over the calls that ended at or after a time, in the order of their keys.
	// It does not count refused calls, which were never made.
	Usage(ctx context.Context, by GroupBy, since time.Time) ([]UsageRow, error)
}

// GroupBy is the key of sums of usage.
type GroupBy string

// The keys.
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
	Thread  ThreadID  `json:"thread_id,omitempty"` // set for ByRun, because a fork has runs with the same ids
	Calls   int       `json:"calls"`               // finished
	Failed  int       `json:"failed"`              // without interrupted ones
	Usage   llm.Usage `json:"usage"`
	Money   Money     `json:"micro_usd"`
	Unknown int       `json:"unpriced_calls"` // calls with an unknown price, not in Money
}

// Checkpoints stores folds, so that long threads open fast. They are disposable: a store may lose
// them, and it does not return a checkpoint of another version.
type Checkpoints interface {
	LoadCheckpoint(ctx context.Context, thread ThreadID, fold string, version string) (seq Seq, state []byte, err error) // zero and nil if none
	// SaveCheckpoint replaces the checkpoint of the fold, unless the stored one has the same
	// version and a later seq. See also [Log.Erase].
	SaveCheckpoint(ctx context.Context, thread ThreadID, fold string, version string, seq Seq, state []byte) error
}

// Errors of stores.
var (
	ErrTaken       = errors.New("event key is already used")
	ErrHeld        = errors.New("thread is held by another process")
	ErrFenced      = errors.New("lease is not valid")
	ErrStale       = errors.New("thread has new events")
	ErrQuarantined = errors.New("thread is quarantined") // of work on a thread that crashed its processes
	ErrNotInput    = errors.New("only the holder of the thread may append this")
	ErrNoThread    = errors.New("no such thread")
	ErrNoEvent     = errors.New("no such event")
	ErrTooBig      = errors.New("batch is too large")
	ErrFull        = errors.New("disk is full")
	ErrReadOnly    = errors.New("database is read-only")
	ErrDamaged     = errors.New("database is damaged")
	ErrLost        = errors.New("database was removed or replaced while in use, and new writes would be lost")
	ErrNewer       = errors.New("database was created by a newer version")

	ErrDisk    = fmt.Errorf("%w: disk failure", ErrReadOnly) // may pass
	ErrRemoved = fmt.Errorf("%w: file removed", ErrNoThread)
)
