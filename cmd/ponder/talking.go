package main

import (
	"context"
	"log/slog"
	"time"

	"ponder"
	"ponder/internal/config"
	"ponder/llm"
	"ponder/mode/chat"
	"ponder/mode/deep"
)

// A talking is how conversations are held. The zero value is without models.
type talking struct {
	models map[ponder.Role][]ponder.Model
	name   string // of the model that talks
	window int    // tokens that it is shown
	think  bool   // it may put down thoughts
	sight  sight
	cfg    config.Config
	check  func(context.Context) error // says why no model will answer, if that is certain
	flags  talkFlags                   // that said so, with paths that are good in any folder
}

// deepRole is that of a model which only reflects: see OPENAI_DEEP_THINK_MODEL.
const deepRole ponder.Role = "deep"

// Tokens that a model is shown, unless the configuration says otherwise: of what it
// can read, no more than costs what a user expects.
const mostWindow = 100_000

// chat returns how turns are made.
func (t talking) chat(tools []ponder.Tool) chat.Options {
	deepAfter := 5
	if n := t.cfg.DeepThink.After; n != nil {
		deepAfter = *n
	}
	return chat.Options{
		System: chat.System(t.cfg.Prompt(chat.Name)), Tools: offered(tools), Think: t.think, Deep: true, DeepAfter: deepAfter,
		DeepPerHour: t.cfg.DeepThink.PerHour, Rounds: t.cfg.Chat.Rounds, Window: t.window,
	}
}

// deep returns how reflections are made.
func (t talking) deep(tools []ponder.Tool) deep.Options {
	o := deep.Options{Tools: offered(tools), Limit: time.Duration(t.cfg.DeepThink.Limit)}
	if t.models[deepRole] != nil {
		o.Role = deepRole
	}
	return o
}

// offered returns tools as models are told of them.
func offered(tools []ponder.Tool) (list []llm.Tool) {
	for _, t := range tools {
		list = append(list, t.Tool)
	}
	return list
}

// talking finds the models that conversations are held with. A model that the user
// named talks, and does what no other is set for.
func (a *app) talking(ctx context.Context, model string) (talking, error) {
	l, err := a.talkers(ctx, model)
	if err != nil {
		return talking{}, err
	}
	if l.choices.Of(ponder.Fast).Models == nil {
		return talking{}, notReadyf("no model is configured to talk with: start Ollama, or set a key such as ANTHROPIC_API_KEY or OPENAI_API_KEY; " +
			"`ponder doctor` says more")
	}
	models, err := l.models(ponder.Fast)
	if err != nil {
		return talking{}, err
	}
	if deep := l.cfg.Models.Deep; deep != "" {
		if m, err := l.model(deep); err != nil {
			slog.Warn("model left out", "role", deepRole, "model", deep, "error", err)
		} else {
			models[deepRole] = append([]ponder.Model{m}, models[ponder.Slow]...)
		}
	}
	t := talking{models: models, name: models[ponder.Fast][0].Name(), think: l.cfg.Thinks(models[ponder.Fast][0].Name(), l.prices), cfg: *l.cfg}
	t.window = l.window(t.name)
	t.check = func(ctx context.Context) error { return a.check(ctx, l, models, ponder.Fast) }
	return t, nil
}

// talkers finds out which models there are for conversations.
func (a *app) talkers(ctx context.Context, model string) (*lineup, error) {
	l, err := a.lineup(ctx, model)
	if err != nil {
		return nil, err
	}
	if model != "" {
		l.choices = l.cfg.Talking(model, "--model")
	}
	return l, nil
}

// window returns how many tokens a model is shown of a conversation.
func (l *lineup) window(full string) int {
	if n := l.cfg.Chat.Window; n > 0 {
		return n
	}
	info, _ := l.prices.Lookup(full)
	return min(info.Context*3/4, mostWindow) // zero leaves it to the mode
}
