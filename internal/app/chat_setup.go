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
	"ponder/internal/locale"
	"ponder/internal/redact"
	"ponder/internal/taint"
	"ponder/llm"
	"ponder/mode/chat"
	"ponder/mode/deep"
	"ponder/tool/approval"
	"ponder/tool/think"
	"ponder/tool/thread"
)

// A ChatSetup configures conversations. The zero value has no models.
type ChatSetup struct {
	Models       map[ponder.Role][]ponder.Model
	Name         string
	Extractive   bool // answers quote sources, without a model
	Missed       error
	window       int // its context, in tokens
	Think        bool
	rules        string
	Plan         bool
	Sources      Sources
	Gated        []approval.Tool // of MCP servers
	Described    bool            // the user has not reviewed the descriptions of a server
	ToolsVersion uint64          // see [MCPServers.Version]
	Relay        bool
	redact       *redact.Redactor
	Config       config.Config
	Check        func(context.Context) error // returns an error if certainly no model will answer
	Named        string
	NoMemory     bool // the user turned memory off
	Hold         *BackgroundHold
	Locale       locale.Choice
	FirstSession bool // no session has ended, so the tool for earlier sessions finds nothing
}

// DeepRole is the role of a model that only reflects: see OPENAI_DEEP_THINK_MODEL.
const DeepRole ponder.Role = "deep"

// maxWindow bounds the default context, in tokens, which bounds the cost.
const maxWindow = 100_000

func (t ChatSetup) ChatOptions(tools []ponder.Tool) chat.Options {
	deepAfter := 5
	if n := t.Config.DeepThink.After; n != nil {
		deepAfter = *n
	}
	thoughts := t.Config.Thinking
	rule, _ := thoughts.Rule() // already checked
	chatPrompt := t.Config.Prompt(chat.Name)
	if t.Plan {
		chatPrompt = strings.TrimSpace(chatPrompt + "\n\n" + approval.PlanRules())
	}
	return chat.Options{
		System: chat.System(chatPrompt), Locale: userLocale(t.Locale), Tools: t.offeredTools(tools), Think: t.Think, ThinkRules: t.rules, Forget: rule.Discard,
		ThinkPerTurn: thoughts.PerTurn, ThinkPerMin: thoughts.PerMinute, Deep: true, DeepAfter: deepAfter, DeepPerHour: t.Config.DeepThink.PerHour,
		Rounds: t.Config.Chat.Rounds, Window: t.window, Gate: t.Gate, Described: t.Described, WithoutModel: t.Extractive,
	}
}

// Gate decides on a tool call of a conversation.
func (t ChatSetup) Gate(u chat.ToolUse) taint.Decision {
	r := t.approvalRequest(taint.Call{Tool: u.Call.Name, Args: u.Call.Input, View: u.View, Results: u.Used})
	r.Approved = u.Approved
	for _, turn := range u.Turns {
		said := approval.Turn{User: turn.Message.Text, Answer: turn.Answer}
		if turn.Message.IsDecision() {
			said.User = ""
		}
		r.Turns = append(r.Turns, said)
	}
	return t.gate().Decide(r)
}

// ExchangeGate decides on a tool call of an exchange, whose client tells the user.
func (t ChatSetup) ExchangeGate(c taint.Call) taint.Decision {
	return t.gate().Decide(t.approvalRequest(c))
}

// AloneGate decides on a tool call of a mode that cannot ask the user.
func (t ChatSetup) AloneGate(c taint.Call) taint.Decision {
	r := t.approvalRequest(c)
	r.Alone = true
	return t.gate().Decide(r)
}

func (t ChatSetup) gate() approval.Gate {
	return approval.Gate{Tools: append(approval.Declarations(), t.Gated...), Policy: t.Config.Approvals, Plan: t.Plan}
}

func (t ChatSetup) approvalRequest(c taint.Call) approval.Request {
	r := approval.Request{Tool: c.Tool, Args: c.Args, View: c.View}
	for _, result := range c.Results {
		if t.sharesServer(result.Tool, c.Tool) {
			r.Returned = append(r.Returned, result.Text)
		}
	}
	return r
}

// sharesServer reports whether two tools are of one MCP server, whose results may be sent back to
// it.
func (t ChatSetup) sharesServer(a, b string) bool {
	server := func(tool string) string {
		i := slices.IndexFunc(t.Gated, func(g approval.Tool) bool { return g.Name == tool })
		if i < 0 {
			return ""
		}
		return t.Gated[i].Server
	}
	return server(a) != "" && server(a) == server(b)
}

// CanRemember reports whether the model may add memories: a model answers, and the user has not
// turned memory off.
func (t ChatSetup) CanRemember() bool { return t.Name != "" && !t.NoMemory }

