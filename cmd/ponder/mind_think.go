package main

import (
	"context"
	"crypto/sha256"
	"encoding/base32"
	"errors"
	"fmt"
	"strings"
	"time"

	"ponder"
	"ponder/internal/config"
	"ponder/mode/session"
	"ponder/store/sqlite"
)

// Bounds of a session that the subconscious begins.
const (
	fewMinutes  = 5
	mostMinutes = 15
	mostAbout   = 1000   // bytes
	leastTokens = 10_000 // with less of the day left, none is begun
	mostTokens  = 100_000
	keptTokens  = 20_000 // of the day, for the decision to go on
)

// A thinkWish is the input of think_about.
type thinkWish struct {
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

// mindSession is the thread of the session about an escalation. It follows from the id of
// its event, so that there is never a second.
func mindSession(escalation string) ponder.ThreadID {
	sum := sha256.Sum256([]byte("session about " + escalation))
	const crockford = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
	return ponder.ThreadID("thr_0" + base32.NewEncoding(crockford).WithPadding(base32.NoPadding).EncodeToString(sum[:])[:25])
}

// thinkAbout is the tool by which a decision begins a session. To use it twice does no
// harm: the session is begun once.
func (a *cli) thinkAbout(store *sqlite.Store, deeds *mindDeeds) ponder.Tool {
	return ponder.NewTool(config.ThinkAbout, thinkDoc, []byte(thinkSchema), func(ctx context.Context, w thinkWish) (string, error) {
		question := clip(strings.TrimSpace(oneLine(w.Question)), mostAbout)
		if question == "" {
			return "", errors.New("think_about: question is missing")
		}
		if w.Minutes < 1 || w.Minutes > mostMinutes {
			w.Minutes = fewMinutes
		}
		about, err := deeds.escalationOf(ctx, ponder.ToolContextFrom(ctx).Run)
		if err != nil {
			return "", fmt.Errorf("think_about: %w", err)
		}
		id := mindSession(about)
		info, err := store.Thread(ctx, id)
		if errors.Is(err, ponder.ErrNoThread) {
			err = a.beginAbout(ctx, store, deeds, id, question, time.Duration(w.Minutes)*time.Minute)
		}
		switch {
		case err != nil:
			return "", fmt.Errorf("think_about: %w", err)
		case info.Held || info.Status.Ended():
			return "session " + string(id) + " thinks about it already", nil
		}
		if _, err := a.leaveTo(ctx, store, id, ""); err != nil {
			return "", fmt.Errorf("think_about: session %s waits for `ponder session resume %s`: %w", id, id, err)
		}
		return fmt.Sprintf("session %s thinks about it for %s: %s", id, counted(w.Minutes, "minute", "minutes"), clip(question, 120)), nil
	})
}

// beginAbout makes the thread of a session that may take so long.
func (a *cli) beginAbout(ctx context.Context, store *sqlite.Store, deeds *mindDeeds, id ponder.ThreadID, question string, d time.Duration) error {
	cost, err := a.leftForSession(ctx, deeds, time.Now())
	if err != nil {
		return err
	}
	cfg, err := a.Config()
	if err != nil {
		return err
	}
	budget, opts := ponder.Budget{Time: d, Cost: cost}, session.Options{Earlier: true, Prompt: cfg.Prompt(session.Name)}
	if opts.Memory, opts.Web, _, err = a.DefaultSources(ctx, false, false); err != nil {
		return err
	}
	p, err := a.PrepareSession(ctx, "", ponder.Budget{Time: d}, &opts)
	if err != nil {
		return err
	}
	for _, chain := range p.Models {
		for _, m := range chain {
			if err := affordable(m.Name(), m.Price, cfg); err != nil {
				return err
			}
		}
	}
	b := beginning{thread: ponder.Thread{ID: id, Owner: a.Owner(), Model: p.Name}, question: question, budget: budget}
	_, err = b.session(ctx, store, opts)
	if errors.Is(err, ponder.ErrTaken) {
		return nil
	}
	return err
}

// leftForSession returns what a session may cost: of what is left of the day, what the
// decision that begins it needs not.
func (a *cli) leftForSession(ctx context.Context, deeds *mindDeeds, now time.Time) (ponder.Cost, error) {
	sessions, itself, err := deeds.sessions(ctx, now)
	if err != nil {
		return ponder.Cost{}, err
	}
	spent, m := sessions.Add(itself), a.Settings.Mind
	left := ponder.Cost{Tokens: min(mostTokens, m.Tokens()-spent.Tokens-keptTokens), Money: 1}
	if day := money(m.Dollars()); day > 0 {
		left.Money = (day - spent.Money) / 2
	}
	if left.Tokens < leastTokens || left.Money <= 0 {
		return left, errors.New("too little is left of what the subconscious may cost today")
	}
	return left, nil
}
