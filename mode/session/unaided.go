package session

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"ponder/internal/textkit"
	"ponder/mode/internal/lookup"
	"ponder/mode/internal/questionwords"
)

const (
	quotedAnswer  = "This answer was put together without a model, from quotations of the documents."
	quotedSum     = "Put together without a model, from quotations of the documents."
	thoughtAnswer = "This answer was put together without a model, from the thoughts so far."
	nothingMore   = "nothing more on this"
	enoughQuoted  = "the best passages of the documents are quoted"
	nothingAtAll  = "The documents, searched without a model, have nothing on this question."
)

func (s *state) sources() string {
	if s.opts.Memory || s.opts.Web {
		return "sources"
	}
	return "documents"
}

// of replaces "documents" in text by the searched sources.
func (s *state) of(text string) string { return strings.ReplaceAll(text, "documents", s.sources()) }

const (
	quotesFirst  = 6 // for the user's question
	quotesEach   = 3 // for each other question
	quotesInAll  = 18
	thoughtsUsed = 8
)

// quote turns this round's passages into thoughts. While a model thinks, untrusted passages stay in
// its frame and become no thoughts; text addressed to programs never does. over explains an empty
// result.
func (s *state) quote(over string) {
	list := slices.DeleteFunc(s.passages(s.Focus), func(e evidence) bool { return !e.quotable() || e.Untrusted && !s.Unaided })
	slices.SortStableFunc(list, byScore)
	var hs []heard
	for _, e := range list[:min(len(list), questionEvery)] {
		hs = append(hs, thoughtOf(e, s.Evidence))
	}
	if len(hs) > 0 {
		s.think(hs, "", true)
		return
	}
	if s.Unaided {
		s.write("note", &s.Counts.Noted, s.explored(sentence(cmp.Or(over, "the "+s.sources()+" have "+nothingMore+" that can be quoted")))...)
	}
}

func sentence(why string) string {
	return strings.ToUpper(why[:1]) + strings.TrimRight(why[1:], ".") + "."
}

func (s *state) raiseUnaided() {
	s.write("asked", &s.Counts.Raised, s.raise(s.topicQuestions(), true)...)
}

func (s *state) sumUpUnaided() {
	s.SummedAt, s.Worth.News = s.Time.Milliseconds(), 0
	if sum, ok := s.quotations(s.of(quotedSum)); ok {
		s.sumUp(sum, "", true)
	}
}

func (s *state) advanceUnaided(raise, sum bool) {
	s.Counts.Unaided++
	switch {
	case s.Dry >= dryRounds && s.Over != "":
		s.conclude(s.Over)
		return
	case s.Counts.Unaided >= unaidedRounds:
		s.conclude(s.of(enoughQuoted))
		return
	}
	if raise {
		s.Since = 0
		s.raiseUnaided()
	}
	if sum {
		s.sumUpUnaided()
	}
	s.round()
}

// finishUnaided ends the session with quotations, or with a model's earlier thoughts.
func (s *state) finishUnaided() {
	sum, ok := s.quotations(s.of(quotedAnswer))
	if !s.quoting() || !ok {
		sum, ok = s.retold()
	}
	switch {
	case ok:
		s.finish(sum, "", true)
	case s.Fault != "":
		s.fail(s.Fault)
	case s.Counts.Rounds > s.opts.Parallel:
		s.finish(summary{Text: s.of(nothingAtAll)}, "", true)
	default:
		s.fail(s.End + ", and nothing was found before")
	}
}

func (s *state) quoting() bool {
	return !slices.ContainsFunc(s.Thoughts, func(t thought) bool { return !quotation(t.Text) })
}

// chapter is the quotations on a question, best first.
type chapter struct {
	*question
	quotes []evidence
}

// rank orders chapters: the user's question, the user's added questions, the rest.
func (c chapter) rank() int {
	switch {
	case c.ID == "":
		return 0
	case c.Wished:
		return 1
	}
	return 2
}

