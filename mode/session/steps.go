package session

import (
	"slices"
	"strings"

	"ponder"
	"ponder/internal/textkit"
	"ponder/internal/textkit/similarity"
	"ponder/knowledge/claim"
	"ponder/llm"
	"ponder/llm/structured"
	"ponder/mode/internal/runstate"
)

// Limits of an answer, in bytes.
const (
	maxHeard  = 256 << 10 // that is parsed
	maxAnswer = 64 << 10  // of the final answer
	maxFault  = runstate.MaxReason
)

func (s *state) called(b *ponder.CallFinished) {
	if b.Error != "" {
		s.failed(b.Outcome)
		return
	}
	text := heardOf(b)
	if s.Step.Do == final {
		s.Cut = b.Finish.BrokeOff()
	}
	err := s.take(text, b.Model, false)
	switch {
	case err == nil:
	case s.Step.Why == "":
		s.Step.Retry = structured.RetryOf(text, err)
	case s.take(text, b.Model, true) == nil:
	case s.take(s.Step.Bad, b.Model, true) == nil:
	default:
		s.failed(unanswered(b, err))
	}
}

func unanswered(b *ponder.CallFinished, err error) ponder.Outcome {
	e := llm.Unanswered(b.Model, b.Message, b.Finish, structured.Reason(err))
	return ponder.Outcome{Error: e.Error(), Class: e.Class}
}

// heardOf returns the answer without inline reasoning, up to maxHeard bytes.
func heardOf(b *ponder.CallFinished) string {
	text := llm.Spoken(b.Message.Text())
	return text[:min(len(text), maxHeard)]
}

// take parses the awaited answer and advances. With prose, free text is accepted. An error leaves
// the state unchanged.
func (s *state) take(text, model string, prose bool) error {
	if s.Step.Do == questions {
		list, ranks, err := readQuestions(text, prose)
		if err != nil {
			return err
		}
		s.answered()
		s.write("asked", &s.Counts.Raised, append(s.rerank(ranks), s.raise(list, false)...)...)
		s.advance()
		return nil
	}
	sum, err := readSummary(text, s.Step.Do == final, prose)
	if err != nil {
		return err
	}
	if s.Step.Do == final {
		s.finish(sum, model, false)
		return nil
	}
	s.sumUp(sum, model, false)
	s.advance()
	return nil
}

func (s *state) answered() { s.Fails, s.Fault, s.Outage = 0, "", outage{Answered: true} }

func (s *state) sumUp(sum summary, model string, unaided bool) {
	s.Sum, s.SummedAt = s.summed(sum, model, unaided, false), s.Time.Milliseconds()
	s.Worth.News = 0
}

// summed writes a synthesis and returns it with checked citations.
func (s *state) summed(sum summary, model string, unaided, last bool) summary {
	if last && !unaided {
		sum = s.founded(sum)
	}
	var cites []string
	sum.Text, cites = s.cited(sum.Text, nil)
	for _, list := range [][]string{sum.Insights, sum.Remaining} {
		for i, text := range list {
			list[i], _ = s.cited(text, nil)
		}
	}
	sum.Insights, sum.Remaining = distinct(sum.Insights), distinct(sum.Remaining)
	trend := ""
	if !sum.Assumed {
		s.Worth = s.Worth.sure(sum.Confidence)
		trend = s.Worth.trend()
	}
	s.write("summed", &s.Counts.Syntheses, ponder.Synthesis{
		Content: sum.Text, Number: s.Counts.Syntheses, Insights: sum.Insights, Confidence: sum.Confidence,
		Remaining: sum.Remaining, Cites: cites, Trend: trend, Basis: s.basis(), Final: last,
		Unaided: unaided, Assumed: sum.Assumed, Offset: s.offset(), Model: model,
	})
	s.keep(cites)
	return sum
}

// distinct removes texts that repeat earlier ones in meaning.
func distinct(list []string) (kept []string) {
	var feels []similarity.Text
	for _, text := range list {
		t := similarity.Of(claim.Unmark(text))
		if _, v := similarity.Nearest(feels, t); said(text) && v != similarity.Same && !slices.Contains(kept, text) {
			kept, feels = append(kept, text), append(feels, t)
		}
	}
	return kept
}

func (s *state) finish(sum summary, model string, unaided bool) {
	sum = s.summed(sum, model, unaided, true)
	s.Sum = sum
	why := s.End
	switch {
	case unaided:
		why = s.Outage.outlasted(why)
	case s.Cut != "":
		why += ", and what the model wrote for the answer " + s.Cut
	}
	o := runstate.End{Status: ponder.Completed, Answer: sum.Text, Reason: why}
	if !sum.Assumed {
		o.Confidence = sum.Confidence
	}
	s.end(o)
}

