package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"ponder"
	"ponder/internal/config"
	"ponder/internal/redact"
	"ponder/llm"
	"ponder/mode/chat"
	"ponder/mode/deep"
	"ponder/tool/approval"
	"ponder/tool/think"
)

// A talking is how conversations are held. The zero value is without models.
type talking struct {
	models map[ponder.Role][]ponder.Model
	name   string // of the model that talks; empty without one
	quotes bool   // messages are answered with quotations, for want of a model
	missed error  // why there is none, though the user named one: see lineup
	window int    // tokens that it is shown
	think  bool   // it may put down thoughts
	rules  string // for that
	plan   bool   // it shows a plan before it changes anything
	sight  sight
	others []approval.Tool // of MCP servers; see othersFor
	outer  uint64          // see mcpServers.changed
	relays bool            // what clients ask is handed on, and nothing else done
	redact *redact.Redactor
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
	thoughts := t.cfg.Thinking
	rule, _ := thoughts.Rule() // it was checked
	beside := t.cfg.Prompt(chat.Name)
	if t.plan {
		beside = strings.TrimSpace(beside + "\n\n" + approval.PlanRules())
	}
	return chat.Options{
		System: chat.System(beside), Tools: offered(tools), Think: t.think, ThinkRules: t.rules, Forget: rule.Discard,
		ThinkPerTurn: thoughts.PerTurn, ThinkPerMin: thoughts.PerMinute, Deep: true, DeepAfter: deepAfter, DeepPerHour: t.cfg.DeepThink.PerHour,
		Rounds: t.cfg.Chat.Rounds, Window: t.window, Allow: t.allow, WithoutModel: t.quotes,
	}
}

// with says with whom one talks.
func (t talking) with() string {
	if t.quotes {
		return noModel(t.missed, "; what is found is quoted (`ponder doctor` says how to have a model)")
	}
	return "talking with " + t.name
}

// allow says why a tool is not used now, or "".
func (t talking) allow(u chat.Use) string {
	w := approval.Wish{Tool: u.Call.Name, Args: u.Call.Input}
	for _, turn := range u.Turns {
		w.Turns = append(w.Turns, approval.Turn{User: turn.Said.Text, Thoughts: turn.Mused, Answer: turn.Answer})
	}
	last := &w.Turns[len(w.Turns)-1]
	for _, r := range u.Used {
		last.Used = append(last.Used, approval.Used{Tool: r.Name, Failed: r.Failed})
	}
	return approval.Gate{Tools: append(approval.Ours(), t.others...), Plan: t.plan}.Check(w)
}

// remembers reports whether the model may have something remembered: it talks, and the
// user has not turned memory off.
func (t talking) remembers() bool { return t.name != "" && !t.flags.noMemory }

// deep returns how reflections are made.
func (t talking) deep(tools []ponder.Tool) deep.Options {
	o := deep.Options{Tools: offered(tools), Limit: time.Duration(t.cfg.DeepThink.Limit), Redact: t.cleaned}
	if t.models[deepRole] != nil {
		o.Role = deepRole
	}
	return o
}

// cleaned returns what a model wrote without what may not be kept.
func (t talking) cleaned(m llm.Message) llm.Message {
	m.Parts = slices.Clone(m.Parts)
	for i, p := range m.Parts {
		text, reasoning := t.redact.Text(p.Text), t.redact.Text(p.Reasoning)
		if text != p.Text || reasoning != p.Reasoning {
			p.Text, p.Reasoning, p.Opaque = text, reasoning, nil // which may have it too
		}
		if p.Call != nil {
			call := *p.Call
			call.Input = t.redact.JSON(call.Input)
			p.Call = &call
		}
		m.Parts[i] = p
	}
	return m
}

// offered returns tools as models are told of them, but for those that the mode offers
// itself.
func offered(tools []ponder.Tool) (list []llm.Tool) {
	for _, t := range tools {
		if t.Name != think.Name && t.Name != deep.Tool {
			list = append(list, t.Tool)
		}
	}
	return list
}

// own returns the tools that conversations have beside those that look: what the mode
// does itself is there to say what of it may be stored.
func (t talking) own() []ponder.Tool {
	if t.models[ponder.Fast] == nil {
		return nil
	}
	reflects := ponder.NewTool(deep.Tool, "", nil, func(context.Context, struct{}) (string, error) {
		return "", errors.New("reflections are asked for in conversations only")
	})
	reflects.Redact = t.redact.JSON
	return []ponder.Tool{think.New(think.Options{Redact: t.redact}), reflects}
}

// talking finds the models that conversations are held with. A model that the user
// named talks, and does what no other is set for. Where there is none, it is an error,
// unless there is something to quote.
func (a *cli) talking(ctx context.Context, model string, quotable bool) (talking, error) {
	l, err := a.talkers(ctx, model)
	if err != nil {
		return talking{}, err
	}
	if l.choices.Of(ponder.Fast).Models == nil {
		if quotable {
			return talking{quotes: true, missed: l.missed, cfg: *l.cfg, check: func(context.Context) error { return nil }}, nil
		}
		return talking{}, notReadyf("%s", noModel(l.missed, toHaveOne(l.missed)))
	}
	models, err := l.models(ponder.Fast)
	if err != nil {
		return talking{}, err
	}
	if deep := l.cfg.Models.Deep; deep != "" {
		if m, err := l.model(deep); err != nil {
			a.note("the model that OPENAI_DEEP_THINK_MODEL names is left out: %v", err)
		} else {
			m.Hedge = l.hedges(ponder.Slow)
			models[deepRole] = append([]ponder.Model{m}, models[ponder.Slow]...)
		}
	}
	t := talking{models: models, name: models[ponder.Fast][0].Name(), cfg: *l.cfg}
	if err := t.thinking(l); err != nil {
		return talking{}, failure{wrongUsage, err}
	}
	t.window = l.window(t.name)
	t.check = func(ctx context.Context) error { return a.check(ctx, l, models, ponder.Fast) }
	return t, nil
}

// thinking sets how the model may think, and what becomes of that.
func (t *talking) thinking(l *lineup) (err error) {
	t.think = l.cfg.Thinks(t.name, l.prices)
	templates, err := think.Open(filepath.Join(filepath.Dir(l.cfg.File), "think"))
	if err != nil {
		return err
	}
	if t.rules, err = templates.Rules(l.cfg.Thinking.Templates...); err != nil {
		return fmt.Errorf("thinking.templates: %w", err)
	}
	if t.redact, err = redact.New(redact.Options{Patterns: l.cfg.Thinking.Redact}); err != nil {
		return fmt.Errorf("thinking.redact: %w", err)
	}
	_, err = l.cfg.Thinking.Rule()
	return err
}

// talkers finds out which models there are for conversations.
func (a *cli) talkers(ctx context.Context, model string) (*lineup, error) {
	l, err := a.lineup(ctx, model)
	if err != nil {
		return nil, err
	}
	if model != "" {
		l = &lineup{exchange: l.exchange, choices: l.cfg.Talking(model, "--model"), prices: l.prices}
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
