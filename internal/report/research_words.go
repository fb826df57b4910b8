package report

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"ponder/internal/textkit"
	"ponder/knowledge/claim"
	"ponder/mode/session"
)

type researchDocument struct {
	*Research
	numbers *citationNumbers
	Title   string
	Asked   string // complete, if the title is shortened
	Cited   []citedEvidence
	Uncited int
}

type citedEvidence struct {
	Evidence
	N             int
	Title         string // unless equal to the address
	Address, Path string // one of them
	Facts, More   []string
}

func newResearchDocument(r *Research) *researchDocument {
	f := &researchDocument{Research: r, Title: textkit.TruncateWords(textkit.OneLine(r.Question), maxTitle)}
	if f.Title != strings.TrimSpace(r.Question) {
		f.Asked = r.Question
	}
	f.Title = cmp.Or(f.Title, "Research without a question")
	f.numbers = r.numberCitations()
	byID := make(map[string]Evidence, len(r.Evidence))
	for _, e := range r.Evidence {
		byID[e.ID] = e
	}
	for i, id := range f.numbers.order {
		e := byID[id]
		c := citedEvidence{Evidence: e, N: i + 1, Facts: evidenceFacts(e), More: dropEmpty(strings.Join(qualityTexts(e), "; "), searchText(e), hashText(e))}
		if e.Title != e.Source {
			c.Title = textkit.TruncateWords(textkit.OneLine(e.Title), 200)
		}
		c.Address, c.Path = sourceLocation(e)
		f.Cited = append(f.Cited, c)
	}
	f.Uncited = len(byID) - len(f.Cited)
	return f
}

// numberCitations numbers the citations: of the answer, then other evidence of claims and conflicts.
func (r *Research) numberCitations() *citationNumbers {
	list := make([]session.Source, len(r.Evidence))
	for i, e := range r.Evidence {
		list[i] = session.Source{ID: e.ID, Cited: e.Cited}
	}
	n := numberSources(list, r.Answer)
	n.addRemaining(list)
	for _, c := range r.Claims {
		for _, p := range slices.Concat(c.Quotes, c.Against) {
			n.addSource(p.Evidence)
		}
	}
	for _, c := range r.Conflicts {
		for _, s := range c.Sides {
			for _, p := range s.Quotes {
				n.addSource(p.Evidence)
			}
		}
	}
	return n
}

type claimStatus struct{ Name, Sign, Means string }

// statuses are the statuses of claims in the order of the legend, with colourless signs.
var statuses = []claimStatus{
	{string(claim.Supported), "✓", "a source supports it"},
	{string(claim.Qualified), "≈", "sources support part of it, or are less certain"},
	{string(claim.Contradicted), "✗", "a source contradicts it"},
	{string(claim.Unverified), "?", "no source found supports it"},
	{string(claim.Inference), "∴", "conclusion from sources"},
}

// statusByName returns the status of a name; an unknown name is unverified.
func statusByName(name string) claimStatus {
	is := func(name string) func(claimStatus) bool { return func(s claimStatus) bool { return s.Name == name } }
	if i := slices.IndexFunc(statuses, is(name)); i >= 0 {
		return statuses[i]
	}
	return statuses[slices.IndexFunc(statuses, is(string(claim.Unverified)))]
}

// contradictionMark matches a contradiction in an answer.
var contradictionMark = regexp.MustCompile(`\[contradicted by (e\d{1,9})\]`)

// Numbered returns the answer with source numbers in its marks.
func (f *researchDocument) Numbered() string {
	return contradictionMark.ReplaceAllStringFunc(f.Answer, func(s string) string {
		if n := f.numbers.numberByID[contradictionMark.FindStringSubmatch(s)[1]]; n > 0 {
			return fmt.Sprintf("[contradicted by %d]", n)
		}
		return "[contradicted]"
	})
}