func (t ChatSetup) DeepOptions(tools []ponder.Tool) deep.Options {
	o := deep.Options{Tools: t.offeredTools(tools), Locale: userLocale(t.Locale), Limit: time.Duration(t.Config.DeepThink.Limit), PerHour: t.Config.DeepThink.PerHour, Redact: t.redactMessage, Gate: t.AloneGate}
	if t.Models[DeepRole] != nil {
		o.Role = DeepRole
	}
	return o
}

func (t ChatSetup) redactMessage(m llm.Message) llm.Message {
	m.Parts = slices.Clone(m.Parts)
	for i, p := range m.Parts {
		text, reasoning := t.redact.Text(p.Text), t.redact.Text(p.Reasoning)
		if text != p.Text || reasoning != p.Reasoning {
			p.Text, p.Reasoning, p.Opaque = text, reasoning, nil // these may have the secret too
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

// offeredTools returns the descriptions of the tools that can find or do something.
func (t ChatSetup) offeredTools(tools []ponder.Tool) []llm.Tool {
	return slices.DeleteFunc(ToolSpecs(tools), func(o llm.Tool) bool { return t.FirstSession && o.Name == thread.Name })
}

// ToolSpecs returns the descriptions of tools for models, without those that the mode itself
// offers.
func ToolSpecs(tools []ponder.Tool) (list []llm.Tool) {
	for _, t := range tools {
		if t.Name != think.Name && t.Name != deep.Tool {
			list = append(list, t.Tool)
		}
	}
	return list
}

// OwnTools returns the tools besides SourceTools that define the redaction of their calls. The
// mode itself runs them.
func (t ChatSetup) OwnTools() []ponder.Tool {
	if t.Models[ponder.Fast] == nil {
		return nil
	}
	reflects := ponder.NewTool(deep.Tool, "", nil, func(context.Context, struct{}) (string, error) {
		return "", errors.New("only conversations support reflections")
	})
	reflects.Redact = t.redact.JSON
	return []ponder.Tool{think.New(think.Options{Redact: t.redact}), reflects}
}

// ChatSetup finds the models of conversations. A named model answers and fills the unset
// roles. Without a model it returns an error, unless quotable is set.
func (a *App) ChatSetup(ctx context.Context, model string, quotable bool) (t ChatSetup, err error) {
	defer func() { err = ofModelName(model, err) }()
	l, err := a.ChatModels(ctx, model)
	if err != nil {
		return ChatSetup{}, err
	}
	if l.Choices.ForRole(ponder.Fast).Models == nil {
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
			a.Notef("ignored the model of OPENAI_DEEP_THINK_MODEL: %v", err)
		} else {
			m.Hedge = l.isHedged(ponder.Slow)
			models[DeepRole] = append([]ponder.Model{m}, models[ponder.Slow]...)
		}
	}
	t = ChatSetup{Models: models, Name: models[ponder.Fast][0].Name(), Config: *l.Config}
	if err := t.setThinking(l); err != nil {
		return ChatSetup{}, Invalidf("", "%w", err)
	}
	t.window = l.contextWindow(t.Name)
	t.Check = func(ctx context.Context) error { return a.CheckModels(ctx, l, models, ponder.Fast) }
	return t, nil
}

func (t *ChatSetup) setThinking(l *ModelSet) (err error) {
	t.Think = l.Config.ShouldThink(t.Name, l.prices)
	if t.rules, err = thinkRules(l.Config.File, l.Config.Thinking.Templates); err != nil {
		return fmt.Errorf("thinking.templates: %w", err)
	}
	if t.redact, err = redact.New(redact.Options{Patterns: l.Config.Thinking.Redact}); err != nil {
		return fmt.Errorf("thinking.redact: %w", err)
	}
	_, err = l.Config.Thinking.Rule()
	return err
}

// thinkRules returns the rules of the tool think with templates, which may be files beside the configuration.
func thinkRules(config string, names []string) (string, error) {
	templates, err := think.Open(filepath.Join(filepath.Dir(config), "think"))
	if err != nil {
		return "", err
	}
	return templates.Rules(names...)
}

// CheckTemplates returns an error if a template of the tool think cannot be used.
func (a *App) CheckTemplates(names ...string) error {
	cfg, err := a.Config()
	if err != nil {
		return err
	}
	if _, err := thinkRules(cfg.File, names); err != nil {
		return Invalidf("thinking.templates", "thinking.templates: %w", err)
	}
	return nil
}

func (a *App) ChatModels(ctx context.Context, model string) (*ModelSet, error) {
	l, err := a.ModelSet(ctx, model)
	if err != nil {
		return nil, err
	}
	if model != "" {
		l = &ModelSet{providers: l.providers, Choices: l.Config.ChatChoices(model, asNamed), prices: l.prices}
	}
	return l, nil
}

func (l *ModelSet) contextWindow(full string) int {
	if n := l.Config.Chat.Window; n > 0 {
		return n
	}
	return min(l.windows.Lookup(full).Context*3/4, maxWindow) // zero: the mode decides
}
