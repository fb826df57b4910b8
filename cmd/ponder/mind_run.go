package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"ponder"
	"ponder/internal/app"
	"ponder/internal/config"
	"ponder/internal/fileio"
	"ponder/internal/mindlog"
	"ponder/store/sqlite"
)

func (a *cli) mindRunCommand() *cobra.Command {
	var apart bool
	cmd := &cobra.Command{
		Use:   "run",
		Short: "Run the subconscious until Ctrl-C",
		Long: `Run the subconscious until Ctrl-C. It ticks every few minutes (mind.every), more often when
there is news and less often when there is none, and prints one line per event. Only one
process per database can run it. The exit code is 0 after a stop signal; the next run
finishes an open tick. Ponder does not catch up on ticks missed while none runs. It also
starts scheduled research (ponder research schedule).`,
		Example: "ponder mind run\nponder mind run --detach\nponder mind run --json",
		Args:    requireNoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if apart {
				return a.mindDetach(cmd.Context())
			}
			return a.mindRun(cmd.Context())
		},
	}
	cmd.Flags().BoolVar(&apart, "detach", false, "run in the background")
	return cmd
}

func (a *cli) mindRun(ctx context.Context) error {
	store, err := a.OpenStore(ctx)
	if err != nil {
		return err
	}
	defer store.Close()
	unlock, err := a.LockMind()
	if err != nil {
		return err
	}
	defer unlock()
	h, err := a.OpenMindRuntime(ctx, store)
	if err != nil {
		return err
	}
	defer h.Close()
	var timers sync.WaitGroup
	defer timers.Wait()
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	defer a.interrupts.setGraceful(stop)()
	a.printNote("%s", h.Cast.Describe())
	var names []string
	for _, s := range h.Sensors {
		names = append(names, s.Name)
	}
	a.printNote("ticking every %s with %s; Ctrl-C stops", config.Duration(h.Every), strings.Join(names, ", "))
	heads, done := store.Watch(app.MindID())
	defer done()
	timers.Go(func() { a.RunTimers(ctx, store, nil, app.StartHere(store)) })
	ended := make(chan error, 1)
	go func() { ended <- h.Run(ctx) }()
	return a.mindFollow(ctx, h, store, heads, ended)
}

const troubleInterval = 10 * time.Second

func (a *cli) mindFollow(ctx context.Context, h *app.MindRuntime, store *sqlite.Store, heads <-chan ponder.Seq, ended <-chan error) error {
	t, err := a.newMindPrinter(ctx, store)
	if err != nil {
		return err
	}
	trouble := time.NewTicker(troubleInterval)
	defer trouble.Stop()
	told := make(map[string]string)
	for {
		select {
		case err := <-ended:
			return errors.Join(err, t.catchUp(context.WithoutCancel(ctx), store))
		case <-heads:
			if err := t.catchUp(ctx, store); err != nil && ctx.Err() == nil {
				return err
			}
		case <-trouble.C:
			a.printNewTrouble(h, told)
		}
	}
}

func (a *cli) newMindPrinter(ctx context.Context, store *sqlite.Store) (*mindPrinter, error) {
	log, err := mindlog.Read(ctx, store)
	if errors.Is(err, mindlog.ErrNone) {
		log, err = mindlog.New(), nil
	}
	return &mindPrinter{cli: a, log: log}, err
}

func (a *cli) printNewTrouble(h *app.MindRuntime, told map[string]string) {
	trouble := app.SensorErrors(h.Status())
	for name, why := range trouble {
		if told[name] == why {
			delete(trouble, name)
		}
		told[name] = why
	}
	a.printTrouble(trouble)
}

func (a *cli) printTrouble(trouble map[string]string) {
	for _, name := range slices.Sorted(maps.Keys(trouble)) {
		a.printMessage("sensor %s failed: %s", name, trouble[name])
	}
}

func (a *cli) mindDetach(ctx context.Context) error {
	store, err := a.OpenStore(ctx) // report its errors here
	if err != nil {
		return err
	}
	defer store.Close()
	unlock, err := a.LockMind()
	if err != nil {
		return err
	}
	unlock()
	logFile, worker, err := a.spawnWorker(ctx, app.MindID(), "mind", "run")
	if err != nil {
		return fmt.Errorf("start the subconscious in the background: %w", err)
	}
	err = awaitWorker(ctx, worker, logFile, "the worker of the subconscious", func() (bool, error) { return a.isMindHeldBy(worker.Process.Pid), nil })
	if err != nil {
		return err
	}
	return a.printMindDetached(logFile, worker.Process.Pid)
}

func (a *cli) isMindHeldBy(pid int) bool {
	file, err := a.MindLockFile()
	if err != nil {
		return false
	}
	text, err := fileio.ReadFile(file, 1<<10)
	return err == nil && strings.TrimSpace(string(text)) == strconv.Itoa(pid)
}

func (a *cli) printMindDetached(logFile string, pid int) error {
	if a.flags.json {
		return a.printJSON(map[string]any{"log": logFile, "pid": pid})
	}
	a.printf("process %d runs the subconscious; log: %s; to stop it: kill %d\n", pid, logFile, pid)
	return nil
}

