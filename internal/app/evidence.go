package app

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"ponder"
	"ponder/internal/textkit"
	"ponder/knowledge/archive"
	"ponder/knowledge/document"
	"ponder/knowledge/web"
	"ponder/store/sqlite"
	webtool "ponder/tool/web"
)

// A QuoteStatus says whether a source still has a quote.
type QuoteStatus string

const (
	QuoteExact        QuoteStatus = "exact"   // at its place
	QuoteFound        QuoteStatus = "there"   // elsewhere in the source
	QuoteReordered    QuoteStatus = "apart"   // all parts, in another order
	QuoteChanged      QuoteStatus = "changed" // not in the source
	SourceGone        QuoteStatus = "gone"
	SourceNotKept     QuoteStatus = "not kept" // not checkable
	QuoteInSearch     QuoteStatus = "search"   // in a search result, whose page was not kept
	QuoteOnlyInSearch QuoteStatus = "unlike"   // in a search result, and not in the kept page
	QuoteOfThread     QuoteStatus = "session"  // a conclusion of another session
	QuoteOfUser       QuoteStatus = "user"     // a statement of the user
)

// Broken reports whether the source no longer has the quote.
func (s QuoteStatus) Broken() bool { return s == QuoteChanged || s == SourceGone }

func (s QuoteStatus) Describe() string {
	return map[QuoteStatus]string{
		QuoteExact: "exact match in the original", QuoteFound: "found in the original",
		QuoteReordered: "all parts found in the original, in another order",
		QuoteInSearch:  "matches the search result; the page was not stored", QuoteOnlyInSearch: "matches the search result, but NOT the stored page",
		QuoteChanged: "NOT found in the original", SourceGone: "the original is missing", SourceNotKept: "not checkable: no original was stored",
		QuoteOfThread: "conclusion of an earlier session", QuoteOfUser: "statement of the user",
	}[s]
}

type CheckedEvidence struct {
	ID    string     `json:"id"`
	Seq   ponder.Seq `json:"seq"`
	Quote string     `json:"quote"`
	ponder.Evidence
	State     QuoteStatus `json:"state"`
	StateText string      `json:"state_says"`
}

// CheckEvidence checks all evidence of a thread, or that with ids.
func (a *App) CheckEvidence(ctx context.Context, thread string, ids ...string) ([]CheckedEvidence, error) {
	store, err := a.OpenReadOnly(ctx)
	if err != nil {
		return nil, err
	}
	defer store.Close()
	info, err := a.FindThread(ctx, store, thread, "")
	if err != nil {
		return nil, err
	}
	list, err := evidenceOf(ctx, store, info.ID, ids)
	if err != nil {
		return nil, err
	}
	c := a.quoteChecker(ctx, store)
	for i := range list {
		e := &list[i]
		e.State = c.checkQuote(ctx, e.Evidence)
		e.StateText = e.State.Describe()
	}
	return list, nil
}

func evidenceOf(ctx context.Context, log ponder.Log, id ponder.ThreadID, ids []string) (list []CheckedEvidence, err error) {
	wanted := make(map[string]bool)
	for _, id := range ids {
		wanted[strings.Trim(id, "[]")] = true
	}
	for ev, err := range log.Events(ctx, id, 0) {
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", id, err)
		}
		if b, ok := ev.Body.(ponder.Evidence); ok && !ev.Internal && (len(ids) == 0 || wanted[b.ID]) {
			list = append(list, CheckedEvidence{ID: b.ID, Seq: ev.Seq, Quote: b.Content, Evidence: b})
		}
	}
	for _, id := range ids {
		if !slices.ContainsFunc(list, func(e CheckedEvidence) bool { return e.ID == strings.Trim(id, "[]") }) {
			return nil, NotFoundf("evidence_id", "no such evidence: %s", textkit.Truncate(textkit.OneLine(id), 20))
		}
	}
	return list, nil
}

type quoteChecker struct {
	archive *archive.Archive
	library *LibraryHandle
	texts   map[string]string // by hash
	answers map[string]bool
	fetcher *web.Fetcher
}

// quoteChecker returns a checker for store, which the caller closes.
func (a *App) quoteChecker(ctx context.Context, store *sqlite.Store) *quoteChecker {
	c := &quoteChecker{texts: make(map[string]string)}
	if kept, err := archive.Open(ctx, store.SQL()); err == nil {
		c.archive = kept
		if f, err := a.WebFetcher(kept); err == nil {
			c.fetcher = f
		}
	}
	if s, err := a.LibraryIn(ctx, store); err == nil {
		c.library = s
	}
	return c
}

