package app

import (
	"context"
	"crypto/sha256"
	"encoding/base32"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"ponder"
	"ponder/internal/config"
	"ponder/internal/locale"
	"ponder/internal/textkit"
	"ponder/llm"
	"ponder/mode/session"
	"ponder/mode/subconscious"
	"ponder/store/sqlite"
	"ponder/tool/approval"
	"ponder/tool/command"
	"ponder/tool/memory"
)

// mindActions are the actions that decisions may take: remember, think, and configured
// commands. The zero value only remembers.
type mindActions struct {
	Tools       []ponder.Tool
	dailyLimits map[string]int // daily limits by tool
	log         *actionLog
}

// MindActions returns the configured actions. An error names the table.
func (a *App) MindActions(store *sqlite.Store) (*mindActions, error) {
	cfg, err := a.Config()
	if err != nil {
		return nil, err
	}
	m := &mindActions{dailyLimits: make(map[string]int), log: &actionLog{store: store, thread: MindID()}}
	own := cfg.Mind.Actions[config.ThinkAbout]
	if len(own.Command)+len(own.Args) > 0 {
		return nil, Invalidf("", "mind.actions.%s in %s: this name is reserved: choose another", config.ThinkAbout, cfg.File)
	}
	if !own.Off {
		m.addTool(a.thinkAbout(store, m.log), own.DailyLimit(config.SessionsPerDay))
	}
	for name, c := range sortedEntries(cfg.Mind.Actions) {
		if name == config.ThinkAbout || c.Off {
			continue
		}
		t, err := userAction(cfg, name, c)
		if err != nil {
			return nil, Invalidf("", "mind.actions.%s in %s: %w", name, cfg.File, err)
		}
		m.addTool(t, c.DailyLimit(config.ActionsPerDay))
	}
	return m, nil
}

func userAction(cfg *config.Config, name string, c config.Action) (ponder.Tool, error) {
	if err := checkTableName(name); err != nil {
		return ponder.Tool{}, err
	}
	taken := slices.ContainsFunc(approval.Declarations(), func(t approval.Tool) bool { return t.Name == name })
	if taken || slices.Contains(subconscious.DecisionTools(), name) {
		return ponder.Tool{}, errors.New("this name is reserved: choose another")
	}
	return command.New(command.Options{Name: name, Doc: c.Doc, Command: c.Command, Args: c.Args, Stdin: c.Stdin, Dir: cfg.Path(c.Dir), Env: c.Env, Limit: time.Duration(c.Limit)})
}

func (m *mindActions) addTool(t ponder.Tool, most int) {
	if most == 0 {
		return
	}
	do := t.Do
	t.Do = func(ctx context.Context, input json.RawMessage) (string, error) {
		if err := m.log.checkUse(ctx, t.Name, ponder.ToolContextFrom(ctx).Run, most); err != nil {
			return "", err
		}
		return do(ctx, input)
	}
	m.Tools, m.dailyLimits[t.Name] = append(m.Tools, t), most
}

func (m *mindActions) addActions(o subconscious.Options) subconscious.Options {
	for _, t := range m.Tools {
		o.Actions = append(o.Actions, t.Tool)
	}
	o.Gate = m.checkCall
	return o
}

// checkCall is the gate of decisions. Configuring an action is the user's approval; a call must
// state a reason.
func (m *mindActions) checkCall(call llm.ToolCall) (reason string) {
	if call.Name == memory.RememberName {
		return ""
	}
	switch {
	case m.dailyLimits[call.Name] == 0:
		return call.Name + " is not to be used by the subconscious: tell the user"
	case WhyOf(call.Input) == "":
		return fmt.Sprintf("Not done: %.64s needs its reason. Give it with the call, in a sentence.", call.Name)
	}
	return ""
}

// WhyOf returns the reason in a call's arguments.
func WhyOf(args json.RawMessage) string {
	var in map[string]any
	if json.Unmarshal(args, &in) != nil {
		return ""
	}
	why, _ := in[command.Reason].(string)
	return textkit.Truncate(textkit.OneLine(why), command.MaxReason)
}

func (m *mindActions) Describe() string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(m.dailyLimits)) {
		parts = append(parts, fmt.Sprintf("%s (at most %d a day)", name, m.dailyLimits[name]))
	}
	return strings.Join(parts, ", ")
}

// HeldBackText says until when and why actions are suspended, or returns "".
func HeldBackText(v subconscious.View, now time.Time) string {
	until, since := v.SuspendedUntil()
	if !now.Before(until) {
		return ""
	}
	const form = "2006-01-02 15:04"
	return fmt.Sprintf("until %s only messages are allowed: on %s roles read untrusted texts, which suspends other actions for 7 days",
		until.Local().Format(form), since.Local().Format(form))
}

// Limits of a session that the subconscious starts.
const (
	defaultMinutes = 5
	maxMinutes     = 15
	maxTopicBytes  = 1000   // bytes
	minTokens      = 10_000 // of the day's rest, to start one
	maxTokens      = 100_000
	reservedTokens = 20_000 // of the day's rest, kept for the decision itself
)

