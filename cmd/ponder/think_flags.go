package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"ponder/internal/app"

	"github.com/spf13/pflag"

	"ponder"
	"ponder/internal/config"
	"ponder/internal/textkit"
	"ponder/mode/session"
)

// question returns the question that a user asks, from standard input if text
// is "-".
func (a *cli) question(ctx context.Context, text string) (string, error) {
	if text == "-" {
		b, err := io.ReadAll(io.LimitReader(a.stdin(ctx), app.MaxQuestion+1))
		if err != nil {
			return "", fmt.Errorf("read the question from standard input: %w", err)
		}
		text = string(b)
	}
	switch {
	case len(text) > app.MaxQuestion:
		return "", usagef("the question has more than %s bytes: put what it is about into a file and pass --docs", textkit.Number(app.MaxQuestion))
	case !utf8.ValidString(text):
		return "", usagef("the question is not text in UTF-8")
	}
	text = strings.TrimSpace(textkit.Clean(text))
	if utf8.RuneCountInString(text) < app.MinQuestion {
		return "", usagef("the question is too short: ask at least %d letters, such as \"Why is the sky blue?\"", app.MinQuestion)
	}
	if !textkit.HasWords(text) {
		return "", usagef("the question is only punctuation: ask it in words, such as \"Why is the sky blue?\"")
	}
	return text, nil
}

// budgetFlags are the limits of a run, as a user writes them.
type budgetFlags struct {
	time, tokens, cost, calls string
	named                     time.Duration // by a preset
}

func (f *budgetFlags) add(flags *pflag.FlagSet) {
	flags.StringVar(&f.time, "for", "", "`time` to think, such as 90s, 30m or 2h, from 1s to 24h (default 5m)")
	flags.StringVar(&f.tokens, "tokens", "", "`number` of tokens to use at most, such as 200000 or 200k")
	flags.StringVar(&f.cost, "cost", "", "US `dollars` to spend at most, such as 0.50")
	flags.StringVar(&f.calls, "calls", "", "`number` of model calls to make at most")
}

// preset sets the time of a preset, which --for overrides.
func (f *budgetFlags) preset(name string, given func(string) bool) error {
	if !given("preset") {
		return nil
	}
	d, ok := app.Presets[name]
	if !ok {
		return usagef("--preset: %q is none of quick, moderate, deep", clip(name, 20))
	}
	if !given("for") {
		f.named = d
	}
	return nil
}

// budget returns the limits: of the flags that are given, else of the
// configuration, else five minutes.
func (f *budgetFlags) budget(c config.Budgets, given func(string) bool) (ponder.Budget, error) {
	b := ponder.Budget{
		Time: time.Duration(c.For),
		Cost: ponder.Cost{Tokens: c.Tokens, Calls: c.Calls, Money: app.MoneyOf(c.Cost)},
	}
	if b.Time = cmp.Or(f.named, b.Time); b.Time == 0 {
		b.Time = app.Presets["quick"]
	}
	for _, flag := range []struct {
		name string
		read func() error
	}{
		{"for", func() (err error) { b.Time, err = timeOf(f.time); return }},
		{"tokens", func() (err error) { b.Tokens, err = countOf(f.tokens, config.MaxTokens); return }},
		{"calls", func() (err error) { b.Calls, err = countOf(f.calls, app.MaxCalls); return }},
		{"cost", func() (err error) { b.Money, err = moneyOf(f.cost); return }},
	} {
		if !given(flag.name) {
			continue
		}
		if err := flag.read(); err != nil {
			return b, usagef("--%s: %w", flag.name, err)
		}
	}
	if b.Time < app.MinTime || b.Time > app.MaxTime {
		return b, usagef("budgets.for in the configuration: must be from %v to 24h", app.MinTime)
	}
	return b, nil
}

func timeOf(text string) (time.Duration, error) {
	d, err := config.ParseDuration(text)
	if err == nil && (d < app.MinTime || d > app.MaxTime) || errors.Is(err, config.ErrTooLong) {
		err = fmt.Errorf("%s is not from %v to 24h", clip(text, 20), app.MinTime)
	}
	return d, err
}

// countOf reads a number that may end in k or M.
func countOf(text string, most int) (int, error) {
	digits, unit := strings.NewReplacer("_", "", ",", "").Replace(strings.TrimSpace(text)), 1
	switch {
	case strings.HasSuffix(digits, "k"):
		digits, unit = strings.TrimSuffix(digits, "k"), 1000
	case strings.HasSuffix(digits, "M"):
		digits, unit = strings.TrimSuffix(digits, "M"), 1_000_000
	}
	n, err := strconv.Atoi(digits)
	if err != nil && !errors.Is(err, strconv.ErrRange) {
		return 0, fmt.Errorf("%q is not a whole number", clip(text, 20))
	}
	if err != nil || n < 1 || n > most/unit {
		return 0, fmt.Errorf("%s is not from 1 to %s", clip(text, 20), textkit.Number(most))
	}
	return n * unit, nil
}

func moneyOf(text string) (ponder.Money, error) {
	f, err := strconv.ParseFloat(strings.TrimPrefix(strings.TrimSpace(text), "$"), 64)
	if err != nil || math.IsNaN(f) {
		return 0, fmt.Errorf("%q is not an amount of US dollars, such as 0.50", clip(text, 20))
	}
	if m := app.MoneyOf(f); m > 0 && f <= config.MaxDollars {
		return m, nil
	}
	return 0, fmt.Errorf("%s is not from 0.000001 to %s US dollars", clip(text, 20), textkit.Number(config.MaxDollars))
}

// options returns how the session is to think.
func (f *thinkFlags) options(c *config.Config, given func(string) bool) (session.Options, error) {
	every := time.Duration(c.Budgets.SynthesisEvery)
	if given("synthesis-every") {
		var err error
		if every, err = timeOf(f.synthesisEvery); err != nil {
			return session.Options{}, usagef("--synthesis-every: %w", err)
		}
	}
	parallel := 1
	if given("parallel") {
		var err error
		if parallel, err = countOf(f.parallel, app.MaxParallel); err != nil {
			return session.Options{}, usagef("--parallel: %w", err)
		}
	}
	return session.Options{
		SynthesisInterval: every.Seconds(), Parallel: parallel, Earlier: !f.noEarlier, ToTheEnd: f.toTheEnd, Prompt: c.Prompt(session.Name),
	}, nil
}
