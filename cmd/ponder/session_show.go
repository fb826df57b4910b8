package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"ponder"
	"ponder/internal/app"
	"ponder/internal/fileio"
	"ponder/internal/liveview"
	"ponder/internal/report"
	"ponder/internal/textkit"
	"ponder/internal/tui"
)

func (a *cli) sessionShowCommand() *cobra.Command {
	var thoughts bool
	cmd := &cobra.Command{
		Use:     "show ID",
		Short:   "Show what a session or a research has come to",
		Example: "ponder session show last\nponder session show 01K --thoughts\nponder session show last --json",
		Args:    requireID,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.sessionShow(cmd.Context(), args[0], thoughts)
		},
	}
	cmd.Flags().BoolVar(&thoughts, "thoughts", false, "and how it was thought")
	return cmd
}

func (a *cli) sessionShow(ctx context.Context, name string, thoughts bool) error {
	store, err := a.OpenReadOnly(ctx)
	if err != nil {
		return err
	}
	defer store.Close()
	w, info, err := a.loadSession(ctx, store, name)
	if err != nil {
		return err
	}
	if w.Research != nil {
		return w.researchShow(info, thoughts)
	}
	v := w.View
	if a.flags.json {
		return a.printJSON(report.NewSessionDetail(info, v, app.IsInterrupted(info)))
	}
	a.printf("%s\n%s, %s, started %s", oneLine(v.Session.Question), info.ID, w.statusText(info), textkit.Ago(info.Created, time.Now()))
	if words, _ := liveview.NearestLimit(v.Session); words != "" && !info.Status.Ended() {
		a.printf(", %s", words)
	}
	a.printf("\n\n")
	if thoughts {
		a.printThoughts(v)
	}
	a.printAnswer(v)
	if !a.flags.quiet {
		a.printf("%s%s", report.Questions(v), a.nextSteps(info, v.Session, a.formatCommand("session resume", info.ID)))
	}
	return nil
}

func (a *cli) nextSteps(info ponder.Info, s app.Session, goOn string) string {
	var rows [][2]string
	switch {
	case app.IsInterrupted(info), s.Status == ponder.Paused:
		rows = append(rows, [2]string{"to go on", goOn})
	case s.Status == ponder.Thinking:
		rows = append(rows, [2]string{"to look on", a.formatCommand("session watch", info.ID)}, [2]string{"to steer it", a.formatCommand("session steer", info.ID) + " --help"})
	case s.Status == ponder.Completed:
		rows = append(rows, [2]string{"to try otherwise", a.formatCommand("session fork", info.ID)})
		if s.Resolution == nil && info.Kind == ponder.KindSession {
			rows = append(rows, [2]string{"how it turned out", a.formatCommand("session resolve", info.ID) + " --outcome 1"})
		}
	}
	var b strings.Builder
	for i, r := range rows {
		if i == 0 {
			b.WriteString("Next\n")
		}
		fmt.Fprintf(&b, "  %s\n    %s\n", r[0], r[1])
	}
	return b.String()
}

func (a *cli) printThoughts(v app.View) {
	for i, t := range v.Thoughts {
		if i == 0 || t.Focus != v.Thoughts[i-1].Focus {
			a.printf("%s\n", oneLine(t.Focus))
		}
		text := tui.RenderItem(tui.Item{At: textkit.Seconds(t.Offset), Kind: t.Kind, Mark: liveview.ConfidenceMark(t.Confidence, t.Assumed), Text: t.Text}, 100, tui.Style{Plain: true})
		a.printf("%s\n", text)
	}
	if len(v.Thoughts) > 0 {
		a.printf("\n")
	}
}

func (a *cli) sessionListCommand() *cobra.Command {
	var status string
	var limit int
	cmd := &cobra.Command{
		Use:     "list",
		Short:   "List sessions and research, the newest first",
		Example: "ponder session list --status paused\nponder session list --json --limit 5",
		Args:    requireNoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.sessionList(cmd.Context(), ponder.Status(status), limit)
		},
	}
	cmd.Flags().StringVar(&status, "status", "", "only those that are created, thinking, paused, completed, failed or cancelled")
	cmd.Flags().IntVar(&limit, "limit", 20, "at most so many")
	return cmd
}

