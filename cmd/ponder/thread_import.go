package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"time"

	"ponder/internal/textkit"

	"github.com/spf13/cobra"

	"ponder"
	"ponder/engine"
	"ponder/internal/app"
	"ponder/internal/placement"
	"ponder/internal/transcript"
	"ponder/mode/chat"
	"ponder/mode/subconscious"
	"ponder/mode/title"
	"ponder/store/sqlite"
)

func (a *cli) threadImportCommand() *cobra.Command {
	var anew bool
	cmd := &cobra.Command{
		Use:   "import FILE|-...",
		Short: "Make threads of files",
		Long: `Make a thread of each file of JSON Lines, as "thread export" writes them, or as another
program does whose lines have no seq; - is standard input. The thread has the id that the
file says, and all that is in the file: what Ponder has no place for is kept in
the data of its event, and an export gives it back. What is here already, and the same,
stays as it is. Nobody works on a thread because it was imported.

If a line of any file is not JSON, its number is told and nothing is imported.`,
		Example: `ponder thread import thread.jsonl
ponder thread import ~/old/threads/*.jsonl
ponder thread export last --internal | ponder --db copy.db thread import -`,
		Args: take(1, maxImports, "a file, or - for standard input"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.threadImport(cmd.Context(), args, anew)
		},
	}
	cmd.Flags().BoolVar(&anew, "new", false, "give each thread an id of its own, so that one that is here stays beside it")
	return cmd
}

// maxImports is how many files are read at once.
const maxImports = 10_000

// An arrival is a thread that is imported.
type arrival struct {
	file string
	transcript.Transcript
	read int  // events in the file
	here bool // it is here already
}

