package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"ponder"
	"ponder/engine"
	"ponder/internal/app"
	"ponder/internal/config"
	"ponder/internal/mindrunner"
	"ponder/internal/placement"
	"ponder/llm"
	"ponder/mode/subconscious"
	"ponder/store/sqlite"
	"ponder/tool/memory"
)

// A mindHome is all that a subconscious is made of, opened.
type mindHome struct {
	*mindrunner.Minder
	cast    *mindCast
	options subconscious.Options
	actions *mindActions
	ends    []func() error // the last is closed first
}

// close gives it all up. The database stays open.
func (h *mindHome) close() error {
	var errs []error
	for i := len(h.ends) - 1; i >= 0; i-- {
		errs = append(errs, h.ends[i]())
	}
	h.ends = nil
	return errors.Join(errs...)
}

// mindHome opens what a subconscious is made of, in a database. The caller closes it
// before the database.
func (a *cli) mindHome(ctx context.Context, store *sqlite.Store) (*mindHome, error) {
	h := &mindHome{}
	if err := a.furnish(ctx, store, h); err != nil {
		return nil, errors.Join(err, h.close())
	}
	return h, nil
}

func (a *cli) furnish(ctx context.Context, store *sqlite.Store, h *mindHome) (err error) {
	if h.cast, err = a.mindCastOf(ctx); err != nil {
		return err
	}
	if h.actions, err = a.mindActions(store); err != nil {
		return err
	}
	h.options = h.actions.offer(a.mindOptions(h.cast))
	look, err := a.mindSensors(ctx, store)
	if err != nil {
		return err
	}
	h.ends = append(h.ends, look.close)
	channels, err := a.mindChannels()
	if err != nil {
		return err
	}
	where, err := a.mindPlace(ctx, store, h)
	if err != nil {
		return err
	}
	h.Minder, err = mindrunner.New(mindConfig(a.Settings, mindrunner.Config{
		Store: store, Place: where, Sensors: look.sensors, Owner: app.LocalOwner, Options: h.options, Channels: channels, LookUp: a.mindLookUp(store, h.cast.roles).lookUp,
		Elsewhere: h.actions.deeds.elsewhere,
	}))
	return err
}

// mindCastOf returns who thinks in the subconscious.
func (a *cli) mindCastOf(ctx context.Context) (*mindCast, error) {
	roles, err := a.mindRoles()
	if err != nil {
		return nil, err
	}
	if a.Settings.Mind.Web && !searchesWeb(a.Settings) {
		a.note("mind.web is true, but %v", app.ErrNoSearch)
	}
	return a.mindCast(ctx, mindLooks(a.Settings, roles))
}

// mindOptions returns how its modes work. What may be done beside telling the user is
// that something is remembered.
func (a *cli) mindOptions(c *mindCast) subconscious.Options {
	return subconscious.Options{
		Roles: c.roles, NoDecider: !c.decides,
		Rules: subconscious.Rules{Roles: c.roles, Cooldown: time.Duration(a.Settings.Mind.Cooldown), Same: c.same},
		Gate: func(call llm.ToolCall) string {
			if call.Name != memory.RememberName {
				return call.Name + " is not to be used by the subconscious: tell the user"
			}
			return ""
		},
	}
}

// mindPlace opens what thinks, and what it is called by: schedules are kept by this
// process alone, for only one keeps a subconscious.
func (a *cli) mindPlace(ctx context.Context, store *sqlite.Store, h *mindHome) (mindrunner.Place, error) {
	keeper := a.keeper(store)
	h.ends = append(h.ends, func() error { keeper.close(); return nil })
	node := placement.Self()
	tools := append(memory.New(memory.Options{Keep: keeper.keep, Source: mindSource}), h.actions.tools...)
	mind, err := engine.New(engine.Config{Store: store, Modes: subconscious.New(h.options), Models: h.cast.models, Tools: tools, Node: node})
	if err != nil {
		return nil, err
	}
	if err := mind.Open(ctx); err != nil {
		return nil, fmt.Errorf("begin to think: %w", err)
	}
	config := placement.Config{Store: store, DB: store.DB(), Node: node, Work: mind.Work}
	lasting, err := placement.Open(ctx, config)
	if err != nil {
		return nil, errors.Join(err, mind.Close(context.WithoutCancel(ctx)))
	}
	where := mindPlace{lasting, placement.Memory(config)}
	h.ends = append(h.ends, func() error {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTime)
		defer cancel()
		return errors.Join(where.ticks.Close(ctx), lasting.Close(ctx), mind.Close(ctx))
	})
	return where, nil
}

// A mindPlace works on threads as a placement that lasts, and keeps schedules in memory.
type mindPlace struct {
	*placement.Placement
	ticks *placement.Placement
}

// Schedule implements [mindrunner.Place].
func (p mindPlace) Schedule(ctx context.Context, name, cron string, tick func(context.Context, time.Time) error) error {
	return p.ticks.Schedule(ctx, name, cron, tick)
}

// mindConfig fills in what the configuration says.
func mindConfig(cfg *config.Config, c mindrunner.Config) mindrunner.Config {
	m := cfg.Mind
	c.Every = time.Duration(m.Every)
	c.Night.From, c.Night.To = m.NightHours().Ends()
	c.Quiet.From, c.Quiet.To = m.QuietHours().Ends()
	c.TokensPerDay, c.MoneyPerDay = m.Tokens(), ponder.Money(math.Round(m.Dollars()*1e6))
	if c.TokensPerDay == 0 {
		c.TokensPerDay = -1 // to the minder, zero is no limit
	}
	if c.MoneyPerDay == 0 {
		c.MoneyPerDay = -1
	}
	return c
}
