package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"ponder/internal/app"
	"ponder/internal/textkit"
	"ponder/internal/textkit/layout"
	"ponder/knowledge/recall"
)

func (a *cli) memoryCommand() *cobra.Command {
	return groupCommands(&cobra.Command{
		Use:     "memory",
		Short:   "List, show and forget items in the memory",
		Example: "ponder memory list --kind post\nponder memory forget ~/notes/old",
		GroupID: groupKnow,
	}, a.memoryListCommand(), a.memoryShowCommand(), a.memoryForgetCommand())
}

func (a *cli) memoryListCommand() *cobra.Command {
	var f recallFlags
	cmd := &cobra.Command{
		Use:     "list",
		Short:   "List items in the memory, newest first",
		Example: "ponder memory list --tag work\nponder memory list --json",
		Args:    requireNoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return a.memoryList(cmd.Context(), f) },
	}
	flags := cmd.Flags()
	flags.IntVarP(&f.n, "number", "n", 20, "maximum `number` of items")
	flags.StringArrayVar(&f.kinds, "kind", nil, "only this `kind`: memory, document, post, journal or thread; may be repeated")
	flags.StringArrayVar(&f.sources, "source", nil, "only from this source: a `name`, a path, or a prefix with *")
	flags.StringArrayVar(&f.tags, "tag", nil, "only with this `word`; may be repeated")
	flags.StringVar(&f.persona, "persona", "", "only items of this persona")
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
		a.printNote("%s", a.errorLine(app.ErrNothingKnown))
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
	return printList(a, list, "no matching items in the memory", head, func(it recall.Item) []string {
		date := ""
		if !it.Date.IsZero() {
			date = it.Date.Local().Format(time.DateOnly)
		}
		return []string{it.ID, string(it.Kind), date, textkit.Number(it.Passages), truncate(it.Title, 50), truncate(app.Where(it), 60)}
	})
}

func (a *cli) memoryShowCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "show ID",
		Short:   "Show an item in the memory",
		Example: "ponder memory show mem_01K",
		Args:    requireArgs(1, 1, "an ID: `ponder memory list` shows them"),
		RunE:    runWithArg(a.memoryShow),
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
		return explainMissing(err, id)
	}
	if a.flags.json {
		return a.printJSON(it)
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

func explainMissing(err error, id string) error {
	if errors.Is(err, recall.ErrNone) {
		return app.NotFoundf("memory_id", "no item %s: `ponder memory list` shows all items", truncate(oneLine(id), 60))
	}
	if errors.Is(err, recall.ErrAmbiguous) {
		return usagef("%s matches several IDs: add more characters", truncate(oneLine(id), 60))
	}
	return err
}

func (a *cli) memoryForgetCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "forget ID|PATH|SOURCE...",
		Short: "Remove items from the memory",
		Long: `Remove items from the memory by ID, or all items of a file, a folder, a URL or a source.
Your own files stay; Ponder deletes its copies, also the archived originals.`,
		Example: "ponder memory forget mem_01K\nponder memory forget ~/notes/old\nponder memory forget twitter",
		Args:    requireArgs(1, 1000, "an ID, a path or a source"),
		RunE:    func(cmd *cobra.Command, args []string) error { return a.memoryForget(cmd.Context(), args) },
	}
}

func (a *cli) memoryForget(ctx context.Context, names []string) error {
	s, err := a.OpenLibraryReadOnly(ctx)
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
		n, err := forgetItems(ctx, s, name)
		if err != nil {
			return err
		}
		if n == 0 {
			return usagef("no items of %s: `ponder memory list` shows all items", truncate(oneLine(name), 60))
		}
		sum += n
	}
	if a.flags.json {
		return a.printJSON(map[string]int{"forgotten": sum})
	}
	a.printNote("forgot %s", textkit.Count(sum, "item", "items"))
	return nil
}