func (a *cli) threadImport(ctx context.Context, files []string, anew bool) error {
	var list []*arrival
	ids := make(map[ponder.ThreadID]string)
	for _, file := range files {
		v, err := a.arrival(ctx, file, anew)
		if err != nil {
			return err
		}
		if other, twice := ids[v.Thread.ID]; twice {
			return usagef("%s and %s are the same thread, %s: import one, or both with --new", other, file, v.Thread.ID)
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
		if v.here, err = isHere(ctx, store, v); err != nil {
			return err
		}
	}
	for _, v := range list {
		if err := a.takeIn(ctx, store, v); err != nil {
			return err
		}
	}
	return nil
}

// arrival reads a file.
func (a *cli) arrival(ctx context.Context, file string, anew bool) (*arrival, error) {
	in := a.stdin(ctx)
	if file != "-" {
		f, err := os.Open(file)
		if err != nil {
			return nil, usagef("import: %w", err)
		}
		defer f.Close()
		in = f
	}
	tr, err := transcript.Read(in)
	var bad *transcript.LineError
	switch {
	case errors.As(err, &bad):
		return nil, usagef("%s, %w: nothing is imported", nameOf(file), err)
	case err != nil:
		return nil, usagef("%s: %w: nothing is imported", nameOf(file), err)
	}
	if tr.Thread.ID == "" || anew || a.wouldBeTheMind(tr.Thread) {
		tr.Thread.ID = ponder.ThreadID(ponder.NewID("thr"))
	}
	tr.Thread.Owner = a.Owner()
	read := len(tr.Events) - tr.Filled
	tr.Events = append(tr.Events, resting(tr)...)
	return &arrival{file: file, Transcript: tr, read: read}, nil
}

// wouldBeTheMind reports whether a thread of a file would be taken for the subconscious,
// which believes what its thread says: such a thread comes in as another, to look at.
func (a *cli) wouldBeTheMind(t ponder.Thread) bool {
	return t.Kind == ponder.KindSubconscious || t.ID == subconscious.ThreadOf(a.Owner())
}

func nameOf(file string) string {
	if file == "-" {
		return "standard input"
	}
	return file
}

// resting returns what makes a thread rest that was imported: nobody is to work on
// it before a user says something. In a conversation, what nobody has answered is so
// taken to have been read, by a run that does nothing. So is a long one that no run
// has read, and the first turn on it goes on from there.
func resting(tr transcript.Transcript) []ponder.Event {
	info := ponder.Info{Thread: tr.Thread, Status: ponder.Created}
	var last ponder.Event
	for _, ev := range tr.Events {
		info, last = info.Apply(ev), ev
	}
	unread := tr.Thread.Kind == ponder.KindConversation && len(tr.Events) >= longThread && !hasTalked(tr.Events)
	if info.Status != ponder.Thinking && !unread || info.Open > 0 {
		return halts(tr.Thread.Kind, tr.Events, "import")
	}
	id := ponder.RunID(fmt.Sprint("run_import.", len(tr.Events)))
	list := idle(id, chat.Name, last.Time)
	if unread { // it has a title, and nobody is to read all of it for a better one
		list = append(list, idle(id+".title", title.Name, last.Time)...)
	}
	return list
}

// idle returns a run that does nothing.
func idle(id ponder.RunID, mode string, at time.Time) []ponder.Event {
	run := ponder.Event{Run: id, Time: at, Internal: true}
	start, end := run, run
	start.Body = ponder.RunStarted{Mode: mode}
	end.Body = ponder.RunFinished{Status: ponder.Completed, Answer: "imported"}
	return []ponder.Event{start, end}
}

// hasTalked reports whether a run of the mode that talks is among events.
func hasTalked(events []ponder.Event) bool {
	return slices.ContainsFunc(events, func(ev ponder.Event) bool {
		b, ok := ev.Body.(ponder.RunStarted)
		return ok && b.Mode == chat.Name && ev.Run.Parent() == ""
	})
}

// halts returns the inputs that bring to rest what goes on at the end of events: a
// session is paused, and can be resumed; the turn of a conversation is cancelled, for a
// paused one would be in the way of the next.
func halts(kind ponder.Kind, events []ponder.Event, why string) (list []ponder.Event) {
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
			open = without(open, ev.Run)
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

func without(runs []ponder.RunID, gone ponder.RunID) (rest []ponder.RunID) {
	for _, run := range runs {
		if run != gone {
			rest = append(rest, run)
		}
	}
	return rest
}

// isHere reports whether a thread is here already. If another has its id, that is
// an error.
func isHere(ctx context.Context, store ponder.Store, v *arrival) (bool, error) {
	info, err := store.Thread(ctx, v.Thread.ID)
	if errors.Is(err, ponder.ErrNoThread) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	differs := usagef("%s: there is a thread %s, and it is another: `ponder thread remove %s`, or import with --new", nameOf(v.file), info.ID, info.ID)
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

// isStoredAs reports whether an event of a file is one that is stored. What stands
// for events that the file has left out may be any.
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

// takeIn makes the thread, unless it is here, and says so.
func (a *cli) takeIn(ctx context.Context, store *sqlite.Store, v *arrival) error {
	if !v.here {
		if err := store.Create(ctx, v.Thread, v.Events...); err != nil {
			return fmt.Errorf("import %s: %w", nameOf(v.file), err)
		}
		if err := readAhead(ctx, store, v); err != nil {
			slog.Warn("thread not read ahead", "thread", v.Thread.ID, "error", err)
		}
	}
	if a.flags.json {
		return a.object(struct {
			ID      ponder.ThreadID `json:"id"`
			File    string          `json:"file"`
			Kind    ponder.Kind     `json:"kind"`
			Title   string          `json:"title,omitempty"`
			Events  int             `json:"events"`
			Foreign bool            `json:"foreign"`
			Here    bool            `json:"was_here"`
		}{v.Thread.ID, v.file, v.Thread.Kind, v.Thread.Title, v.read, v.Foreign, v.here})
	}
	a.printf("%s\n", v.Thread.ID)
	how, added := "is imported from", ""
	if v.here {
		how = "is here already, as in"
	} else if n := len(v.Events) - v.read; n > 0 {
		added = fmt.Sprintf(", with %d more for what is not in the file", n)
	}
	a.note("%s %s %s: a %s of %s%s", v.Thread.ID, how, nameOf(v.file), v.Thread.Kind, textkit.Count(v.read, "event", "events"), added)
	return nil
}

// longThread is how many events a thread has that is read ahead, so that the
// first turn on it takes no longer than others; aheadTime is how long that may take.
const (
	longThread = 1000
	aheadTime  = 15 * time.Second
)

// readAhead keeps a checkpoint of a long thread.
func readAhead(ctx context.Context, store *sqlite.Store, v *arrival) error {
	if len(v.Events) < longThread {
		return nil
	}
	mind, err := engine.New(engine.Config{Store: store, Modes: app.Modes(app.ChatSetup{}, nil), Node: placement.Self()})
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
