package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"ponder"
	"ponder/internal/app"
	"ponder/internal/config"
	"ponder/mode/subconscious"
)

// A mindCast is who thinks in a subconscious.
type mindCast struct {
	roles   []subconscious.Role // those without a model are Unaided
	models  map[ponder.Role][]ponder.Model
	names   map[string]string // of models: by role, and of config.Decisions
	without []string          // why models are left out
	off     bool              // the user lets no model be asked
	decides bool              // there is a model for decisions
	same    func(a, b string) bool
}

// mindCast finds the models of the roles and of decisions. Roles for which nothing is
// set have the cheap one, decisions the frontier one. Where there is none, rules do.
func (a *cli) mindCast(ctx context.Context, roles []subconscious.Role) (*mindCast, error) {
	l, err := a.ModelSet(ctx, "")
	if err != nil {
		return nil, err
	}
	if err := knownRoles(l.Config, roles); err != nil {
		return nil, err
	}
	c := &mindCast{roles: slices.Clone(roles), models: make(map[ponder.Role][]ponder.Model), names: make(map[string]string), off: l.Config.Mind.Tokens() == 0}
	for i, r := range c.roles {
		err := c.take(l, subconscious.ModelOf(r.Name), r.Name, ponder.Cheap)
		if err != nil {
			return nil, err
		}
		c.roles[i].Unaided = r.Unaided || c.names[r.Name] == ""
	}
	if err := c.take(l, ponder.Frontier, config.Decisions, ponder.Frontier); err != nil {
		return nil, err
	}
	c.decides, c.same = c.names[config.Decisions] != "", sameByMeaning(l)
	for _, why := range c.without {
		a.note("a model is left out: %v", why)
	}
	return c, nil
}

// none reports whether no model is asked at all.
func (c *mindCast) none() bool { return len(c.models) == 0 }

// knownRoles makes sure that models are set for roles that there are.
func knownRoles(cfg *config.Config, roles []subconscious.Role) error {
	names := []string{config.Decisions}
	for _, r := range roles {
		names = append(names, r.Name)
	}
	for _, name := range slices.Sorted(maps.Keys(cfg.Mind.Models)) {
		if !slices.Contains(names, name) {
			return usagef("mind.models.%s: there is no such role; %sroles of your own are files in %s", clip(name, 40), suggest(name, names), cfg.MindRoles())
		}
	}
	return nil
}

// take finds the chain of models of a role of the subconscious: if nothing is set for it,
// those of another role. A day's budget of money must hold for each.
func (c *mindCast) take(l *app.ModelSet, role ponder.Role, name string, otherwise ponder.Role) error {
	key, chain := "mind.models."+name, l.Config.Mind.Models[name]
	set := chain != nil
	if !set {
		chain = l.Choices.Of(otherwise).Models
	}
	if l.Config.Mind.Tokens() == 0 {
		chain = nil
	}
	var first error
	for _, full := range chain {
		m, err := l.Model(full)
		if err == nil {
			err = affordable(full, m.Price, l.Config)
		}
		if err == nil {
			c.models[role] = append(c.models[role], m)
			continue
		}
		first = errors.Join(first, err)
		if why := app.FirstError(err).Error(); !slices.Contains(c.without, why) {
			c.without = append(c.without, why)
		}
	}
	if models := c.models[role]; len(models) > 0 {
		c.names[name] = models[0].Name()
	} else if set && first != nil {
		return fmt.Errorf("%s: %w", key, app.FirstError(first))
	}
	return nil
}

// affordable returns why a model of a price cannot be asked within the money of a day.
func affordable(full string, price ponder.Price, cfg *config.Config) error {
	budget, unknown := cfg.Mind.Dollars(), price.Source == ponder.PriceUnknown
	switch {
	case budget > 0 && unknown:
		return usagef("mind.cost_per_day cannot be kept: the price of %s is not known; add [models.price.%q] with input = and output = "+
			"(USD per million tokens) to %s, or run `ponder model refresh`", full, full, cfg.File)
	case budget == 0 && price.Source != ponder.PriceLocal && (unknown || price.Input+price.Output > 0):
		return usagef("mind.cost_per_day is 0, and %s is not known to be free", full)
	}
	return nil
}

// seeDoctor is what to do where there is no model.
const seeDoctor = " (`ponder doctor` says how to have one)"

// says says who thinks, in a line: those with the same model together.
func (c *mindCast) says() string {
	if c.off {
		return "mind.tokens_per_day is 0, which turns models off, so rules look"
	}
	if c.none() {
		return "no model is asked, so rules look" + seeDoctor
	}
	var order []string
	who := make(map[string][]string)
	add := func(name, model string) {
		if model == "" {
			model = "rules"
		}
		if who[model] == nil {
			order = append(order, model)
		}
		who[model] = append(who[model], name)
	}
	for _, r := range c.roles {
		add(r.Name, c.names[r.Name])
	}
	add("decisions", c.names[config.Decisions])
	var parts []string
	for _, model := range order {
		parts = append(parts, strings.Join(who[model], ", ")+": "+model)
	}
	return strings.Join(parts, "; ")
}
