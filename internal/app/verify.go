package app

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strings"

	"ponder"
	"ponder/internal/fileio"
	"ponder/internal/limitio"
	"ponder/internal/report"
	"ponder/internal/textkit"
	"ponder/knowledge/claim"
	"ponder/knowledge/document"
	"ponder/knowledge/lookup"
	"ponder/knowledge/recall"
	"ponder/store/sqlite"
)

type Verification struct {
	Format   string          `json:"format"`
	Thread   ponder.ThreadID `json:"thread_id,omitempty"`
	Question string          `json:"question"`
	Form     string          `json:"form"`
	Stands   bool            `json:"stands"`
	Borne    int             `json:"claims_borne_out"` // of the standing claims, those that quotes support
	Altered  bool            `json:"text_altered,omitempty"`
	Added    []string        `json:"added_lines,omitempty"`
	Gone     []string        `json:"missing_lines,omitempty"`
	Quotes   []QuoteCheck    `json:"quotes"`
	Lost     []string        `json:"unchecked_quotes,omitempty"` // ids of cited quotes without an original here
	Unsure   []string        `json:"unchecked_claims,omitempty"` // claims that need such quotes
	report.Recheck
}

type QuoteCheck struct {
	ID        string      `json:"id"`
	Source    string      `json:"source"`
	Cited     bool        `json:"cited"`
	State     QuoteStatus `json:"state"`
	StateText string      `json:"state_says"`
}

// Verify checks a report: a file, or the id of a research. Without a database, it cannot check
// kept pages.
func (a *App) Verify(ctx context.Context, name string) (v Verification, err error) {
	store, err := a.OpenReadOnly(ctx)
	switch {
	case errors.Is(err, ErrNothingYet):
		store = nil
	case err != nil:
		return v, err
	default:
		defer store.Close()
	}
	f, err := a.readFiled(ctx, store, name)
	if err != nil {
		return v, err
	}
	return a.VerifyReport(ctx, store, f), nil
}

func (a *App) readFiled(ctx context.Context, store *sqlite.Store, name string) (*report.ReportFile, error) {
	raw, err := readReport(name)
	switch {
	case err == nil:
		f, err := report.ReadResearch(raw)
		if err != nil {
			return nil, Invalidf("", "%s: %w", textkit.Truncate(textkit.OneLine(name), 80), err)
		}
		if f.Answer == "" && !f.Altered {
			return nil, Invalidf("", "%s: the report has no answer to check", textkit.Truncate(textkit.OneLine(name), 80))
		}
		return f, nil
	case !errors.Is(err, fs.ErrNotExist):
		return nil, Invalidf("", "read %s: %w", textkit.Truncate(textkit.OneLine(name), 80), err)
	case strings.ContainsAny(name, "./\\") || store == nil:
		return nil, Invalidf("", "%s: no such file", textkit.Truncate(textkit.OneLine(name), 80))
	}
	info, err := a.FindThread(ctx, store, name, ponder.KindResearch)
	if err != nil {
		return nil, err
	}
	return reportOfThread(ctx, store, info)
}

// VerifyThread checks the report of a research.
func (a *App) VerifyThread(ctx context.Context, info ponder.Info) (v Verification, err error) {
	store, err := a.OpenReadOnly(ctx)
	if err != nil {
		return v, err
	}
	defer store.Close()
	f, err := reportOfThread(ctx, store, info)
	if err != nil {
		return v, err
	}
	return a.VerifyReport(ctx, store, f), nil
}

func reportOfThread(ctx context.Context, log ponder.Log, info ponder.Info) (*report.ReportFile, error) {
	v, since, err := FoldResearch(ctx, log, info.ID)
	if err != nil {
		return nil, err
	}
	if v.Research.Answer == "" {
		return nil, Invalidf("", "research %s has no answer yet: see `ponder session show %s`", info.ID, info.ID)
	}
	r := report.NewResearch(v, since)
	return &report.ReportFile{Research: r, Form: "thread", Shown: r.Answer}, nil
}