func forgetItems(ctx context.Context, s *app.LibraryHandle, name string) (int, error) {
	if strings.HasPrefix(name, "mem_") {
		it, err := s.Item(ctx, name)
		if err != nil {
			return 0, explainMissing(err, name)
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
		it.Author, it.Tags, h.Date, it.Hash, it.Original, h.Context, it.Raw, h.Terms, h.Topics, h.Cluster, h.Similar, h.MatchedBy,
	}
}

type recallFlags struct {
	n                            int
	kinds, sources, tags         []string
	after, before, persona, show string
	explain                      bool
}

func (a *cli) recallCommand() *cobra.Command {
	var f recallFlags
	cmd := &cobra.Command{
		Use:   "recall QUERY",
		Short: "Search the memory",
		Long: `Search the memory and print the best matches first, each with its place in the source. Use
your own words, also with times: "last week", "in March 2024", "before the launch". In a
query, "quoted words" match as a phrase, word* matches a prefix, -word excludes and +word
requires a word. kind:post, source:twitter, tag:work, after:2024-01 and before:2024-06
filter the results. An embedding model (models.embed) also finds other wordings.`,
		Example: `ponder recall "what did I promise Anna"
ponder recall "rent increase last year" --kind document -n 5
ponder recall '"notice period" -draft tag:work' --json
ponder recall --show 3f1c22a90b12:120-180`,
		GroupID: groupKnow,
		Args:    cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if f.show != "" {
				return a.recallShow(cmd.Context(), f.show)
			}
			return a.runRecall(cmd.Context(), strings.Join(args, " "), f)
		},
	}
	flags := cmd.Flags()
	flags.IntVarP(&f.n, "number", "n", 10, "maximum `number` of hits, up to 100")
	flags.StringArrayVar(&f.kinds, "kind", nil, "only this `kind`: memory, document, post, journal or thread; may be repeated")
	flags.StringArrayVar(&f.sources, "source", nil, "only from this source: a `name`, a path, or a prefix with *")
	flags.StringArrayVar(&f.tags, "tag", nil, "only with this `word`; may be repeated")
	flags.StringVar(&f.after, "after", "", "only from this `day` or later")
	flags.StringVar(&f.before, "before", "", "only before this `day`")
	flags.StringVar(&f.persona, "persona", "", "only items of this persona")
	flags.BoolVar(&f.explain, "explain", false, "show the interpretation of the query and the confidence of the result")
	flags.StringVar(&f.show, "show", "", "show the text around the hit or item with this `id`")
	return cmd
}

func (f *recallFlags) searchOptions() (recall.SearchOptions, error) {
	o := recall.SearchOptions{N: f.n, Sources: f.sources, Tags: f.tags, Persona: f.persona, Topics: 4}
	if f.n < 1 || f.n > 100 {
		return o, usagef("-n: must be from 1 to 100")
	}
	var err error
	if o.Kinds, err = app.KindsOf(f.kinds); err != nil {
		return o, err
	}
	return o, readDays(f.after, f.before, &o.From, &o.To)
}

func readDays(after, before string, from, to *time.Time) (err error) {
	if after != "" {
		if *from, err = parseDay("after", after); err != nil {
			return err
		}
	}
	if before != "" {
		*to, err = parseDay("before", before)
	}
	return err
}

func (f *recallFlags) searchAdvice() string {
	if len(f.kinds)+len(f.sources)+len(f.tags) > 0 || f.after+f.before+f.persona != "" {
		return "try other words, or fewer flags"
	}
	return "try other words"
}

func (a *cli) runRecall(ctx context.Context, text string, f recallFlags) error {
	if strings.TrimSpace(text) == "" {
		return app.Invalidf("q", `ponder recall needs a query, as in: ponder recall "what did I promise Anna"`)
	}
	o, err := f.searchOptions()
	if err != nil {
		return err
	}
	s, err := a.OpenLibraryReadOnly(ctx)
	if err != nil {
		return err
	}
	defer s.Close()
	r, err := s.Search(ctx, text, o)
	if err != nil {
		return err
	}
	if a.flags.json {
		return a.recallObjects(r, f.explain)
	}
	for i, h := range r.Hits {
		a.printMarked(a.formatHit(i+1, h) + "\n")
	}
	if f.explain {
		a.printf("%s", describeQuery(r))
	}
	switch {
	case r.Documents == 0:
		a.printNote("%s", a.errorLine(app.ErrNothingKnown))
	case len(r.Hits) == 0:
		a.printNote("no match in %s: %s; `ponder memory list` shows all items", textkit.Count(r.Documents, "document", "documents"), f.searchAdvice())
	default:
		a.printNote("confidence %.0f %%: %s", 100*r.Confidence, oneLine(r.Reason))
	}
	return nil
}

func (a *cli) formatHit(n int, h recall.Hit) string {
	var b strings.Builder
	head := oneLine(h.Item.Title)
	if h.Section != "" {
		head += " > " + oneLine(h.Section)
	}
	facts := []string{string(h.Item.Kind)}
	if !h.Date.IsZero() {
		facts = append(facts, h.Date.Local().Format(time.DateOnly))
	}
	if h.Page > 0 {
		facts = append(facts, fmt.Sprintf("page %d", h.Page))
	}
	if h.Similar > 0 {
		facts = append(facts, fmt.Sprintf("and %d similar", h.Similar))
	}
	fmt.Fprintf(&b, "%2d. %s (%s) %.2f\n", n, truncate(head, 90), strings.Join(facts, ", "), h.Score)
	snippet := oneLine(h.Snippet)
	if snippet == "" {
		snippet = oneLine(h.Quote)
	}
	b.WriteString("    " + snippet + "\n")
	if link := h.Item.Link; link != "" && link != app.Where(h.Item) {
		b.WriteString("    " + oneLine(link) + "\n")
	}
	b.WriteString("    " + oneLine(app.Where(h.Item)) + "  " + h.ID + "\n")
	return b.String()
}

