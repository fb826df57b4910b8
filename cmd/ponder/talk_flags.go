package main

import (
	"context"
	"errors"

	"github.com/spf13/pflag"

	"ponder"
	"ponder/internal/app"
	"ponder/store/sqlite"
)

type talkFlags struct {
	thread    string
	goOn      bool
	docs      []string
	knowledge []string
	model     string
	think     bool
	plan      bool
	noMemory  bool
	noWeb     bool
}

// add adds the flags; each is for one conversation.
func (f *talkFlags) add(flags *pflag.FlagSet) {
	flags.StringVar(&f.thread, "thread", "", "go on with the conversation `id`")
	flags.BoolVar(&f.goOn, "continue", false, "go on with the newest conversation")
	f.addSight(flags)
}

// addSight adds those that say with what, and on the basis of what, is answered.
func (f *talkFlags) addSight(flags *pflag.FlagSet) {
	flags.StringArrayVar(&f.docs, "docs", nil, "look into the file or folder at `path`; may be repeated")
	flags.StringArrayVar(&f.knowledge, "knowledge", nil, "look into the notes in the `folder`; may be repeated")
	flags.StringVar(&f.model, "model", "", "talk with `provider/model`")
	flags.BoolVar(&f.think, "think", false, "let the model put down thoughts before it answers (default: enable_thinking)")
	flags.BoolVar(&f.plan, "plan", false, "show a plan, and wait for a yes, before anything is changed")
	flags.BoolVar(&f.noMemory, "no-memory", false, "do not look into what is remembered, and remember nothing")
	flags.BoolVar(&f.noWeb, "no-web", false, "do not look at the web")
}

// talking returns how to talk, having made sure of all that can be made sure of.
func (f *talkFlags) talking(ctx context.Context, a *cli, given func(string) bool) (app.ChatSetup, error) {
	docs, err := a.CheckDocs(ctx, "docs", f.docs)
	if err != nil {
		return app.ChatSetup{}, err
	}
	notes, err := a.CheckDocs(ctx, "knowledge", f.knowledge)
	if err != nil {
		return app.ChatSetup{}, err
	}
	docs = append(docs, notes...)
	memory, web, _, err := a.DefaultSources(ctx, f.noMemory, f.noWeb)
	if err != nil {
		return app.ChatSetup{}, err
	}
	t, err := a.ChatSetup(ctx, f.model, memory || len(docs) > 0)
	if err != nil {
		return app.ChatSetup{}, err
	}
	if given("think") {
		t.Think = f.think
	}
	t.Plan, t.Named, t.NoMemory = f.plan, f.model, f.noMemory
	t.Sources = app.Sources{Docs: docs, Memory: memory, Web: web, OtherTools: true}
	return t, nil
}

// workLine returns the words of a command line that goes on with a conversation in the
// background as it is held here.
func workLine(t app.ChatSetup, id ponder.ThreadID) []string {
	line := []string{"thread", "work", string(id)}
	for _, path := range t.Sources.Docs {
		line = append(line, "--docs", path)
	}
	if t.Named != "" {
		line = append(line, "--model", t.Named)
	}
	for flag, on := range map[string]bool{"--think": t.Think, "--plan": t.Plan, "--no-memory": t.NoMemory, "--no-web": !t.Sources.Web} {
		if on {
			line = append(line, flag)
		}
	}
	return line
}

// begin returns the conversation that the flags name, and where it stands: a new one
// if they name none.
func (f *talkFlags) begin(ctx context.Context, a *cli, store *sqlite.Store) (id ponder.ThreadID, head ponder.Seq, err error) {
	name := f.thread
	switch {
	case f.thread != "" && f.goOn:
		return "", 0, usagef("--thread and --continue name two conversations: choose one")
	case f.goOn:
		name = "last"
	case f.thread == "":
		return "", 0, nil
	}
	info, err := a.FindThread(ctx, store, name, ponder.KindConversation)
	if errors.Is(err, app.ErrNothingYet) {
		err = usagef("there is no conversation yet: begin with `ponder ask TEXT`")
	}
	return info.ID, info.Head, err
}

func talkingWith(t app.ChatSetup) string {
	if t.Extractive {
		return noModel(t.Missed, "; what is found is quoted (`ponder doctor` says how to have a model)")
	}
	return "talking with " + t.Name
}

// noModel says that there is no model and what comes of it: that none is configured, or
// if one is, why it was missed.
func noModel(missed error, what string) string {
	if missed == nil {
		return "no model is configured" + what
	}
	return missed.Error() + what
}
