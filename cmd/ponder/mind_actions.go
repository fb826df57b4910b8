package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"ponder"
	"ponder/internal/config"
	"ponder/llm"
	"ponder/mode/subconscious"
	"ponder/store/sqlite"
	"ponder/tool/approval"
	"ponder/tool/command"
	"ponder/tool/memory"
)

// mindActions are what the subconscious may do of its own accord: have something
// remembered, think about something, and what the user has configured. The zero value
// has the first alone.
type mindActions struct {
	tools []ponder.Tool
	most  map[string]int // in a day, by tool
	deeds *mindDeeds
}

// mindActions returns those that are configured. An error names the table that is wrong.
func (a *cli) mindActions(store *sqlite.Store) (*mindActions, error) {
	cfg, err := a.Config()
	if err != nil {
		return nil, err
	}
	m := &mindActions{most: make(map[string]int), deeds: &mindDeeds{store: store, thread: mindID()}}
	own := cfg.Mind.Actions[config.ThinkAbout]
	if len(own.Command)+len(own.Args) > 0 {
		return nil, usagef("mind.actions.%s in %s: it is Ponder's own and has no command: call yours otherwise", config.ThinkAbout, cfg.File)
	}
	if !own.Off {
		m.add(a.thinkAbout(store, m.deeds), own.Most(config.SessionsPerDay))
	}
	for name, c := range sorted(cfg.Mind.Actions) {
		if name == config.ThinkAbout || c.Off {
			continue
		}
		t, err := userAction(cfg, name, c)
		if err != nil {
			return nil, usagef("mind.actions.%s in %s: %w", name, cfg.File, err)
		}
		m.add(t, c.Most(config.ActionsPerDay))
	}
	return m, nil
}

// userAction returns a command of the user's as a tool.
func userAction(cfg *config.Config, name string, c config.Action) (ponder.Tool, error) {
	if err := nameOfTable(name); err != nil {
		return ponder.Tool{}, err
	}
	taken := slices.ContainsFunc(approval.Ours(), func(t approval.Tool) bool { return t.Name == name })
	if taken || slices.Contains(subconscious.DecisionTools(), name) {
		return ponder.Tool{}, errors.New("a tool of that name is Ponder's own: call yours otherwise")
	}
	return command.New(command.Options{Name: name, Doc: c.Doc, Command: c.Command, Args: c.Args, Stdin: c.Stdin, Dir: cfg.Path(c.Dir), Env: c.Env, Limit: time.Duration(c.Limit)})
}

// add takes in a tool that may be used so often in a day.
func (m *mindActions) add(t ponder.Tool, most int) {
	if most == 0 {
		return
	}
	do := t.Do
	t.Do = func(ctx context.Context, input json.RawMessage) (string, error) {
		if err := m.deeds.allows(ctx, t.Name, ponder.ToolContextFrom(ctx).Run, most); err != nil {
			return "", err
		}
		return do(ctx, input)
	}
	m.tools, m.most[t.Name] = append(m.tools, t), most
}

// offer returns options with which decisions may use them.
func (m *mindActions) offer(o subconscious.Options) subconscious.Options {
	for _, t := range m.tools {
		o.Actions = append(o.Actions, t.Tool)
	}
	o.Gate = m.check
	return o
}

// check is the gate of decisions: an action is configured, and the decision says why. It
// may be used without a word of the user, who has said so in the configuration.
func (m *mindActions) check(call llm.ToolCall) (reason string) {
	if call.Name == memory.RememberName {
		return ""
	}
	g := approval.Gate{}
	for _, t := range m.tools {
		g.Tools = append(g.Tools, approval.Tool{Name: t.Name, Changes: true, Needs: []approval.Condition{reasoned()}})
	}
	if m.most[call.Name] == 0 {
		return call.Name + " is not to be used by the subconscious: tell the user"
	}
	return g.Check(approval.Wish{Tool: call.Name, Args: call.Input})
}

// reasoned holds if a call says why it is made.
func reasoned() approval.Condition {
	return approval.Condition{
		Name: "the decision says why",
		Met:  func(_ approval.Tool, w approval.Wish) bool { return whyOf(w.Args) != "" },
		Do:   func(approval.Tool, approval.Wish) string { return "give the reason with the call, in a sentence" },
	}
}

// whyOf returns why a tool is used, as its call says.
func whyOf(args json.RawMessage) string {
	var in map[string]any
	if json.Unmarshal(args, &in) != nil {
		return ""
	}
	why, _ := in[command.Reason].(string)
	return clip(oneLine(why), command.MostReason)
}

// says lists the actions, and how often each may be done.
func (m *mindActions) says() string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(m.most)) {
		parts = append(parts, fmt.Sprintf("%s (at most %d a day)", name, m.most[name]))
	}
	return strings.Join(parts, ", ")
}

// heldBackText says until when nothing is done, and why, or nothing.
func heldBackText(v subconscious.View, now time.Time) string {
	until, since := v.HeldBack()
	if !now.Before(until) {
		return ""
	}
	const form = "2006-01-02 15:04"
	return fmt.Sprintf("until %s nothing is done or remembered, only told: on %s roles were shown what strangers wrote, and 7 days must pass without",
		until.Local().Format(form), since.Local().Format(form))
}
