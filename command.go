package ponder

import (
	"context"
	"errors"
	"fmt"
	"slices"
)

// StageSteered is the Stage of the [Progress] with which a run acknowledges a command. Ref
// is the id of the command. The command took effect at the Seq of the event. Cancelled
// lists the calls that the command ended. Refused says that the run rejected it.
const StageSteered = "steered"

// Errors for commands that no run can receive.
var (
	ErrEnded = errors.New("run has ended")
	ErrNoRun = errors.New("no such run")
)

// maxSendTries limits the attempts to append commands to a thread that grows.
const maxSendTries = 1000

// A command is either appended or returns an error. SendCommands appends it only while its
// run is open, and the run then applies it before it finishes. SendCommands returns
// ErrEnded if the run has ended, and ErrNoRun if the thread never had such a run.
//
// A run applies a command once. SendCommands sets its Cause if it has none. If the thread
// has all of the commands already, by their keys, SendCommands returns the stored ones,
// also when their runs have ended. A caller that sets the Cause may therefore repeat a
// command after an uncertain outcome.
//
// SendCommands returns ErrStale if the thread grows faster than it can append. Its cost for
// commands to root runs does not depend on the length of the thread.
func SendCommands(ctx context.Context, store CommandStore, thread ThreadID, commands ...Event) ([]Event, error) {
	commands = slices.Clone(commands)
	isNew := len(commands) == 0
	for i := range commands {
		if commands[i].Cause == "" {
			commands[i].Cause, isNew = NewID("steer"), true
		}
	}
	for range maxSendTries {
		if !isNew {
			sent, err := lookupAll(ctx, store, thread, commands)
			if err != nil {
				return nil, fmt.Errorf("send command to %s: %w", thread, err)
			}
			if len(sent) == len(commands) {
				return sent, nil
			}
		}
		head, err := checkDeliverable(ctx, store, thread, commands)
		if err != nil {
			return nil, fmt.Errorf("send command to %s: %w", thread, err)
		}
		for i := range commands {
			commands[i].After = head
		}
		stored, err := store.Append(ctx, thread, 0, commands...)
		if !errors.Is(err, ErrStale) {
			return stored, err
		}
	}
	return nil, fmt.Errorf("send command to %s: %w", thread, ErrStale)
}

// A CommandStore is the part of a [Store] that commands need.
type CommandStore interface {
	Log
	Thread(ctx context.Context, id ThreadID) (Info, error)
}

// lookupAll returns the stored commands, up to the first that the thread does not have.
func lookupAll(ctx context.Context, log Log, thread ThreadID, commands []Event) (sent []Event, err error) {
	for _, cmd := range commands {
		ev, found, err := log.Lookup(ctx, thread, cmd)
		if _, starts := ev.Body.(RunStarted); err != nil || !found || starts || !ev.IsInput() {
			return nil, err
		}
		sent = append(sent, ev)
	}
	return sent, nil
}

// checkDeliverable returns the newest event of the thread, or an error if a command has no
// open run there. It reads the whole thread only for a run that the store does not know to be
// open or finished.
func checkDeliverable(ctx context.Context, store CommandStore, thread ThreadID, commands []Event) (Seq, error) {
	info, err := store.Thread(ctx, thread)
	if err != nil {
		return 0, err
	}
	for _, cmd := range commands {
		isOpen := slices.ContainsFunc(info.Roots, func(r Root) bool { return r.ID == cmd.Run })
		switch {
		case cmd.Run == "" && info.Open == 0:
			return 0, ErrEnded
		case cmd.Run == "", isOpen && len(info.Roots) == info.Open:
			continue
		}
		end, found, err := store.Lookup(ctx, thread, Event{Run: cmd.Run, Body: RunFinished{}})
		if err != nil {
			return 0, err
		}
		if b, ok := end.Body.(RunFinished); found && ok {
			return 0, fmt.Errorf("%s is %s: %w", cmd.Run, b.Status, ErrEnded)
		}
		return readDeliverable(ctx, store, thread, commands)
	}
	return info.Head, nil
}

