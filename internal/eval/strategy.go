package eval

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
	"ponder/internal/quota"
	"ponder/internal/textkit"
	"ponder/mode/chat"
	"ponder/mode/deep"
	"ponder/mode/session"
	"ponder/store/sqlite"
)

const (
	KindPlain   = "plain"
	KindThink   = "think"
	KindDeep    = "deep"
	KindSession = "session"
)

type Strategy struct {
	Name        string
	Kind        string
	Model       string
	Time        time.Duration
	engine      *engine.Engine
	Models      []string
	fingerprint string // fingerprint of the settings that affect answers
}

func ParseStrategies(names []string, duration func(string) (time.Duration, error)) ([]Strategy, error) {
	var list []Strategy
	for _, name := range names {
		if name = strings.TrimSpace(name); name == "" {
			continue
		}
		v, err := parseStrategy(name, duration)
		if err != nil {
			return nil, app.Invalidf("variant", "%w", err)
		}
		if slices.ContainsFunc(list, func(o Strategy) bool { return o.Name == v.Name }) {
			return nil, app.Invalidf("variant", "%s occurs twice", textkit.Truncate(textkit.OneLine(name), 60))
		}
		list = append(list, v)
	}
	switch {
	case len(list) == 0:
		return nil, app.Invalidf("variant", "use at least one, such as plain")
	case len(list) > maxStrategies:
		return nil, app.Invalidf("variant", "at most %d", maxStrategies)
	}
	return list, nil
}

// parseStrategy parses KIND, session:TIME, each with @PROVIDER/MODEL, or model=PROVIDER/MODEL.
func parseStrategy(name string, duration func(string) (time.Duration, error)) (Strategy, error) {
	v := Strategy{Name: name, Kind: KindPlain}
	if model, ok := strings.CutPrefix(name, "model="); ok {
		v.Model = model
		_, _, err := config.SplitModel(model)
		return v, err
	}
	kind, model, named := strings.Cut(name, "@")
	if named {
		if _, _, err := config.SplitModel(model); err != nil {
			return v, err
		}
	}
	v.Model = model
	kind, budget, limited := strings.Cut(kind, ":")
	switch v.Kind = kind; {
	case kind == KindSession && limited:
		d, err := duration(budget)
		v.Time = d
		return v, err
	case kind == KindSession:
		return v, fmt.Errorf("session requires a duration, such as session:1m")
	case !slices.Contains([]string{KindPlain, KindThink, KindDeep}, kind) || limited:
		return v, fmt.Errorf("%q is unknown; use plain, think, deep, session:TIME or model=PROVIDER/MODEL", textkit.Truncate(textkit.OneLine(name), 60))
	}
	return v, nil
}

func (v *Strategy) neededRoles(t app.ChatSetup) []ponder.Role {
	switch {
	case v.Kind == KindSession:
		return app.SessionRoles()
	case v.Kind == KindDeep && t.Models[app.DeepRole] != nil:
		return []ponder.Role{ponder.Fast, app.DeepRole, ponder.Cheap}
	case v.Kind == KindDeep:
		return []ponder.Role{ponder.Fast, ponder.Slow, ponder.Cheap}
	}
	return []ponder.Role{ponder.Fast}
}

// chatOptions returns the chat options of a strategy. All have equal prompts and no sources, so that
// only their thinking differs.
func (v *Strategy) chatOptions(t app.ChatSetup) chat.Options {
	t.Think = v.Kind == KindThink
	o := t.ChatOptions(nil)
	o.Think, o.Deep, o.DeepAfter = t.Think, v.Kind == KindDeep, 0
	o.DeepPerHour = 1 // the one before the answer
	return o
}

func (v *Strategy) initEngine(ctx context.Context, store *sqlite.Store, t app.ChatSetup, p *quota.Budget) error {
	o, roles := v.chatOptions(t), v.neededRoles(t)
	v.fingerprint = strings.Join([]string{v.Kind, v.Time.String(), o.System, o.ThinkRules}, "\x00")
	for _, role := range roles {
		for _, m := range t.Models[role] {
			v.fingerprint += "\x00" + string(role) + " " + m.Name()
			if !slices.Contains(v.Models, m.Name()) {
				v.Models = append(v.Models, m.Name())
			}
		}
	}
	mind, err := openEngine(ctx, store, p.Models(t.Models), t.OwnTools(), session.New(), chat.New(o), deep.New(t.DeepOptions(nil)))
	v.engine = mind
	return err
}

func openEngine(ctx context.Context, store ponder.Store, models map[ponder.Role][]ponder.Model, tools []ponder.Tool,
	modes ...ponder.Mode) (*engine.Engine, error) {
	m, err := engine.New(engine.Config{Store: store, Modes: modes, Models: models, Tools: tools, Node: placement.CurrentNode()})
	if err != nil {
		return nil, err
	}
	if err := m.Open(ctx); err != nil {
		return nil, fmt.Errorf("open the engine: %w", err)
	}
	return m, nil
}

type chatSetups map[string]app.ChatSetup

func (all chatSetups) setupFor(ctx context.Context, a *app.App, s *Strategy, model string, limits ponder.Budget) (app.ChatSetup, error) {
	name := cmp.Or(s.Model, model)
	t, ok := all[name]
	if !ok {
		var err error
		if t, err = a.ChatSetup(ctx, name, false); err != nil {
			return t, err
		}
		if err := t.Check(ctx); err != nil {
			return t, err
		}
		all[name] = t
	}
	models := make(map[ponder.Role][]ponder.Model)
	for _, role := range s.neededRoles(t) {
		models[role] = t.Models[role]
	}
	return t, app.CheckPrices(models, limits, &t.Config)
}
