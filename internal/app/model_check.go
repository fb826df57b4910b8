package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"ponder"
	"ponder/internal/config"
	"ponder/internal/textkit"
	"ponder/llm"
)

var (
	ErrNoModelToTest = errors.New("no model to test")
	ErrNoRoleModel   = errors.New("the role has no model")
)

func (a *App) RoleModels(ctx context.Context) ([]RoleModels, *ModelSet, error) {
	l, err := a.ModelSet(ctx, "")
	if err != nil {
		return nil, nil, err
	}
	choices := l.Choices
	if deep := l.Config.Models.Deep; deep != "" {
		choices = append(choices[:len(choices):len(choices)], config.Choice{Role: DeepRole, Models: config.Chain{deep}, From: "OPENAI_DEEP_THINK_MODEL"})
	}
	l.askContexts(ctx, choices)
	var rows []RoleModels
	for _, c := range choices {
		rows = append(rows, roleModelsOf(l, c))
	}
	return rows, l, nil
}

// contextTime limits the time in which local servers tell the contexts of their models.
const contextTime = 2 * time.Second

// askContexts asks local servers for the contexts of their models.
func (l *ModelSet) askContexts(ctx context.Context, choices config.Choices) {
	ctx, cancel := context.WithTimeout(ctx, contextTime)
	defer cancel()
	var checks []func() error
	for _, c := range choices {
		for _, full := range c.Models {
			name, _, _ := strings.Cut(full, "/")
			p, err := l.Provider(name)
			if _, unknown := l.Model(full); err == nil && unknown == nil && l.isLocal(full, p) && l.ModelContext(full) == 0 {
				checks = append(checks, l.CheckModel(ctx, full))
			}
		}
	}
	for _, check := range checks {
		_ = check() // the context stays unknown
	}
}

// ModelContext returns the tokens of request and answer that a model accepts, or zero if unknown.
func (l *ModelSet) ModelContext(full string) int { return l.windows.Lookup(full).Context }

// MaxConcurrent returns the upper bound of requests in flight to the server of a model.
func (l *ModelSet) MaxConcurrent(full string) int {
	name, _, _ := strings.Cut(full, "/")
	c, err := l.Config.Provider(name)
	if err != nil {
		return 0
	}
	return cmp.Or(c.MaxConcurrent, llm.MaxConcurrent)
}

// A ModelName is the name of a model that a command accepts, with a short description.
type ModelName struct{ Model, About string }

// ModelNames lists the models for a use: those of the roles, then those that local servers have,
// then the priced models of providers with a key.
func (a *App) ModelNames(ctx context.Context, use config.ModelUse) (names []ModelName, err error) {
	rows, l, err := a.RoleModels(ctx)
	if err != nil {
		return nil, err
	}
	seen := make(map[string]bool)
	add := func(model, about string) {
		if !seen[model] {
			seen[model], names = true, append(names, ModelName{model, about})
		}
	}
	for _, row := range rows {
		for _, link := range row.Chain {
			if link.Error == "" && (row.Role == ponder.Embed) == (use == config.ForEmbed) {
				add(link.Model, string(row.Role)+", "+link.Price)
			}
		}
	}
	for _, s := range l.Config.ProbeServers(ctx, http.DefaultClient) {
		for _, m := range s.Models {
			if m.Use == use {
				add(s.Name+"/"+m.Name, "at "+s.BaseURL)
			}
		}
	}
	for _, name := range l.prices.Models() {
		provider, id, err := config.SplitModel(name)
		if err != nil || config.UseOfName(id) != use {
			continue
		}
		if p, err := l.Provider(provider); err == nil && !p.ollama {
			add(name, PriceText(l.modelPrice(name, p)))
		}
	}
	return names, nil
}

// TestModels checks all models, those of roles or those with names. It calls tested with each
// result as it arrives.
func (a *App) TestModels(ctx context.Context, names []string, tested func(ModelCheck) error) error {
	l, err := a.ModelSet(ctx, "")
	if err != nil {
		return err
	}
	all, err := modelsToCheck(l, names)
	if err != nil {
		return err
	}
	results := checkModels(ctx, l, all, func(full string) bool {
		if slices.Contains(names, full) {
			return l.useOf(ctx, full) == config.ForEmbed
		}
		return slices.Contains(l.Choices.ForRole(ponder.Embed).Models, full)
	})
	for range all {
		t := <-results
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err := tested(t); err != nil {
			return err
		}
	}
	return nil
}

