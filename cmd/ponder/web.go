package main

import (
	"context"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"ponder/internal/textkit"
	"ponder/knowledge/web/search"
)

func (a *cli) webCommand() *cobra.Command {
	return groupCommands(&cobra.Command{
		Use:   "web",
		Short: "Search the web and fetch pages",
		Long: `Search the web and fetch pages with the same rules as sessions. Searches use the
configured search engines (EXA_API_KEY, BRAVE_API_KEY, TAVILY_API_KEY, SEARXNG_URL, or a
folder of pages in web.folder). Ponder obeys robots.txt and limits the rate per host. It
refuses private addresses unless web.allow lists them. It archives the pages it reads.`,
		Example: "ponder web search \"ozone layer recovery\"\nponder web fetch https://example.com/",
		GroupID: groupLook,
	}, a.webSearchCommand(), a.webFetchCommand())
}

func (a *cli) webSearchCommand() *cobra.Command {
	var n int
	var after, before string
	var domains []string
	cmd := &cobra.Command{
		Use:     "search QUERY",
		Short:   "Search the web",
		Example: "ponder web search \"ozone layer recovery\" -n 5 --after 2024",
		Args:    requireArgs(1, 1, "a query in quotes"),
		RunE: func(cmd *cobra.Command, args []string) error {
			q := search.Query{Text: args[0], N: n, Domains: domains}
			if err := readDays(after, before, &q.From, &q.To); err != nil {
				return err
			}
			return a.webSearch(cmd.Context(), q)
		},
	}
	flags := cmd.Flags()
	flags.IntVarP(&n, "number", "n", 10, "maximum `number` of results, up to 100")
	flags.StringVar(&after, "after", "", "only pages published on this `day` or later")
	flags.StringVar(&before, "before", "", "only pages published before this `day`")
	flags.StringArrayVar(&domains, "domain", nil, "only from this `host`; may be repeated")
	return cmd
}

func (a *cli) webSearch(ctx context.Context, q search.Query) error {
	if strings.TrimSpace(q.Text) == "" || q.N < 1 || q.N > search.MaxResults {
		return usagef("ponder web search: give a query, and -n from 1 to %d", search.MaxResults)
	}
	found, err := a.SearchWeb(ctx, q)
	if err != nil {
		return err
	}
	for i, r := range found.Results {
		if a.flags.json {
			if err := a.printJSON(resultObject(r)); err != nil {
				return err
			}
			continue
		}
		date := ""
		if !r.Published.IsZero() {
			date = " (" + r.Published.Format(time.DateOnly) + ")"
		}
		a.printf("%2d. %s%s\n    %s\n", i+1, truncate(oneLine(r.Title), 90), date, oneLine(r.URL))
		if r.Snippet != "" {
			a.printf("    %s\n", truncate(oneLine(r.Snippet), 300))
		}
	}
	for _, p := range found.Providers {
		switch {
		case p.Err != nil:
			a.printNote("%s: %v", p.Name, p.Err)
		case p.Cached:
			a.printNote("%s: %s, kept since %s", p.Name, textkit.Count(p.Count, "result", "results"), textkit.Ago(p.At, time.Now()))
		default:
			a.printNote("%s: %s in %d ms", p.Name, textkit.Count(p.Count, "result", "results"), p.Took.Milliseconds())
		}
	}
	return nil
}

func resultObject(r search.Result) any {
	return struct {
		Rank int `json:"rank"`
		search.Result
		Providers []string `json:"providers"`
	}{r.Rank, r, r.Providers}
}

func (a *cli) webFetchCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "fetch URL",
		Short:   "Fetch a web page and print its text",
		Example: "ponder web fetch https://example.com/ > page.md",
		Args:    requireArgs(1, 1, "the URL of a page"),
		RunE:    runWithArg(a.webFetch),
	}
}

func (a *cli) webFetch(ctx context.Context, url string) error {
	p, err := a.FetchPage(ctx, url)
	if err != nil {
		return err
	}
	if a.flags.json {
		return a.printJSON(struct {
			URL       string    `json:"url"`
			Final     string    `json:"final_url"`
			Type      string    `json:"type"`
			Title     string    `json:"title,omitempty"`
			Author    string    `json:"author,omitempty"`
			Site      string    `json:"site,omitempty"`
			Language  string    `json:"language,omitempty"`
			Published time.Time `json:"published,omitzero"`
			Fetched   time.Time `json:"fetched"`
			Original  string    `json:"original"`
			Cached    bool      `json:"cached"`
			Truncated bool      `json:"truncated"`
			Markdown  string    `json:"markdown"`
		}{p.URL, p.Final, p.Type, p.Title, p.Author, p.Site, p.Language, p.Published, p.Fetched, p.Hash, p.Cached, p.Truncated, p.Markdown})
	}
	facts := []string{oneLine(p.Final)}
	for _, fact := range []string{p.Title, p.Author, p.Site} {
		if fact != "" {
			facts = append(facts, oneLine(fact))
		}
	}
	if !p.Published.IsZero() {
		facts = append(facts, "published "+p.Published.Format(time.DateOnly))
	}
	if p.Cached {
		facts = append(facts, "kept since "+textkit.Ago(p.Fetched, time.Now()))
	}
	a.printNote("%s", strings.Join(facts, ", "))
	a.printf("%s\n", textkit.Clean(p.Markdown))
	return nil
}
