package ways

import (
	"cmp"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"ponder"
	"ponder/internal/compat"
	"ponder/internal/steering"
	"ponder/internal/textkit"
	"ponder/llm"
)

// Options are the options of a request. Protocols pass them as metadata with these names.
type Options struct {
	Way       string  `json:"way,omitempty"`
	Effort    string  `json:"effort,omitempty"`
	Minutes   float64 `json:"minutes,omitempty"`
	MaxCost   float64 `json:"max_cost_usd,omitempty"`
	MaxCalls  int     `json:"max_calls,omitempty"`
	MaxTokens int     `json:"max_tokens,omitempty"`
	Model     string  `json:"model,omitempty"` // provider/model
	NoWeb     bool    `json:"no_web,omitempty"`
	NoMemory  bool    `json:"no_memory,omitempty"`
	PlanFirst bool    `json:"plan_first,omitempty"` // of research: wait for approval of the plan
}

const maxOptions = 16 << 10 // bytes

// ReadOptions decodes the options among the metadata of a request. It ignores other names.
func ReadOptions(metadata map[string]any) (o Options, err error) {
	if len(metadata) == 0 {
		return o, nil
	}
	known := make(map[string]any)
	for _, name := range optionNames {
		if v, ok := metadata[name]; ok {
			known[name] = v
		}
	}
	js, err := json.Marshal(known)
	if err != nil || len(js) > maxOptions {
		return o, compat.InvalidField("metadata", "metadata: expected at most %d bytes of options", maxOptions)
	}
	var misfit *json.UnmarshalTypeError
	if err := json.Unmarshal(js, &o); errors.As(err, &misfit) {
		return o, compat.InvalidField("metadata", "metadata: %s: expected %s, not %s", misfit.Field, misfit.Type, misfit.Value)
	} else if err != nil {
		return o, compat.InvalidField("metadata", "metadata: expected the options of Ponder")
	}
	return o, nil
}

var optionNames = []string{"way", "effort", "minutes", "max_cost_usd", "max_calls", "max_tokens", "model", "no_web", "no_memory", "plan_first"}

// Merge returns o with the set fields of more.
func (o Options) Merge(more Options) Options {
	return Options{
		Way: cmp.Or(more.Way, o.Way), Effort: cmp.Or(more.Effort, o.Effort), Minutes: cmp.Or(more.Minutes, o.Minutes),
		MaxCost: cmp.Or(more.MaxCost, o.MaxCost), MaxCalls: cmp.Or(more.MaxCalls, o.MaxCalls), MaxTokens: cmp.Or(more.MaxTokens, o.MaxTokens),
		Model: cmp.Or(more.Model, o.Model), NoWeb: more.NoWeb || o.NoWeb, NoMemory: more.NoMemory || o.NoMemory, PlanFirst: more.PlanFirst || o.PlanFirst,
	}
}

// FindWay returns the way of the options; the default is [Think].
func (o Options) FindWay() (Way, error) {
	w, ok := FindWay(cmp.Or(o.Way, Think.ID))
	if !ok {
		var names []string
		for _, one := range All() {
			names = append(names, one.ID)
		}
		return w, compat.InvalidField("way", "way: expected %s", strings.Join(names, ", "))
	}
	return w, nil
}

// Limits of amounts, before they become integers.
const (
	maxMinutes = float64(steering.MaxTime / time.Minute)
	maxCost    = float64(steering.MaxMoney / 1_000_000)
)

// NewRequest returns the request that answers the last message. The way must have a kind.
func (o Options) NewRequest(d *compat.Dispatcher, owner string, messages ...llm.Message) (a compat.Request, err error) {
	w, err := o.FindWay()
	if err != nil {
		return a, err
	}
	a = compat.Request{
		Owner: owner, Model: compat.Model{Name: w.ID, Kind: w.Kind}, Effort: w.Effort, PlanFirst: o.PlanFirst, Messages: messages,
	}
	if len(messages) == 0 || strings.TrimSpace(textkit.Clean(messages[len(messages)-1].Text())) == "" && w.Kind != compat.Chat {
		return a, compat.InvalidField("text", "text: the message is empty; write a question")
	}
	err = o.Apply(d, &a)
	return a, err
}

// Apply sets the effort, the budget, the model and the sources of a request. Unset options leave its effort and model.
func (o Options) Apply(d *compat.Dispatcher, a *compat.Request) error {
	switch {
	case !compat.IsEffort(o.Effort):
		return compat.InvalidField("effort", "effort: expected none, minimal, low, medium, high, xhigh or max")
	case o.Minutes < 0 || o.Minutes > maxMinutes:
		return compat.InvalidField("minutes", "minutes: expected at most %g", maxMinutes)
	case o.MaxCost < 0 || o.MaxCost > maxCost:
		return compat.InvalidField("max_cost_usd", "max_cost_usd: expected at most %g", maxCost)
	}
	a.Effort, a.NoWeb, a.NoMemory = cmp.Or(o.Effort, a.Effort), o.NoWeb, o.NoMemory
	a.Budget = ponder.Budget{Time: time.Duration(o.Minutes * float64(time.Minute))}
	a.Budget.Money, a.Budget.Calls, a.Budget.Tokens = ponder.Money(o.MaxCost*1e6), o.MaxCalls, o.MaxTokens
	var wrong steering.Errors
	if errors.As(steering.CheckLimits(a.Budget), &wrong) {
		field := strings.TrimPrefix(wrong[0].Field, "duration_")
		return compat.InvalidField(field, "%s: %v", field, wrong)
	}
	if o.Model == "" {
		return nil
	}
	named, ok := d.Model(o.Model)
	if !ok || named.Model == "" || strings.HasPrefix(named.Model, hostModels) {
		return compat.InvalidField("model", "model: expected provider/model")
	}
	a.Model.Model = named.Model
	return nil
}

// hostModels is the prefix of the models of MCP hosts, which no request may name.
const hostModels = "host/"
