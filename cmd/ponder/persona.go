package main

import (
	"cmp"
	"context"
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"ponder/internal/app"
	"ponder/internal/fileio"
	"ponder/internal/textkit"
	"ponder/knowledge/recall"
)

func (a *cli) personaCommand() *cobra.Command {
	return groupCommands(&cobra.Command{
		Use:   "persona",
		Short: "Manage personas, which answer from their own memory",
		Long: `Manage personas. A persona has a name, a description of its voice, and its own memories and
posts: items remembered with --persona NAME, or items of its sources and tags.`,
		Example: "ponder persona set ada --voice \"dry, exact, fond of engines\"\nponder persona context ada \"what do you make of steam?\"",
		GroupID: groupKnow,
	}, a.personaListCommand(), a.personaShowCommand(), a.personaSetCommand(), a.personaContextCommand(), a.personaRemoveCommand())
}

func (a *cli) personaListCommand() *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List personas", Example: "ponder persona list", Args: requireNoArgs,
		RunE: runWithoutArgs(a.personaList),
	}
}

const noPersonas = "no personas yet: `ponder persona set NAME --voice TEXT` creates one"

func (a *cli) personaList(ctx context.Context) error {
	s, err := a.OpenLibraryReadOnly(ctx)
	if errors.Is(err, app.ErrNothingKnown) {
		a.printNote("%s", cmp.Or(a.missingDatabase(err), noPersonas))
		return nil
	}
	if err != nil {
		return err
	}
	defer s.Close()
	list, err := s.Personas(ctx)
	if err != nil {
		return err
	}
	return printList(a, list, noPersonas, []string{"NAME", "SOURCES", "TAGS", "VOICE"}, func(p recall.Persona) []string {
		return []string{p.Name, strings.Join(p.Sources, ", "), strings.Join(p.Tags, ", "), truncate(oneLine(p.Voice), 60)}
	})
}

func (a *cli) personaShowCommand() *cobra.Command {
	return &cobra.Command{
		Use: "show NAME", Short: "Show a persona", Example: "ponder persona show ada", Args: requireArgs(1, 1, "the name of a persona"),
		RunE: runWithArg(a.personaShow),
	}
}

func (a *cli) personaShow(ctx context.Context, name string) error {
	s, err := a.OpenLibraryReadOnly(ctx)
	if err != nil {
		return err
	}
	defer s.Close()
	p, err := s.Persona(ctx, name)
	if err != nil {
		return app.PersonaError(err, name)
	}
	if a.flags.json {
		return a.printJSON(p)
	}
	a.printf("%s\n", oneLine(p.Name))
	for _, fact := range [][2]string{{"sources", strings.Join(p.Sources, ", ")}, {"tags", strings.Join(p.Tags, ", ")}} {
		if fact[1] != "" {
			a.printf("%s: %s\n", fact[0], oneLine(fact[1]))
		}
	}
	a.printf("\n%s\n", textkit.Clean(p.Voice))
	return nil
}