// printMarked prints text with marked words: bold on a terminal, plain elsewhere.
func (a *cli) printMarked(text string) {
	open, end, width := "", "", a.terminalWidth()
	text = textkit.Clean(text)
	if width > 0 && !a.isPlainOutput() {
		open, end = "\x1b[1m", "\x1b[0m"
	}
	if width > 0 {
		text = layout.Wrap(text, min(width, maxLineWidth))
	}
	fmt.Fprint(a.out, strings.NewReplacer(recall.MarkOpen, open, recall.MarkClose, end).Replace(text))
}

func (a *cli) recallObjects(r recall.Result, explain bool) error {
	for _, h := range r.Hits {
		if err := a.printJSON(hitObject(h)); err != nil {
			return err
		}
	}
	if !explain {
		return nil
	}
	people := append([]string{}, r.Query.People...)
	return a.printJSON(map[string]any{"explain": struct {
		Class      string            `json:"class"`
		Why        string            `json:"why"`
		Time       string            `json:"time,omitempty"`
		People     []string          `json:"people"`
		Strategies []string          `json:"strategies"`
		Corrected  map[string]string `json:"corrected,omitempty"`
		Hybrid     bool              `json:"hybrid"`
		Confidence float64           `json:"confidence"`
		Says       string            `json:"says"`
		Documents  int               `json:"documents"`
		Passages   int               `json:"passages"`
	}{string(r.Query.Class), r.Query.Why, r.Query.Time.Text, people, r.Strategies, r.Corrected, r.Hybrid, r.Confidence, r.Reason, r.Documents, r.Passages}})
}

func describeQuery(r recall.Result) string {
	q := r.Query
	var b strings.Builder
	fmt.Fprintf(&b, "understood as: %s (%s)\n", q.Class, oneLine(q.Why))
	if q.Time.Text != "" {
		fmt.Fprintf(&b, "time: %s\n", oneLine(q.Time.Text))
	}
	if q.Anchor != nil {
		fmt.Fprintf(&b, "time: %s\n", oneLine(q.Anchor.Text))
	}
	if len(q.People) > 0 {
		fmt.Fprintf(&b, "people: %s\n", oneLine(strings.Join(q.People, ", ")))
	}
	for word, as := range r.Corrected {
		fmt.Fprintf(&b, "corrected to %s: %s\n", oneLine(as), oneLine(word))
	}
	fmt.Fprintf(&b, "done: %s\n", strings.Join(r.Strategies, ", "))
	return b.String()
}

func (a *cli) recallShow(ctx context.Context, id string) error {
	s, err := a.OpenLibraryReadOnly(ctx)
	if err != nil {
		return err
	}
	defer s.Close()
	x, err := s.Read(ctx, id, recall.ReadOptions{})
	if err != nil {
		return explainMissing(err, id)
	}
	checked, err := s.Check(ctx, id)
	if err != nil {
		return err
	}
	if a.flags.json {
		return a.printJSON(struct {
			Item     recall.Item `json:"item"`
			Text     string      `json:"text"`
			Start    int         `json:"start"`
			End      int         `json:"end"`
			Of       int         `json:"of"`
			Section  string      `json:"section,omitempty"`
			Page     int         `json:"page,omitempty"`
			Earlier  string      `json:"earlier,omitempty"`
			Later    string      `json:"later,omitempty"`
			Original bool        `json:"original_kept"`
			Exact    bool        `json:"in_original"`
		}{x.Item, x.Text, x.Start, x.End, x.TextLength, x.Section, x.Page, x.Earlier, x.Later, checked.Original, checked.Exact})
	}
	a.printf("%s\n%s\n\n%s\n", oneLine(x.Item.Title), oneLine(app.Where(x.Item)), textkit.Clean(x.Text))
	if x.Later != "" {
		a.printNote("more: ponder recall --show %s", x.Later)
	}
	switch {
	case !checked.Original:
		a.printNote("the original is not archived")
	case !checked.Exact:
		a.printNote("the archived original does not contain this text")
	}
	return nil
}
