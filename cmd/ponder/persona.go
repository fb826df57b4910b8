package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"ponder/internal/app"
	"ponder/internal/textkit"
	"ponder/knowledge/recall"
)

func (a *cli) personaCommand() *cobra.Command {
	return groupCommands(&cobra.Command{
		Use:   "persona",
		Short: "Keep voices that answer from what they remember",
		Long: `A persona has a name, guidance on how it speaks, and the memories and posts that are its
own: those that were remembered with --persona NAME, or those of the sources and tags
that it is given.`,
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

const noPersonas = "there are no personas: `ponder persona set NAME --voice TEXT` makes one"

func (a *cli) personaList(ctx context.Context) error {
	s, err := a.OpenLibraryReadOnly(ctx)
	if errors.Is(err, app.ErrNothingKnown) {
		a.printNote(noPersonas)
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
		Short: "Make a persona, or change one",
		Long:  "Make a persona, or change what is named of one.",
		Example: `ponder persona set ada --voice "dry, exact, fond of engines"
ponder persona set ada --voice-file ada.md --source twitter --tag engines`,
		Args: requireArgs(1, 1, "the name of a persona"),
		RunE: func(cmd *cobra.Command, args []string) error {
			p.Name = args[0]
			return a.personaSet(cmd.Context(), p, voice, file, cmd.Flags().Changed)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&voice, "voice", "", "how it speaks, and what it cares for")
	flags.StringVar(&file, "voice-file", "", "`file` that says so")
	flags.StringArrayVar(&p.Sources, "source", nil, "a `name` of where its memories and posts are from; may be repeated")
	flags.StringArrayVar(&p.Tags, "tag", nil, "a `word` that they all have; may be repeated")
	return cmd
}

func (a *cli) personaSet(ctx context.Context, p recall.Persona, voice, file string, given func(string) bool) error {
	if given("voice") && given("voice-file") {
		return usagef("--voice and --voice-file: give one of them")
	}
	if given("voice-file") {
		f, err := os.Open(file)
		if err != nil {
			return usagef("--voice-file: %w", err)
		}
		defer f.Close()
		b, err := io.ReadAll(io.LimitReader(f, 1<<20))
		if err != nil {
			return fmt.Errorf("--voice-file: %w", err)
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
	a.printNote("%s is set", oneLine(p.Name))
	if a.flags.json {
		return a.printJSON(p)
	}
	return nil
}

func (a *cli) personaContextCommand() *cobra.Command {
	var n int
	cmd := &cobra.Command{
		Use:     "context NAME QUERY",
		Short:   "Show what a persona remembers of a question",
		Long:    "Show what is put before a model that answers as the persona: its memories, the posts they are from, and how to answer.",
		Example: "ponder persona context ada \"what do you make of steam?\"",
		Args:    requireArgs(2, 2, "the name of a persona, and a question"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.personaContext(cmd.Context(), args[0], args[1], n)
		},
	}
	cmd.Flags().IntVarP(&n, "number", "n", 10, "at most so many memories and posts, up to 100")
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
		a.printNote("%s remembers nothing of it", oneLine(name))
		return nil
	}
	a.printf("%s\n", textkit.Clean(text))
	return nil
}

func (a *cli) personaRemoveCommand() *cobra.Command {
	return &cobra.Command{
		Use: "remove NAME", Short: "Remove a persona; its memories stay", Example: "ponder persona remove ada", Args: requireArgs(1, 1, "the name of a persona"),
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
	a.printNote("%s is removed; its memories stay", oneLine(name))
	return nil
}
