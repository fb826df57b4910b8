package main

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"ponder/internal/app"
	"ponder/internal/textkit"
	"ponder/knowledge/recall"
)

func (a *cli) memoryCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "memory",
		Short:   "List, show and forget what is remembered",
		Example: "ponder memory list --kind post\nponder memory forget ~/notes/old",
		GroupID: groupKnow,
		Args:    cobra.ArbitraryArgs,
		RunE:    onlyGroups,
	}
	cmd.AddCommand(a.memoryListCommand(), a.memoryShowCommand(), a.memoryForgetCommand())
	return cmd
}

func (a *cli) memoryListCommand() *cobra.Command {
	var f recallFlags
	cmd := &cobra.Command{
		Use:     "list",
		Short:   "List what is remembered, the newest first",
		Example: "ponder memory list --tag work\nponder memory list --json",
		Args:    takeNone,
		RunE:    func(cmd *cobra.Command, _ []string) error { return a.memoryList(cmd.Context(), f) },
	}
	flags := cmd.Flags()
	flags.IntVarP(&f.n, "number", "n", 20, "at most so many")
	flags.StringArrayVar(&f.kinds, "kind", nil, "only memory, document, post, journal or thread; may be repeated")
	flags.StringArrayVar(&f.sources, "source", nil, "only of a source: a `name`, a path, or the beginning of one and *")
	flags.StringArrayVar(&f.tags, "tag", nil, "only with this `word`; may be repeated")
	flags.StringVar(&f.persona, "persona", "", "only what is of this persona")
	return cmd
}

func (a *cli) memoryList(ctx context.Context, f recallFlags) error {
	filter := recall.Filter{Sources: f.sources, Tags: f.tags, Persona: f.persona, N: f.n}
	if f.n < 1 {
		return usagef("-n: must be 1 or more")
	}
	var err error
	if filter.Kinds, err = app.KindsOf(f.kinds); err != nil {
		return err
	}
	s, err := a.OpenLibraryReadOnly(ctx)
	if errors.Is(err, app.ErrNothingKnown) {
		a.note("%s", a.line(app.ErrNothingKnown))
		return nil
	}
	if err != nil {
		return err
	}
	defer s.Close()
	list, err := s.List(ctx, filter)
	if err != nil {
		return err
	}
	head := []string{"ID", "KIND", "DATE", "PASSAGES", "TITLE", "FROM"}
	return printList(a, list, "nothing like that is remembered", head, func(it recall.Item) []string {
		date := ""
		if !it.Date.IsZero() {
			date = it.Date.Local().Format(time.DateOnly)
		}
		return []string{it.ID, string(it.Kind), date, textkit.Number(it.Passages), clip(it.Title, 50), clip(app.Where(it), 60)}
	})
}

func (a *cli) memoryShowCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "show ID",
		Short:   "Show something that is remembered",
		Example: "ponder memory show mem_01K",
		Args:    take(1, 1, "an id: `ponder memory list` shows them"),
		RunE:    withArg(a.memoryShow),
	}
}

func (a *cli) memoryShow(ctx context.Context, id string) error {
	s, err := a.OpenLibraryReadOnly(ctx)
	if err != nil {
		return err
	}
	defer s.Close()
	it, err := s.Item(ctx, id)
	if err != nil {
		return noneOf(err, id)
	}
	if a.flags.json {
		return a.object(it)
	}
	a.printf("%s\n%s, %s", oneLine(it.Title), it.ID, it.Kind)
	for _, fact := range []string{it.Persona, it.Author, app.Where(it), strings.Join(it.Tags, ", ")} {
		if fact != "" && fact != it.ID {
			a.printf(", %s", oneLine(fact))
		}
	}
	if !it.Date.IsZero() {
		a.printf(", %s", it.Date.Local().Format(time.DateOnly))
	}
	a.printf("\n\n%s\n", textkit.Clean(it.Text))
	if it.Raw != "" && it.Raw != it.Text {
		a.printf("\nIn its own words:\n%s\n", textkit.Clean(it.Raw))
	}
	return nil
}

