package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"ponder"
	"ponder/internal/config"
	"ponder/internal/fileio"
	"ponder/internal/metrics"
	"ponder/internal/modelwindow"
	"ponder/llm"
	"ponder/llm/anthropic"
	"ponder/llm/gemini"
	"ponder/llm/ollama"
	"ponder/llm/openai"
)

// A ModelSet is an immutable set of models by role, with their providers.
type ModelSet struct {
	*providers
	Choices config.Choices
	Missed  error // why the named model is unavailable, if so
	prices  llm.Prices
}

// providers makes each provider once, so that all model sets share its concurrency limit. It is
// safe for concurrent use.
type providers struct {
	Config   *config.Config
	lifetime time.Duration // of a check's result

	windows   *llm.Windows      // of models
	learned   *modelwindow.File // or nil
	mu        sync.Mutex
	providers map[string]Provider
	available map[string]time.Time // last positive checks
}

// modelSets caches model sets by named model. It is safe for concurrent use.
type modelSets struct {
	lifetime time.Duration // of a set; zero: unlimited
	host     ModelHost     // models of clients; its Provider may be nil

	mu        sync.Mutex
	list      map[string]cachedModelSet
	providers *providers
}

type cachedModelSet struct {
	*ModelSet
	found time.Time
}

// modelsLifetime is how long a server caches a model set.
const modelsLifetime = time.Minute

const maxModelSets = 100

type Provider struct {
	llm.Provider // behind a gate
	gate         *llm.Gate
	Local        bool // on the user's machines
	ollama       bool // its prices in the table are of local models
	base         string
	check        llm.Provider
}

// ModelSet returns the available models. A named model precedes the configured ones.
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
	cfg = all.reload(a, cfg)
	if l, ok := all.list[model]; ok && (all.lifetime == 0 || time.Since(l.found) < all.lifetime) {
		return l.ModelSet, nil
	}
	if all.providers == nil {
		all.providers = &providers{Config: cfg, lifetime: all.lifetime, providers: make(map[string]Provider), available: make(map[string]time.Time)}
		all.providers.keepWindows()
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

// reload reads the configuration of a server again after a change of its files. It keeps the
// providers that did not change. All may test a refused key or account at once.
func (all *modelSets) reload(a *App, cfg *config.Config) *config.Config {
	old := all.providers
	if old == nil || all.lifetime == 0 || !old.Config.HasChanged() {
		return cfg
	}
	old.ResetAuthErrors()
	cfg, err := config.Load(a.Source())
	if err != nil {
		slog.Warn("cannot read the changed configuration", "error", err)
		return old.Config
	}
	all.providers = &providers{Config: cfg, lifetime: all.lifetime, providers: make(map[string]Provider), available: make(map[string]time.Time)}
	all.providers.keepWindows()
	all.list = nil
	sameWindows := maps.Equal(old.Config.Models.Window, cfg.Models.Window)
	old.mu.Lock()
	defer old.mu.Unlock()
	for name, p := range old.providers {
		before, _ := old.Config.Provider(name)
		after, err := cfg.Provider(name)
		if name == all.host.Name || err == nil && before == after && sameWindows {
			all.providers.providers[name] = p
		}
	}
	return cfg
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
	l.Choices = config.ChoicesFor(model, asNamed)
	return l, nil
}

const asNamed = "as named"

func (l *ModelSet) Empty() bool { return l.Choices.ForRole(ponder.Slow).Models == nil }

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
	p := Provider{check: newProvider(c, x.Config.Models.Window), base: c.BaseURL, Local: c.IsLocal(), ollama: c.Type == "ollama"}
	p.gate = llm.NewGate(llm.GateConfig{MaxConcurrent: c.MaxConcurrent})
	p.Provider = p.gate.Provider(p.check)
	x.providers[name] = p
	return p, nil
}

// ResetAuthErrors lets providers that refused a key or an account try again.
func (x *providers) ResetAuthErrors() {
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, p := range x.providers {
		if p.gate != nil {
			p.gate.ResetAuthErrors()
		}
	}
}