type thinkInput struct {
	Question string `json:"question"`
	Minutes  int    `json:"minutes"`
	Reason   string `json:"reason"`
}

const thinkDoc = "Begin a thinking session in the background about what came up, with its own few minutes. " +
	"Use it where an answer takes more thought than a message, and the person would want one. They are told its id with the decision."

const thinkSchema = `{"type":"object","properties":{` +
	`"question":{"type":"string","maxLength":1000,"description":"What to think about, so that it can be understood by itself."},` +
	`"minutes":{"type":"integer","minimum":1,"maximum":15,"description":"For how long; 5 if left out."},` +
	`"reason":{"type":"string","maxLength":300,"description":"Why it is worth it, in a sentence."}},` +
	`"required":["question","reason"],"additionalProperties":false}`

// mindSession derives the id of the session about an escalation, which makes it unique.
func mindSession(escalation string) ponder.ThreadID {
	sum := sha256.Sum256([]byte("session about " + escalation))
	const crockford = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
	return ponder.ThreadID("thr_0" + base32.NewEncoding(crockford).WithPadding(base32.NoPadding).EncodeToString(sum[:])[:25])
}

// thinkAbout returns the tool that starts a session. Its repetition has no effect.
func (a *App) thinkAbout(store *sqlite.Store, deeds *actionLog) ponder.Tool {
	return ponder.NewTool(config.ThinkAbout, thinkDoc, []byte(thinkSchema), func(ctx context.Context, w thinkInput) (string, error) {
		question := textkit.Truncate(strings.TrimSpace(textkit.OneLine(w.Question)), maxTopicBytes)
		if question == "" {
			return "", errors.New("think_about: question is missing")
		}
		if w.Minutes < 1 || w.Minutes > maxMinutes {
			w.Minutes = defaultMinutes
		}
		about, err := deeds.escalationOf(ctx, ponder.ToolContextFrom(ctx).Run)
		if err != nil {
			return "", fmt.Errorf("think_about: %w", err)
		}
		id := mindSession(about)
		info, err := store.Thread(ctx, id)
		if errors.Is(err, ponder.ErrNoThread) {
			err = a.startSessionAbout(ctx, store, deeds, id, question, time.Duration(w.Minutes)*time.Minute)
		}
		switch {
		case err != nil:
			return "", fmt.Errorf("think_about: %w", err)
		case info.Held || info.Status.Ended():
			return "session " + string(id) + " thinks about it already", nil
		}
		if err := a.Options.HandOff(ctx, store, id); err != nil {
			return "", fmt.Errorf("think_about: session %s waits for `ponder session resume %s`: %w", id, id, err)
		}
		return fmt.Sprintf("session %s thinks about it for %s: %s", id, textkit.Count(w.Minutes, "minute", "minutes"), textkit.Truncate(question, 120)), nil
	})
}

func (a *App) startSessionAbout(ctx context.Context, store *sqlite.Store, deeds *actionLog, id ponder.ThreadID, question string, d time.Duration) error {
	cost, err := a.leftForSession(ctx, deeds, time.Now())
	if err != nil {
		return err
	}
	cfg, err := a.Config()
	if err != nil {
		return err
	}
	budget, opts := ponder.Budget{Time: d, Cost: cost}, session.Options{Locale: userLocale(locale.Choice{}), Earlier: true, Prompt: cfg.Prompt(session.Name)}
	if opts.Memory, opts.Web, _, err = a.DefaultSources(ctx, false, false); err != nil {
		return err
	}
	p, err := a.PrepareSession(ctx, "", ponder.Budget{Time: d}, &opts)
	if err != nil {
		return err
	}
	for _, chain := range p.Models {
		for _, m := range chain {
			if err := Affordable(m.Name(), m.Price, cfg); err != nil {
				return err
			}
		}
	}
	b := NewThread{Thread: ponder.Thread{ID: id, Owner: a.Owner(), Model: p.Name}, Question: question, Budget: budget}
	b.Thread.Kind = ponder.KindSession
	_, err = b.createThread(ctx, store, ponder.RunStarted{Mode: session.Name, Version: session.New().Version}, opts)
	if errors.Is(err, ponder.ErrTaken) {
		return nil
	}
	return err
}

// leftForSession returns the budget of a session: a part of the day's rest, without the reserve
// of the decision.
func (a *App) leftForSession(ctx context.Context, deeds *actionLog, now time.Time) (ponder.Cost, error) {
	sessions, itself, err := deeds.costsToday(ctx, now)
	if err != nil {
		return ponder.Cost{}, err
	}
	spent, m := sessions.Add(itself), a.Settings.Mind
	left := ponder.Cost{Tokens: min(maxTokens, m.Tokens()-spent.Tokens-reservedTokens), Money: 1}
	if day := MoneyOf(m.Dollars()); day > 0 {
		left.Money = (day - spent.Money) / 2
	}
	if left.Tokens < minTokens || left.Money <= 0 {
		return left, errors.New("the rest of the daily limits of the subconscious is too small")
	}
	return left, nil
}
