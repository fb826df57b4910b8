package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"ponder"
	"ponder/internal/config"
	"ponder/internal/textkit"
	"ponder/knowledge/recall/vector"
	"ponder/mode/subconscious"
)

type MindModels struct {
	roles          []subconscious.Role // without a model, Unaided
	models         map[ponder.Role][]ponder.Model
	Names          map[string]string // by role and config.Decisions
	missingReasons []string          // why models are left out
	off            bool              // the user forbids models
	decides        bool              // a model decides
	isSimilar      func(a, b string) bool
}

func (a *App) mindCast(ctx context.Context, roles []subconscious.Role) (*MindModels, error) {
	l, err := a.ModelSet(ctx, "")
	if err != nil {
		return nil, err
	}
	if err := checkRoleNames(l.Config, roles); err != nil {
		return nil, err
	}
	c := &MindModels{roles: slices.Clone(roles), models: make(map[ponder.Role][]ponder.Model), Names: make(map[string]string), off: l.Config.Mind.Tokens() == 0}
	for i, r := range c.roles {
		err := c.assignModels(l, subconscious.ModelOf(r.Name), r.Name, ponder.Cheap)
		if err != nil {
			return nil, err
		}
		c.roles[i].Unaided = r.Unaided || c.Names[r.Name] == ""
	}
	if err := c.assignModels(l, ponder.Frontier, config.Decisions, ponder.Frontier); err != nil {
		return nil, err
	}
	c.decides, c.isSimilar = c.Names[config.Decisions] != "", similarityFunc(l)
	for _, why := range c.missingReasons {
		a.Notef("ignored a model: %v", why)
	}
	return c, nil
}

func (c *MindModels) isEmpty() bool { return len(c.models) == 0 }

func checkRoleNames(cfg *config.Config, roles []subconscious.Role) error {
	names := []string{config.Decisions}
	for _, r := range roles {
		names = append(names, r.Name)
	}
	for _, name := range slices.Sorted(maps.Keys(cfg.Mind.Models)) {
		if !slices.Contains(names, name) {
			return Invalidf("", "mind.models.%s: no such role; %splace your own roles as files in %s", textkit.Truncate(name, 40), textkit.Suggest(name, names), cfg.MindRoles())
		}
	}
	return nil
}

// assignModels finds the models of a role, by default those of role otherwise. The daily budget must
// cover each.
func (c *MindModels) assignModels(l *ModelSet, role ponder.Role, name string, otherwise ponder.Role) error {
	key, chain := "mind.models."+name, l.Config.Mind.Models[name]
	set := chain != nil
	if !set {
		chain = l.Choices.ForRole(otherwise).Models
	}
	if l.Config.Mind.Tokens() == 0 {
		chain = nil
	}
	var first error
	for _, full := range chain {
		m, err := l.Model(full)
		if err == nil {
			err = Affordable(full, m.Price, l.Config)
		}
		if err == nil {
			c.models[role] = append(c.models[role], m)
			continue
		}
		first = errors.Join(first, err)
		if why := FirstError(err).Error(); !slices.Contains(c.missingReasons, why) {
			c.missingReasons = append(c.missingReasons, why)
		}
	}
	if models := c.models[role]; len(models) > 0 {
		c.Names[name] = models[0].Name()
	} else if set && first != nil {
		return fmt.Errorf("%s: %w", key, FirstError(first))
	}
	return nil
}

// Affordable returns an error if a model does not fit the daily budget.
func Affordable(full string, price ponder.Price, cfg *config.Config) error {
	budget, unknown := cfg.Mind.Dollars(), price.Source == ponder.PriceUnknown
	switch {
	case budget > 0 && unknown:
		return Invalidf("", "mind.cost_per_day has no effect: the price of %s is unknown; add [models.price.%q] with input = and output = "+
			"(USD per million tokens) to %s, or run `ponder model refresh`", full, full, cfg.File)
	case budget == 0 && price.Source != ponder.PriceLocal && (unknown || price.Input+price.Output > 0):
		return Invalidf("", "mind.cost_per_day is 0, but %s may cost money", full)
	}
	return nil
}

// SeeDoctor is the remedy for a missing model.
const SeeDoctor = " (see `ponder doctor`)"

func (c *MindModels) Describe() string {
	if c.off {
		return "mind.tokens_per_day is 0, so rules replace models"
	}
	if c.isEmpty() {
		return "no model is available, so rules replace it" + SeeDoctor
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
		add(r.Name, c.Names[r.Name])
	}
	add("decisions", c.Names[config.Decisions])
	var parts []string
	for _, model := range order {
		parts = append(parts, strings.Join(who[model], ", ")+": "+model)
	}
	return strings.Join(parts, "; ")
}

// A semanticMatcher compares texts by their vectors. It is safe for concurrent use.
type semanticMatcher struct {
	vector.Embedder

	mu          sync.Mutex
	vectors     map[string][]float32
	pausedUntil time.Time // no calls until then, after a failure
}

const (
	minCosine    = 0.88 // minimal cosine of equal texts, unless their facts differ
	embedTime    = 3 * time.Second
	embedBackoff = time.Minute
	maxVectors   = 2000
)

// similarityFunc returns a comparison of texts by a local embedding model, or nil.
func similarityFunc(l *ModelSet) func(a, b string) bool {
	models := l.Choices.ForRole(ponder.Embed).Models
	if len(models) == 0 {
		return nil
	}
	name, _, _ := strings.Cut(models[0], "/")
	if p, err := l.Provider(name); err != nil || !l.isLocal(models[0], p) {
		return nil
	}
	m := &semanticMatcher{Embedder: l.EmbedderOf(models[0]), vectors: make(map[string][]float32)}
	return m.isSimilar
}

func (m *semanticMatcher) isSimilar(a, b string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	x, y := m.vectorOf(a), m.vectorOf(b)
	return cosine(x, y) >= minCosine
}

// vectorOf returns the vector of a text, or nil. The caller holds m.mu.
func (m *semanticMatcher) vectorOf(text string) []float32 {
	if v, ok := m.vectors[text]; ok {
		return v
	}
	if time.Now().Before(m.pausedUntil) {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), embedTime)
	defer cancel()
	vectors, err := m.Embed(ctx, []string{text})
	if err != nil {
		slog.Warn("findings are compared only by words", "model", m.Model, "error", err)
		m.pausedUntil = time.Now().Add(embedBackoff)
		return nil
	}
	if len(m.vectors) >= maxVectors {
		clear(m.vectors)
	}
	m.vectors[text] = vectors[0]
	return vectors[0]
}

// cosine returns 0 for empty or unequal lengths.
func cosine(x, y []float32) float64 {
	if len(x) == 0 || len(x) != len(y) {
		return 0
	}
	var dot, xx, yy float64
	for i := range x {
		a, b := float64(x[i]), float64(y[i])
		dot, xx, yy = dot+a*b, xx+a*a, yy+b*b
	}
	if xx == 0 || yy == 0 {
		return 0
	}
	return dot / math.Sqrt(xx*yy)
}
