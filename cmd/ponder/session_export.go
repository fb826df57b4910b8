package main

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"ponder/internal/app"

	"github.com/spf13/cobra"

	"ponder"
	"ponder/internal/textkit"
)

func (a *cli) sessionExportCommand() *cobra.Command {
	var format, file string
	cmd := &cobra.Command{
		Use:   "export ID",
		Short: "Write a session as a report, as JSON or as its events",
		Long: `Write a session or a research: as a report (html, one page that needs nothing else, or
markdown), as one JSON object, or (jsonl) as its thread, one event a line, as "thread
export" does. "ponder verify" checks reports of research.`,
		Example: "ponder session export last -o report.html\nponder session export last --format markdown\nponder session export last > session.json",
		Args:    takeID,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.sessionExport(cmd.Context(), args[0], format, file)
		},
	}
	cmd.Flags().StringVar(&format, "format", "", "html, markdown, json or jsonl (default what the name of the file says, else json)")
	cmd.Flags().StringVarP(&file, "output", "o", "", "write to this `file`")
	return cmd
}

func (a *cli) sessionExport(ctx context.Context, name, format, file string) error {
	if format == "" {
		format = formatOf(file)
		if ending := filepath.Ext(file); format == "json" && ending != "" && !strings.EqualFold(ending, ".json") {
			return usagef("-o %s: the name ends in .html, .md, .json or .jsonl; or --format says what is meant", file)
		}
	}
	if !slices.Contains([]string{"html", "markdown", "md", "json", "jsonl"}, format) {
		return usagef("--format: %q is none of html, markdown, json, jsonl", clip(format, 20))
	}
	store, err := a.OpenReadOnly(ctx)
	if err != nil {
		return err
	}
	defer store.Close()
	info, err := a.FindThread(ctx, store, name, ponder.KindSession)
	if err != nil {
		return err
	}
	if format == "jsonl" {
		return a.exportThread(ctx, store, info, file, false)
	}
	text, err := a.ReportOf(ctx, store, info, format, a.CalibrationOf(store))
	if err != nil {
		return err
	}
	if info.Kind == ponder.KindResearch {
		return a.deliverReport(file, text)
	}
	return a.deliver(file, text)
}

// formatOf returns the format that the name of a file asks for.
func formatOf(file string) string {
	switch strings.ToLower(filepath.Ext(file)) {
	case ".html", ".htm":
		return "html"
	case ".md", ".markdown":
		return "markdown"
	case ".jsonl", ".ndjson":
		return "jsonl"
	}
	return "json"
}

// deliver writes a result to a file, as a whole or not at all, or prints it if no
// file is named.
func (a *cli) deliver(file string, text []byte) error {
	if file == "" || file == "-" {
		if _, err := a.out.Write(textkit.Escape(text)); err != nil {
			return fmt.Errorf("print: %w", err)
		}
		return nil
	}
	if err := app.WriteWhole(file, text); err != nil {
		return fmt.Errorf("write %s: %w", file, err)
	}
	a.note("written to %s", file)
	return nil
}
