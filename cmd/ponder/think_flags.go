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
}

func (f *budgetFlags) add(flags *pflag.FlagSet) {
	flags.StringVar(&f.time, "for", "", "`time` to think, such as 90s, 30m or 2h, from 1s to 24h (default 5m)")
	flags.StringVar(&f.tokens, "tokens", "", "`number` of tokens to use at most, such as 200000 or 200k")
	flags.StringVar(&f.cost, "cost", "", "US `dollars` to spend at most, such as 0.50")
	flags.StringVar(&f.calls, "calls", "", "`number` of model calls to make at most")
}

func (f *budgetFlags) budget(given func(string) bool) (b ponder.Budget, err error) {
	return b, readGiven(given, []readFlag{
		{"for", func() (err error) { b.Time, err = timeOf(f.time); return }},
		{"tokens", func() (err error) { b.Tokens, err = countOf(f.tokens, config.MaxTokens); return }},
		{"calls", func() (err error) { b.Calls, err = countOf(f.calls, app.MaxCalls); return }},
		{"cost", func() (err error) { b.Money, err = moneyOf(f.cost); return }},
	})
}

type readFlag struct {
	name string
	read func() error
}

func readGiven(given func(string) bool, list []readFlag) error {
	for _, flag := range list {
		if !given(flag.name) {
			continue
		}
		if err := flag.read(); err != nil {
			return usagef("--%s: %w", flag.name, err)
		}
	}
	return nil
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

func (f *thinkFlags) read(st *app.Start, given func(string) bool) (err error) {
	if given("preset") {
		var ok bool
		if st.Budget.Time, ok = app.Presets[f.preset]; !ok {
			return usagef("--preset: %q is none of quick, moderate, deep", clip(f.preset, 20))
		}
	}
	preset := st.Budget.Time
	if st.Budget, err = f.budget.budget(given); err != nil {
		return err
	}
	st.Budget.Time = cmp.Or(st.Budget.Time, preset)
	return readGiven(given, []readFlag{
		{"synthesis-every", func() (err error) { st.Every, err = timeOf(f.synthesisEvery); return }},
		{"parallel", func() (err error) { st.Parallel, err = countOf(f.parallel, app.MaxParallel); return }},
	})
}
