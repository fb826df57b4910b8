package main

import (
	"context"

	"github.com/spf13/cobra"

	"ponder"
	"ponder/internal/app"
	"ponder/mode/research"
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
	budget, err := f.limits(cfg, given)
	if err != nil {
		return err
	}
	opts, err := f.options(cfg, given)
	if err != nil {
		return err
	}
	if opts.Docs, err = a.CheckDocs(ctx, "docs", f.docs); err != nil {
		return err
	}
	if err := f.checkOutput(); err != nil {
		return err
	}
	if opts.Persona, err = a.PersonaVoice(ctx, f.persona); err != nil {
		return err
	}
	if opts.Since, err = a.since(ctx, f.since); err != nil {
		return err
	}
	says := ""
	if opts.Memory, opts.Web, says, err = a.DefaultSources(ctx, f.noMemory, f.noWeb); err != nil {
		return err
	}
	p, unaided, err := a.PrepareModels(ctx, f.model, budget, app.ResearchRoles(), len(opts.Docs) > 0 || opts.Memory || opts.Web)
	if err != nil {
		return err
	}
	opts.WithoutModel = unaided
	if !unaided {
		if opts.Tools, err = a.ReadOnlyMCPTools(ctx, app.OncePatience); err != nil {
			return err
		}
	}
	if f.detach {
		if err := a.canDetach(); err != nil {
			return err
		}
	}
	store, err := a.OpenStore(ctx)
	if err != nil {
		return err
	}
	defer store.Close()
	var inner []ponder.Event
	if cfg.Mind.Feeds() && !f.noMemory && !unaided && opts.Persona.Name == "" {
		inner = app.BackgroundFor(ctx, store, a.Owner(), question)
	}
	id, err := app.NewThread{
		Thread: ponder.Thread{Title: f.title, Owner: a.Owner(), Model: p.Name}, Question: question, Budget: budget, Inner: inner,
	}.Research(ctx, store, app.ResearchStart{Options: opts, Report: f.wanted()})
	if err != nil {
		return err
	}
	w := a.viewing(store, id)
	w.internal, w.reserve.holds = f.internal, !f.detach && !unaided
	if unaided {
		w.reserve.note(a, noModel(p.Missed, "; the answer is made of quotes"))
	}
	w.reserve.note(a, says)
	if f.detach {
		return a.detach(ctx, store, id)
	}
	if f.chunks && a.flags.json {
		w.chunks = new(research.References)
	}
	return w.here(ctx, store, p, sightFor(opts), ponder.KindResearch, f.output)
}

// sightFor returns what research looks into.
func sightFor(o research.Options) app.Sources {
	return app.Sources{Docs: o.Docs, Memory: o.Memory, Web: o.Web, OtherTools: len(o.Tools) > 0, Patience: app.OncePatience, Research: true, Persona: o.Persona.Name}
}
