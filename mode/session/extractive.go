package session

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"ponder"
	"ponder/internal/textkit"
	"ponder/mode/internal/lookup"
	"ponder/mode/internal/questionwords"
	"ponder/mode/internal/runstate"
)

const (
	quotedAnswer  = "This answer was put together without a model, from quotations of the documents."
	quotedSum     = "Put together without a model, from quotations of the documents."
	thoughtAnswer = "This answer was put together without a model, from the thoughts so far."
	refusedQuotes = " before the model could write the answer. These are quotations of the documents."
	refusedAnswer = " before the model could write the answer. This answer is put together from the thoughts so far."
	bestQuotes    = "\nFrom the documents:\n\n"
	nothingMore   = "nothing more on this"
	enoughQuoted  = "the best passages of the documents are quoted"
	nothingAtAll  = "The documents, searched without a model, have nothing on this question."
)

func (s *state) sourceNoun() string {
	if s.opts.Memory || s.opts.Web {
		return "sources"
	}
	return "documents"
}

// nameSources replaces "documents" in text by the searched sources.
func (s *state) nameSources(text string) string {
	return strings.ReplaceAll(text, "documents", s.sourceNoun())
}

const (
	quotesFirst  = 6 // for the user's question
	quotesEach   = 3 // for each other question
	quotesInAll  = 18
	thoughtsUsed = 8
)

// quotePassages turns this round's passages into thoughts. While a model thinks, untrusted passages stay in
// its frame and become no thoughts; text addressed to programs never does. over explains an empty
// result.
func (s *state) quotePassages(over string) {
	list := slices.DeleteFunc(s.focusPassages(s.Focus), func(e evidence) bool { return !e.isQuotable() || e.Untrusted && !s.Unaided })
	slices.SortStableFunc(list, compareScore)
	var hs []modelThought
	for _, e := range list[:min(len(list), questionEvery)] {
		hs = append(hs, quoteThought(e, s.Evidence))
	}
	if len(hs) > 0 {
		s.addThoughts(hs, "", true)
		return
	}
	if s.Unaided {
		s.queueWrite("note", &s.Counts.Noted, s.markExplored(formatSentence(cmp.Or(over, "the "+s.sourceNoun()+" have "+nothingMore+" that can be quoted")))...)
	}
}

func formatSentence(why string) string { return formatStart(strings.TrimRight(why, ".")) + "." }

func formatStart(why string) string { return strings.ToUpper(why[:1]) + why[1:] }

func (s *state) raiseExtractive() {
	s.queueWrite("asked", &s.Counts.Raised, s.addQuestions(s.topicQuestions(), true)...)
}

func (s *state) sumUpExtractive() {
	s.SummedAt, s.CallValue.NewThoughts = s.Time.Milliseconds(), 0
	if sum, ok := s.quoteSynthesis(s.nameSources(quotedSum)); ok {
		s.addSynthesis(sum, "", true)
	}
}

func (s *state) advanceExtractive(raise, sum bool) {
	s.Counts.Unaided++
	switch {
	case s.EmptyRounds >= dryRounds && s.EmptyReason != "":
		s.concludeRun(runstate.Reason{Code: ponder.EndSources, Text: s.EmptyReason})
		return
	case s.Counts.Unaided >= extractiveRounds:
		s.concludeRun(runstate.Reason{Code: ponder.EndSources, Text: s.nameSources(enoughQuoted)})
		return
	}
	if raise {
		s.SinceQuestions = 0
		s.raiseExtractive()
	}
	if sum {
		s.sumUpExtractive()
	}
	s.startWave()
}

// finishExtractive ends the session with quotations, or with a model's earlier thoughts.
func (s *state) finishExtractive() {
	sum, ok := s.quoteSynthesis(s.answerTitle(quotedAnswer, refusedQuotes))
	if !s.hasOnlyQuotes() || !ok {
		sum, ok = s.thoughtSynthesis()
	}
	switch {
	case ok:
		s.finishRun(sum, "", true)
	case s.Refused:
		s.failRefused()
	case s.LastError != "":
		s.failRun(s.LastError)
	case s.Counts.Rounds > s.opts.Parallel:
		s.finishRun(summary{Text: s.nameSources(nothingAtAll)}, "", true)
	default:
		s.failRun(s.StopReason + ", and nothing had been found")
	}
}

// answerTitle returns the first sentences of an answer that no model wrote.
func (s *state) answerTitle(withoutModel, refused string) string {
	if s.Refused {
		return formatStart(s.stopCause().Text) + s.nameSources(refused)
	}
	return s.nameSources(withoutModel)
}

// failRefused fails a run whose budget ended before there was anything to answer from.
func (s *state) failRefused() {
	why := s.stopCause()
	if s.LastError != "" && s.LastError != why.Text {
		why.Text += "; the last call failed: " + strings.TrimSuffix(s.LastError, ".")
	}
	end := runstate.Failed(why.Text)
	end.Code = why.Code
	s.endRun(end)
}

func (s *state) hasOnlyQuotes() bool {
	return !slices.ContainsFunc(s.Thoughts, func(t thought) bool { return !isQuotation(t.Text) })
}

// quoteGroup is the quotations on a question, best first.
type quoteGroup struct {
	*question
	quotes []evidence
}

