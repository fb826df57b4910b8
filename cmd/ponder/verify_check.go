package main

import (
	"context"
	"fmt"
	"strings"

	"ponder"
	"ponder/internal/report"
	"ponder/knowledge/claim"
	"ponder/store/sqlite"
)

// A verified is what came of checking a report again.
type verified struct {
	Format   string          `json:"format"`
	Thread   ponder.ThreadID `json:"thread_id,omitempty"`
	Question string          `json:"question"`
	Form     string          `json:"form"` // markdown, html, json or thread
	Stands   bool            `json:"stands"`
	Borne    int             `json:"claims_borne_out"` // of those that stand, those that say what quotes do
	Altered  bool            `json:"text_altered,omitempty"`
	Added    []string        `json:"added_lines,omitempty"`
	Gone     []string        `json:"missing_lines,omitempty"`
	Quotes   []requoted      `json:"quotes"`
	Lost     []string        `json:"unchecked_quotes,omitempty"` // ids of those that are cited, and whose originals are not here
	Unsure   []string        `json:"unchecked_claims,omitempty"` // that would not stand without them
	report.Recheck
}

// A requoted is a quote of a report, looked up again.
type requoted struct {
	ID     string  `json:"id"`
	Source string  `json:"source"`
	Cited  bool    `json:"cited"`
	State  footing `json:"state"`
	Says   string  `json:"state_says"`
}

// verified checks a report. There may be no store.
func (a *cli) verified(ctx context.Context, store *sqlite.Store, f *report.Filed) verified {
	v := verified{
		Format: "ponder-verify/1", Thread: f.Thread, Question: f.Question, Form: f.Form, Altered: f.Altered, Added: f.Lines, Gone: f.Missing, Quotes: []requoted{},
	}
	c := &checker{texts: make(map[string]string)}
	if store != nil {
		c = a.checker(ctx, store)
	}
	used := f.Used()
	wrong, lost := make(map[string]bool), make(map[string]bool)
	for _, e := range f.Evidence {
		state := c.check(ctx, asEvidence(e))
		if state == notKept && e.Original != "" {
			state = sourceGone // it was kept when the report was made
		}
		says := state.says()
		if state == sourceGone && e.Original != "" {
			says = "its original is not in this database"
		}
		wrong[e.ID], lost[e.ID] = state.broken() && state != sourceGone, state.broken()
		if state == sourceGone && used[e.ID] {
			v.Lost = append(v.Lost, e.ID)
		}
		v.Quotes = append(v.Quotes, requoted{e.ID, e.Source, used[e.ID], state, says})
	}
	v.Recheck = f.Recheck(wrong)
	v.Unsure = unsure(v.Recheck, f.Recheck(lost))
	v.Stands = len(v.problems())+len(v.Lost) == 0
	v.Borne = borne(v.Claims)
	return v
}

