package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"ponder"
	"ponder/internal/config"
	"ponder/internal/quota"
	"ponder/llm"
	"ponder/llm/anthropic"
	"ponder/llm/gemini"
	"ponder/llm/ollama"
	"ponder/llm/openai"
)

// A ModelSet has the models of each role and their providers. It does not change.
type ModelSet struct {
	*providers
	Choices config.Choices
	Missed  error // why what the user named is not among them, if there are none
	prices  llm.Prices
}

// providers makes each provider once, so that all model sets together ask it no more at a
// time than it allows. It is safe for concurrent use.
type providers struct {
	Config   *config.Config
	lifetime time.Duration // of the result of a check

	mu        sync.Mutex
	providers map[string]Provider
	willing   map[string]time.Time // when models said last that they would answer
}

// modelSets caches model sets by the model that the user named. It is safe for concurrent
// use.
type modelSets struct {
	lifetime time.Duration // of a set; zero: that of the process
	host     ModelHost     // the models of clients; its Provider is nil if there are none

	mu        sync.Mutex
	list      map[string]cachedModelSet
	providers *providers
}

// A cachedModelSet is a model set and the time of its look-up.
type cachedModelSet struct {
	*ModelSet
	found time.Time
}

// modelsLifetime is how long a server uses a model set before it looks again.
const modelsLifetime = time.Minute

const maxModelSets = 100

// A Provider is a configured provider.
type Provider struct {
	llm.Provider // behind a gate
	gate         *llm.Gate
	Local        bool   // on a machine of the user's own, at no price
	ollama       bool   // whose table of prices is of what runs at home
	base         string // where it is
	check        llm.Provider
}

// ModelSet looks up which models there are. A named model precedes the configured ones.
func (a *App) ModelSet(ctx context.Context, model string) (*ModelSet, error) {
	cfg, err := a.Config()
	if err != nil {
		return nil, err
	}
	if a.sets == nil {
		a.sets = &modelSets{}
	}
	all := a.sets
	all.mu.Lock()
	defer all.mu.Unlock()
	if l, ok := all.list[model]; ok && (all.lifetime == 0 || time.Since(l.found) < all.lifetime) {
		return l.ModelSet, nil
	}
	if all.providers == nil {
		all.providers = &providers{Config: cfg, lifetime: all.lifetime, providers: make(map[string]Provider), willing: make(map[string]time.Time)}
		if all.host.Provider != nil {
			all.providers.providers[all.host.Name] = Provider{Provider: all.host.Provider, check: all.host.Provider, Local: true}
		}
	}
	l, err := a.findModelSet(ctx, model, all.providers)
	if err != nil {
		return nil, err
	}
	if all.list == nil || len(all.list) >= maxModelSets {
		all.list = make(map[string]cachedModelSet)
	}
	all.list[model] = cachedModelSet{l, time.Now()}
	return l, nil
}

func (a *App) findModelSet(ctx context.Context, model string, x *providers) (*ModelSet, error) {
	prices, err := a.Prices(x.Config)
	if err != nil {
		return nil, err
	}
	l := &ModelSet{providers: x, prices: prices}
	if model == "" {
		l.Choices, l.Missed = x.Config.Resolve(ctx, http.DefaultClient)
		return l, nil
	}
	if _, _, err := config.SplitModel(model); err != nil {
		return nil, Invalidf("model_id", "%w", err)
	}
	l.Choices = config.Use(model, asNamed)
	return l, nil
}

// asNamed is where a model comes from that the user named.
const asNamed = "as named"

// Empty reports whether there is no model to think with.
func (l *ModelSet) Empty() bool { return l.Choices.Of(ponder.Slow).Models == nil }