func (a *cli) mindTickCommand() *cobra.Command {
	var dry, all bool
	cmd := &cobra.Command{
		Use:   "tick",
		Short: "Run one tick of the subconscious now",
		Long: `Run one tick of the subconscious now. Sensors read their sources, and roles with new
observations think about them. Ponder merges the findings, then decides and delivers
escalations. Print the roles that ran, the cost, and the changes with their reasons; with
--json, print the events. If ` + "`ponder serve`" + ` runs the subconscious, the server ticks, unless
--all is given.

With --dry-run, the sensors read too, but Ponder asks no model and saves nothing. It prints
the request to each role, with its length.`,
		Example: "ponder mind tick\nponder mind tick --dry-run\nponder mind tick --all --json",
		Args:    requireNoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if dry {
				return a.mindDryRun(cmd.Context(), all, time.Now())
			}
			return a.mindTick(cmd.Context(), all)
		},
	}
	cmd.Flags().BoolVar(&dry, "dry-run", false, "print the requests without asking a model or saving anything")
	cmd.Flags().BoolVar(&all, "all", false, "run all roles, also those without new observations")
	return cmd
}

// How long a tick waits for the tick of another command, and how often it checks.
const (
	tickWaitLimit    = 3 * time.Minute
	tickPollInterval = 200 * time.Millisecond
)

// lockTick waits for the ticks of other commands, so that sensors do not look twice.
func (a *cli) lockTick(ctx context.Context) (unlock func(), err error) {
	if _, err := a.Config(); err != nil {
		return nil, err
	}
	file, err := a.MindLockFile()
	if err != nil {
		return nil, err
	}
	for begun, said := time.Now(), false; ; said = true {
		unlock, other, err := app.LockFile(file + ".tick")
		switch {
		case err != nil:
			return nil, fmt.Errorf("tick: %w", err)
		case unlock != nil:
			return unlock, nil
		case time.Since(begun) > tickWaitLimit:
			return nil, fmt.Errorf("another tick (process %s) does not end: check `ponder mind log`", other)
		case !said:
			a.printNote("waiting for another tick (process %s)", other)
		}
		select {
		case <-time.After(tickPollInterval):
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

func (a *cli) mindTick(ctx context.Context, all bool) error {
	if !all { // the API has no such option
		if ticked, err := a.tickOnServer(ctx); ticked || err != nil {
			return err
		}
	}
	unlock, err := a.lockTick(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	store, err := a.OpenStore(ctx)
	if err != nil {
		return err
	}
	defer store.Close()
	h, err := a.OpenMindRuntime(ctx, store)
	if err != nil {
		return err
	}
	defer h.Close()
	a.printNote("%s", h.Cast.Describe())
	t, err := a.newMindPrinter(ctx, store)
	if err != nil {
		return err
	}
	report, tickErr := h.Tick(ctx, all)
	return t.printTick(ctx, store, app.TickReport{Report: report, Trouble: app.SensorErrors(h.Status())}, tickErr)
}

// tickOnServer ticks in the `ponder serve` that runs the subconscious, whose sensors have
// state. It returns false if none does or grants access.
func (a *cli) tickOnServer(ctx context.Context) (ticked bool, err error) {
	if _, err := a.Config(); err != nil {
		return false, err
	}
	s, ok := a.findServer(ctx)
	if !ok || !a.isMindHeldBy(s.PID) {
		return false, nil
	}
	if s.token { // the token may be another owner's
		if _, err := s.Thread(ctx, string(app.MindID())); err != nil {
			if isAuthRefusal(err) {
				a.printNote("`ponder serve` (process %d) refuses the token in PONDER_TOKEN: %s", s.PID, authRefusalReason(err))
			}
			return false, nil
		}
	}
	store, err := a.OpenReadOnly(ctx)
	if err != nil {
		return false, err
	}
	defer store.Close()
	t, err := a.newMindPrinter(ctx, store)
	if err != nil {
		return false, err
	}
	js, err := s.Tick(ctx)
	var r app.TickReport
	switch {
	case err != nil && isAuthRefusal(err):
		return false, nil
	case err != nil && ctx.Err() == nil:
		err = fmt.Errorf("tick in `ponder serve` (process %d): %s", s.PID, clientErrorText(err))
	case err == nil:
		a.printNote("`ponder serve` (process %d) runs the subconscious: it did the tick", s.PID)
		if err := json.Unmarshal(js, &r); err != nil {
			return true, fmt.Errorf("read the report of a tick: %w", err)
		}
	}
	return true, t.printTick(ctx, store, r, err)
}

func (t *mindPrinter) printTick(ctx context.Context, log ponder.Log, r app.TickReport, tickErr error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err := t.catchUp(ctx, log); err != nil {
		return errors.Join(tickErr, err)
	}
	t.printTrouble(r.Trouble)
	t.printNotes(t.log.Remarks(t.App, time.Now())...)
	if tickErr != nil {
		return tickErr
	}
	if t.flags.json {
		if r.Ran {
			return nil
		}
		return t.printJSON(skippedTick{Why: r.Why})
	}
	if text := mindlog.TickText(r.Report); text != "" {
		t.printf("%s\n", text)
	}
	if r.Ran && r.WithoutModel {
		t.printNote("%s", mindlog.ExtractiveText(t.Settings.Mind, r.Report))
	}
	return nil
}

// A skippedTick is the JSON output of a skipped tick.
type skippedTick struct {
	Tick bool   `json:"tick"`
	Why  string `json:"why"`
}

type mindPrinter struct {
	*cli
	log *mindlog.Log
}

func (t *mindPrinter) catchUp(ctx context.Context, log ponder.Log) error {
	return t.log.Follow(ctx, log, t.printEvent)
}

func (t *mindPrinter) printEvent(ev ponder.Event) error {
	if t.flags.json {
		if ev.Internal {
			return nil
		}
		return t.printJSON(ev)
	}
	if text := t.log.EventText(ev); text != "" {
		t.printf("%s", text)
	}
	return nil
}