func (a *cli) personaSetCommand() *cobra.Command {
	var voice, file string
	var p recall.Persona
	cmd := &cobra.Command{
		Use:   "set NAME",
		Short: "Create or change a persona",
		Long:  "Create a persona, or change the given properties of an existing one.",
		Example: `ponder persona set ada --voice "dry, exact, fond of engines"
ponder persona set ada --voice-file ada.md --source twitter --tag engines`,
		Args: requireArgs(1, 1, "the name of a persona"),
		RunE: func(cmd *cobra.Command, args []string) error {
			p.Name = args[0]
			return a.personaSet(cmd.Context(), p, voice, file, cmd.Flags().Changed)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&voice, "voice", "", "`text` that describes how the persona speaks and what it values")
	flags.StringVar(&file, "voice-file", "", "`file` with this description")
	flags.StringArrayVar(&p.Sources, "source", nil, "`name` of a source of its memories and posts; may be repeated")
	flags.StringArrayVar(&p.Tags, "tag", nil, "`tag` of its memories and posts; may be repeated")
	return cmd
}

func (a *cli) personaSet(ctx context.Context, p recall.Persona, voice, file string, given func(string) bool) error {
	if given("voice") && given("voice-file") {
		return usagef("--voice and --voice-file cannot be combined: use one")
	}
	if given("voice-file") {
		b, err := fileio.ReadFile(file, 1<<20)
		if err != nil {
			return usagef("--voice-file: %w", err)
		}
		voice = string(b)
	}
	s, err := a.OpenLibrary(ctx)
	if err != nil {
		return err
	}
	defer s.Close()
	old, err := s.Persona(ctx, p.Name)
	switch {
	case err == nil && !given("source"):
		p.Sources = old.Sources
		fallthrough
	case err == nil:
		if p.Created = old.Created; !given("tag") {
			p.Tags = old.Tags
		}
		if p.Voice = old.Voice; given("voice") || given("voice-file") {
			p.Voice = voice
		}
	case errors.Is(err, recall.ErrNone):
		p.Voice = voice
	default:
		return err
	}
	if err := s.SetPersona(ctx, p); err != nil {
		return usagef("%w", err)
	}
	a.printNote("saved %s", oneLine(p.Name))
	if a.flags.json {
		return a.printJSON(p)
	}
	return nil
}

func (a *cli) personaContextCommand() *cobra.Command {
	var n int
	cmd := &cobra.Command{
		Use:     "context NAME QUERY",
		Short:   "Show the memories of a persona about a question",
		Long:    "Show the context of a model that answers as the persona: its memories, their posts, and\ninstructions for the answer.",
		Example: "ponder persona context ada \"what do you make of steam?\"",
		Args:    requireArgs(2, 2, "the name of a persona, and a question"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.personaContext(cmd.Context(), args[0], args[1], n)
		},
	}
	cmd.Flags().IntVarP(&n, "number", "n", 10, "maximum `number` of memories and posts, up to 100")
	return cmd
}

func (a *cli) personaContext(ctx context.Context, name, query string, n int) error {
	if n < 1 || n > 100 {
		return usagef("-n: must be from 1 to 100")
	}
	s, err := a.OpenLibraryReadOnly(ctx)
	if err != nil {
		return err
	}
	defer s.Close()
	text, hits, err := s.PersonaContext(ctx, name, query, n)
	if err != nil {
		return app.PersonaError(err, name)
	}
	if a.flags.json {
		found := []foundHit{}
		for _, h := range hits {
			found = append(found, hitObject(h))
		}
		return a.printJSON(struct {
			Persona string     `json:"persona"`
			Context string     `json:"context"`
			Hits    []foundHit `json:"hits"`
		}{name, text, found})
	}
	if text == "" {
		if _, err := s.Persona(ctx, name); err != nil {
			return app.PersonaError(err, name)
		}
		a.printNote("%s has no memories of this question", oneLine(name))
		return nil
	}
	a.printf("%s\n", textkit.Clean(text))
	return nil
}

func (a *cli) personaRemoveCommand() *cobra.Command {
	return &cobra.Command{
		Use: "remove NAME", Short: "Remove a persona and keep its memories", Example: "ponder persona remove ada", Args: requireArgs(1, 1, "the name of a persona"),
		RunE: runWithArg(a.personaRemove),
	}
}

func (a *cli) personaRemove(ctx context.Context, name string) error {
	s, err := a.OpenLibraryReadOnly(ctx)
	if err != nil {
		return err
	}
	s.Close()
	if s, err = a.OpenLibrary(ctx); err != nil {
		return err
	}
	defer s.Close()
	if err := s.RemovePersona(ctx, name); err != nil {
		return app.PersonaError(err, name)
	}
	a.printNote("removed %s; its memories stay", oneLine(name))
	return nil
}