// borne returns how many claims stand that are borne out, in whole or in part, or follow
// from what is.
func borne(list []report.Reclaim) (n int) {
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

// unsure returns the claims that stand with the quotes whose originals are not here, and
// not without.
func unsure(with, without report.Recheck) (list []string) {
	for i, c := range without.Claims {
		if c.Differs && !c.Judged && !with.Claims[i].Differs {
			list = append(list, oneLine(c.Text))
		}
	}
	return list
}

// asEvidence returns a quote of a report as it is in the log.
func asEvidence(e report.Evidence) ponder.Evidence {
	return ponder.Evidence{
		ID: e.ID, Content: e.Quote, Source: e.Source, URL: e.URL, Title: e.Title, Start: e.Start, End: e.End, Hash: e.Hash, Original: e.Original, Fetched: e.Fetched,
	}
}

// problems says what does not stand, each in a line. What could not be checked is no
// problem.
func (v verified) problems() (list []string) {
	if v.Altered {
		list = append(list, "the report is not as it was written")
	}
	for i, line := range v.Added {
		if i < len(v.Gone) {
			line = unlike(line, v.Gone[i])
		}
		list = append(list, fmt.Sprintf("the text says now: %s", clip(line, maxUnlike)))
	}
	for i, line := range v.Gone {
		if i < len(v.Added) {
			line = unlike(line, v.Added[i])
		}
		list = append(list, fmt.Sprintf("the text said: %s", clip(line, maxUnlike)))
	}
	for _, c := range v.Recheck.Altered {
		list = append(list, fmt.Sprintf("the report was not made with a claim that its text makes: %s (%s: %s)", clip(oneLine(c.Text), 200), c.Status, oneLine(c.Reason)))
	}
	for _, text := range v.Missing {
		list = append(list, fmt.Sprintf("the text does not make a claim any more that the report was made with: %s", clip(text, 200)))
	}
	for _, id := range v.Strange {
		list = append(list, fmt.Sprintf("the text cites %s, which was not gathered", clip(oneLine(id), 20)))
	}
	for _, q := range v.Quotes {
		if q.Cited && q.State == notThere {
			list = append(list, fmt.Sprintf("quote %s of %s: %s", oneLine(q.ID), clip(oneLine(q.Source), 100), q.Says))
		}
	}
	for _, c := range v.Claims {
		if c.Differs && !c.Judged {
			list = append(list, fmt.Sprintf("%s: %s", clip(oneLine(c.Text), 200), c.Problem()))
		}
	}
	return list
}

// Letters of a line that is not as it was: at most, and before what differs.
const (
	maxUnlike  = 300
	leadUnlike = 60
)

// unlike returns a line from shortly before where it differs from another, if it is long.
func unlike(line, other string) string {
	a, b := []rune(line), []rune(other)
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	if len(a) <= maxUnlike || n <= leadUnlike {
		return line
	}
	return "…" + string(a[n-leadUnlike:])
}

// text returns what is printed.
func (v verified) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n", clip(oneLine(v.Question), 200))
	states := make(map[footing]int)
	for _, q := range v.Quotes {
		states[q.State]++
	}
	var parts []string
	for _, s := range []footing{standsExactly, standsThere, standsApart, inSearch, inSearchOnly, notThere, sourceGone, notKept, earlierThread, userSays} {
		if n := states[s]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, map[footing]string{
				standsExactly: "word for word in the original", standsThere: "in the original", notThere: "NOT in the original any more",
				standsApart: "in the original in parts, in another order", inSearch: "as the search had it, of pages not kept",
				inSearchOnly: "as the search had it, but NOT so in the page that was kept",
				sourceGone:   "whose original is gone", notKept: "of which no original was kept", earlierThread: "of earlier work", userSays: "of the user",
			}[s]))
		}
	}
	b.WriteString(counted(len(v.Quotes), "quote", "quotes"))
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
	fmt.Fprintf(&b, "\n%s", counted(len(v.Claims), "claim", "claims"))
	if len(v.Claims) > 0 {
		fmt.Fprintf(&b, ": %d as it was said", same-len(v.Unsure))
	}
	if n := len(v.Unsure); n > 0 {
		fmt.Fprintf(&b, ", %d not checked", n)
	}
	if judged > 0 {
		fmt.Fprintf(&b, ", %d decided by a model, which is not asked again", judged)
	}
	b.WriteString("\n")
	for _, p := range v.problems() {
		fmt.Fprintf(&b, "  ✗ %s\n", p)
	}
	for _, q := range v.Quotes {
		if q.Cited && q.State == sourceGone {
			fmt.Fprintf(&b, "  ? quote %s of %s: %s\n", oneLine(q.ID), clip(oneLine(q.Source), 100), q.Says)
		}
	}
	b.WriteString(v.verdict() + "\n")
	return b.String()
}

// verdict says in a line what came of it.
func (v verified) verdict() string {
	switch {
	case v.Stands && len(v.Claims) == 0:
		return "It is as it was written, and makes no claim."
	case v.Stands && v.Borne == 0:
		return "It is as it was written, and no quote bears any of it out."
	case v.Stands:
		return "All of it stands."
	}
	text := "Not all of it stands."
	if len(v.problems()) == 0 {
		text = "Nothing was found to be wrong."
	}
	if n := len(v.Lost); n > 0 {
		text += fmt.Sprintf(" Not checked: %s, whose original is not here", counted(n, "quote", "quotes"))
		if k := len(v.Unsure); k > 0 {
			text += ", and " + counted(k, "claim", "claims") + " from them"
		}
		text += "."
	}
	return text
}