type RoleModels struct {
	Role   ponder.Role  `json:"role"`
	Models config.Chain `json:"models"`
	From   string       `json:"from,omitempty"`
	Price  string       `json:"price,omitempty"`
	Error  string       `json:"error,omitempty"`
	Chain  []ChainModel `json:"chain"`
}

type ChainModel struct {
	Model         string `json:"model"`
	Context       int    `json:"context,omitempty"` // tokens; zero: unknown
	MaxConcurrent int    `json:"max_concurrent,omitempty"`
	Price         string `json:"price,omitempty"`
	Error         string `json:"error,omitempty"`
}

func roleModelsOf(l *ModelSet, c config.Choice) RoleModels {
	row := RoleModels{Role: c.Role, Models: c.Models, From: c.From, Chain: []ChainModel{}}
	if c.Models == nil {
		row.Models = config.Chain{}
		return row
	}
	for _, full := range c.Models {
		link := ChainModel{Model: full}
		if m, err := l.Model(full); err != nil {
			link.Error = textkit.OneLine(err.Error())
		} else {
			link.Price, link.Context, link.MaxConcurrent = PriceText(m.Price), l.ModelContext(full), l.MaxConcurrent(full)
		}
		row.Chain = append(row.Chain, link)
	}
	row.Price, row.Error = row.Chain[0].Price, row.Chain[0].Error
	return row
}

func PriceText(p ponder.Price) string {
	switch p.Source {
	case ponder.PriceLocal:
		return "free: local"
	case ponder.PriceUnknown, "":
		return "price unknown"
	}
	return fmt.Sprintf("$%g in, $%g out per million tokens", p.Input, p.Output)
}

// checkTime limits a check, including the load of a local model.
const checkTime = time.Minute

type ModelCheck struct {
	Model   string     `json:"model"`
	Works   bool       `json:"works"`
	First   int64      `json:"first_ms"`
	Took    int64      `json:"took_ms"`
	Usage   *llm.Usage `json:"usage,omitempty"`
	Cost    *float64   `json:"cost_usd,omitempty"`
	Answer  string     `json:"answer,omitempty"`
	Error   string     `json:"error,omitempty"`
	Vectors bool       `json:"embeds,omitempty"`

	Err error `json:"-"`
}

// checkModels checks models and sends each result. It checks providers in parallel but the
// models of one in sequence, as a local one may hold only one.
func checkModels(ctx context.Context, l *ModelSet, names []string, embeds func(string) bool) <-chan ModelCheck {
	of := make(map[string][]string)
	for _, full := range names {
		provider, _, _ := strings.Cut(full, "/")
		of[provider] = append(of[provider], full)
	}
	results := make(chan ModelCheck, len(names))
	for _, list := range of {
		go func() {
			for _, full := range list {
				results <- checkModel(ctx, l, full, embeds(full))
			}
		}()
	}
	return results
}

func modelsToCheck(l *ModelSet, args []string) ([]string, error) {
	var names []string
	for _, c := range l.Choices {
		if len(args) == 0 || args[0] == string(c.Role) {
			names = append(names, c.Models...)
		}
	}
	slices.Sort(names)
	names = slices.Compact(names)
	isRole := len(args) == 0 || slices.Contains(config.Roles(), ponder.Role(args[0]))
	switch {
	case !isRole && !strings.Contains(args[0], "/"):
		return nil, Invalidf("model", "%q is not a role (fast, slow, cheap, frontier, embed) or a model (provider/model)", textkit.Truncate(args[0], 40))
	case !isRole:
		return args, nil
	case len(names) == 0 && len(args) > 0:
		return nil, &Error{Code: NotReady, Message: fmt.Sprintf("no %s model is configured", args[0]), Err: ErrNoRoleModel}
	case len(names) == 0:
		return nil, &Error{Code: NotReady, Message: cmp.Or(l.Missed, ErrNoModel).Error(), Err: ErrNoModelToTest}
	}
	return names, nil
}

// checkModel asks a model for a word, or for a vector.
func checkModel(ctx context.Context, l *ModelSet, full string, embed bool) ModelCheck {
	t := ModelCheck{Model: full, Vectors: embed}
	m, err := l.Model(full)
	if err == nil {
		ctx, cancel := context.WithTimeout(ctx, checkTime)
		defer cancel()
		begun := time.Now()
		if embed {
			err = t.tryEmbed(ctx, l, full)
		} else {
			err = t.tryGenerate(ctx, m, begun)
		}
		t.Took = time.Since(begun).Milliseconds()
		if err != nil && errors.Is(ctx.Err(), context.DeadlineExceeded) {
			err = NotReadyf("no answer in %s", checkTime)
		}
	}
	if err != nil {
		t.Err, t.Error = err, textkit.OneLine(err.Error())
		return t
	}
	t.Works = true
	if t.Usage != nil && t.Usage.Cost != nil {
		t.Cost = new(float64(*t.Usage.Cost) / 1e6)
	} else if t.Usage != nil && m.Price.Source != ponder.PriceUnknown {
		t.Cost = new(m.Price.Cost(*t.Usage).USD())
	}
	return t
}