func readReport(name string) ([]byte, error) {
	text, err := fileio.ReadFile(name, report.MaxResearch)
	var path *fs.PathError
	switch {
	case errors.Is(err, limitio.ErrTooLarge):
		err = errors.New("it is too large for a report")
	case errors.As(err, &path) && !errors.Is(err, fs.ErrNotExist):
		err = path.Err
	}
	return text, err
}

// VerifyReport checks a report. store may be nil.
func (a *App) VerifyReport(ctx context.Context, store *sqlite.Store, f *report.ReportFile) Verification {
	v := Verification{
		Format: "ponder-verify/1", Thread: f.Thread, Question: f.Question, Form: f.Form, Altered: f.Altered, Added: f.Lines, Gone: f.Missing, Quotes: []QuoteCheck{},
	}
	c := &quoteChecker{texts: make(map[string]string)}
	if store != nil {
		c = a.quoteChecker(ctx, store)
	}
	used := f.Used()
	wrong, lost := make(map[string]bool), make(map[string]bool)
	for _, e := range f.Evidence {
		state := c.checkQuote(ctx, asEvidence(e))
		if state == SourceNotKept && e.Original != "" {
			state = SourceGone // the report says that it was kept
		}
		says := state.Describe()
		if state == SourceGone && e.Original != "" {
			says = "its original is not in this database"
		}
		wrong[e.ID], lost[e.ID] = state.Broken() && state != SourceGone, state.Broken()
		if state == SourceGone && used[e.ID] {
			v.Lost = append(v.Lost, e.ID)
		}
		v.Quotes = append(v.Quotes, QuoteCheck{e.ID, e.Source, used[e.ID], state, says})
	}
	v.Recheck = f.Recheck(wrong)
	v.Unsure = uncheckedClaims(v.Recheck, f.Recheck(lost))
	v.Stands = len(v.Problems())+len(v.Lost) == 0
	v.Borne = countSupported(v.Claims)
	return v
}

// countSupported returns the number of standing claims that quotes support, in whole, in part
// or by inference.
func countSupported(list []report.RecheckedClaim) (n int) {
	for _, c := range list {
		switch claim.Verdict(c.Status) {
		case claim.Supported, claim.Qualified, claim.Inference:
			if !c.Differs || c.Judged {
				n++
			}
		}
	}
	return n
}

func uncheckedClaims(with, without report.Recheck) (list []string) {
	for i, c := range without.Claims {
		if c.Differs && !c.Judged && !with.Claims[i].Differs {
			list = append(list, textkit.OneLine(c.Text))
		}
	}
	return list
}

func asEvidence(e report.Evidence) ponder.Evidence {
	return ponder.Evidence{
		ID: e.ID, Content: e.Quote, Source: e.Source, URL: e.URL, Title: e.Title, Start: e.Start, End: e.End, Hash: e.Hash, Original: e.Original, Fetched: e.Fetched,
	}
}

func (v Verification) Problems() (list []string) {
	if v.Altered {
		list = append(list, "the report was changed after it was written")
	}
	for i, line := range v.Added {
		if i < len(v.Gone) {
			line = fromDifference(line, v.Gone[i])
		}
		list = append(list, fmt.Sprintf("the text now says: %s", textkit.Truncate(line, maxDifference)))
	}
	for i, line := range v.Gone {
		if i < len(v.Added) {
			line = fromDifference(line, v.Added[i])
		}
		list = append(list, fmt.Sprintf("the text said: %s", textkit.Truncate(line, maxDifference)))
	}
	for _, c := range v.Recheck.Altered {
		list = append(list, fmt.Sprintf("the text has a claim that the report's data lacks: %s (%s: %s)", textkit.Truncate(textkit.OneLine(c.Text), 200), c.Status, textkit.OneLine(c.Reason)))
	}
	for _, text := range v.Missing {
		list = append(list, fmt.Sprintf("the text lacks a claim of the report's data: %s", textkit.Truncate(text, 200)))
	}
	for _, id := range v.Strange {
		list = append(list, fmt.Sprintf("the text cites unknown evidence %s", textkit.Truncate(textkit.OneLine(id), 20)))
	}
	for _, q := range v.Quotes {
		if q.Cited && q.State == QuoteChanged {
			list = append(list, fmt.Sprintf("quote %s of %s: %s", textkit.OneLine(q.ID), textkit.Truncate(textkit.OneLine(q.Source), 100), q.StateText))
		}
	}
	for _, c := range v.Claims {
		if c.Differs && !c.Judged {
			list = append(list, fmt.Sprintf("%s: %s", textkit.Truncate(textkit.OneLine(c.Text), 200), c.Problem()))
		}
	}
	return list
}

