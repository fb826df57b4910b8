package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"ponder/internal/textkit"

	"ponder"
	"ponder/internal/app"
	"ponder/llm"
	"ponder/mode/subconscious"
	"ponder/sensor"
)

// A rehearsed is what a role would be asked, as programs are shown it.
type rehearsed struct {
	Role     string        `json:"role"`
	Model    string        `json:"model,omitempty"`
	Skipped  string        `json:"skipped,omitempty"`
	Why      string        `json:"why,omitempty"`
	Unaided  bool          `json:"without_model,omitempty"`
	Seen     int           `json:"observations"`
	Bytes    int           `json:"bytes"`
	Tokens   int           `json:"tokens"` // about
	System   string        `json:"system,omitempty"`
	Messages []llm.Message `json:"messages,omitempty"`
}

// bytesOfToken is how many bytes a token has, about.
const bytesOfToken = 3.6

// mindRehearse shows what a tick would ask. It keeps nothing, makes no database, and asks
// no model.
func (a *cli) mindRehearse(ctx context.Context, all bool, now time.Time) error {
	store, err := a.OpenReadOnly(ctx)
	if errors.Is(err, app.ErrNothingYet) {
		store, err = nil, nil
	}
	if err != nil {
		return err
	}
	if store != nil {
		defer store.Close()
	}
	cast, err := a.MindCastOf(ctx)
	if err != nil {
		return err
	}
	look, err := a.MindSensors(ctx, store)
	if err != nil {
		return err
	}
	defer look.Close()
	r := subconscious.NewRehearsal(a.MindOptions(cast))
	log := newMindLog()
	if store != nil {
		for ev, err := range store.Events(ctx, app.MindID(), 0) {
			if errors.Is(err, ponder.ErrNoThread) {
				break
			}
			if err != nil {
				return fmt.Errorf("read the subconscious: %w", err)
			}
			r.Apply(ev)
			log.apply(ev)
		}
	}
	for _, ev := range a.glance(ctx, look, log, now) {
		r.Apply(ev)
	}
	return a.showAsks(r.Asks(now, subconscious.TickInput{All: all}), cast)
}

// glance has the sensors look, and returns what they see as if it were in the log.
func (a *cli) glance(ctx context.Context, look *app.MindLook, log *mindLog, now time.Time) (events []ponder.Event) {
	seen := make([][]ponder.Observation, len(look.Sensors))
	var wg sync.WaitGroup
	for i, s := range look.Sensors {
		wg.Go(func() { seen[i] = a.lookWith(ctx, s, log, now) })
	}
	wg.Wait()
	seq := log.head
	for i, s := range look.Sensors {
		for _, o := range seen[i] {
			o.Sensor = s.Name
			seq++
			events = append(events, ponder.Event{Body: o}.Stamp(app.MindID(), seq, now))
		}
	}
	return events
}

// lookWith has a sensor look from where it has read to.
func (a *cli) lookWith(ctx context.Context, s sensor.Sensor, log *mindLog, now time.Time) []ponder.Observation {
	ctx, cancel := context.WithTimeout(ctx, sensor.Patience)
	defer cancel()
	seen, _, err := s.Look(ctx, now, log.Cursors[s.Name])
	if err != nil {
		a.say("sensor %s cannot look: %s", s.Name, oneLine(err.Error()))
	}
	return seen
}

// showAsks prints what roles would be asked.
func (a *cli) showAsks(asks []subconscious.Ask, cast *app.MindCast) error {
	total := 0
	for _, ask := range asks {
		r := rehearsed{Role: ask.Role, Skipped: ask.Skipped, Why: ask.Why, Unaided: ask.Unaided, Seen: ask.Seen}
		if ask.Skipped == "" && !ask.Unaided {
			r.Model, r.Bytes = cast.Names[ask.Role], ask.Request.Size()
			r.Tokens, r.System, r.Messages = int(float64(r.Bytes)/bytesOfToken), ask.Request.System, ask.Request.Messages
		}
		total += r.Tokens
		if a.flags.json {
			if err := a.object(r); err != nil {
				return err
			}
			continue
		}
		a.printf("%s", r.text())
	}
	if !a.flags.json {
		a.printf("In all about %s to read. Nobody was asked, and nothing was kept.\n", textkit.Count(total, "token", "tokens"))
	}
	return nil
}

// text writes it for people.
func (r rehearsed) text() string {
	switch {
	case r.Skipped != "":
		return fmt.Sprintf("── %s: not run, %s\n\n", oneLine(r.Role), oneLine(r.Skipped))
	case r.Unaided:
		return fmt.Sprintf("── %s: rules look at %s, for want of a model\n\n", oneLine(r.Role), textkit.Count(r.Seen, "observation", "observations"))
	}
	text := fmt.Sprintf("── %s asks %s about %s, %s, about %s\n\n%s\n\n", oneLine(r.Role), oneLine(r.Model), textkit.Count(r.Seen, "observation", "observations"),
		textkit.Bytes(int64(r.Bytes)), textkit.Count(r.Tokens, "token", "tokens"), r.System)
	for _, m := range r.Messages {
		text += m.Text() + "\n\n"
	}
	return text
}