// modelServers returns the state of the providers in use, by name.
func (all *modelSets) modelServers() (list []metrics.ModelServer) {
	all.mu.Lock()
	x := all.providers
	all.mu.Unlock()
	if x == nil {
		return nil
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, name := range slices.Sorted(maps.Keys(x.providers)) {
		if g := x.providers[name].gate; g != nil {
			list = append(list, metrics.ModelServer{Name: name, Load: g.Load(), Faults: g.Faults()})
		}
	}
	return list
}

// newProvider returns a provider of c's type. windows are by the full names of models. It does no I/O.
func newProvider(c config.Provider, windows map[string]int) llm.Provider {
	if c.KeyEnv == "" {
		c.KeyEnv = "api_key_env of providers." + c.Name // no variable is read
	}
	switch c.Type {
	case "anthropic":
		return anthropic.New(anthropic.Config{Name: c.Name, BaseURL: c.BaseURL, Key: string(c.Key), KeyEnv: c.KeyEnv})
	case "gemini":
		return gemini.New(gemini.Config{Name: c.Name, BaseURL: c.BaseURL, Key: string(c.Key), KeyEnv: c.KeyEnv})
	case "ollama":
		contexts := make(map[string]int)
		for full, tokens := range windows {
			if id, ok := strings.CutPrefix(full, c.Name+"/"); ok {
				contexts[id] = tokens
			}
		}
		return ollama.New(ollama.Config{Name: c.Name, BaseURL: c.BaseURL, Key: string(c.Key), KeyEnv: c.KeyEnv, Contexts: contexts})
	}
	return openai.New(openai.Config{Name: c.Name, BaseURL: c.BaseURL, Key: string(c.Key), KeyEnv: c.KeyEnv})
}

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
	l.recallWindow(full, p.base, info.Context)
	counter, _ := p.check.Model(id).(llm.TokenCounter) // counts pass the gate, which limits them separately
	lister, _ := p.check.Model(id).(llm.WindowLister)
	m = llm.FitWindow(m, counter, lister, l.windows)
	return ponder.Model{Model: m, Price: l.modelPrice(full, p), MaxOutput: info.MaxOutput}, nil
}

// recallWindow sets what the configuration, the price table and earlier refusals say of the window of
// a model.
func (x *providers) recallWindow(full, base string, table int) {
	x.windows.Configure(full, x.Config.Models.Window[full])
	x.windows.Suggest(full, table)
	if x.learned == nil {
		return
	}
	if limits, at, ok := x.learned.Load(full, base); ok {
		x.windows.Restore(full, limits, at)
	}
}

// keepWindows keeps the windows that refusals name in a file.
func (x *providers) keepWindows() {
	x.windows = new(llm.Windows)
	dir, err := x.Config.StateDir()
	if err != nil {
		return
	}
	x.learned = modelwindow.NewFile(filepath.Join(dir, "windows.json"))
	x.windows.Learned = func(full string, l llm.Limits) {
		name, _, _ := strings.Cut(full, "/")
		p, err := x.Provider(name)
		if err == nil {
			err = x.learned.Save(full, p.base, l)
		}
		if err != nil {
			slog.Warn("cannot keep the window of a model", "model", full, "error", err)
		}
	}
}

// isLocal reports whether a model runs on the user's machines. A local server may pass requests
// on: Ollama those of its cloud models, a proxy those of models that the price table lists.
func (l *ModelSet) isLocal(full string, p Provider) bool {
	info, _ := l.prices.Lookup(full)
	listed := info.Source == llm.FromTable || info.Source == llm.FromRefreshed
	return p.Local && !strings.HasSuffix(full, "cloud") && !(listed && info.Price != llm.Price{})
}

