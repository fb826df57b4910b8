package main

import (
	"context"
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"ponder"
	"ponder/internal/app"
	"ponder/internal/report"
	"ponder/internal/textkit"
	"ponder/store/sqlite"
)

func (a *cli) researchAskCommand() *cobra.Command {
	var f askFlags
	var search bool
	cmd := &cobra.Command{
		Use:   "ask ID TEXT",
		Short: "Ask a question about the report of a research",
		Long: `Ask a question about the report of a research. The model sees the report and its passages,
and cites them by their ids; the passages are printed below the answer. It searches nothing,
unless --search is given. With TEXT -, the question is read from standard input.

All questions about a report are one conversation: "ponder thread show" shows it, and
"ponder chat --thread" continues it.

Exit codes: as for ponder ask.`,
		Example: `ponder research ask last "Which of the sources are older than 2020?"
ponder research ask 01K "What contradicts the second claim?" --model anthropic/claude-opus-4-6`,
		Args:              requireArgs(2, 2, `an ID or "last", and a question in quotes`),
		ValidArgsFunction: a.completeThreads(ponder.KindResearch),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.researchAsk(cmd.Context(), args[0], args[1], f, search, cmd.Flags().Changed)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.model, "model", "", "use `provider/model`")
	flags.BoolVar(&search, "search", false, "let the model search the memory and the web too")
	flags.BoolVar(&f.deep, "deep", false, "let a slower model reflect before the answer")
	flags.BoolVar(&f.internal, "internal", false, "with --json: include internal events")
	return cmd
}

func (a *cli) researchAsk(ctx context.Context, name, text string, f askFlags, search bool, given func(string) bool) error {
	m, err := a.readMessage(ctx, text, nil)
	if err != nil {
		return err
	}
	f.noMemory, f.noWeb = !search, !search
	t, err := f.chatSetup(ctx, a, given)
	if err != nil {
		return err
	}
	if t.Extractive {
		return app.NoModel(t.Missed)
	}
	t.Sources.Patience, t.Sources.OtherTools = app.OncePatience, search
	w, info, store, err := a.openSession(ctx, name)
	if err != nil {
		return err
	}
	defer store.Close()
	r := w.AsReport()
	switch {
	case r == nil:
		return usagef("%s is a %s, not a research: ask about it with ponder ask", info.ID, info.Kind)
	case r.Answer == "":
		return usagef("research %s has no answer yet; to show it: %s", info.ID, w.formatCommand("session show", info.ID))
	}
	in, err := attachReport(ctx, store, &m, *r)
	if err != nil {
		return err
	}
	return a.askIn(ctx, store, in, t, m, f, func(ctx context.Context, s *askSession) { s.printCited(ctx, *r) })
}

// attachReport adds the report to the message, unless the conversation about it has this version.
func attachReport(ctx context.Context, store *sqlite.Store, m *message, r report.Research) (in askPlace, err error) {
	in.next = app.ReportTalk(r.Thread)
	file, raw := app.ReportAttachment(r)
	has := false
	talk, err := store.Thread(ctx, in.next)
	switch {
	case errors.Is(err, ponder.ErrRemoved): // the user removed the conversation
		in.next = ""
	case errors.Is(err, ponder.ErrNoThread):
	case err != nil:
		return in, err
	default:
		in.id, in.head = talk.ID, talk.Head
		if has, err = app.HasAttachment(ctx, store, talk.ID, file.Hash); err != nil {
			return in, err
		}
	}
	if !has {
		m.files, m.raw = append(m.files, file), append(m.raw, raw)
	}
	return in, nil
}

// printCited prints the passages that the answer cites, and warns of ids that the report lacks.
func (s *askSession) printCited(ctx context.Context, r report.Research) {
	answer := ""
	for ev, err := range s.store.Events(ctx, s.id, 0) {
		if err != nil {
			return
		}
		if b, ok := ev.Body.(ponder.AssistantMessage); ok && !ev.Internal {
			answer = b.Content
		}
	}
	text, unknown := r.CitedPassages(answer)
	if text != "" && !s.flags.json && !s.flags.quiet {
		s.printf("\nPassages\n%s", text)
	}
	if len(unknown) > 0 {
		s.printMessage("warning: the answer cites %s not in the report: %s", textkit.Count(len(unknown), "passage that is", "passages that are"), strings.Join(unknown, ", "))
	}
}