// Provider returns the provider of a name, always the same.
func (x *providers) Provider(name string) (Provider, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if p, ok := x.providers[name]; ok {
		return p, nil
	}
	c, err := x.Config.Provider(name)
	if err != nil {
		return Provider{}, err
	}
	p := Provider{check: dial(c), base: c.BaseURL, Local: c.Type == "ollama" && !ollama.Hosted(c.BaseURL), ollama: c.Type == "ollama"}
	p.gate = llm.NewGate(llm.GateConfig{MaxConcurrent: c.MaxConcurrent})
	p.Provider = p.gate.Provider(p.check)
	x.providers[name] = p
	return p, nil
}

// ResetAuthErrors has providers asked again that have refused a key or an account.
func (x *providers) ResetAuthErrors() {
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, p := range x.providers {
		if p.gate != nil {
			p.gate.Forgive()
		}
	}
}

// dial returns a provider of the type that c says. It does no I/O.
func dial(c config.Provider) llm.Provider {
	if c.KeyEnv == "" {
		c.KeyEnv = "api_key_env of providers." + c.Name // no variable is read
	}
	switch c.Type {
	case "anthropic":
		return anthropic.New(anthropic.Config{Name: c.Name, BaseURL: c.BaseURL, Key: string(c.Key), KeyEnv: c.KeyEnv})
	case "gemini":
		return gemini.New(gemini.Config{Name: c.Name, BaseURL: c.BaseURL, Key: string(c.Key), KeyEnv: c.KeyEnv})
	case "ollama":
		return ollama.New(ollama.Config{Name: c.Name, BaseURL: c.BaseURL, Key: string(c.Key), KeyEnv: c.KeyEnv})
	}
	return openai.New(openai.Config{Name: c.Name, BaseURL: c.BaseURL, Key: string(c.Key), KeyEnv: c.KeyEnv})
}

// Model returns a model by its full name.
func (l *ModelSet) Model(full string) (ponder.Model, error) {
	name, id, err := config.SplitModel(full)
	if err != nil {
		return ponder.Model{}, Invalidf("", "%w", err)
	}
	p, err := l.Provider(name)
	if err != nil {
		return ponder.Model{}, err
	}
	info, _ := l.prices.Lookup(full)
	m := p.Model(id)
	if counter, ok := p.check.Model(id).(llm.TokenCounter); ok && info.Context > 0 {
		m = llm.Fit(m, counter, info.Context) // counts pass the gate, for they have limits of their own
	}
	return ponder.Model{Model: m, Price: l.price(full, p), MaxOutput: info.MaxOutput}, nil
}

// price returns what a model costs. One that runs at home costs nothing; one
// whose price nobody knows has the price unknown.
func (l *ModelSet) price(full string, p Provider) ponder.Price {
	info, _ := l.prices.Lookup(full)
	price := ponder.Price{Source: ponder.PriceTable, Input: info.Price.Input, Output: info.Price.Output,
		CacheRead: info.Price.CacheRead, CacheWrite: info.Price.CacheWrite}
	home := p.Local && !strings.HasSuffix(full, "cloud")
	switch {
	case info.Source == llm.PriceUnknown && home:
		return ponder.Price{Source: ponder.PriceLocal}
	case info.Source == llm.PriceUnknown, info.Source == llm.FromTable && p.ollama && !home:
		return ponder.Price{Source: ponder.PriceUnknown}
	case home && price.Input == 0 && price.Output == 0:
		price.Source = ponder.PriceLocal
	}
	return price
}

// Chains returns the chain of each role that has one. A model of a chain that
// cannot be asked is left out; if that is all of them, its error is returned for
// the roles that are needed.
func (l *ModelSet) Chains(needed ...ponder.Role) (map[ponder.Role][]ponder.Model, error) {
	all := make(map[ponder.Role][]ponder.Model)
	for _, choice := range l.Choices {
		var first error
		for _, full := range choice.Models {
			m, err := l.Model(full)
			if err != nil {
				first = errors.Join(first, err)
				slog.Info("model left out", "role", choice.Role, "model", full, "error", err)
				continue
			}
			m.Hedge = l.hedges(choice.Role)
			all[choice.Role] = append(all[choice.Role], m)
		}
		if first != nil && all[choice.Role] == nil && slices.Contains(needed, choice.Role) {
			return nil, fmt.Errorf("%s model (%s): %w", choice.Role, choice.From, FirstError(first))
		}
	}
	return all, nil
}