func (r *Research) Summary() string {
	n := r.Counts()
	var parts []string
	for _, s := range statuses {
		if n[s.Name] > 0 {
			parts = append(parts, fmt.Sprintf("%s %s", textkit.Number(n[s.Name]), s.Name))
		}
	}
	text, cited := "no claims", r.countSources()
	switch {
	case len(r.Claims) > 0 && cited == 0: // a status without a citation would mislead
		text = textkit.Count(len(r.Claims), "claim", "claims") + " without a citation"
	case len(r.Claims) > 0:
		text = textkit.Count(len(r.Claims), "claim", "claims") + ": " + strings.Join(parts, ", ")
	}
	text += "; " + textkit.Count(cited, "source", "sources") + " cited"
	if k := len(r.Conflicts); k > 0 {
		text += "; " + textkit.Count(k, "disagreement", "disagreements") + " between sources"
	}
	return text
}

func (r *Research) countSources() int {
	seen := make(map[string]bool)
	for _, e := range r.Evidence {
		if e.Cited {
			seen[cmp.Or(e.URL, e.Source)] = true
		}
	}
	return len(seen)
}

func (f *researchDocument) Lead() string {
	text := cmp.Or(statusTexts[f.Status], textkit.OneLine(string(f.Status)))
	if f.Seconds > 0 {
		text += " after " + durationText(f.Seconds)
	}
	text += reasonSuffix(f.Status, f.Reason)
	return text + ". " + spellZero(f.Summary()) + "."
}

func (f *researchDocument) Remark() string {
	switch {
	case f.Refused:
		return refusedRemark
	case f.WithoutModel:
		return "Made without a model, from quotations."
	}
	return ""
}

func (f *researchDocument) NoAnswer() string {
	switch {
	case f.Answer != "":
		return ""
	case f.Reason != "" && f.Status.Ended():
		return "No answer: " + textkit.OneLine(f.Reason)
	}
	return "No answer yet."
}

func sourceLocation(e Evidence) (url, path string) {
	for _, s := range []string{e.URL, e.Source} {
		if to, ok := safeURL(s); ok {
			return to, ""
		}
	}
	return "", textkit.OneLine(cmp.Or(e.Source, e.URL))
}

func evidenceFacts(e Evidence) (list []string) {
	add := func(format, text string) {
		if text = textkit.OneLine(text); text != "" {
			list = append(list, fmt.Sprintf(format, textkit.TruncateWords(text, 120)))
		}
	}
	add("by %s", e.Author)
	add("%s", e.Section)
	if e.Page > 0 {
		list = append(list, fmt.Sprintf("page %d", e.Page))
	}
	for _, d := range []struct {
		what string
		at   time.Time
	}{{dateLabel(e), e.Published}, {"read", e.Fetched}} {
		if !d.at.IsZero() {
			list = append(list, d.what+" "+formatDate(d.at))
		}
	}
	if e.End > e.Start {
		list = append(list, fmt.Sprintf("bytes %d to %d of its text", e.Start, e.End))
	}
	if e.Voices > 1 {
		list = append(list, fmt.Sprintf("%s independent sources", textkit.Number(e.Voices)))
	}
	for _, m := range []struct {
		is   bool
		what string
	}{{e.Pinned, "pinned by the user"}, {e.Banned, "banned by the user later"}, {e.Untrusted, "untrusted: written by strangers"}} {
		if m.is {
			list = append(list, m.what)
		}
	}
	return list
}

// dateLabel names the date of evidence. A file's date is usually its modification time.
func dateLabel(e Evidence) string {
	if url, _ := sourceLocation(e); url == "" {
		return "changed"
	}
	return "published"
}

func formatDate(t time.Time) string { return t.UTC().Format("2 January 2006") }

func qualityTexts(e Evidence) (list []string) {
	for _, s := range e.Quality {
		if says := textkit.OneLine(s.Description); says != "" {
			list = append(list, strings.TrimRight(textkit.TruncateWords(says, 160), "."))
		}
	}
	return list
}

func searchText(e Evidence) string {
	if e.Tool == "" && e.Query == "" {
		return ""
	}
	text := "found with " + textkit.OneLine(cmp.Or(e.Tool, "a search"))
	if e.Provider != "" {
		text += " (" + textkit.TruncateWords(textkit.OneLine(e.Provider), 60) + ")"
	}
	if e.Query != "" {
		text += ": " + textkit.TruncateWords(textkit.OneLine(e.Query), 100)
	}
	return text
}