// modelPrice returns the price of a model. Local models are free unless the configuration has a
// price; an unlisted price is unknown.
func (l *ModelSet) modelPrice(full string, p Provider) ponder.Price {
	info, _ := l.prices.Lookup(full)
	local := l.isLocal(full, p)
	switch {
	case local && (info.Source != llm.FromOverride || info.Price == llm.Price{}):
		return ponder.Price{Source: ponder.PriceLocal}
	case info.Source == llm.PriceUnknown, info.Source == llm.FromTable && p.ollama && !local:
		return ponder.Price{Source: ponder.PriceUnknown}
	}
	return ponder.NewPrice(ponder.PriceTable, info)
}

// Chains returns the models of each role. It omits unusable models; a needed role without a
// usable one is an error.
func (l *ModelSet) Chains(needed ...ponder.Role) (map[ponder.Role][]ponder.Model, error) {
	all := make(map[ponder.Role][]ponder.Model)
	for _, choice := range l.Choices {
		var first error
		for _, full := range choice.Models {
			m, err := l.Model(full)
			if err != nil {
				first = errors.Join(first, err)
				slog.Info("ignored a model", "role", choice.Role, "model", full, "error", err)
				continue
			}
			m.Hedge = l.isHedged(choice.Role)
			all[choice.Role] = append(all[choice.Role], m)
		}
		if first != nil && all[choice.Role] == nil && slices.Contains(needed, choice.Role) {
			return nil, fmt.Errorf("%s model (%s): %w", choice.Role, choice.From, FirstError(first))
		}
	}
	return all, nil
}

func (l *ModelSet) isHedged(role ponder.Role) bool {
	return slices.Contains(l.Config.Models.Hedge, role)
}

func FirstError(err error) error {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		return FirstError(joined.Unwrap()[0])
	}
	return err
}

// providerTime limits the check of a provider.
const providerTime = 10 * time.Second

// Prices merges the built-in prices, the fetched ones and the configured ones.
func (a *App) Prices(cfg *config.Config) (llm.Prices, error) {
	prices := llm.BuiltInPrices()
	if table, err := a.FetchedPrices(cfg); err == nil {
		prices = prices.WithTable(table)
	} else if !errors.Is(err, fs.ErrNotExist) {
		a.Warn(fmt.Errorf("%w: %w", ErrPrices, err))
	}
	for _, name := range slices.Sorted(maps.Keys(cfg.Models.Price)) {
		var err error
		if prices, err = prices.WithOverride(name, cfg.Models.Price[name]); err != nil {
			return prices, Invalidf("", "models.price in %s: %w", cfg.File, err)
		}
	}
	return prices, nil
}

const maxPrices = 64 << 20 // bytes

func (a *App) FetchedPrices(cfg *config.Config) (llm.Table, error) {
	file, err := PriceFile(cfg)
	if err != nil {
		return llm.Table{}, err
	}
	data, err := fileio.ReadFile(file, maxPrices)
	if err != nil {
		return llm.Table{}, err
	}
	return llm.ParseTable(data)
}

func PriceFile(cfg *config.Config) (string, error) {
	dir, err := cfg.StateDir()
	return filepath.Join(dir, "prices.json"), err
}

const refreshTime = time.Minute

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
		have = llm.Table{} // missing or invalid
	}
	ctx, cancel := context.WithTimeout(ctx, refreshTime)
	defer cancel()
	table, err = llm.Refresh(ctx, http.DefaultClient, from, have)
	if err != nil {
		return table, err
	}
	if p, err := cfg.Provider("openrouter"); err == nil {
		if err := table.RefreshOpenRouter(ctx, http.DefaultClient, strings.TrimRight(p.BaseURL, "/")+"/models"); err != nil {
			a.Warn(fmt.Errorf("cannot read the model list of OpenRouter: %w", err))
		}
	}
	js, err := json.Marshal(table)
	if err != nil {
		return table, fmt.Errorf("save prices: %w", err)
	}
	if err := fileio.MakeStateDir(filepath.Dir(file)); err != nil {
		return table, fmt.Errorf("save prices: %w", err)
	}
	if err := fileio.WriteState(file, js); err != nil {
		return table, fmt.Errorf("save prices: %w", err)
	}
	return table, nil
}
