package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"ponder"
	"ponder/internal/app"
	"ponder/internal/config"
)

func (a *cli) modelListCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "Say which model each role has, and why",
		Long: `Say which model each role has, and why. In this order: what PONDER_MODEL_FAST and the
like say; what the configuration says; the same as the nearest role for which one of
them says something; the models of the first provider whose key is set (OPENAI_API_KEY,
ANTHROPIC_API_KEY, GEMINI_API_KEY, GROQ_API_KEY, ZAI_API_KEY, OPENROUTER_API_KEY), or that
the server at OPENAI_BASE_URL has; what an Ollama on this machine has installed.
Reflections on conversations are made by the model that OPENAI_DEEP_THINK_MODEL names, and
if it names none, by slow.`,
		Example: "ponder model list --json",
		Args:    takeNone,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.modelList(cmd.Context())
		},
	}
}

// A modelRow is a role with its models, as programs are shown it.
type modelRow struct {
	Role   ponder.Role  `json:"role"`
	Models config.Chain `json:"models"`
	From   string       `json:"from,omitempty"`
	Price  string       `json:"price,omitempty"` // of the first, in words
	Error  string       `json:"error,omitempty"` // why the first cannot be asked
	Chain  []chainLink  `json:"chain"`           // all of them
}

// A chainLink is a model of a role, as programs are shown it.
type chainLink struct {
	Model string `json:"model"`
	Price string `json:"price,omitempty"` // in words
	Error string `json:"error,omitempty"` // why it cannot be asked
}

func (a *cli) modelList(ctx context.Context) error {
	l, err := a.ModelSet(ctx, "")
	if err != nil {
		return err
	}
	rows := [][]string{{"ROLE", "MODEL", "FROM", "PRICE"}}
	choices := l.Choices
	if deep := l.Config.Models.Deep; deep != "" {
		choices = append(choices[:len(choices):len(choices)], config.Choice{Role: app.DeepRole, Models: config.Chain{deep}, From: "OPENAI_DEEP_THINK_MODEL"})
	}
	for _, c := range choices {
		row := modelRowOf(l, c)
		if a.flags.json {
			if err := a.object(row); err != nil {
				return err
			}
			continue
		}
		if len(row.Chain) == 0 {
			rows = append(rows, []string{string(c.Role), "-", "", ""})
		}
		for i, link := range row.Chain {
			cells := []string{string(c.Role), link.Model, row.From, link.Price + link.Error}
			if i > 0 {
				cells[0], cells[1], cells[2] = "", "then "+link.Model, ""
			}
			rows = append(rows, cells)
		}
	}
	if a.flags.json {
		return nil
	}
	a.table(rows)
	if l.Empty() {
		a.note("%s", noModel(l.Missed, "; `ponder doctor` says what can be done"))
	}
	return nil
}

func modelRowOf(l *app.ModelSet, c config.Choice) modelRow {
	row := modelRow{Role: c.Role, Models: c.Models, From: c.From, Chain: []chainLink{}}
	if c.Models == nil {
		row.Models = config.Chain{}
		return row
	}
	for _, full := range c.Models {
		link := chainLink{Model: full}
		if m, err := l.Model(full); err != nil {
			link.Error = oneLine(err.Error())
		} else {
			link.Price = priceOf(m.Price)
		}
		row.Chain = append(row.Chain, link)
	}
	row.Price, row.Error = row.Chain[0].Price, row.Chain[0].Error
	return row
}

// priceOf writes a price.
func priceOf(p ponder.Price) string {
	switch p.Source {
	case ponder.PriceLocal:
		return "free: runs at home"
	case ponder.PriceUnknown, "":
		return "price unknown"
	}
	return fmt.Sprintf("$%g in, $%g out per million tokens", p.Input, p.Output)
}
