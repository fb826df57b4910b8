package main

import (
	"context"
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
	"ponder/internal/compat/mcp"
	"ponder/internal/config"
	"ponder/llm"
	"ponder/llm/anthropic"
	"ponder/llm/gemini"
	"ponder/llm/ollama"
	"ponder/llm/openai"
)

// A lineup is the models of a command: which each role has, and how to reach
// them. It is not changed once it is made.
type lineup struct {
	*exchange
	choices config.Choices
	missed  error // why what the user named is not among them, if there are none
	prices  llm.Prices
}

// An exchange has the providers, so that all lineups together ask one of them no more at
// a time than it allows. It is safe for concurrent use.
type exchange struct {
	cfg  *config.Config
	life time.Duration // for which a model that would answer is not asked again whether it will

	mu        sync.Mutex
	providers map[string]provider
	willing   map[string]time.Time // when models said last that they would answer
}

// Lineups are those that were found, by the model that the user named. They are safe for
// concurrent use.
type lineups struct {
	life  time.Duration // of one, after which it is found anew; zero: as long as the process
	hosts *mcp.Hosts    // the models of clients; nil: there are none

	mu       sync.Mutex
	list     map[string]dated
	exchange *exchange
}

// A dated lineup was found at a time.
type dated struct {
	*lineup
	at time.Time
}

// maxLineups is how many are kept of models that users name.
const maxLineups = 100

// A provider is one that can be asked.
type provider struct {
	llm.Provider // behind a gate
	gate         *llm.Gate
	local        bool   // on a machine of the user's own, at no price
	ollama       bool   // whose table of prices is of what runs at home
	base         string // where it is
	check        llm.Provider
}

// lineup finds out which models there are, once. A model that the user named goes
// before all that is configured.
func (a *cli) lineup(ctx context.Context, model string) (*lineup, error) {
	cfg, err := a.config()
	if err != nil {
		return nil, err
	}
	if a.lineups == nil {
		a.lineups = &lineups{}
	}
	all := a.lineups
	all.mu.Lock()
	defer all.mu.Unlock()
	if l, ok := all.list[model]; ok && (all.life == 0 || time.Since(l.at) < all.life) {
		return l.lineup, nil
	}
	if all.exchange == nil {
		all.exchange = &exchange{cfg: cfg, life: all.life, providers: make(map[string]provider), willing: make(map[string]time.Time)}
		if all.hosts != nil {
			all.exchange.providers[mcp.Host] = provider{Provider: all.hosts, check: all.hosts, local: true}
		}
	}
	l, err := a.findLineup(ctx, model, all.exchange)
	if err != nil {
		return nil, err
	}
	if all.list == nil || len(all.list) >= maxLineups {
		all.list = make(map[string]dated)
	}
	all.list[model] = dated{l, time.Now()}
	return l, nil
}

func (a *cli) findLineup(ctx context.Context, model string, x *exchange) (*lineup, error) {
	prices, err := a.prices(x.cfg)
	if err != nil {
		return nil, err
	}
	l := &lineup{exchange: x, prices: prices}
	if model == "" {
		l.choices, l.missed = x.cfg.Resolve(ctx, http.DefaultClient)
		return l, nil
	}
	if _, _, err := config.SplitModel(model); err != nil {
		return nil, failure{wrongUsage, fmt.Errorf("--model: %w", err)}
	}
	l.choices = config.Use(model, "--model")
	return l, nil
}

// none reports whether there is no model to think with.
func (l *lineup) none() bool { return l.choices.Of(ponder.Slow).Models == nil }

// noModel says that there is no model and what comes of it: that none is configured, or
// if one is, why it was missed.
func noModel(missed error, what string) string {
	if missed == nil {
		return "no model is configured" + what
	}
	return missed.Error() + what
}

// toHaveOne is what a user may do to have a model, or to do without.
func toHaveOne(missed error) string {
	if missed != nil {
		return "; or pass --docs to have documents quoted; `ponder doctor` says more"
	}
	return ": start Ollama, set a key such as ANTHROPIC_API_KEY or OPENAI_API_KEY, or pass --docs to have documents quoted; `ponder doctor` says more"
}

// provider returns the provider of a name, always the same.
func (x *exchange) provider(name string) (provider, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if p, ok := x.providers[name]; ok {
		return p, nil
	}
	c, err := x.cfg.Provider(name)
	if err != nil {
		return provider{}, err
	}
	p := provider{check: dial(c), base: c.BaseURL, local: c.Type == "ollama" && !ollama.Hosted(c.BaseURL), ollama: c.Type == "ollama"}
	p.gate = llm.NewGate(llm.GateConfig{MaxConcurrent: c.MaxConcurrent})
	p.Provider = p.gate.Provider(p.check)
	x.providers[name] = p
	return p, nil
}