// hedges reports whether calls for a role may be made twice.
func (l *ModelSet) hedges(role ponder.Role) bool { return slices.Contains(l.Config.Models.Hedge, role) }

func FirstError(err error) error {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		return FirstError(joined.Unwrap()[0])
	}
	return err
}

// providerTime is how long a provider is given to say whether it will answer.
const providerTime = 10 * time.Second

// CheckModels asks the providers of models whether they will answer. Of a chain, one is
// enough.
func (a *App) CheckModels(ctx context.Context, l *ModelSet, all map[ponder.Role][]ponder.Model, needed ...ponder.Role) error {
	answers := make(map[string]func() error)
	for _, role := range needed {
		for _, m := range all[role] {
			if answers[m.Name()] == nil {
				answers[m.Name()] = l.CheckModel(ctx, m.Name())
			}
		}
	}
	for _, role := range needed {
		var first error
		for i, m := range all[role] {
			err := answers[m.Name()]()
			if err == nil {
				first = nil
				break
			}
			if i == 0 {
				first = err
			}
			if i < len(all[role])-1 {
				a.Notef("%s will not answer, so the next one is asked: %v", m.Name(), err)
			}
		}
		if first != nil {
			return first
		}
	}
	return ctx.Err()
}

// CheckModel begins to ask whether a model will answer, and returns what waits for it.
func (l *ModelSet) CheckModel(ctx context.Context, full string) func() error {
	if l.isWilling(full) {
		return func() error { return nil }
	}
	result := make(chan error, 1)
	go func() {
		ctx, cancel := context.WithTimeout(ctx, providerTime)
		defer cancel()
		err := l.willAnswer(ctx, full)
		if err == nil {
			l.noteWilling(full)
		}
		result <- err
	}()
	return sync.OnceValue(func() error { return <-result })
}

// noteWilling notes that a model would answer, for a while.
func (x *providers) noteWilling(full string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.lifetime > 0 {
		x.willing[full] = time.Now()
	}
}

// isWilling reports whether a model said so a short while ago.
func (x *providers) isWilling(full string) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return time.Since(x.willing[full]) < x.lifetime
}

// willAnswer returns why a model certainly will not answer. Of trouble that may
// pass it says nothing: that is for the run to wait out.
func (l *ModelSet) willAnswer(ctx context.Context, full string) error {
	name, id, _ := strings.Cut(full, "/")
	p, err := l.Provider(name)
	if err != nil {
		return err
	}
	err = p.check.Check(ctx, id)
	if err != nil && ctx.Err() != nil && !errors.Is(ctx.Err(), context.Canceled) {
		return NotReadyf("%s: no answer from %s in %s: is it the right address?", full, p.base, providerTime)
	}
	if err != nil && (NeedsUser(llm.ClassOf(err)) || ctx.Err() != nil) {
		return err
	}
	return nil
}

// Prices returns what models cost: the built-in table, the one that was fetched,
// and what the configuration says.
func (a *App) Prices(cfg *config.Config) (llm.Prices, error) {
	prices := llm.BuiltIn()
	if table, err := a.FetchedPrices(cfg); err == nil {
		prices = prices.WithTable(table)
	} else if !errors.Is(err, fs.ErrNotExist) {
		a.Warn(fmt.Errorf("%w: %w", ErrPrices, err))
	}
	for _, name := range slices.Sorted(maps.Keys(cfg.Models.Price)) {
		var err error
		if prices, err = prices.With(name, cfg.Models.Price[name]); err != nil {
			return prices, Invalidf("", "models.price in %s: %w", cfg.File, err)
		}
	}
	return prices, nil
}