// chapters returns the quotations by question, ordered by rank and best quotation.
func (s *state) chapters() (list []chapter) {
	asked := []*question{{Text: textkit.OneLine(s.run.Input)}}
	for _, q := range append(append(asked, s.Explored...), s.Open...) {
		c := chapter{question: q}
		for _, e := range s.Evidence {
			if e.Question == q.ID && e.quotable() {
				c.quotes = append(c.quotes, e)
			}
		}
		if len(c.quotes) > 0 {
			slices.SortStableFunc(c.quotes, byScore)
			list = append(list, c)
		}
	}
	slices.SortStableFunc(list, func(a, b chapter) int {
		if d := a.rank() - b.rank(); d != 0 || a.rank() < 2 {
			return d
		}
		return byScore(a.quotes[0], b.quotes[0])
	})
	return list
}

// quotations sums up the cited quotations by question and reports whether there are any.
func (s *state) quotations(title string) (summary, bool) {
	var b strings.Builder
	var quotes []string
	sum, total := summary{}, 0.0
	for _, c := range s.chapters() {
		each := quotesEach
		if c.ID == "" {
			each = quotesFirst
		}
		for i, e := range c.quotes[:min(len(c.quotes), each, quotesInAll-len(quotes))] {
			if i == 0 {
				fmt.Fprintf(&b, "\n**%s**\n\n", textkit.TruncateBytes(c.Text, maxQuestion))
				sum.Insights = append(sum.Insights, line(e))
			}
			b.WriteString("- " + line(e) + "\n")
			total, quotes = total+quotedConfidence(e.Score), append(quotes, e.Title+" "+e.Section+"\n"+e.Quote)
		}
	}
	if len(quotes) == 0 {
		return summary{}, false
	}
	sum.Insights, sum.Remaining = items(sum.Insights), s.remaining()
	sum.Text, sum.Confidence = title+questionwords.Lack(s.run.Input, quotes)+"\n"+strings.TrimRight(b.String(), "\n"), lookup.Rounded(total/float64(len(quotes)))
	return sum, true
}

func line(e evidence) string {
	return "“" + textkit.TruncateBytes(e.Quote, maxKeptText) + "” [" + e.id() + "]"
}

// retold answers from the last synthesis and the surest thoughts. Its confidence is capped like
// that of quotations, because no model judged it.
func (s *state) retold() (summary, bool) {
	if len(s.Thoughts) == 0 && s.Sum.Text == "" {
		return summary{}, false
	}
	best := slices.Clone(s.Thoughts)
	slices.SortStableFunc(best, func(a, b thought) int {
		switch {
		case a.Confidence > b.Confidence:
			return -1
		case a.Confidence < b.Confidence:
			return 1
		}
		return 0
	})
	best = best[:min(len(best), thoughtsUsed)]
	var b strings.Builder
	b.WriteString(thoughtAnswer + "\n")
	if s.Sum.Text != "" {
		said := s.Sum.Text
		if rest, ok := strings.CutPrefix(said, s.of(quotedSum)); ok {
			_, said, _ = strings.Cut(rest, "\n") // the new parts come first
		}
		b.WriteString("\n" + strings.TrimSpace(said) + "\n")
	}
	total, given := 0.0, 0
	for i, t := range best {
		if i == 0 {
			b.WriteString("\nThe surest thoughts:\n\n")
		}
		if t.Assumed {
			fmt.Fprintf(&b, "- %s (%s)\n", t.Text, t.Kind)
			continue
		}
		fmt.Fprintf(&b, "- %s (%s, %.2f)\n", t.Text, t.Kind, t.Confidence)
		total, given = total+t.Confidence, given+1
	}
	sum := summary{Text: strings.TrimSpace(b.String()), Insights: slices.Clone(s.Sum.Insights), Confidence: s.Sum.Confidence, Assumed: s.Sum.Assumed, Remaining: s.remaining()}
	if s.Sum.Text == "" {
		sum.Confidence, sum.Assumed = lookup.Rounded(total/float64(max(1, given))), given == 0
	}
	sum.Confidence = min(sum.Confidence, mostQuoted)
	return sum, true
}

func (s *state) remaining() (list []string) {
	open := slices.Clone(s.Open)
	slices.SortStableFunc(open, func(a, b *question) int { return b.Priority - a.Priority })
	for _, q := range open[:min(len(open), maxItems)] {
		list = append(list, q.Text)
	}
	return list
}
