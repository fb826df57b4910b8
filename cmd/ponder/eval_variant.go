package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"ponder"
	"ponder/engine"
	"ponder/internal/app"
	"ponder/internal/config"
	"ponder/internal/placement"
	"ponder/mode/chat"
	"ponder/mode/deep"
	"ponder/mode/session"
	"ponder/store/sqlite"
)

// The kinds of variants.
const (
	plainKind   = "plain"
	thinkKind   = "think"
	deepKind    = "deep"
	sessionKind = "session"
)

// A variant is a way to answer.
type variant struct {
	name   string // as the user wrote it
	kind   string
	model  string        // that answers; empty: that of the configuration
	time   time.Duration // of a session
	mind   *engine.Engine
	models []string // that it asks, each once
	print  string   // what answers depend on beside the question
}

// parseVariants reads ways to answer.
func parseVariants(names []string) ([]variant, error) {
	var list []variant
	for _, name := range names {
		if name = strings.TrimSpace(name); name == "" {
			continue
		}
		v, err := parseVariant(name)
		if err != nil {
			return nil, usagef("--variant: %w", err)
		}
		if slices.ContainsFunc(list, func(o variant) bool { return o.name == v.name }) {
			return nil, usagef("--variant: %s is there twice", clip(oneLine(name), 60))
		}
		list = append(list, v)
	}
	switch {
	case len(list) == 0:
		return nil, usagef("--variant: name at least one, such as plain")
	case len(list) > mostVariants:
		return nil, usagef("--variant: at most %d", mostVariants)
	}
	return list, nil
}

// parseVariant reads one: KIND, session:TIME, each with @PROVIDER/MODEL, or
// model=PROVIDER/MODEL.
func parseVariant(name string) (variant, error) {
	v := variant{name: name, kind: plainKind}
	if model, ok := strings.CutPrefix(name, "model="); ok {
		v.model = model
		_, _, err := config.SplitModel(model)
		return v, err
	}
	kind, model, named := strings.Cut(name, "@")
	if named {
		if _, _, err := config.SplitModel(model); err != nil {
			return v, err
		}
	}
	v.model = model
	kind, budget, limited := strings.Cut(kind, ":")
	switch v.kind = kind; {
	case kind == sessionKind && limited:
		d, err := timeOf(budget)
		v.time = d
		return v, err
	case kind == sessionKind:
		return v, fmt.Errorf("session needs a time, such as session:1m")
	case !slices.Contains([]string{plainKind, thinkKind, deepKind}, kind) || limited:
		return v, fmt.Errorf("%q is none of plain, think, deep, session:TIME, model=PROVIDER/MODEL", clip(oneLine(name), 60))
	}
	return v, nil
}

// roles returns those whose models a variant asks.
func (v *variant) roles(t app.ChatSetup) []ponder.Role {
	switch {
	case v.kind == sessionKind:
		return app.SessionRoles()
	case v.kind == deepKind && t.Models[app.DeepRole] != nil:
		return []ponder.Role{ponder.Fast, app.DeepRole, ponder.Cheap}
	case v.kind == deepKind:
		return []ponder.Role{ponder.Fast, ponder.Slow, ponder.Cheap}
	}
	return []ponder.Role{ponder.Fast}
}

// chat returns how a variant talks: all in the same words, and with nothing to look
// into, so that they differ in how they think and in nothing else.
func (v *variant) chat(t app.ChatSetup) chat.Options {
	t.Think = v.kind == thinkKind
	o := t.ChatOptions(nil)
	o.Think, o.Deep, o.DeepAfter = t.Think, v.kind == deepKind, 0
	o.DeepPerHour = 1 // that is before the answer
	return o
}

// open makes the mind that answers.
func (v *variant) open(ctx context.Context, store *sqlite.Store, t app.ChatSetup, p *purse) error {
	o, roles := v.chat(t), v.roles(t)
	v.print = strings.Join([]string{v.kind, v.time.String(), o.System, o.ThinkRules}, "\x00")
	for _, role := range roles {
		for _, m := range t.Models[role] {
			v.print += "\x00" + string(role) + " " + m.Name()
			if !slices.Contains(v.models, m.Name()) {
				v.models = append(v.models, m.Name())
			}
		}
	}
	mind, err := openMind(ctx, store, p.models(t.Models), t.OwnTools(), session.New(), chat.New(o), deep.New(t.DeepOptions(nil)))
	v.mind = mind
	return err
}

// openMind makes a mind of this process.
func openMind(ctx context.Context, store ponder.Store, models map[ponder.Role][]ponder.Model, tools []ponder.Tool,
	modes ...ponder.Mode) (*engine.Engine, error) {
	m, err := engine.New(engine.Config{Store: store, Modes: modes, Models: models, Tools: tools, Node: placement.Self()})
	if err != nil {
		return nil, err
	}
	if err := m.Open(ctx); err != nil {
		return nil, fmt.Errorf("begin to think: %w", err)
	}
	return m, nil
}

// talkings are how variants talk, by the model that the user named for them.
type talkings map[string]app.ChatSetup

// of returns that of a variant, having made sure that its model may answer.
func (a *cli) talkingOf(ctx context.Context, all talkings, v *variant, model string) (app.ChatSetup, error) {
	name := cmp.Or(v.model, model)
	if t, ok := all[name]; ok {
		return t, nil
	}
	t, err := a.ChatSetup(ctx, name, false)
	if err != nil {
		return t, err
	}
	if err := t.Check(ctx); err != nil {
		return t, err
	}
	all[name] = t
	return t, nil
}

// pricedFor makes sure that a budget of money can be kept.
func pricedFor(t app.ChatSetup, limits ponder.Budget, roles ...ponder.Role) error {
	if limits.Money == 0 {
		return nil
	}
	for _, role := range roles {
		for _, m := range t.Models[role] {
			if m.Price.Source == ponder.PriceUnknown {
				return usagef("--cost cannot be kept: the price of %s is not known; add [models.price.%q] with input = and output = "+
					"(USD per million tokens) to %s, or run `ponder model refresh`", m.Name(), m.Name(), t.Config.File)
			}
		}
	}
	return nil
}