func (t *ModelCheck) tryGenerate(ctx context.Context, m ponder.Model, begun time.Time) error {
	req := &llm.Request{Messages: []llm.Message{llm.Say(llm.User, "Answer with the single word: ready")}, MaxTokens: 2000}
	for d, err := range m.Generate(ctx, req) {
		if err != nil {
			return err
		}
		if t.First == 0 {
			t.First = max(1, time.Since(begun).Milliseconds())
		}
		if d.Done != nil {
			t.Usage, t.Answer = &d.Done.Usage, textkit.Truncate(textkit.OneLine(d.Done.Message.Text()), 60)
			return nil
		}
	}
	return errors.New("the answer is incomplete")
}

func (t *ModelCheck) tryEmbed(ctx context.Context, l *ModelSet, full string) error {
	name, id, _ := strings.Cut(full, "/")
	p, err := l.Provider(name)
	if err != nil {
		return err
	}
	vectors, usage, err := p.Embed(ctx, id, []string{"ready"})
	if err != nil {
		return err
	}
	if len(vectors) != 1 || len(vectors[0]) == 0 {
		return fmt.Errorf("%s: the answer has no vector", full)
	}
	t.Usage, t.Answer = &usage, fmt.Sprintf("a vector of %d numbers", len(vectors[0]))
	return nil
}

// CheckModels checks that each needed role has a model that will answer.
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
				a.Notef("%s is not available; using the next model: %v", m.Name(), err)
			}
		}
		if first != nil {
			return first
		}
	}
	return ctx.Err()
}

// CheckModel starts a check and returns the function that waits for it.
func (l *ModelSet) CheckModel(ctx context.Context, full string) func() error {
	if l.isAvailable(full) {
		return func() error { return nil }
	}
	result := make(chan error, 1)
	go func() {
		ctx, cancel := context.WithTimeout(ctx, providerTime)
		defer cancel()
		err := l.checkAvailable(ctx, full)
		if err == nil {
			l.noteAvailable(full)
		}
		result <- err
	}()
	return sync.OnceValue(func() error { return <-result })
}

// CheckUse is [ModelSet.CheckModel] for a role. It also refuses an embedding model that shall
// write text.
func (l *ModelSet) CheckUse(ctx context.Context, full string, embed bool) func() error {
	check, use := l.CheckModel(ctx, full), make(chan config.ModelUse, 1)
	go func() { use <- l.useOf(ctx, full) }()
	return sync.OnceValue(func() error {
		if err := check(); err != nil {
			return err
		}
		if <-use == config.ForEmbed && !embed {
			return NotReadyf("%s: an embedding model writes no text: use another model here, and this one as models.embed", full)
		}
		return nil
	})
}

// useOf returns the use of a model, as far as it is known.
func (l *ModelSet) useOf(ctx context.Context, full string) config.ModelUse {
	name, id, _ := strings.Cut(full, "/")
	p, err := l.Config.Provider(name)
	if err != nil {
		return config.UseOfName(id)
	}
	return l.Config.UseOf(ctx, http.DefaultClient, p, id)
}

func (x *providers) noteAvailable(full string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.lifetime > 0 {
		x.available[full] = time.Now()
	}
}

func (x *providers) isAvailable(full string) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return time.Since(x.available[full]) < x.lifetime
}

// checkAvailable returns an error if a model certainly will not answer. It ignores temporary
// failures, which a run waits out.
func (l *ModelSet) checkAvailable(ctx context.Context, full string) error {
	name, id, _ := strings.Cut(full, "/")
	p, err := l.Provider(name)
	if err != nil {
		return err
	}
	err = p.check.Check(ctx, id)
	if err != nil && ctx.Err() != nil && !errors.Is(ctx.Err(), context.Canceled) {
		return NotReadyf("%s: no answer from %s in %s: check the address", full, p.base, providerTime)
	}
	if err != nil && (NeedsUser(llm.ClassOf(err)) || ctx.Err() != nil) {
		return err
	}
	return nil
}