// forgive has providers asked again that have refused a key or an account.
func (x *exchange) forgive() {
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

// model returns a model by its full name.
func (l *lineup) model(full string) (ponder.Model, error) {
	name, id, err := config.SplitModel(full)
	if err != nil {
		return ponder.Model{}, failure{wrongUsage, err}
	}
	p, err := l.provider(name)
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
func (l *lineup) price(full string, p provider) ponder.Price {
	info, _ := l.prices.Lookup(full)
	price := ponder.Price{Source: ponder.PriceTable, Input: info.Price.Input, Output: info.Price.Output,
		CacheRead: info.Price.CacheRead, CacheWrite: info.Price.CacheWrite}
	home := p.local && !strings.HasSuffix(full, "cloud")
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

// models returns the chain of each role that has one. A model of a chain that
// cannot be asked is left out; if that is all of them, its error is returned for
// the roles that are needed.
func (l *lineup) models(needed ...ponder.Role) (map[ponder.Role][]ponder.Model, error) {
	all := make(map[ponder.Role][]ponder.Model)
	for _, choice := range l.choices {
		var first error
		for _, full := range choice.Models {
			m, err := l.model(full)
			if err != nil {
				first = errors.Join(first, err)
				slog.Info("model left out", "role", choice.Role, "model", full, "error", err)
				continue
			}
			m.Hedge = l.hedges(choice.Role)
			all[choice.Role] = append(all[choice.Role], m)
		}
		if first != nil && all[choice.Role] == nil && slices.Contains(needed, choice.Role) {
			return nil, fmt.Errorf("%s model (%s): %w", choice.Role, choice.From, firstOf(first))
		}
	}
	return all, nil
}

// hedges reports whether calls for a role may be made twice.
func (l *lineup) hedges(role ponder.Role) bool { return slices.Contains(l.cfg.Models.Hedge, role) }

func firstOf(err error) error {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		return firstOf(joined.Unwrap()[0])
	}
	return err
}

// checkTime is how long a provider is given to say whether it will answer.
const checkTime = 10 * time.Second

// check asks the providers of models whether they will answer. Of a chain, one is
// enough.
func (a *cli) check(ctx context.Context, l *lineup, all map[ponder.Role][]ponder.Model, needed ...ponder.Role) error {
	answers := make(map[string]func() error)
	for _, role := range needed {
		for _, m := range all[role] {
			if answers[m.Name()] == nil {
				answers[m.Name()] = l.ask(ctx, m.Name())
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
				a.note("%s will not answer, so the next one is asked: %v", m.Name(), err)
			}
		}
		if first != nil {
			return first
		}
	}
	return ctx.Err()
}

// ask begins to ask whether a model will answer, and returns what waits for it.
func (l *lineup) ask(ctx context.Context, full string) func() error {
	if l.isWilling(full) {
		return func() error { return nil }
	}
	result := make(chan error, 1)
	go func() {
		ctx, cancel := context.WithTimeout(ctx, checkTime)
		defer cancel()
		err := l.willAnswer(ctx, full)
		if err == nil {
			l.said(full)
		}
		result <- err
	}()
	return sync.OnceValue(func() error { return <-result })
}

// said notes that a model would answer, for a while.
func (x *exchange) said(full string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.life > 0 {
		x.willing[full] = time.Now()
	}
}

// isWilling reports whether a model said so a short while ago.
func (x *exchange) isWilling(full string) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return time.Since(x.willing[full]) < x.life
}

// willAnswer returns why a model certainly will not answer. Of trouble that may
// pass it says nothing: that is for the run to wait out.
func (l *lineup) willAnswer(ctx context.Context, full string) error {
	name, id, _ := strings.Cut(full, "/")
	p, err := l.provider(name)
	if err != nil {
		return err
	}
	err = p.check.Check(ctx, id)
	if err != nil && ctx.Err() != nil && !errors.Is(ctx.Err(), context.Canceled) {
		return notReadyf("%s: no answer from %s in %s: is it the right address?", full, p.base, checkTime)
	}
	if err != nil && (notReadyFor(llm.ClassOf(err)) || ctx.Err() != nil) {
		return err
	}
	return nil
}

// prices returns what models cost: the built-in table, the one that was fetched,
// and what the configuration says.
func (a *cli) prices(cfg *config.Config) (llm.Prices, error) {
	prices := llm.BuiltIn()
	if table, err := a.fetchedPrices(cfg); err == nil {
		prices = prices.WithTable(table)
	} else if !errors.Is(err, fs.ErrNotExist) {
		a.say("warning: the fetched prices are not used: %v: `ponder model refresh` fetches them anew", err)
	}
	for _, name := range slices.Sorted(maps.Keys(cfg.Models.Price)) {
		var err error
		if prices, err = prices.With(name, cfg.Models.Price[name]); err != nil {
			return prices, failure{wrongUsage, fmt.Errorf("models.price in %s: %w", cfg.File, err)}
		}
	}
	return prices, nil
}

// maxPrices bounds the file with fetched prices, in bytes.
const maxPrices = 64 << 20

func (a *cli) fetchedPrices(cfg *config.Config) (llm.Table, error) {
	file, err := priceFile(cfg)
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

func priceFile(cfg *config.Config) (string, error) {
	dir, err := cfg.StateDir()
	return filepath.Join(dir, "prices.json"), err
}
