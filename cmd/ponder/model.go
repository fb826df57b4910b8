package main

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"ponder/internal/app"
	"ponder/internal/textkit"
	"ponder/llm"
)

func (a *cli) modelCommand() *cobra.Command {
	return groupCommands(&cobra.Command{
		Use:     "model",
		Short:   "Say which models are used, and try them",
		Long:    "Say which model each role has and why, try whether models answer, and fetch what they cost.",
		Example: "ponder model list\nponder model test slow\nponder model test ollama/llama3.1",
		GroupID: groupSetUp,
	}, a.modelListCommand(), a.modelTestCommand(), a.modelRefreshCommand())
}

func (a *cli) modelRefreshCommand() *cobra.Command {
	var from string
	cmd := &cobra.Command{
		Use:   "refresh",
		Short: "Fetch what models cost",
		Long: "Fetch what models cost, how much they read and what they can do, from models.dev, and of\n" +
			"OpenRouter's models from OpenRouter, if it is configured. Prices of the configuration go\nbefore it.",
		Example: "ponder model refresh",
		Args:    requireNoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			table, err := a.RefreshPrices(cmd.Context(), from)
			if err != nil {
				return err
			}
			a.printNote("prices of %s as of %s", textkit.Count(len(table.Models), "model", "models"), table.AsOf)
			return nil
		},
	}
	cmd.Flags().StringVar(&from, "from", llm.ModelsURL, "get the list from `URL`")
	return cmd
}

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
		Args:    requireNoArgs,
		RunE:    runWithoutArgs(a.modelList),
	}
}

func (a *cli) modelList(ctx context.Context) error {
	list, l, err := a.RoleModels(ctx)
	if err != nil {
		return err
	}
	rows := [][]string{{"ROLE", "MODEL", "FROM", "PRICE"}}
	for _, row := range list {
		if a.flags.json {
			if err := a.printJSON(row); err != nil {
				return err
			}
			continue
		}
		if len(row.Chain) == 0 {
			rows = append(rows, []string{string(row.Role), "-", "", ""})
		}
		for i, link := range row.Chain {
			cells := []string{string(row.Role), link.Model, row.From, link.Price + link.Error}
			if i > 0 {
				cells[0], cells[1], cells[2] = "", "then "+link.Model, ""
			}
			rows = append(rows, cells)
		}
	}
	if a.flags.json {
		return nil
	}
	a.printTable(rows)
	if l.Empty() {
		a.printNote("%s", noModelText(l.Missed, "; `ponder doctor` says what can be done"))
	}
	return nil
}

func (a *cli) modelTestCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "test [ROLE | PROVIDER/MODEL]",
		Short:   "Try whether models answer",
		Long:    "Ask a model for a word, and say how long it took and what it cost: all models of all roles, those of one role, or the one that is named.",
		Example: "ponder model test\nponder model test slow\nponder model test groq/openai/gpt-oss-20b",
		Args:    requireArgs(0, 1, "a role or a model"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.modelTest(cmd.Context(), args)
		},
	}
}

func (a *cli) modelTest(ctx context.Context, args []string) error {
	var first error
	err := a.TestModels(ctx, args, func(t app.ModelCheck) error {
		first = cmp.Or(first, t.Err)
		if a.flags.json {
			return a.printJSON(t)
		}
		a.printf("%s\n", checkText(t))
		return nil
	})
	if err != nil {
		return err
	}
	if first != nil {
		return failure{code: max(exitCodeOf(first), exitFailed)}
	}
	return nil
}

func checkText(t app.ModelCheck) string {
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
