package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"ponder/internal/textkit"

	"github.com/spf13/cobra"

	"ponder/llm"

	"ponder/internal/app"
)

func (a *cli) modelCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "model",
		Short:   "Say which models are used, and try them",
		Long:    "Say which model each role has and why, try whether models answer, and fetch what they cost.",
		Example: "ponder model list\nponder model test slow\nponder model test ollama/llama3.1",
		GroupID: groupSetUp,
		Args:    cobra.ArbitraryArgs,
		RunE:    onlyGroups,
	}
	cmd.AddCommand(a.modelListCommand(), a.modelTestCommand(), a.modelRefreshCommand())
	return cmd
}

func (a *cli) modelRefreshCommand() *cobra.Command {
	var from string
	cmd := &cobra.Command{
		Use:   "refresh",
		Short: "Fetch what models cost",
		Long: "Fetch what models cost, how much they read and what they can do, from models.dev, and of\n" +
			"OpenRouter's models from OpenRouter, if it is configured. Prices of the configuration go\nbefore it.",
		Example: "ponder model refresh",
		Args:    takeNone,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.modelRefresh(cmd.Context(), from)
		},
	}
	cmd.Flags().StringVar(&from, "from", llm.ModelsURL, "get the list from `URL`")
	return cmd
}

// refreshTime is how long the list may take to come.
const refreshTime = time.Minute

func (a *cli) modelRefresh(ctx context.Context, from string) error {
	cfg, err := a.Config()
	if err != nil {
		return err
	}
	file, err := app.PriceFile(cfg)
	if err != nil {
		return err
	}
	have, err := a.FetchedPrices(cfg)
	if err != nil {
		have = llm.Table{} // there is none, or it is of no use
	}
	ctx, cancel := context.WithTimeout(ctx, refreshTime)
	defer cancel()
	table, err := llm.Refresh(ctx, http.DefaultClient, from, have)
	if err != nil {
		return err
	}
	if p, err := cfg.Provider("openrouter"); err == nil {
		if err := table.RefreshOpenRouter(ctx, http.DefaultClient, strings.TrimRight(p.BaseURL, "/")+"/models"); err != nil {
			a.say("warning: what OpenRouter says of its models is not known: %v", err)
		}
	}
	js, err := json.Marshal(table)
	if err != nil {
		return fmt.Errorf("keep prices: %w", err)
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return fmt.Errorf("keep prices: %w", err)
	}
	if err := writeWhole(file, js); err != nil {
		return fmt.Errorf("keep prices: %w", err)
	}
	a.note("prices of %s as of %s", textkit.Count(len(table.Models), "model", "models"), table.AsOf)
	return nil
}