// readDeliverable is checkDeliverable for runs that are known from the log alone: children, and
// runs of threads that an older version wrote.
func readDeliverable(ctx context.Context, log Log, thread ThreadID, commands []Event) (head Seq, err error) {
	runs, open := make(map[RunID]Status), 0
	for ev, err := range log.Events(ctx, thread, 0) {
		if err != nil {
			return 0, err
		}
		head = ev.Seq
		isRoot := ev.Run.Parent() == ""
		switch b := ev.Body.(type) {
		case RunStarted:
			if runs[ev.Run] == "" && isRoot {
				open++
			}
			runs[ev.Run] = Thinking
		case RunFinished:
			if !runs[ev.Run].Ended() && isRoot {
				open--
			}
			runs[ev.Run] = b.Status
		}
	}
	for _, cmd := range commands {
		if cmd.Run == "" && open == 0 {
			return 0, ErrEnded
		}
		for run := cmd.Run; run != ""; run = run.Parent() {
			switch status := runs[run]; {
			case status == "":
				return 0, fmt.Errorf("%s: %w", run, ErrNoRun)
			case status.Ended():
				return 0, fmt.Errorf("%s is %s: %w", run, status, ErrEnded)
			}
		}
	}
	return head, nil
}

// OpenRuns returns the root runs of a thread that have not finished, with their modes. Its
// cost does not grow with the thread, unless a program of an older version wrote it.
func OpenRuns(ctx context.Context, store CommandStore, thread ThreadID) (map[RunID]string, error) {
	info, err := store.Thread(ctx, thread)
	if err != nil {
		return nil, err
	}
	modes, isKnown := make(map[RunID]string), len(info.Roots) == info.Open
	for _, r := range info.Roots {
		ev, _, err := store.Lookup(ctx, thread, Event{Run: r.ID, Body: RunStarted{}})
		if err != nil {
			return nil, err
		}
		if b, ok := ev.Body.(RunStarted); ok {
			modes[r.ID] = b.Mode
		}
	}
	if isKnown && len(modes) == info.Open {
		return modes, nil
	}
	for ev, err := range store.Events(ctx, thread, 0) { // a run that was started with a key is the first event
		if err != nil {
			return nil, err
		}
		switch b := ev.Body.(type) {
		case RunStarted:
			if isOpen := slices.ContainsFunc(info.Roots, func(r Root) bool { return r.ID == ev.Run }); isOpen || !isKnown && ev.Run.Parent() == "" {
				modes[ev.Run] = b.Mode
			}
		case RunFinished:
			delete(modes, ev.Run)
		}
		if isKnown && len(modes) == info.Open {
			break
		}
	}
	return modes, nil
}

// AwaitAck blocks until a run acknowledges a stored command, and returns the
// acknowledgement, whose body is a [Progress]. It returns ErrEnded if the run of the
// command ends without an acknowledgement. For a command to all runs, that means all runs
// that were open. A run without a process acknowledges nothing, so ctx should have a
// deadline.
func AwaitAck(ctx context.Context, log Log, cmd Event) (Event, error) {
	after, open := cmd.Seq, make(map[RunID]bool)
	if cmd.Run == "" {
		after = 0 // the earlier events name the runs that were open
	}
	for ev, err := range Follow(ctx, log, cmd.Thread, after) {
		if err != nil {
			return Event{}, err
		}
		switch b := ev.Body.(type) {
		case RunStarted:
			if ev.Run.Parent() == "" && ev.Seq < cmd.Seq {
				open[ev.Run] = true
			}
		case Progress:
			if b.Stage == StageSteered && b.Ref == cmd.ID {
				return ev, nil
			}
		case RunFinished:
			delete(open, ev.Run)
			if cmd.Run.IsWithin(ev.Run) {
				return Event{}, fmt.Errorf("%s is %s: %w", ev.Run, b.Status, ErrEnded)
			}
		}
		if cmd.Run == "" && ev.Seq >= cmd.Seq && len(open) == 0 {
			return Event{}, fmt.Errorf("all open runs: %w", ErrEnded)
		}
	}
	return Event{}, ctx.Err()
}
