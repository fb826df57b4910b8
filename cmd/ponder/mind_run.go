package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"ponder/internal/mindlog"

	"github.com/spf13/cobra"

	"ponder"
	"ponder/internal/app"
	"ponder/internal/config"
	"ponder/store/sqlite"
)

func (a *cli) mindRunCommand() *cobra.Command {
	var apart bool
	cmd := &cobra.Command{
		Use:   "run",
		Short: "Keep the subconscious going, until Ctrl-C",
		Long: `Keep the subconscious going, until Ctrl-C: look every few minutes (mind.every), more often
when things happen and less often when nothing does, and say what happens, line by line.
Only one process does so for a database. It ends with exit code 0 when it is told to stop;
a tick that is at work then is finished by the next. What is missed while none runs is not
made up.`,
		Example: "ponder mind run\nponder mind run --detach\nponder mind run --json",
		Args:    takeNone,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if apart {
				return a.mindDetach(cmd.Context())
			}
			return a.mindRun(cmd.Context())
		},
	}
	cmd.Flags().BoolVar(&apart, "detach", false, "go on in the background")
	return cmd
}

func (a *cli) mindRun(ctx context.Context) error {
	store, err := a.OpenStore(ctx)
	if err != nil {
		return err
	}
	defer store.Close()
	unlock, err := a.OnlyMind()
	if err != nil {
		return err
	}
	defer unlock()
	h, err := a.MindHome(ctx, store)
	if err != nil {
		return err
	}
	defer h.Close()
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	defer a.brake.toRest(stop)()
	a.note("%s", h.Cast.Says())
	var names []string
	for _, s := range h.Sensors {
		names = append(names, s.Name)
	}
	a.note("looking every %s with %s; Ctrl-C stops it", config.Duration(h.Every), strings.Join(names, ", "))
	heads, done := store.Watch(app.MindID())
	defer done()
	ended := make(chan error, 1)
	go func() { ended <- h.Run(ctx) }()
	return a.mindFollow(ctx, h, store, heads, ended)
}

// troubleEvery is how often is looked whether sensors cannot look.
const troubleEvery = 10 * time.Second

// mindFollow tells what happens until the subconscious has come to rest.
func (a *cli) mindFollow(ctx context.Context, h *app.MindHome, store *sqlite.Store, heads <-chan ponder.Seq, ended <-chan error) error {
	t, err := a.tellerFromNow(ctx, store)
	if err != nil {
		return err
	}
	trouble := time.NewTicker(troubleEvery)
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
			a.newTrouble(h, told)
		}
	}
}

func (a *cli) tellerFromNow(ctx context.Context, store *sqlite.Store) (*teller, error) {
	log, err := mindlog.Read(ctx, store)
	if errors.Is(err, mindlog.ErrNone) {
		log, err = mindlog.New(), nil
	}
	return &teller{cli: a, log: log}, err
}

// newTrouble says which sensors cannot look for another reason than before.
func (a *cli) newTrouble(h *app.MindHome, told map[string]string) {
	trouble := app.TroubleOf(h.Status())
	for name, why := range trouble {
		if told[name] == why {
			delete(trouble, name)
		}
		told[name] = why
	}
	a.sayTrouble(trouble)
}

// sayTrouble says which sensors cannot look, and why.
func (a *cli) sayTrouble(trouble map[string]string) {
	for _, name := range slices.Sorted(maps.Keys(trouble)) {
		a.say("sensor %s cannot look: %s", name, trouble[name])
	}
}

func (a *cli) mindDetach(ctx context.Context) error {
	store, err := a.OpenStore(ctx) // so that its faults are said here
	if err != nil {
		return err
	}
	defer store.Close()
	unlock, err := a.OnlyMind()
	if err != nil {
		return err
	}
	unlock()
	logFile, worker, err := a.worker(ctx, app.MindID(), "mind", "run")
	if err != nil {
		return fmt.Errorf("keep the subconscious in the background: %w", err)
	}
	err = awaitWorker(ctx, worker, logFile, "it", func() (bool, error) { return a.mindKeptBy(worker.Process.Pid), nil })
	if err != nil {
		return err
	}
	return a.mindDetached(logFile, worker.Process.Pid)
}

// mindKeptBy reports whether a process keeps the subconscious going.
func (a *cli) mindKeptBy(pid int) bool {
	file, err := a.MindLock()
	if err != nil {
		return false
	}
	text, err := os.ReadFile(file)
	return err == nil && strings.TrimSpace(string(text)) == strconv.Itoa(pid)
}

func (a *cli) mindDetached(logFile string, pid int) error {
	if a.flags.json {
		return a.object(map[string]any{"log": logFile, "pid": pid})
	}
	a.printf("the subconscious is kept by process %d; its log is %s; kill %d ends it\n", pid, logFile, pid)
	return nil
}