// maxPrices bounds the file with fetched prices, in bytes.
const maxPrices = 64 << 20

func (a *App) FetchedPrices(cfg *config.Config) (llm.Table, error) {
	file, err := PriceFile(cfg)
	if err != nil {
		return llm.Table{}, err
	}
	f, err := os.Open(file)
	if err != nil {
		return llm.Table{}, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxPrices))
	if err != nil {
		return llm.Table{}, err
	}
	return llm.ParseTable(data)
}

func PriceFile(cfg *config.Config) (string, error) {
	dir, err := cfg.StateDir()
	return filepath.Join(dir, "prices.json"), err
}

// refreshTime is how long the list may take to come.
const refreshTime = time.Minute

// RefreshPrices fetches what models cost from a URL, and stores that.
func (a *App) RefreshPrices(ctx context.Context, from string) (table llm.Table, err error) {
	cfg, err := a.Config()
	if err != nil {
		return table, err
	}
	file, err := PriceFile(cfg)
	if err != nil {
		return table, err
	}
	have, err := a.FetchedPrices(cfg)
	if err != nil {
		have = llm.Table{} // there is none, or it is of no use
	}
	ctx, cancel := context.WithTimeout(ctx, refreshTime)
	defer cancel()
	table, err = llm.Refresh(ctx, http.DefaultClient, from, have)
	if err != nil {
		return table, err
	}
	if p, err := cfg.Provider("openrouter"); err == nil {
		if err := table.RefreshOpenRouter(ctx, http.DefaultClient, strings.TrimRight(p.BaseURL, "/")+"/models"); err != nil {
			a.Warn(fmt.Errorf("what OpenRouter says of its models is not known: %w", err))
		}
	}
	js, err := json.Marshal(table)
	if err != nil {
		return table, fmt.Errorf("keep prices: %w", err)
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return table, fmt.Errorf("keep prices: %w", err)
	}
	if err := WriteWhole(file, js); err != nil {
		return table, fmt.Errorf("keep prices: %w", err)
	}
	return table, nil
}

// A VectorModel makes vectors of texts, and says what that used.
type VectorModel struct {
	Name  string // provider/model
	Price ponder.Price
	Embed func(ctx context.Context, texts []string) ([][]float32, llm.Usage, error)
}

// MaxCost returns the most that vectors of texts may cost.
func (m VectorModel) MaxCost(texts []string) ponder.Money {
	tokens := 0
	for _, t := range texts {
		tokens += len(t)/quota.BytesPerToken + 16
	}
	return m.Price.Cost(llm.Usage{Input: tokens})
}

// Cost returns what vectors have cost that may have cost so much at most: that, if nobody
// says what they used.
func (m VectorModel) Cost(usage llm.Usage, err error, most ponder.Money) ponder.Money {
	if usage.Cost != nil && *usage.Cost > 0 {
		return ponder.Money(*usage.Cost)
	}
	if usage.Total() > 0 {
		return m.Price.Cost(usage)
	}
	var refused *llm.Error
	if errors.As(err, &refused) {
		switch refused.Class {
		case llm.Cancelled, llm.Truncated, llm.Malformed:
		default:
			return 0
		}
	}
	return most
}

// Vectors returns what makes vectors with a model.
func (l *ModelSet) Vectors(full string) (m VectorModel, err error) {
	provider, id, err := config.SplitModel(full)
	if err != nil {
		return m, err
	}
	p, err := l.Provider(provider)
	if err != nil {
		return m, err
	}
	return VectorModel{full, l.price(full, p), func(ctx context.Context, texts []string) ([][]float32, llm.Usage, error) {
		vectors, usage, err := p.Embed(ctx, id, texts)
		var refused *llm.Error
		if errors.As(err, &refused) {
			usage = refused.Usage
		}
		return vectors, usage, err
	}}, nil
}
