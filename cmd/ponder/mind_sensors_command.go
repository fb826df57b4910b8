package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"ponder/internal/textkit"

	"github.com/spf13/cobra"

	"ponder/internal/app"
	"ponder/sensor"
)

func (a *cli) mindSensorsCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "sensors",
		Short: "Try the sensors: say what each sees now",
		Long: `Try the sensors: say whether each can look, and what it would tell at its first look.
Nothing is kept, so at the next tick it is told all the same.`,
		Example: "ponder mind sensors\nponder mind sensors --json",
		Args:    takeNone,
		RunE:    func(cmd *cobra.Command, _ []string) error { return a.mindTry(cmd.Context(), time.Now()) },
	}
}

// A tried is what came of trying a sensor.
type tried struct {
	Sensor string   `json:"sensor"`
	Error  string   `json:"error,omitempty"`
	Lines  []string `json:"sees"`
}

func sensorNames(list []sensor.Sensor) (names []string) {
	for _, s := range list {
		names = append(names, s.Name)
	}
	return names
}

// mindTry tries all sensors that are configured.
func (a *cli) mindTry(ctx context.Context, now time.Time) error {
	list, err := a.tryAll(ctx, now)
	if err != nil {
		return err
	}
	failed := 0
	for _, t := range list {
		if t.Error != "" {
			failed++
		}
		if a.flags.json {
			if err := a.object(t); err != nil {
				return err
			}
			continue
		}
		if t.Error != "" {
			a.printf("%s cannot look: %s\n", t.Sensor, t.Error)
			continue
		}
		a.printf("%s sees %s\n", t.Sensor, textkit.Count(len(t.Lines), "thing", "things"))
		for _, line := range t.Lines {
			a.printf("  %s\n", line)
		}
	}
	if failed > 0 && ctx.Err() == nil {
		return fmt.Errorf("%s cannot look", textkit.Count(failed, "sensor", "sensors"))
	}
	return ctx.Err()
}

// tryAll has all sensors make a first look.
func (a *cli) tryAll(ctx context.Context, now time.Time) ([]tried, error) {
	store, err := a.OpenReadOnly(ctx)
	if errors.Is(err, app.ErrNothingYet) {
		store, err = nil, nil
	}
	if err != nil {
		return nil, err
	}
	if store != nil {
		defer store.Close()
	}
	look, err := a.MindSensors(ctx, store)
	if err != nil {
		return nil, err
	}
	defer look.Close()
	list := make([]tried, len(look.Sensors))
	var wg sync.WaitGroup
	for i, s := range look.Sensors {
		wg.Go(func() { list[i] = try(ctx, s, now) })
	}
	wg.Wait()
	return list, nil
}

// try has a sensor make a first look.
func try(ctx context.Context, s sensor.Sensor, now time.Time) tried {
	ctx, cancel := context.WithTimeout(ctx, sensor.Patience)
	defer cancel()
	t := tried{Sensor: s.Name, Lines: []string{}}
	seen, _, err := s.Look(ctx, now, nil)
	if err != nil {
		t.Error = oneLine(err.Error())
		return t
	}
	for _, o := range seen {
		t.Lines = append(t.Lines, oneLine(o.Content))
	}
	return t
}