func (a *cli) sessionList(ctx context.Context, status ponder.Status, limit int) error {
	switch status {
	case "", ponder.Created, ponder.Thinking, ponder.Paused, ponder.Completed, ponder.Failed, ponder.Cancelled:
	default:
		return usagef("--status: %q is none of created, thinking, paused, completed, failed, cancelled", truncate(string(status), 20))
	}
	if limit < 1 {
		return usagef("--limit: must be 1 or more")
	}
	store, err := a.OpenReadOnly(ctx)
	if errors.Is(err, app.ErrNothingYet) {
		a.printNote("%s", a.errorLine(app.ErrNothingYet))
		return nil
	}
	if err != nil {
		return err
	}
	defer store.Close()
	list, err := app.ListSessions(ctx, store, status, limit)
	if err != nil {
		return err
	}
	if len(list) == 0 && status == "" {
		a.printNote("there are no sessions yet: begin with `ponder think QUESTION`")
	} else if len(list) == 0 {
		a.printNote("there are no such sessions")
	}
	rows := [][]string{{"ID", "KIND", "STATUS", "STARTED", "CONFIDENCE", "STOPPED", "QUESTION"}}
	for _, info := range list {
		if a.flags.json {
			o, err := a.SessionObject(ctx, store, info)
			if err == nil {
				err = a.printJSON(o)
			}
			if err != nil {
				return err
			}
			continue
		}
		status, sure, why, err := a.SessionEnd(ctx, store, info)
		if err != nil {
			return err
		}
		id, err := app.ShortID(ctx, store, info.ID)
		if err != nil {
			return err
		}
		rows = append(rows, []string{id, string(info.Kind), status, textkit.Ago(info.Created, time.Now()), sure, why, truncate(info.Title, 60)})
	}
	if len(rows) > 1 {
		a.printTable(rows)
	}
	return nil
}

func (a *cli) sessionExportCommand() *cobra.Command {
	var format, file string
	cmd := &cobra.Command{
		Use:   "export ID",
		Short: "Write a session as a report, as JSON or as its events",
		Long: `Write a session or a research: as a report (html, one page that needs nothing else, or
markdown), as one JSON object, or (jsonl) as its thread, one event a line, as "thread
export" does. "ponder verify" checks reports of research.`,
		Example: "ponder session export last -o report.html\nponder session export last --format markdown\nponder session export last > session.json",
		Args:    requireID,
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
		format = formatFromPath(file)
		if ending := filepath.Ext(file); format == "json" && ending != "" && !strings.EqualFold(ending, ".json") {
			return usagef("-o %s: the name ends in .html, .md, .json or .jsonl; or --format says what is meant", file)
		}
	}
	if !slices.Contains([]string{"html", "markdown", "md", "json", "jsonl"}, format) {
		return usagef("--format: %q is none of html, markdown, json, jsonl", truncate(format, 20))
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
	text, err := a.ReportOf(ctx, store, store, info, format, a.CalibrationOf(store))
	if err != nil {
		return err
	}
	if info.Kind == ponder.KindResearch {
		return a.deliverReport(file, text)
	}
	return a.writeResult(file, text)
}

func formatFromPath(file string) string {
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

// writeResult writes a result to a file atomically, or prints it if file is empty or "-".
func (a *cli) writeResult(file string, text []byte) error {
	if file == "" || file == "-" {
		if _, err := a.out.Write(textkit.Escape(text)); err != nil {
			return fmt.Errorf("print: %w", err)
		}
		return nil
	}
	if err := fileio.WritePrivate(file, text); err != nil {
		return fmt.Errorf("write %s: %w", file, err)
	}
	a.printNote("written to %s", file)
	return nil
}
