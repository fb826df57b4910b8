package ponder

import (
	"context"
	"errors"
	"fmt"
	"slices"
)

// StageSteered is the Stage of the [Progress] with which a run acknowledges a command.
// Its Ref is the id of the command, and its own place is the place where the command took
// effect. Cancelled lists the calls that the command ended; Refused says that the run did
// not obey.
const StageSteered = "steered"

// Errors for commands that no run can receive.
var (
	ErrEnded = errors.New("run has ended")
	ErrNoRun = errors.New("no such run")
)

// maxSendTries limits the attempts to append commands to a thread that grows.
const maxSendTries = 1000

// SendCommands appends commands to runs: inputs such as [Steer], [RunPaused] and
// [RunResumed], each with its Run (empty: all open runs). It appends all commands or none,
// and returns them as stored.
//
// A command is either appended or returns an error. SendCommands appends it only while its
// run is open, and the run then applies it before it finishes. SendCommands returns ErrEnded
// if the run has ended, and ErrNoRun if the thread never had such a run.
//
// A command is applied once. SendCommands sets its Cause if it has none. If the thread has
// all of the commands already, by their keys, SendCommands returns the stored ones, also
// when their runs have ended. A caller that sets the Cause may therefore send a command again
// if it does not know whether the first one arrived.
//
// SendCommands returns ErrStale if the thread grows faster than it can read it.
func SendCommands(ctx context.Context, log Log, thread ThreadID, commands ...Event) ([]Event, error) {
	commands = slices.Clone(commands)
	for i := range commands {
		if commands[i].Cause == "" {
			commands[i].Cause = NewID("steer")
		}
	}
	a := openRuns{keys: make(map[string]Event), runs: make(map[RunID]Status)}
	for range maxSendTries {
		if err := a.read(ctx, log, thread); err != nil {
			return nil, fmt.Errorf("send command to %s: %w", thread, err)
		}
		if sent := a.sent(commands); len(sent) == len(commands) {
			return sent, nil
		}
		if err := a.checkDeliverable(commands); err != nil {
			return nil, fmt.Errorf("send command to %s: %w", thread, err)
		}
		for i := range commands {
			commands[i].After = a.head
		}
		stored, err := log.Append(ctx, thread, 0, commands...)
		if !errors.Is(err, ErrStale) {
			return stored, err
		}
	}
	return nil, fmt.Errorf("send command to %s: %w", thread, ErrStale)
}

// openRuns tracks which runs of a thread can still receive commands.
type openRuns struct {
	head Seq
	runs map[RunID]Status
	open int              // roots
	keys map[string]Event // of inputs
}

// read folds the newer events of the thread.
func (a *openRuns) read(ctx context.Context, log Log, thread ThreadID) error {
	for ev, err := range log.Events(ctx, thread, a.head) {
		if err != nil {
			return err
		}
		a.head = ev.Seq
		root := ev.Run.Parent() == ""
		switch b := ev.Body.(type) {
		case RunStarted:
			if a.runs[ev.Run] == "" && root {
				a.open++
			}
			a.runs[ev.Run] = Thinking
		case RunFinished:
			if !a.runs[ev.Run].Ended() && root {
				a.open--
			}
			a.runs[ev.Run] = b.Status
		default:
			if key := ev.Key(); key != "" && ev.IsInput() {
				a.keys[key] = ev
			}
		}
	}
	return nil
}

// sent returns the commands that the thread has already.
func (a *openRuns) sent(commands []Event) (sent []Event) {
	for _, w := range commands {
		if ev, ok := a.keys[w.Key()]; ok {
			sent = append(sent, ev)
		}
	}
	return sent
}

// checkDeliverable returns an error if no run would receive one of the commands.
func (a *openRuns) checkDeliverable(commands []Event) error {
	for _, w := range commands {
		if w.Run == "" && a.open == 0 {
			return ErrEnded
		}
		for run := w.Run; run != ""; run = run.Parent() {
			switch status := a.runs[run]; {
			case status == "":
				return fmt.Errorf("%s: %w", run, ErrNoRun)
			case status.Ended():
				return fmt.Errorf("%s is %s: %w", run, status, ErrEnded)
			}
		}
	}
	return nil
}

// AwaitAck blocks until a run acknowledges a stored command, and returns the
// acknowledgement, whose body is a [Progress]. It returns ErrEnded if the run of the
// command ends without an acknowledgement; for a command to all runs, if all runs end
// that were open. A run without a process acknowledges nothing, so ctx should have a
// deadline.
func AwaitAck(ctx context.Context, log Log, cmd Event) (Event, error) {
	after, open := cmd.Seq, make(map[RunID]bool)
	if cmd.Run == "" {
		after = 0 // what was open then is told by the events before
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
			if cmd.Run.Within(ev.Run) {
				return Event{}, fmt.Errorf("%s is %s: %w", ev.Run, b.Status, ErrEnded)
			}
		}
		if cmd.Run == "" && ev.Seq >= cmd.Seq && len(open) == 0 {
			return Event{}, fmt.Errorf("all that were open: %w", ErrEnded)
		}
	}
	return Event{}, ctx.Err()
}
