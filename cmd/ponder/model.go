package main

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"ponder/internal/app"
	"ponder/internal/textkit"
	"ponder/llm"
)

func (a *cli) modelCommand() *cobra.Command {
	return groupCommands(&cobra.Command{
		Use:     "model",
		Short:   "Show, test and price the configured models",
		Long:    "Show the model of each role and the reason, test whether models answer, and fetch prices.",
		Example: "ponder model list\nponder model test slow\nponder model test ollama/llama3.1",
		GroupID: groupSetUp,
	}, a.modelListCommand(), a.modelTestCommand(), a.modelRefreshCommand())
}

func (a *cli) modelRefreshCommand() *cobra.Command {
	var from string
	cmd := &cobra.Command{
		Use:   "refresh",
		Short: "Fetch the prices of models",
		Long: "Fetch prices, context sizes and abilities of models from models.dev, and from OpenRouter if\n" +
			"it is configured. Prices in the configuration take precedence.",
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
	cmd.Flags().StringVar(&from, "from", llm.ModelsURL, "fetch the list from this `URL`")
	return cmd
}

func (a *cli) modelListCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "List the model of each role",
		Long: `List the model of each role and the reason. Ponder takes the first of: the environment
(PONDER_MODEL_FAST and the like); the configuration; the model of the nearest role that
has one of these; the models of the first provider whose key is set (OPENAI_API_KEY,
ANTHROPIC_API_KEY, GEMINI_API_KEY, GROQ_API_KEY, ZAI_API_KEY, OPENROUTER_API_KEY) or of the
server at OPENAI_BASE_URL; the installed models of a local Ollama. Reflections use the
model in OPENAI_DEEP_THINK_MODEL, or else the role slow.

CONTEXT is the number of tokens of a request with its answer, if it is known. AT ONCE is the
largest number of requests in flight to the server of the model (max_concurrent).`,
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
	rows := [][]string{{"ROLE", "MODEL", "FROM", "CONTEXT", "AT ONCE", "PRICE"}}
	for _, row := range list {
		if a.flags.json {
			if err := a.printJSON(row); err != nil {
				return err
			}
			continue
		}
		if len(row.Chain) == 0 {
			rows = append(rows, []string{string(row.Role), "-", "", "", "", ""})
		}
		for i, link := range row.Chain {
			cells := []string{string(row.Role), link.Model, row.From, numberText(link.Context), numberText(link.MaxConcurrent), link.Price + link.Error}
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
		a.printNote("%s", noModelText(l.Missed, "; `ponder doctor` explains how to set up a model"))
	}
	return nil
}

// numberText returns a number, or "" for zero.
func numberText(n int) string {
	if n == 0 {
		return ""
	}
	return strconv.Itoa(n)
}

func (a *cli) modelTestCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "test [ROLE | PROVIDER/MODEL]",
		Short:   "Test whether models answer",
		Long:    "Request one word from a model, and print the time and the cost. Without an argument, test\nall models of all roles; otherwise those of one role, or one model.",
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
		return fmt.Sprintf("%s: no answer: %s", t.Model, strings.TrimPrefix(t.Error, t.Model+": "))
	}
	price := "cost unknown"
	switch {
	case t.Cost == nil:
	case *t.Cost == 0:
		price = "free"
	default:
		price = fmt.Sprintf("$%.6f", *t.Cost)
	}
	return fmt.Sprintf("%s: answer %q after %d ms, %d ms in all, %s, %s", t.Model, t.Answer, t.First, t.Took,
		textkit.Count(t.Usage.Total(), "token", "tokens"), price)
}
