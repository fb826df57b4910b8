package main

import (
	"context"

	"github.com/spf13/cobra"

	"ponder"
	"ponder/internal/app"
)

func (a *cli) researchCommand() *cobra.Command {
	var f researchFlags
	cmd := &cobra.Command{
		Use:   "research QUESTION",
		Short: "Find an answer in sources, in a minute or so",
		Long: `Plan what to look for, search what is remembered, the documents and the web at once, and
write an answer in which every sentence that states a fact can be traced to a quote. What
no quote bears out is marked, where sources disagree is shown, and what could not be
confirmed is said. QUESTION - is read from standard input.

The answer comes to standard output with numbered citations; -o writes a report, as
Markdown, JSON or one HTML page by the ending of the name, and "ponder verify" checks it.
--since ID brings an older research up to date, and says what has changed. Ctrl-C pauses,
and prints the command that goes on; the commands of "ponder session" take its id.

It looks into what --docs names, what is remembered (see ponder remember), and the web, if
a search engine is configured. Without a model, the answer is made of quotes.

Exit codes: 0 answered, 1 failed, 2 wrong usage, 3 cut short by a budget, broken off,
paused, or put together without the model that was asked, 4 no model, or it will not
answer (what there is is printed all the same), 130 interrupted.`,
		Example: `ponder research "Which papers measured sleep in great apes?" -o report.html
ponder research "What does this contract commit us to?" --docs ./contract --no-web
ponder research "What is new in battery recycling?" --since last -o update.md
ponder research - --rounds 2 --cost 0.10 < question.txt`,
		GroupID: groupThink,
		Args:    take(1, 1, `a question in quotes, or - to read it from standard input`),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.research(cmd.Context(), args[0], f, cmd.Flags().Changed)
		},
	}
	f.add(cmd.Flags())
	return cmd
}

// research is the command. It makes nothing before all that can be checked has been.
func (a *cli) research(ctx context.Context, text string, f researchFlags, given func(string) bool) error {
	question, err := a.question(ctx, text)
	if err != nil {
		return err
	}
	cfg, err := a.Config()
	if err != nil {
		return err
	}
	settings := cfg.Research
	r := app.StartRequest{
		Start: app.Start{Kind: ponder.KindResearch, Question: question, Model: f.model, Title: f.title, NoMemory: f.noMemory, Persona: f.persona},
		Since: f.since, Report: f.wanted(), Patience: app.OncePatience, Settings: &settings,
	}
	if r.Budget, err = f.budget.budget(given); err != nil {
		return err
	}
	if err := f.read(&settings, given); err != nil {
		return err
	}
	if r.Docs, err = a.CheckDocs(ctx, "docs", f.docs); err != nil {
		return err
	}
	if err := f.checkOutput(); err != nil {
		return err
	}
	says := ""
	if r.Memory, r.Web, says, err = a.DefaultSources(ctx, f.noMemory, f.noWeb); err != nil {
		return err
	}
	p, err := a.PrepareStart(ctx, r)
	if err != nil {
		return err
	}
	return a.startThread(ctx, p, startFlags{
		detach: f.detach, internal: f.internal, chunks: f.chunks, holds: !f.detach && !p.Unaided, notes: []string{says}, unaided: "; the answer is made of quotes", output: f.output,
	})
}