func hashText(e Evidence) string {
	var parts []string
	for _, h := range []struct{ what, hash string }{{"text", e.Hash}, {"original", e.Original}} {
		if h.hash != "" {
			parts = append(parts, h.what+" sha256:"+textkit.TruncateWords(textkit.OneLine(h.hash), 64))
		}
	}
	return strings.Join(parts, ", ")
}

func conflictSubject(c Conflict) string {
	parts := dropEmpty(textkit.OneLine(c.Subject), textkit.OneLine(c.Attribute), textkit.OneLine(c.Time))
	text := textkit.TruncateWords(strings.Join(parts, ", "), 200)
	if c.Unit != "" {
		text += " (in " + textkit.TruncateWords(textkit.OneLine(c.Unit), 40) + ")"
	}
	return text
}

func voicesText(s Side) string {
	text := textkit.Count(max(1, s.Voices), "voice", "voices")
	if !s.Newest.IsZero() {
		text += ", the newest of " + formatDate(s.Newest)
	}
	return text
}

// Unconfirmed returns unsupported claims and unresolved points.
func (f *researchDocument) Unconfirmed() (list []string) {
	for _, c := range f.Claims {
		if known := statusByName(c.Status).Name; known == string(claim.Unverified) || known == string(claim.Contradicted) {
			text := strings.TrimRight(textkit.OneLine(c.Text), ".")
			if why := textkit.OneLine(c.Reason); why != "" {
				text += " (" + why + ")"
			}
			list = append(list, text)
		}
	}
	for _, text := range f.Open {
		list = append(list, textkit.OneLine(text))
	}
	if n := len(f.Removed); n > 0 {
		list = append(list, fmt.Sprintf("%s because no evidence exists for them: %s",
			textkit.Count(n, "citation was removed", "citations were removed"), textkit.TruncateWords(textkit.OneLine(strings.Join(f.Removed, ", ")), 200)))
	}
	return list
}

func (f *researchDocument) Refs(list []Passage) []int { return f.Cites(Claim{Quotes: list}) }

// Cites returns the numbers of a claim's support, else of its citations.
func (f *researchDocument) Cites(c Claim) (list []int) {
	add := func(id string) {
		if n := f.numbers.numberByID[id]; n > 0 && !slices.Contains(list, n) {
			list = append(list, n)
		}
	}
	for _, p := range slices.Concat(c.Quotes, c.Against) {
		add(p.Evidence)
	}
	if len(list) == 0 {
		for _, id := range c.Cites {
			add(id)
		}
	}
	return list
}

func (q Query) toolText() string {
	text := textkit.OneLine(q.Tool)
	if q.Age > 0 {
		text += ", cached answer, " + ageText(q.Age) + " old"
	}
	if q.Error != "" {
		text += "; failed: " + textkit.TruncateWords(textkit.OneLine(q.Error), 160)
	}
	return text
}

func ageText(d time.Duration) string {
	if d >= 48*time.Hour {
		return textkit.Count(int(d/(24*time.Hour)), "day", "days")
	}
	return durationText(d.Seconds())
}

func (f *researchDocument) Costs() (rows []costRow) {
	u := session.Usage{Calls: f.Cost.Calls, Failed: f.Cost.Failed, Input: f.Cost.Input, Output: f.Cost.Output, USD: f.Cost.USD, Unpriced: f.Cost.Unpriced}
	for _, m := range f.Cost.Models {
		u.Models = append(u.Models, session.ModelUsage{Model: m.Model, Calls: m.Calls, Failed: m.Failed, Input: m.Input, Output: m.Output, USD: m.USD, Unpriced: m.Unpriced})
	}
	return costRows(u)
}

func (f *researchDocument) Colophon() string {
	var parts []string
	if f.Thread != "" {
		parts = append(parts, "Research "+textkit.OneLine(string(f.Thread)))
	}
	for _, d := range []struct {
		what string
		at   time.Time
	}{{"started", f.Started}, {"ended", f.Ended}} {
		if !d.at.IsZero() {
			parts = append(parts, d.what+" "+formatDay(&d.at))
		}
	}
	if f.Model != "" {
		parts = append(parts, "model "+textkit.OneLine(f.Model))
	}
	return strings.Join(append(parts, "check it with: ponder verify FILE"), " · ")
}
