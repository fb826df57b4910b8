package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"

	"ponder/internal/textkit"

	"ponder/internal/config"

	"ponder/internal/app"
)

// modelFindings says which models there are, whether they will answer, and what
// else could be asked.
func (a *cli) modelFindings(ctx context.Context) ([]finding, error) {
	l, err := a.ModelSet(ctx, "")
	if err != nil {
		return nil, err
	}
	found := []finding{a.keyFinding()}
	found = append(found, a.ollamaFinding(ctx, l.Empty()))
	if l.Empty() {
		todo := "start Ollama, or set a key such as ANTHROPIC_API_KEY, OPENAI_API_KEY or GEMINI_API_KEY"
		if l.Missed != nil {
			todo = l.Missed.Error()
		}
		return append(found, finding{"models", lacking, "none: Ponder quotes documents (--docs), and cannot think for itself; " + todo}), nil
	}
	answers := make(map[string]func() error)
	for _, c := range l.Choices {
		for _, full := range c.Models {
			if answers[full] == nil {
				answers[full] = l.CheckModel(ctx, full)
			}
		}
	}
	for _, c := range l.Choices {
		found = append(found, roleFinding(l, c, answers))
	}
	return found, nil
}

// roleFinding says of each of a role's models what it costs, or why it will not answer.
func roleFinding(l *app.ModelSet, c config.Choice, answers map[string]func() error) finding {
	about := string(c.Role)
	if c.Models == nil {
		return finding{about, lacking, "no model"}
	}
	state := lacking
	if slices.Contains(app.SessionRoles(), c.Role) {
		state = broken
	}
	var says []string
	for i, full := range c.Models {
		name := full
		if i == 0 {
			name += " (" + c.From + ")"
		}
		if err := answers[full](); err != nil {
			says = append(says, fmt.Sprintf("%s will not answer: %v", name, err))
			continue
		}
		state = fine
		if m, err := l.Model(full); err == nil {
			name += ", " + priceOf(m.Price)
		}
		says = append(says, name)
	}
	return finding{about, state, strings.Join(says, "; then ")}
}

// keyFinding says which keys are set, never what they are.
func (a *cli) keyFinding() finding {
	var set []string
	for _, name := range a.Settings.ProviderNames() {
		if p, err := a.Settings.Provider(name); err == nil && p.Key != "" {
			set = append(set, fmt.Sprintf("%s %s", p.KeyEnv, p.Key))
		}
	}
	if len(set) == 0 {
		return finding{"keys", lacking, "none is set in the environment"}
	}
	return finding{"keys", fine, strings.Join(set, ", ")}
}

func (a *cli) ollamaFinding(ctx context.Context, needed bool) finding {
	base, installed, err := a.Settings.Ollama(ctx, http.DefaultClient)
	var refused config.Refusal
	switch {
	case base == "" || errors.As(err, &refused):
		return finding{"ollama", lacking, err.Error()}
	case err != nil && (needed || os.Getenv("OLLAMA_HOST") != ""):
		return finding{"ollama", lacking, fmt.Sprintf("no answer at %s: start it with `ollama serve`, or get it from https://ollama.com", base)}
	case err != nil:
		return finding{"ollama", lacking, fmt.Sprintf("no answer at %s", base)}
	case len(installed) == 0:
		return finding{"ollama", lacking, fmt.Sprintf("runs at %s and has no models: `ollama pull llama3.1`", base)}
	}
	return finding{"ollama", fine, fmt.Sprintf("runs at %s with %s", base, textkit.Count(len(installed), "model", "models"))}
}