// Runes of a changed line: at most, and before the difference.
const (
	maxDifference  = 300
	leadDifference = 60
)

// fromDifference returns a long line from shortly before its difference to other.
func fromDifference(line, other string) string {
	a, b := []rune(line), []rune(other)
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	if len(a) <= maxDifference || n <= leadDifference {
		return line
	}
	return "…" + string(a[n-leadDifference:])
}

// Public returns v with names of sources instead of paths.
func (v Verification) Public() Verification {
	v.Quotes = slices.Clone(v.Quotes)
	for i, q := range v.Quotes {
		v.Quotes[i].Source = lookup.SourceName(q.Source)
	}
	return v
}

func (v Verification) Text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n", textkit.Truncate(textkit.OneLine(v.Question), 200))
	states := make(map[QuoteStatus]int)
	for _, q := range v.Quotes {
		states[q.State]++
	}
	var parts []string
	for _, s := range []QuoteStatus{QuoteExact, QuoteFound, QuoteReordered, QuoteInSearch, QuoteOnlyInSearch, QuoteChanged, SourceGone, SourceNotKept, QuoteOfThread, QuoteOfUser} {
		if n := states[s]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, map[QuoteStatus]string{
				QuoteExact: "exact in the original", QuoteFound: "in the original", QuoteChanged: "NOT in the original",
				QuoteReordered: "in the original in another order", QuoteInSearch: "as in the search result, page not stored",
				QuoteOnlyInSearch: "as in the search result, but NOT in the stored page",
				SourceGone:        "with a missing original", SourceNotKept: "without a stored original", QuoteOfThread: "of earlier work", QuoteOfUser: "of the user",
			}[s]))
		}
	}
	b.WriteString(textkit.Count(len(v.Quotes), "quote", "quotes"))
	if len(parts) > 0 {
		b.WriteString(": " + strings.Join(parts, "; "))
	}
	same, judged := 0, 0
	for _, c := range v.Claims {
		switch {
		case !c.Differs:
			same++
		case c.Judged:
			judged++
		}
	}
	fmt.Fprintf(&b, "\n%s", textkit.Count(len(v.Claims), "claim", "claims"))
	if len(v.Claims) > 0 {
		fmt.Fprintf(&b, ": %d unchanged", same-len(v.Unsure))
	}
	if n := len(v.Unsure); n > 0 {
		fmt.Fprintf(&b, ", %d not checked", n)
	}
	if judged > 0 {
		fmt.Fprintf(&b, ", %d decided by a model and not checked again", judged)
	}
	b.WriteString("\n")
	for _, p := range v.Problems() {
		fmt.Fprintf(&b, "  ✗ %s\n", p)
	}
	for _, q := range v.Quotes {
		if q.Cited && q.State == SourceGone {
			fmt.Fprintf(&b, "  ? quote %s of %s: %s\n", textkit.OneLine(q.ID), textkit.Truncate(textkit.OneLine(q.Source), 100), q.StateText)
		}
	}
	b.WriteString(v.verdict() + "\n")
	return b.String()
}