// groupRank orders chapters: the user's question, the user's added questions, the rest.
func (c quoteGroup) groupRank() int {
	switch {
	case c.ID == "":
		return 0
	case c.FromUser:
		return 1
	}
	return 2
}

// quoteGroups returns the quotations by question, ordered by rank and best quotation.
func (s *state) quoteGroups() (list []quoteGroup) {
	asked := []*question{{Text: textkit.OneLine(s.run.Input)}}
	for _, q := range append(append(asked, s.Explored...), s.Open...) {
		c := quoteGroup{question: q}
		for _, e := range s.Evidence {
			if e.Question == q.ID && e.isQuotable() {
				c.quotes = append(c.quotes, e)
			}
		}
		if len(c.quotes) > 0 {
			slices.SortStableFunc(c.quotes, compareScore)
			list = append(list, c)
		}
	}
	slices.SortStableFunc(list, func(a, b quoteGroup) int {
		if d := a.groupRank() - b.groupRank(); d != 0 || a.groupRank() < 2 {
			return d
		}
		return compareScore(a.quotes[0], b.quotes[0])
	})
	return list
}

// quoteSynthesis sums up the cited quotations by question and reports whether there are any.
func (s *state) quoteSynthesis(title string) (summary, bool) {
	var b strings.Builder
	var quotes []string
	sum, total := summary{}, 0.0
	for _, c := range s.quoteGroups() {
		each := quotesEach
		if c.ID == "" {
			each = quotesFirst
		}
		for i, e := range c.quotes[:min(len(c.quotes), each, quotesInAll-len(quotes))] {
			if i == 0 {
				fmt.Fprintf(&b, "\n**%s**\n\n", textkit.TruncateBytes(c.Text, maxQuestion))
				sum.Insights = append(sum.Insights, quoteLine(e))
			}
			b.WriteString("- " + quoteLine(e) + "\n")
			total, quotes = total+quoteConfidence(e.Score), append(quotes, e.Title+" "+e.Section+"\n"+e.Quote)
		}
	}
	if len(quotes) == 0 {
		return summary{}, false
	}
	sum.Insights, sum.Remaining = cleanItems(sum.Insights), s.openQuestions()
	sum.Text, sum.Confidence = title+questionwords.DescribeMissing(s.run.Input, quotes)+"\n"+strings.TrimRight(b.String(), "\n"), lookup.RoundCents(total/float64(len(quotes)))
	return sum, true
}

func quoteLine(e evidence) string {
	return "“" + textkit.TruncateBytes(e.Quote, maxKeptText) + "” [" + e.id() + "]"
}

// thoughtSynthesis answers from the last synthesis and the surest thoughts. Its confidence is capped like
// that of quotations, because no model judged it.
func (s *state) thoughtSynthesis() (summary, bool) {
	if len(s.Thoughts) == 0 && s.Synthesis.Text == "" {
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
	b.WriteString(s.answerTitle(thoughtAnswer, refusedAnswer) + "\n")
	if s.Synthesis.Text != "" {
		said := s.Synthesis.Text
		if rest, ok := strings.CutPrefix(said, s.nameSources(quotedSum)); ok {
			_, said, _ = strings.Cut(rest, "\n") // the new parts come first
		}
		b.WriteString("\n" + strings.TrimSpace(said) + "\n")
	}
	total, given := 0.0, 0
	for i, t := range best {
		if i == 0 {
			b.WriteString("\nThe thoughts with the highest confidence:\n\n")
		}
		if t.Assumed {
			fmt.Fprintf(&b, "- %s (%s)\n", t.Text, t.Kind)
			continue
		}
		fmt.Fprintf(&b, "- %s (%s, %.2f)\n", t.Text, t.Kind, t.Confidence)
		total, given = total+t.Confidence, given+1
	}
	s.listBestQuotes(&b)
	sum := summary{Text: strings.TrimSpace(b.String()), Insights: slices.Clone(s.Synthesis.Insights), Confidence: s.Synthesis.Confidence, Assumed: s.Synthesis.Assumed, Remaining: s.openQuestions()}
	if s.Synthesis.Text == "" {
		sum.Confidence, sum.Assumed = lookup.RoundCents(total/float64(max(1, given))), given == 0
	}
	sum.Confidence = min(sum.Confidence, maxQuoteConfidence)
	return sum, true
}

// listBestQuotes adds the best passages for the user's question that a text does not quote yet.
func (s *state) listBestQuotes(b *strings.Builder) {
	n := 0
	for _, c := range s.quoteGroups() {
		if c.ID != "" {
			continue
		}
		for _, e := range c.quotes[:min(len(c.quotes), quotesFirst)] {
			if line := quoteLine(e); !strings.Contains(b.String(), line) {
				if n++; n == 1 {
					b.WriteString(s.nameSources(bestQuotes))
				}
				b.WriteString("- " + line + "\n")
			}
		}
	}
}

func (s *state) openQuestions() (list []string) {
	open := slices.Clone(s.Open)
	slices.SortStableFunc(open, func(a, b *question) int { return b.Priority - a.Priority })
	for _, q := range open[:min(len(open), maxItems)] {
		list = append(list, q.Text)
	}
	return list
}
