package app

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"ponder"
	"ponder/internal/textkit"
	"ponder/llm"
	"ponder/mode/subconscious"
	"ponder/sensor"
	"ponder/store/sqlite"
)

type SensorTrial struct {
	Sensor string   `json:"sensor"`
	Error  string   `json:"error,omitempty"`
	Lines  []string `json:"sees"`
}

// TrySensors lets each configured sensor look once.
func (a *App) TrySensors(ctx context.Context, now time.Time) (list []SensorTrial, err error) {
	_, look, done, err := a.openSensors(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	seen, errs := look.readSensors(ctx, nil, now)
	for i, s := range look.Sensors {
		t := SensorTrial{Sensor: s.Name, Lines: []string{}}
		if errs[i] != nil {
			t.Error, seen[i] = textkit.OneLine(errs[i].Error()), nil
		}
		for _, o := range seen[i] {
			t.Lines = append(t.Lines, textkit.OneLine(o.Content))
		}
		list = append(list, t)
	}
	return list, nil
}

func (a *App) openSensors(ctx context.Context) (store *sqlite.Store, look *SensorSet, done func(), err error) {
	store, err = a.OpenReadOnly(ctx)
	if errors.Is(err, ErrNothingYet) {
		store, err = nil, nil
	}
	if err != nil {
		return nil, nil, nil, err
	}
	if look, err = a.MindSensors(ctx, store); err == nil {
		done = func() { look.Close() }
	}
	if store != nil && err != nil {
		store.Close()
	} else if store != nil {
		done = func() { look.Close(); store.Close() }
	}
	return store, look, done, err
}

func (l *SensorSet) readSensors(ctx context.Context, cursors map[string][]byte, now time.Time) (seen [][]ponder.Observation, errs []error) {
	seen, errs = make([][]ponder.Observation, len(l.Sensors)), make([]error, len(l.Sensors))
	var wg sync.WaitGroup
	for i, s := range l.Sensors {
		wg.Go(func() {
			ctx, cancel := context.WithTimeout(ctx, sensor.LookTimeout)
			defer cancel()
			seen[i], _, errs[i] = s.Look(ctx, now, cursors[s.Name])
		})
	}
	wg.Wait()
	return seen, errs
}

func (t SensorTrial) Text() string {
	if t.Error != "" {
		return fmt.Sprintf("%s failed: %s\n", t.Sensor, t.Error)
	}
	text := fmt.Sprintf("%s: %s\n", t.Sensor, textkit.Count(len(t.Lines), "thing", "things"))
	for _, line := range t.Lines {
		text += "  " + line + "\n"
	}
	return text
}

// A RoleRequest is the request that a role would make in a tick.
type RoleRequest struct {
	Role         string        `json:"role"`
	Model        string        `json:"model,omitempty"`
	Skipped      string        `json:"skipped,omitempty"`
	Why          string        `json:"why,omitempty"`
	WithoutModel bool          `json:"without_model,omitempty"`
	Seen         int           `json:"observations"`
	Bytes        int           `json:"bytes"`
	Tokens       int           `json:"tokens"`
	System       string        `json:"system,omitempty"`
	Messages     []llm.Message `json:"messages,omitempty"`
}

// bytesOfToken is an estimate of bytes per token.
const bytesOfToken = 3.6

// A MindDryRun has the requests of a tick, and errors of sensors by name.
type MindDryRun struct {
	Requests []RoleRequest
	Trouble  map[string]string
}

// DryRunMind returns the requests of a tick at now. It stores nothing and calls no model.
func (a *App) DryRunMind(ctx context.Context, all bool, now time.Time) (run MindDryRun, err error) {
	cast, err := a.MindCastOf(ctx)
	if err != nil {
		return run, err
	}
	store, look, done, err := a.openSensors(ctx)
	if err != nil {
		return run, err
	}
	defer done()
	r, log := subconscious.NewDryRun(a.MindOptions(cast)), cachedView{View: subconscious.NewView()}
	if store != nil {
		for ev, err := range store.Events(ctx, MindID(), 0) {
			if errors.Is(err, ponder.ErrNoThread) {
				break
			}
			if err != nil {
				return run, fmt.Errorf("read the subconscious: %w", err)
			}
			r.Apply(ev)
			log.head, log.View = ev.Seq, log.View.Apply(ev)
		}
	}
	seen, errs := look.readSensors(ctx, log.Cursors, now)
	run.Trouble = make(map[string]string)
	for i, s := range look.Sensors {
		if errs[i] != nil {
			run.Trouble[s.Name] = textkit.OneLine(errs[i].Error())
		}
		for _, o := range seen[i] {
			o.Sensor = s.Name
			log.head++
			r.Apply(ponder.Event{Body: o}.Stamp(MindID(), log.head, now))
		}
	}
	for _, ask := range r.Requests(now, subconscious.TickInput{All: all}) {
		r := RoleRequest{Role: ask.Role, Skipped: ask.Skipped, Why: ask.Why, WithoutModel: ask.Unaided, Seen: ask.Seen}
		if ask.Skipped == "" && !ask.Unaided {
			r.Model, r.Bytes = cast.Names[ask.Role], ask.Request.Size()
			r.Tokens, r.System, r.Messages = int(float64(r.Bytes)/bytesOfToken), ask.Request.System, ask.Request.Messages
		}
		run.Requests = append(run.Requests, r)
	}
	return run, nil
}

func (r RoleRequest) Text() string {
	switch {
	case r.Skipped != "":
		return fmt.Sprintf("── %s: skipped, %s\n\n", textkit.OneLine(r.Role), textkit.OneLine(r.Skipped))
	case r.WithoutModel:
		return fmt.Sprintf("── %s: rules check %s, because no model is available\n\n", textkit.OneLine(r.Role), textkit.Count(r.Seen, "observation", "observations"))
	}
	text := fmt.Sprintf("── %s asks %s about %s, %s, about %s\n\n%s\n\n", textkit.OneLine(r.Role), textkit.OneLine(r.Model), textkit.Count(r.Seen, "observation", "observations"),
		textkit.Bytes(int64(r.Bytes)), textkit.Count(r.Tokens, "token", "tokens"), r.System)
	for _, m := range r.Messages {
		text += m.Text() + "\n\n"
	}
	return text
}
