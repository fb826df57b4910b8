package app

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"time"

	"ponder"
	"ponder/engine"
	"ponder/internal/fileio"
	"ponder/internal/placement"
	"ponder/internal/textkit"
	"ponder/internal/transcript"
	"ponder/mode/chat"
	"ponder/mode/subconscious"
	"ponder/mode/title"
	"ponder/store/sqlite"
)

var (
	ErrOtherThread = errors.New("another thread has this ID")
	ErrSameThread  = errors.New("same thread")
)

type Import struct {
	Files []string
	Stdin io.Reader
	NewID bool
}

type ImportedThread struct {
	File string
	transcript.Transcript
	Read int
	Here bool
}

func (a *App) ImportThreads(ctx context.Context, r Import, imported func(*ImportedThread) error) error {
	var list []*ImportedThread
	ids := make(map[ponder.ThreadID]string)
	for _, file := range r.Files {
		v, err := a.readThread(file, r)
		if err != nil {
			return err
		}
		if other, twice := ids[v.Thread.ID]; twice {
			return &Error{Code: Invalid, Message: fmt.Sprintf("%s and %s contain the same thread, %s: import only one of them", other, file, v.Thread.ID), Err: ErrSameThread}
		}
		ids[v.Thread.ID] = file
		list = append(list, v)
	}
	store, err := a.OpenStore(ctx)
	if err != nil {
		return err
	}
	defer store.Close()
	for _, v := range list {
		if v.Here, err = isHere(ctx, store, v); err != nil {
			return err
		}
	}
	for _, v := range list {
		if !v.Here {
			if err := store.Create(ctx, v.Thread, v.Events...); err != nil {
				return fmt.Errorf("import %s: %w", v.Name(), err)
			}
			if err := readAhead(ctx, store, v); err != nil {
				slog.Warn("cannot prepare the imported thread", "thread", v.Thread.ID, "error", err)
			}
		}
		if err := imported(v); err != nil {
			return err
		}
	}
	return nil
}

func (a *App) readThread(file string, r Import) (*ImportedThread, error) {
	v, in := &ImportedThread{File: file}, r.Stdin
	if file != "-" {
		f, err := fileio.OpenRegular(file)
		if err != nil {
			return nil, Invalidf("", "import: %w", err)
		}
		defer f.Close()
		in = f
	}
	tr, err := transcript.Read(in)
	var bad *transcript.LineError
	switch {
	case errors.As(err, &bad):
		return nil, Invalidf("", "%s, %w; imported nothing", v.Name(), err)
	case err != nil:
		return nil, Invalidf("", "%s: %w; imported nothing", v.Name(), err)
	}
	if tr.Thread.ID == "" || r.NewID || a.isSubconscious(tr.Thread) {
		tr.Thread.ID = ponder.ThreadID(ponder.NewID("thr"))
	}
	tr.Thread.Owner = a.Owner()
	v.Read = len(tr.Events) - tr.Filled
	tr.Events = append(tr.Events, idleEvents(tr)...)
	v.Transcript = tr
	return v, nil
}

func (v *ImportedThread) Name() string {
	if v.File == "-" {
		return "standard input"
	}
	return v.File
}

// isSubconscious reports whether a thread would become that of the subconscious, which trusts
// its thread. It then gets another id.
func (a *App) isSubconscious(t ponder.Thread) bool {
	return t.Kind == ponder.KindSubconscious || t.ID == subconscious.ThreadOf(a.Owner())
}

// idleEvents returns events that keep an imported thread idle until its user writes. In a
// conversation, an idle run consumes the unread messages, so that the first turn continues
// after them.
func idleEvents(tr transcript.Transcript) []ponder.Event {
	info := ponder.Info{Thread: tr.Thread, Status: ponder.Created}
	var last ponder.Event
	for _, ev := range tr.Events {
		info, last = info.Apply(ev), ev
	}
	unread := tr.Thread.Kind == ponder.KindConversation && len(tr.Events) >= longThread && !hasTalked(tr.Events)
	if info.Status != ponder.Thinking && !unread || info.Open > 0 {
		return haltEvents(tr.Thread.Kind, tr.Events, "import")
	}
	id := ponder.RunID(fmt.Sprint("run_import.", len(tr.Events)))
	list := idleRun(id, chat.Name, last.Time)
	if unread { // keep the title; a better one is not worth reading all
		list = append(list, idleRun(id+".title", title.Name, last.Time)...)
	}
	return list
}

func idleRun(id ponder.RunID, mode string, at time.Time) []ponder.Event {
	run := ponder.Event{Run: id, Time: at, Internal: true}
	start, end := run, run
	start.Body = ponder.RunStarted{Mode: mode}
	end.Body = ponder.RunFinished{Status: ponder.Completed, Answer: "imported"}
	return []ponder.Event{start, end}
}

func hasTalked(events []ponder.Event) bool {
	return slices.ContainsFunc(events, func(ev ponder.Event) bool {
		b, ok := ev.Body.(ponder.RunStarted)
		return ok && b.Mode == chat.Name && ev.Run.Parent() == ""
	})
}