// noneOf explains that there is nothing with an id.
func noneOf(err error, id string) error {
	if errors.Is(err, recall.ErrNone) {
		return usagef("there is no %s: `ponder memory list` shows what there is", clip(oneLine(id), 60))
	}
	if errors.Is(err, recall.ErrMany) {
		return usagef("%s is the beginning of several ids: write more of it", clip(oneLine(id), 60))
	}
	return err
}

func (a *cli) memoryForgetCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "forget ID|PATH|SOURCE...",
		Short: "Forget what is remembered",
		Long: `Forget items by their ids, or all that is of a file, a folder, a URL or a source. The
files themselves stay; what was kept of them goes, the originals too.`,
		Example: "ponder memory forget mem_01K\nponder memory forget ~/notes/old\nponder memory forget twitter",
		Args:    take(1, 1000, "an id, a path or a source"),
		RunE:    func(cmd *cobra.Command, args []string) error { return a.memoryForget(cmd.Context(), args) },
	}
}

func (a *cli) memoryForget(ctx context.Context, names []string) error {
	s, err := a.OpenLibraryReadOnly(ctx) // makes no database
	if err != nil {
		return err
	}
	s.Close()
	if s, err = a.OpenLibrary(ctx); err != nil {
		return err
	}
	defer s.Close()
	sum := 0
	for _, name := range names {
		n, err := forgetNamed(ctx, s, name)
		if err != nil {
			return err
		}
		if n == 0 {
			return usagef("nothing is remembered of %s: `ponder memory list` shows what there is", clip(oneLine(name), 60))
		}
		sum += n
	}
	if a.flags.json {
		return a.object(map[string]int{"forgotten": sum})
	}
	a.note("forgot %s", textkit.Count(sum, "item", "items"))
	return nil
}

// forgetNamed forgets what a user names, and returns how many items that were.
func forgetNamed(ctx context.Context, s *app.LibraryHandle, name string) (int, error) {
	if strings.HasPrefix(name, "mem_") {
		it, err := s.Item(ctx, name)
		if err != nil {
			return 0, noneOf(err, name)
		}
		return s.Forget(ctx, it.ID)
	}
	n, err := s.ForgetSource(ctx, name)
	if n > 0 || err != nil {
		return n, err
	}
	abs, err := filepath.Abs(name)
	if err != nil || abs == name {
		return 0, err
	}
	return s.ForgetSource(ctx, abs)
}

type foundHit struct {
	ID         string      `json:"id"`
	Item       string      `json:"item_id"`
	Kind       recall.Kind `json:"kind"`
	Score      float64     `json:"score"`
	Quote      string      `json:"quote"`
	Start      int         `json:"start"`
	End        int         `json:"end"`
	Page       int         `json:"page,omitempty"`
	Title      string      `json:"title,omitempty"`
	Section    string      `json:"section,omitempty"`
	Speaker    string      `json:"speaker,omitempty"`
	Source     string      `json:"source,omitempty"`
	ExternalID string      `json:"external_id,omitempty"`
	Link       string      `json:"link,omitempty"`
	Path       string      `json:"path,omitempty"`
	Author     string      `json:"author,omitempty"`
	Tags       []string    `json:"tags,omitempty"`
	Date       time.Time   `json:"date,omitzero"`
	Hash       string      `json:"hash"`
	Original   string      `json:"original,omitempty"`
	Context    string      `json:"context,omitempty"`
	Raw        string      `json:"raw,omitempty"`
	Terms      []string    `json:"terms,omitempty"`
	Topics     []string    `json:"topics,omitempty"`
	Cluster    string      `json:"cluster,omitempty"`
	Similar    int         `json:"similar,omitempty"`
	How        string      `json:"how"`
}

func hitObject(h recall.Hit) foundHit {
	it := h.Item
	return foundHit{
		h.ID, it.ID, it.Kind, h.Score, h.Quote, h.Start, h.End, h.Page, it.Title, h.Section, h.Speaker, it.Source, it.ExternalID, it.Link, it.Path,
		it.Author, it.Tags, h.Date, it.Hash, it.Original, h.Context, it.Raw, h.Terms, h.Topics, h.Cluster, h.Similar, h.How,
	}
}
