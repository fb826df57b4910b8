package app

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

// A ChatSetup is how conversations are held. The zero value is without models.
type ChatSetup struct {
	Models       map[ponder.Role][]ponder.Model
	Name         string // of the model that talks; empty without one
	Extractive   bool   // messages are answered with quotations, for want of a model
	Missed       error  // why the model is missing that the user named
	window       int    // tokens that it is shown
	Think        bool   // it may put down thoughts
	rules        string // for that
	Plan         bool   // it shows a plan before it changes anything
	Sources      Sources
	Gated        []approval.Tool // of MCP servers; see othersFor
	ToolsVersion uint64          // see mcpServers.changed
	Relay        bool            // what clients ask is handed on, and nothing else done
	redact       *redact.Redactor
	Config       config.Config
	Check        func(context.Context) error // says why no model will answer, if that is certain
	Named        string                      // the model that the user named; empty: none
	NoMemory     bool                        // the user has turned memory off
}

// DeepRole is that of a model which only reflects: see OPENAI_DEEP_THINK_MODEL.
const DeepRole ponder.Role = "deep"

// Tokens that a model is shown, unless the configuration says otherwise: of what it
// can read, no more than costs what a user expects.
const maxWindow = 100_000

// ChatOptions returns how turns are made.
func (t ChatSetup) ChatOptions(tools []ponder.Tool) chat.Options {
	deepAfter := 5
	if n := t.Config.DeepThink.After; n != nil {
		deepAfter = *n
	}
	thoughts := t.Config.Thinking
	rule, _ := thoughts.Rule() // it was checked
	beside := t.Config.Prompt(chat.Name)
	if t.Plan {
		beside = strings.TrimSpace(beside + "\n\n" + approval.PlanRules())
	}
	return chat.Options{
		System: chat.System(beside), Tools: ToolSpecs(tools), Think: t.Think, ThinkRules: t.rules, Forget: rule.Discard,
		ThinkPerTurn: thoughts.PerTurn, ThinkPerMin: thoughts.PerMinute, Deep: true, DeepAfter: deepAfter, DeepPerHour: t.Config.DeepThink.PerHour,
		Rounds: t.Config.Chat.Rounds, Window: t.window, Allow: t.Allow, WithoutModel: t.Extractive,
	}
}

// Allow says why a tool is not used now, or "".
func (t ChatSetup) Allow(u chat.Use) string {
	w := approval.Wish{Tool: u.Call.Name, Args: u.Call.Input}
	for _, turn := range u.Turns {
		w.Turns = append(w.Turns, approval.Turn{User: turn.Said.Text, Answer: turn.Answer})
	}
	return approval.Gate{Tools: append(approval.Ours(), t.Gated...), Plan: t.Plan}.Check(w)
}

// CanRemember reports whether the model may have something remembered: it talks, and the
// user has not turned memory off.
func (t ChatSetup) CanRemember() bool { return t.Name != "" && !t.NoMemory }

// DeepOptions returns how reflections are made.
func (t ChatSetup) DeepOptions(tools []ponder.Tool) deep.Options {
	o := deep.Options{Tools: ToolSpecs(tools), Limit: time.Duration(t.Config.DeepThink.Limit), Redact: t.redacted}
	if t.Models[DeepRole] != nil {
		o.Role = DeepRole
	}
	return o
}

// redacted returns what a model wrote without what may not be kept.
func (t ChatSetup) redacted(m llm.Message) llm.Message {
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

// ToolSpecs returns tools as models are told of them, but for those that the mode offers
// itself.
func ToolSpecs(tools []ponder.Tool) (list []llm.Tool) {
	for _, t := range tools {
		if t.Name != think.Name && t.Name != deep.Tool {
			list = append(list, t.Tool)
		}
	}
	return list
}

// OwnTools returns the tools that conversations have beside those that look: what the mode
// does itself is there to say what of it may be stored.
func (t ChatSetup) OwnTools() []ponder.Tool {
	if t.Models[ponder.Fast] == nil {
		return nil
	}
	reflects := ponder.NewTool(deep.Tool, "", nil, func(context.Context, struct{}) (string, error) {
		return "", errors.New("reflections are asked for in conversations only")
	})
	reflects.Redact = t.redact.JSON
	return []ponder.Tool{think.New(think.Options{Redact: t.redact}), reflects}
}

// ChatSetup finds the models that conversations are held with. A model that the user
// named talks, and does what no other is set for. Where there is none, it is an error,
// unless there is something to quote.
func (a *App) ChatSetup(ctx context.Context, model string, quotable bool) (t ChatSetup, err error) {
	defer func() { err = ofModelName(model, err) }()
	l, err := a.ChatModels(ctx, model)
	if err != nil {
		return ChatSetup{}, err
	}
	if l.Choices.Of(ponder.Fast).Models == nil {
		if quotable {
			return ChatSetup{Extractive: true, Missed: l.Missed, Config: *l.Config, Check: func(context.Context) error { return nil }}, nil
		}
		return ChatSetup{}, NoModel(l.Missed)
	}
	models, err := l.Chains(ponder.Fast)
	if err != nil {
		return ChatSetup{}, err
	}
	if deep := l.Config.Models.Deep; deep != "" {
		if m, err := l.Model(deep); err != nil {
			a.Notef("the model that OPENAI_DEEP_THINK_MODEL names is left out: %v", err)
		} else {
			m.Hedge = l.hedges(ponder.Slow)
			models[DeepRole] = append([]ponder.Model{m}, models[ponder.Slow]...)
		}
	}
	t = ChatSetup{Models: models, Name: models[ponder.Fast][0].Name(), Config: *l.Config}
	if err := t.setThinking(l); err != nil {
		return ChatSetup{}, Invalidf("", "%w", err)
	}
	t.window = l.window(t.Name)
	t.Check = func(ctx context.Context) error { return a.CheckModels(ctx, l, models, ponder.Fast) }
	return t, nil
}

// setThinking sets how the model may think, and what becomes of that.
func (t *ChatSetup) setThinking(l *ModelSet) (err error) {
	t.Think = l.Config.Thinks(t.Name, l.prices)
	templates, err := think.Open(filepath.Join(filepath.Dir(l.Config.File), "think"))
	if err != nil {
		return err
	}
	if t.rules, err = templates.Rules(l.Config.Thinking.Templates...); err != nil {
		return fmt.Errorf("thinking.templates: %w", err)
	}
	if t.redact, err = redact.New(redact.Options{Patterns: l.Config.Thinking.Redact}); err != nil {
		return fmt.Errorf("thinking.redact: %w", err)
	}
	_, err = l.Config.Thinking.Rule()
	return err
}

// ChatModels finds out which models there are for conversations.
func (a *App) ChatModels(ctx context.Context, model string) (*ModelSet, error) {
	l, err := a.ModelSet(ctx, model)
	if err != nil {
		return nil, err
	}
	if model != "" {
		l = &ModelSet{providers: l.providers, Choices: l.Config.Talking(model, asNamed), prices: l.prices}
	}
	return l, nil
}

// window returns how many tokens a model is shown of a conversation.
func (l *ModelSet) window(full string) int {
	if n := l.Config.Chat.Window; n > 0 {
		return n
	}
	info, _ := l.prices.Lookup(full)
	return min(info.Context*3/4, maxWindow) // zero leaves it to the mode
}