func (c *quoteChecker) checkQuote(ctx context.Context, e ponder.Evidence) QuoteStatus {
	if strings.HasPrefix(e.Source, "session:") || strings.HasPrefix(e.Source, "thread:") {
		return QuoteOfThread
	}
	if e.Source == "user" && e.URL == "" {
		return QuoteOfUser
	}
	if state, ok := c.checkMemory(ctx, e); ok {
		return state
	}
	if e.Original != "" {
		return c.checkOriginal(ctx, e)
	}
	if strings.Contains(e.Source, "://") {
		state, _ := c.inCopies(ctx, e)
		return state
	}
	return inFile(e)
}

const maxCopies = 5

// checkOriginal checks a quote against its original. A search result proves only itself, so copies of
// the page take precedence.
func (c *quoteChecker) checkOriginal(ctx context.Context, e ponder.Evidence) QuoteStatus {
	state := c.inOriginal(ctx, e)
	if !c.answers[e.Original] {
		return state
	}
	in, some := c.inCopies(ctx, e)
	switch {
	case in != SourceNotKept:
		return in
	case state.Broken() || state == SourceNotKept:
		return state
	case some:
		return QuoteOnlyInSearch
	}
	return QuoteInSearch
}

// inCopies checks a quote against copies of its page, and reports whether a copy exists.
func (c *quoteChecker) inCopies(ctx context.Context, e ponder.Evidence) (state QuoteStatus, some bool) {
	state = SourceNotKept
	for _, hash := range c.pageCopies(ctx, e) {
		text, err := c.originalText(ctx, hash)
		if err != nil || c.answers[hash] {
			continue
		}
		some = true
		switch findParts(text, e.Content) {
		case QuoteFound:
			return QuoteFound, true
		case QuoteReordered:
			state = QuoteReordered
		}
	}
	return state, some
}

func (c *quoteChecker) pageCopies(ctx context.Context, e ponder.Evidence) (list []string) {
	if c.archive == nil || c.fetcher == nil {
		return nil
	}
	for _, source := range []string{e.Source, e.URL} {
		if source == "" {
			continue
		}
		kept, err := c.archive.Copies(ctx, source)
		if err != nil {
			continue
		}
		for _, at := range kept[:min(len(kept), maxCopies)] {
			if !slices.Contains(list, at.Hash) {
				list = append(list, at.Hash)
			}
		}
	}
	return list
}

// ellipsis marks an omission in a quote.
var ellipsis = regexp.MustCompile(`\[?(?:…|\.\.\.)\]?`)

// findParts looks up the parts of a quote between omissions. Each must be in the text verbatim.
func findParts(text, quote string) QuoteStatus {
	text, quote = normalizeSpace(text), normalizeSpace(quote)
	if quote == "" {
		return QuoteChanged
	}
	if strings.Contains(text, quote) {
		return QuoteFound
	}
	state, at, some := QuoteFound, 0, false
	for _, part := range ellipsis.Split(quote, -1) {
		if part = strings.TrimSpace(part); part == "" {
			continue
		}
		some = true
		if i := strings.Index(text[at:], part); i >= 0 {
			at += i + len(part)
		} else if strings.Contains(text, part) {
			state = QuoteReordered
		} else {
			return QuoteChanged
		}
	}
	if !some {
		return QuoteChanged
	}
	return state
}

func (c *quoteChecker) checkMemory(ctx context.Context, e ponder.Evidence) (QuoteStatus, bool) {
	if c.library == nil || len(e.Hash) < 12 {
		return "", false
	}
	got, err := c.library.Check(ctx, fmt.Sprintf("%s:%d-%d", e.Hash[:12], e.Start, e.End))
	switch {
	case err != nil || !got.Stored || got.Quote != e.Content:
		return "", false
	case got.Exact || !got.Original:
		return QuoteExact, true
	}
	return QuoteFound, true
}

func inFile(e ponder.Evidence) QuoteStatus {
	found := QuoteChanged
	err := readFileParts(e, func(d *document.Document) bool {
		switch {
		case d.Verify(e.Content, e.Start, e.End):
			found = QuoteExact
			return false
		case strings.Contains(normalizeSpace(d.Text), normalizeSpace(e.Content)):
			found = QuoteFound
		}
		return true
	})
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return SourceGone
	case err != nil:
		return SourceNotKept
	}
	return found
}

