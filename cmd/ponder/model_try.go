package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"ponder/internal/textkit"

	"github.com/spf13/cobra"

	"ponder"
	"ponder/internal/app"
	"ponder/internal/config"
	"ponder/llm"
)

func (a *cli) modelTestCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "test [ROLE | PROVIDER/MODEL]",
		Short:   "Try whether models answer",
		Long:    "Ask a model for a word, and say how long it took and what it cost: all models of all roles, those of one role, or the one that is named.",
		Example: "ponder model test\nponder model test slow\nponder model test groq/openai/gpt-oss-20b",
		Args:    take(0, 1, "a role or a model"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.modelTest(cmd.Context(), args)
		},
	}
}

// tryTime is how long a model is given for a word. A local one may have to be
// read from disk first.
const tryTime = time.Minute

// A trial is what came of asking a model.
type trial struct {
	Model   string     `json:"model"`
	Works   bool       `json:"works"`
	First   int64      `json:"first_ms"` // until it began to answer
	Took    int64      `json:"took_ms"`
	Usage   *llm.Usage `json:"usage,omitempty"`
	Cost    *float64   `json:"cost_usd,omitempty"` // not there if the price is unknown
	Answer  string     `json:"answer,omitempty"`
	Error   string     `json:"error,omitempty"`
	Vectors bool       `json:"embeds,omitempty"`

	err error
}

func (a *cli) modelTest(ctx context.Context, args []string) error {
	l, err := a.ModelSet(ctx, "")
	if err != nil {
		return err
	}
	names, err := modelsToTry(l, args)
	if err != nil {
		return err
	}
	results := tryModels(ctx, l, names, func(full string) bool {
		return !slices.Contains(args, full) && slices.Contains(l.Choices.Of(ponder.Embed).Models, full)
	})
	var first error
	for range names {
		t := <-results
		if ctx.Err() != nil {
			return ctx.Err()
		}
		first = cmp.Or(first, t.err)
		if a.flags.json {
			if err := a.object(t); err != nil {
				return err
			}
			continue
		}
		a.printf("%s\n", t)
	}
	if first != nil {
		return failure{code: max(codeOf(first), failed)}
	}
	return nil
}

// tryModels tries models, and sends what comes of each as it comes. Providers are asked side
// by side, but each for one model after the other: a local one may have room for one.
func tryModels(ctx context.Context, l *app.ModelSet, names []string, embeds func(string) bool) <-chan trial {
	of := make(map[string][]string)
	for _, full := range names {
		provider, _, _ := strings.Cut(full, "/")
		of[provider] = append(of[provider], full)
	}
	results := make(chan trial, len(names))
	for _, list := range of {
		go func() {
			for _, full := range list {
				results <- tryModel(ctx, l, full, embeds(full))
			}
		}()
	}
	return results
}

// modelsToTry returns the models that are meant.
func modelsToTry(l *app.ModelSet, args []string) ([]string, error) {
	var names []string
	for _, c := range l.Choices {
		if len(args) == 0 || args[0] == string(c.Role) {
			names = append(names, c.Models...)
		}
	}
	slices.Sort(names)
	names = slices.Compact(names)
	isRole := len(args) == 0 || slices.Contains(config.Roles(), ponder.Role(args[0]))
	switch {
	case !isRole && !strings.Contains(args[0], "/"):
		return nil, usagef("%q is neither a role (fast, slow, cheap, frontier, embed) nor a model (provider/model)", clip(args[0], 40))
	case !isRole:
		return args, nil
	case len(names) == 0 && len(args) > 0:
		return nil, notReadyf("no %s model is configured: `ponder model list` says why", args[0])
	case len(names) == 0:
		return nil, notReadyf("%s", noModel(l.Missed, "; `ponder doctor` says what can be done"))
	}
	return names, nil
}

// tryModel asks a model for a word, or for a vector.
func tryModel(ctx context.Context, l *app.ModelSet, full string, embed bool) trial {
	t := trial{Model: full, Vectors: embed}
	m, err := l.Model(full)
	if err == nil {
		ctx, cancel := context.WithTimeout(ctx, tryTime)
		defer cancel()
		begun := time.Now()
		if embed {
			err = t.embed(ctx, l, full)
		} else {
			err = t.generate(ctx, m, begun)
		}
		t.Took = time.Since(begun).Milliseconds()
		if err != nil && errors.Is(ctx.Err(), context.DeadlineExceeded) {
			err = notReadyf("no answer in %s", tryTime)
		}
	}
	if err != nil {
		t.err, t.Error = err, oneLine(err.Error())
		return t
	}
	t.Works = true
	if t.Usage != nil && t.Usage.Cost != nil {
		t.Cost = new(float64(*t.Usage.Cost) / 1e6)
	} else if t.Usage != nil && m.Price.Source != ponder.PriceUnknown {
		t.Cost = new(m.Price.Cost(*t.Usage).USD())
	}
	return t
}

func (t *trial) generate(ctx context.Context, m ponder.Model, begun time.Time) error {
	req := &llm.Request{Messages: []llm.Message{llm.Say(llm.User, "Answer with the single word: ready")}, MaxTokens: 2000}
	for d, err := range m.Generate(ctx, req) {
		if err != nil {
			return err
		}
		if t.First == 0 {
			t.First = max(1, time.Since(begun).Milliseconds())
		}
		if d.Done != nil {
			t.Usage, t.Answer = &d.Done.Usage, clip(oneLine(d.Done.Message.Text()), 60)
			return nil
		}
	}
	return errors.New("the answer has no end")
}

func (t *trial) embed(ctx context.Context, l *app.ModelSet, full string) error {
	name, id, _ := strings.Cut(full, "/")
	p, err := l.Provider(name)
	if err != nil {
		return err
	}
	vectors, usage, err := p.Embed(ctx, id, []string{"ready"})
	if err != nil {
		return err
	}
	if len(vectors) != 1 || len(vectors[0]) == 0 {
		return fmt.Errorf("%s: answered without a vector", full)
	}
	t.Usage, t.Answer = &usage, fmt.Sprintf("a vector of %d numbers", len(vectors[0]))
	return nil
}

func (t trial) String() string {
	if !t.Works {
		return fmt.Sprintf("%s: does not answer: %s", t.Model, strings.TrimPrefix(t.Error, t.Model+": "))
	}
	price := "cost unknown"
	switch {
	case t.Cost == nil:
	case *t.Cost == 0:
		price = "free"
	default:
		price = fmt.Sprintf("$%.6f", *t.Cost)
	}
	return fmt.Sprintf("%s: answers: %q after %d ms, %d ms in all, %s, %s", t.Model, t.Answer, t.First, t.Took,
		textkit.Count(t.Usage.Total(), "token", "tokens"), price)
}