func (v Verification) verdict() string {
	switch {
	case v.Stands && len(v.Claims) == 0:
		return "The report is unchanged and has no claims."
	case v.Stands && v.Borne == 0:
		return "The report is unchanged, but no quote supports a claim."
	case v.Stands:
		return "Verified."
	}
	text := "Not verified."
	if len(v.Problems()) == 0 {
		text = "No problems found."
	}
	if n := len(v.Lost); n > 0 {
		text += fmt.Sprintf(" Not checked: %s with a missing original", textkit.Count(n, "quote", "quotes"))
		if k := len(v.Unsure); k > 0 {
			text += ", and " + textkit.Count(k, "claim", "claims") + " based on them"
		}
		text += "."
	}
	return text
}

// A Passage is a quote in the text of its original.
type Passage struct {
	Before    string `json:"before"`
	Quote     string `json:"quote"`
	After     string `json:"after"`
	CutBefore bool   `json:"cut_before" doc:"the original begins earlier"`
	CutAfter  bool   `json:"cut_after" doc:"the original ends later"`
}

// maxAround bounds the text before and after a quote in a passage, in bytes.
const maxAround = 2000

// FindPassage checks evidence of a thread by ID, and returns the quote in its original, or nil.
func (a *App) FindPassage(ctx context.Context, thread ponder.ThreadID, id string) (e CheckedEvidence, p *Passage, err error) {
	store, err := a.OpenReadOnly(ctx)
	if err != nil {
		return e, nil, err
	}
	defer store.Close()
	list, err := evidenceOf(ctx, store, thread, []string{id})
	if err != nil {
		return e, nil, err
	}
	e = list[0]
	c := a.quoteChecker(ctx, store)
	e.State = c.checkQuote(ctx, e.Evidence)
	e.StateText = e.State.Describe()
	return e, c.findPassage(ctx, e.Evidence), nil
}

// findPassage looks in the memory, the archive and the file of a quote, in this order.
func (c *quoteChecker) findPassage(ctx context.Context, e ponder.Evidence) *Passage {
	if c.library != nil && len(e.Hash) >= 12 {
		x, err := c.library.Read(ctx, fmt.Sprintf("%s:%d-%d", e.Hash[:12], e.Start, e.End), recall.ReadOptions{Before: maxAround, After: maxAround})
		if err == nil {
			if p := passageIn(x.Text, e.Content, e.Start-x.Start); p != nil {
				p.CutBefore, p.CutAfter = p.CutBefore || x.Start > 0, p.CutAfter || x.End < x.TextLength
				return p
			}
		}
	}
	for _, hash := range append([]string{e.Original}, c.pageCopies(ctx, e)...) {
		if hash == "" {
			continue
		}
		if text, err := c.originalText(ctx, hash); err == nil {
			if p := passageIn(text, e.Content, e.Start); p != nil {
				return p
			}
		}
	}
	if strings.Contains(e.Source, "://") {
		return nil
	}
	var found *Passage
	err := readFileParts(e, func(d *document.Document) bool {
		found = passageIn(d.Text, e.Content, e.Start)
		return found == nil
	})
	if err != nil { // the check reports it
		return nil
	}
	return found
}

// passageIn returns a quote in a text: at its place, or else its first occurrence with any white space.
func passageIn(text, quote string, start int) *Passage {
	end := start + len(quote)
	if start < 0 || end > len(text) || text[start:end] != quote {
		words := strings.Fields(quote)
		if len(words) == 0 || len(quote) > maxAround*2 {
			return nil
		}
		for i := range words {
			words[i] = regexp.QuoteMeta(words[i])
		}
		at := regexp.MustCompile(strings.Join(words, `\s+`)).FindStringIndex(text)
		if at == nil {
			return nil
		}
		start, end = at[0], at[1]
	}
	from, to := max(0, start-maxAround), min(len(text), end+maxAround)
	return &Passage{
		Before: strings.ToValidUTF8(text[from:start], ""), Quote: text[start:end], After: strings.ToValidUTF8(text[end:to], ""), CutBefore: from > 0, CutAfter: to < len(text),
	}
}