// readFileParts calls part with each part of the file of a quote, until it returns false.
func readFileParts(e ponder.Evidence, part func(*document.Document) bool) error {
	path, name, _ := strings.Cut(e.Source, "#")
	if own, err := strconv.Unquote(`"` + path + `"`); err == nil && !fileExists(path) {
		path = own
	}
	raw, err := document.ReadFile(path, 256<<20)
	if err != nil && !fileExists(path) {
		return fs.ErrNotExist
	}
	if err != nil {
		return err
	}
	for d, err := range document.Read(path, raw, nil, true) {
		if err != nil || name != "" && d.Source != e.Source {
			continue
		}
		if !part(d) {
			break
		}
	}
	return nil
}

func fileExists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

func normalizeSpace(text string) string { return strings.Join(strings.Fields(text), " ") }

func (c *quoteChecker) inOriginal(ctx context.Context, e ponder.Evidence) QuoteStatus {
	text, err := c.originalText(ctx, e.Original)
	switch {
	case errors.Is(err, archive.ErrNone):
		return SourceNotKept
	case err != nil:
		return QuoteChanged
	case e.Start >= 0 && e.End <= len(text) && e.Start < e.End && text[e.Start:e.End] == e.Content:
		return QuoteExact
	case strings.Contains(normalizeSpace(text), normalizeSpace(e.Content)):
		return QuoteFound
	}
	return QuoteChanged
}

func (c *quoteChecker) originalText(ctx context.Context, hash string) (string, error) {
	if c.fetcher == nil {
		return "", archive.ErrNone
	}
	if text, ok := c.texts[hash]; ok {
		return text, nil
	}
	page, err := c.fetcher.Archived(ctx, hash)
	if err != nil {
		return "", err
	}
	if strings.HasPrefix(page.URL, SearchAnswer) {
		if c.answers == nil {
			c.answers = make(map[string]bool)
		}
		c.answers[hash] = true
	}
	c.texts[hash] = webtool.Document(page).Text
	return c.texts[hash], nil
}

func (e CheckedEvidence) Text() string {
	var b strings.Builder
	title := textkit.OneLine(e.Title)
	if title == "" {
		title = textkit.OneLine(e.Source)
	}
	fmt.Fprintf(&b, "[%s] %s\n", e.ID, textkit.Truncate(title, 90))
	fmt.Fprintf(&b, "    “%s”\n", textkit.Truncate(textkit.OneLine(e.Content), 600))
	place := e.Source
	if e.URL != "" {
		place = e.URL
	}
	facts := []string{textkit.OneLine(place)}
	if e.Section != "" {
		facts = append(facts, textkit.OneLine(e.Section))
	}
	if e.Page > 0 {
		facts = append(facts, fmt.Sprintf("page %d", e.Page))
	}
	facts = append(facts, fmt.Sprintf("bytes %d to %d of its text", e.Start, e.End))
	fmt.Fprintf(&b, "    %s\n", strings.Join(facts, ", "))
	facts = nil
	if e.Author != "" {
		facts = append(facts, "by "+textkit.OneLine(e.Author))
	}
	for _, date := range []struct {
		what string
		at   time.Time
	}{{dateName(e.Evidence), e.Published}, {"fetched", e.Fetched}} {
		if !date.at.IsZero() {
			facts = append(facts, date.what+" "+date.at.Local().Format(time.DateOnly))
		}
	}
	if e.Found.Tool != "" || e.Tool != "" {
		how := "found with " + textkit.OneLine(e.Found.Tool)
		if e.Found.Tool == "" {
			how = "found with " + textkit.OneLine(e.Tool)
		}
		if e.Found.Provider != "" {
			how += " (" + textkit.OneLine(e.Found.Provider) + ")"
		}
		if e.Found.Query != "" {
			how += fmt.Sprintf(" for %q", textkit.Truncate(textkit.OneLine(e.Found.Query), 60))
		}
		facts = append(facts, how)
	}
	facts = append(facts, fmt.Sprintf("score %.2f", e.Score))
	fmt.Fprintf(&b, "    %s\n", strings.Join(facts, ", "))
	for _, s := range e.Quality {
		fmt.Fprintf(&b, "    %-14s %.2f  %s\n", textkit.OneLine(s.Name), s.Value, textkit.Truncate(textkit.OneLine(s.Description), 120))
	}
	if e.Voices > 1 {
		fmt.Fprintf(&b, "    %d copies found, counted once\n", e.Voices)
	}
	if e.Untrusted {
		b.WriteString("    untrusted: written by strangers\n")
	}
	fmt.Fprintf(&b, "    %s\n", e.StateText)
	return textkit.Clean(b.String())
}

// dateName names the date of evidence. A file's date is usually its modification time.
func dateName(e ponder.Evidence) string {
	if e.URL == "" && !strings.Contains(e.Source, "://") {
		return "changed"
	}
	return "published"
}