// haltEvents returns the events that stop open runs. A session pauses; the turn of a conversation is
// cancelled, since it would block the next.
func haltEvents(kind ponder.Kind, events []ponder.Event, why string) (list []ponder.Event) {
	open, paused := []ponder.RunID{}, map[ponder.RunID]bool{}
	at := ponder.Event{}
	for _, ev := range events {
		at = ev
		if ev.Run == "" || ev.Run.Parent() != "" {
			continue
		}
		switch ev.Body.(type) {
		case ponder.RunStarted:
			open = append(open, ev.Run)
		case ponder.RunPaused:
			paused[ev.Run] = true
		case ponder.RunResumed:
			delete(paused, ev.Run)
		case ponder.RunFinished:
			open = removeRun(open, ev.Run)
		}
	}
	for _, run := range open {
		ev := ponder.Event{Run: run, Cause: why, Time: at.Time, Body: ponder.RunPaused{Reason: why}}
		switch {
		case kind == ponder.KindConversation:
			ev.Body = ponder.Steer{Do: ponder.Cancel}
		case paused[run]:
			continue
		}
		list = append(list, ev)
	}
	return list
}

func removeRun(runs []ponder.RunID, gone ponder.RunID) (rest []ponder.RunID) {
	for _, run := range runs {
		if run != gone {
			rest = append(rest, run)
		}
	}
	return rest
}

// isHere reports whether the database has the thread. It is an error if another thread has the
// id.
func isHere(ctx context.Context, store ponder.Store, v *ImportedThread) (bool, error) {
	info, err := store.Thread(ctx, v.Thread.ID)
	if errors.Is(err, ponder.ErrNoThread) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	differs := &Error{Code: Invalid, Message: fmt.Sprintf("%s: another thread already has the ID %s", v.Name(), info.ID), Err: ErrOtherThread}
	if int(info.Head) < len(v.Events) {
		return false, differs
	}
	i := 0
	for ev, err := range store.Events(ctx, info.ID, 0) {
		if err != nil {
			return false, fmt.Errorf("read %s: %w", info.ID, err)
		}
		if i == len(v.Events) {
			break
		}
		if !isStoredAs(v.Events[i], ev) {
			return false, differs
		}
		i++
	}
	return true, nil
}

// isStoredAs reports whether an event of a file equals a stored one. An erased event matches
// any.
func isStoredAs(ev, stored ponder.Event) bool {
	if ev.ID == "" && ev.Erased {
		return stored.Internal
	}
	if ev.ID == "" {
		ev.ID = stored.ID
	}
	a, errA := ev.Stamp(stored.Thread, stored.Seq, stored.Time).MarshalJSON()
	b, errB := stored.MarshalJSON()
	return errA == nil && errB == nil && bytes.Equal(a, b)
}

// longThread is the number of events from which an import is folded ahead, to keep the first
// turn fast.
const (
	longThread = 1000
	aheadTime  = 15 * time.Second
)

func readAhead(ctx context.Context, store *sqlite.Store, v *ImportedThread) error {
	if len(v.Events) < longThread {
		return nil
	}
	mind, err := engine.New(engine.Config{Store: store, Modes: Modes(ChatSetup{}, nil), Node: placement.CurrentNode()})
	if err != nil {
		return err
	}
	if err := mind.Open(ctx); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, aheadTime)
	defer cancel()
	return errors.Join(mind.Fold(ctx, v.Thread.ID), mind.Close(context.WithoutCancel(ctx)))
}

// A ThreadFork names a thread and the event to fork at.
type ThreadFork struct {
	Thread string
	At     ponder.Seq // zero: the newest event
	Title  string
}

type ForkedThread struct {
	ID   ponder.ThreadID `json:"id"`
	From ponder.ThreadID `json:"from_thread"`
	At   ponder.Seq      `json:"from_seq"`
	Head ponder.Seq      `json:"-"`
}

// ForkThread creates a thread with the first events of another, and stops its runs.
func (a *App) ForkThread(ctx context.Context, r ThreadFork) (ForkedThread, error) {
	store, err := a.OpenStore(ctx)
	if err != nil {
		return ForkedThread{}, err
	}
	defer store.Close()
	info, err := a.FindThread(ctx, store, r.Thread, "")
	if err != nil {
		return ForkedThread{}, err
	}
	f := ForkedThread{ID: ponder.ThreadID(ponder.NewID("thr")), From: info.ID, At: cmp.Or(r.At, info.Head), Head: info.Head}
	var before []ponder.Event
	for ev, err := range store.Events(ctx, info.ID, 0) {
		if err != nil {
			return f, fmt.Errorf("read %s: %w", info.ID, err)
		}
		if ev.Seq > f.At {
			break
		}
		before = append(before, ev)
	}
	halt := haltEvents(info.Kind, before, "forked")
	for i := range halt {
		halt[i].Time, halt[i].Cause = time.Time{}, ponder.NewID("fork")
	}
	err = engine.Fork(ctx, store, info.ID, f.At, ponder.Thread{ID: f.ID, Title: r.Title}, halt...)
	switch {
	case errors.Is(err, ponder.ErrNoEvent) && info.Head == 0:
		err = Invalidf("", "thread %s has no events", info.ID)
	case errors.Is(err, ponder.ErrNoEvent):
		err = Invalidf("at", "%d: thread %s has only %s", f.At, info.ID, textkit.Count(int(info.Head), "event", "events"))
	}
	return f, err
}