func (s *state) fail(why string) { s.end(runstate.Failed(why)) }

func (s *state) end(o out) { s.Out, s.Step, s.Wave = &o, step{Do: done}, nil }

// conclude makes the answer the last step. It applies the finished cells of a pending wave, which
// are paid for.
func (s *state) conclude(why string) {
	if s.End != "" {
		return
	}
	if s.Step.Do == thoughts {
		s.takeIn(slices.DeleteFunc(slices.Clone(s.Wave), func(c cell) bool { return !c.Done || c.Failed.Error != "" }))
	}
	s.End, s.Step, s.Wave = why, step{Do: final}, nil
	if s.Unaided {
		s.finishUnaided()
	}
}

func (s *state) advance() {
	interval := int64(s.opts.SynthesisInterval * 1000)
	raise := s.Since >= questionEvery || s.Worth.Unranked >= recentThoughts && len(s.Open) > maxQuestions || s.stuck()
	sum := s.Counts.Thoughts > 0 && (s.Time.Milliseconds()-s.SummedAt >= interval || s.Worth.News >= recentThoughts)
	if s.Unaided {
		s.advanceUnaided(raise, sum)
		return
	}
	if why := s.enough(); why != "" && !s.stuck() {
		s.conclude(why)
		return
	}
	switch {
	case raise:
		s.Since = min(0, s.Since-questionEvery) // an early call delays the next
		s.Worth.Unranked, s.Worth.Asked = 0, true
		s.Counts.Asked++
		s.Step = step{Do: questions, N: s.Counts.Asked}
	case sum:
		s.Counts.Summed++
		s.Step = step{Do: synthesis, N: s.Counts.Summed}
	default:
		s.round()
	}
}

func (s *state) fails(o ponder.Outcome) {
	s.Fault = textkit.TruncateBytes(textkit.OneLine(o.Error), maxFault)
	out := &s.Outage
	out.Class, out.Fault, out.Before = o.Class, strings.TrimSuffix(s.Fault, "."), o.NotBefore
	if budgetRefused(o) {
		out.Fault = "" // not the model's fault
	}
	s.Fails++
	if runstate.IsPermanent(o.Class) || out.Answered && out.Before.After(s.Time.Wall) {
		s.Fails = max(s.Fails, maxFails)
	}
}

// failed handles a permanent failure of a single call: it quotes documents, or tries other calls up
// to maxFails. A failed synthesis waits for the next interval.
func (s *state) failed(o ponder.Outcome) {
	if s.Step.Do != synthesis {
		s.fails(o)
	}
	if s.Step.Do == final {
		s.unconcluded(o)
		return
	}
	quoting := s.gathers()
	rests := s.Step.Bad == "" && s.Fails >= maxFails && s.rest()
	s.unaid(quoting && s.Fails >= maxFails)
	switch {
	case s.Step.Bad != "" && s.take(s.Step.Bad, "", true) == nil:
		return
	case rests, s.Step.Bad != "" && s.Fails >= maxFails && s.rest():
	case s.Fails >= maxFails && !quoting:
		s.giveUp()
		return
	case s.Step.Do == questions && quoting:
		s.raiseUnaided()
	case s.Step.Do == synthesis:
		s.sumUpUnaided()
	}
	s.advance()
}

// unconcluded handles a failed call for the answer. It tries, in order: an unreadable earlier
// answer, the thinking model, a pause for repair without hurry, existing thoughts.
func (s *state) unconcluded(o ponder.Outcome) {
	switch {
	case s.Step.Bad != "" && s.take(s.Step.Bad, "", true) == nil:
	case runstate.IsPermanent(o.Class) && s.opts.FinalRole != s.opts.ThoughtRole && s.Counts.Thoughts > 0 && !s.Step.Other && !budgetRefused(o):
		s.Step = step{Do: final, N: s.Step.N, Other: true}
	case !s.Now && s.pause():
		s.Step = step{Do: final, N: s.Step.N + 1}
	default:
		s.unaid(s.gathers() && s.Fails >= maxFails)
		s.finishUnaided()
	}
}

// particular reports whether the request may have caused a failure of this class.
func particular(c llm.Class) bool {
	return c == llm.Filtered || c == llm.TooLong || c == llm.Malformed
}

func budgetRefused(o ponder.Outcome) bool { return o.Refused && o.Class == llm.Payment }

func (s *state) giveUp() {
	if s.Counts.Thoughts == 0 {
		s.fail(s.Fault)
		return
	}
	s.conclude("the model failed: " + strings.TrimSuffix(s.Fault, "."))
}
