package session

import (
	"cmp"
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
	maxParsed = 256 << 10 // that is parsed
	maxAnswer = 64 << 10  // of the final answer
	maxFault  = runstate.MaxReason
)

func (s *state) applyCall(b *ponder.CallFinished) {
	if b.Error != "" {
		s.applyCallError(b.Outcome)
		return
	}
	text := answerText(b)
	if s.Step.Do == final {
		s.Cut = b.Finish.DescribeIncomplete()
	}
	bad, reasked := s.Step.Bad, s.Step.Why != ""
	err := s.applyAnswer(text, b.Model, false)
	s.FormatIgnored = err != nil && (reasked || s.FormatIgnored)
	switch {
	case err == nil:
	case !reasked && s.mayReask(b):
		s.Step.Retry = structured.NewRetry(text, b.Finish, err)
	case s.applyAnswer(text, b.Model, true) == nil:
	case reasked && s.applyAnswer(bad, b.Model, true) == nil:
	default:
		s.applyCallError(unansweredOutcome(b, err))
	}
}

func unansweredOutcome(b *ponder.CallFinished, err error) ponder.Outcome {
	e := llm.ExplainEmpty(b.Model, b.Message, b.Finish, structured.Reason(err))
	return ponder.Outcome{Error: e.Error(), Class: e.Class}
}

// answerText returns the answer without inline reasoning, up to maxParsed bytes. Of an answer that
// broke off it returns the complete parts.
func answerText(b *ponder.CallFinished) string {
	text := llm.FinalText(b.Message.Text())
	if text = text[:min(len(text), maxParsed)]; b.Finish.IsCut() {
		text = llm.CompletePart(text)
	}
	return text
}

// mayReask reports whether to ask for an unreadable answer again. A model that broke off would do
// so again, and one that ignored the format would ignore it again. One that repeated itself gets a penalty.
func (s *state) mayReask(b *ponder.CallFinished) bool {
	return (!b.Finish.IsCut() || b.Finish == llm.FinishLoop) && !s.FormatIgnored
}

// applyAnswer parses the awaited answer and advances. With prose, free text is accepted. An error leaves
// the state unchanged.
func (s *state) applyAnswer(text, model string, prose bool) error {
	if s.Step.Do == questions {
		list, ranks, err := readQuestions(text, s.run.Input, prose)
		if err != nil {
			return err
		}
		s.resetFailures()
		s.queueWrite("asked", &s.Counts.Raised, append(s.applyRanks(ranks), s.addQuestions(list, false)...)...)
		s.advance()
		return nil
	}
	sum, err := readSummary(text, s.run.Input, s.Step.Do == final, prose)
	if err != nil {
		return err
	}
	if s.Step.Do == final {
		s.finishRun(sum, model, false)
		return nil
	}
	s.addSynthesis(sum, model, false)
	s.advance()
	return nil
}

func (s *state) resetFailures() { s.Failures, s.LastError, s.Outage = 0, "", outage{Answered: true} }

func (s *state) addSynthesis(sum summary, model string, unaided bool) {
	s.Synthesis, s.SummedAt = s.writeSynthesis(sum, model, unaided, false), s.Time.Milliseconds()
	s.CallValue.NewThoughts = 0
	s.Summaries = append(slices.Clip(s.Summaries), newPastSummary(s.Synthesis, s.Counts.Thoughts))
	s.cutTimeline()
}

// writeSynthesis writes a synthesis and returns it with checked citations.
func (s *state) writeSynthesis(sum summary, model string, unaided, last bool) summary {
	if last && !unaided {
		sum = s.markUnsupported(sum)
	}
	var cites []string
	sum.Text, cites = s.checkCitations(sum.Text, nil)
	for _, list := range [][]string{sum.Insights, sum.Remaining} {
		for i, text := range list {
			list[i], _ = s.checkCitations(text, nil)
		}
	}
	sum.Insights, sum.Remaining = distinctTexts(sum.Insights), distinctTexts(sum.Remaining)
	trend := ""
	if !sum.Assumed {
		s.CallValue = s.CallValue.addConfidence(sum.Confidence)
		trend = s.CallValue.confidenceTrend()
	}
	s.queueWrite("summed", &s.Counts.Syntheses, ponder.Synthesis{
		Content: sum.Text, Number: s.Counts.Syntheses, Insights: sum.Insights, Confidence: sum.Confidence,
		Remaining: sum.Remaining, Cites: cites, Trend: trend, Basis: s.claimBasis(), Final: last,
		WithoutModel: unaided && !s.Refused, Refused: last && s.Refused, Assumed: sum.Assumed, Offset: s.elapsedSeconds(), Model: model,
	})
	s.markCited(cites)
	return sum
}

// distinctTexts removes texts that repeat earlier ones in meaning.
func distinctTexts(list []string) (kept []string) {
	var feels []similarity.Text
	for _, text := range list {
		t := similarity.Parse(claim.Unmark(text))
		if _, v := similarity.Nearest(feels, t); hasText(text) && v != similarity.Same && !slices.Contains(kept, text) {
			kept, feels = append(kept, text), append(feels, t)
		}
	}
	return kept
}

func (s *state) finishRun(sum summary, model string, unaided bool) {
	sum = s.writeSynthesis(sum, model, unaided, true)
	s.Synthesis = sum
	why := s.stopCause().WithMaterial(s.Counts.Thoughts, "thought", "thoughts")
	switch {
	case s.Refused:
	case unaided:
		why = s.Outage.addFault(why)
	case s.Cut != "":
		why.Text += ", and the final answer of the model " + s.Cut
	}
	o := runstate.End{Status: ponder.Completed, Answer: sum.Text, Reason: why.Text, Code: why.Code}
	if !sum.Assumed {
		o.Confidence = sum.Confidence
	}
	s.endRun(o)
}

// stopCause returns why the run concludes. A budget that was reached takes precedence, because its
// event was shown as the reason.
func (s *state) stopCause() runstate.Reason {
	return s.ReachedLimit.Or(runstate.Reason{Code: s.StopCode, Text: s.StopReason}).Or(runstate.BudgetReason(ponder.BudgetSpent{}))
}

func (s *state) failRun(why string) { s.endRun(runstate.Failed(why)) }

func (s *state) endRun(o runEnd) { s.Outcome, s.Step, s.Wave = &o, step{Do: done}, nil }

// concludeRun makes the answer the last step. It applies the finished cells of a pending wave, which
// are paid for.
func (s *state) concludeRun(why runstate.Reason) {
	if s.StopReason != "" {
		return
	}
	if s.Step.Do == thoughts {
		s.acceptSlots()
		s.applyWave(slices.DeleteFunc(slices.Clone(s.Wave), func(c slot) bool { return !c.Done || c.Failed.Error != "" }))
	}
	s.StopReason, s.StopCode, s.Step, s.Wave = why.Text, why.Code, step{Do: final}, nil
	if s.Unaided {
		s.finishExtractive()
		return
	}
	s.shedEvidence()
}

func (s *state) advance() {
	interval := int64(s.opts.SynthesisInterval * 1000)
	raise := s.SinceQuestions >= questionEvery || s.CallValue.Unranked >= recentThoughts && len(s.Open) > maxQuestions || s.needsQuestions()
	sum := s.Counts.Thoughts > 0 && (s.Time.Milliseconds()-s.SummedAt >= interval || s.CallValue.NewThoughts >= recentThoughts)
	if s.Unaided {
		s.advanceExtractive(raise, sum)
		return
	}
	if why := s.stopReason(); why.Text != "" && !s.needsQuestions() {
		s.concludeRun(why)
		return
	}
	switch {
	case raise:
		s.SinceQuestions = min(0, s.SinceQuestions-questionEvery) // an early call delays the next
		s.CallValue.Unranked, s.CallValue.Asked = 0, true
		s.Counts.Asked++
		s.Step = step{Do: questions, N: s.Counts.Asked}
	case sum:
		s.Counts.Summed++
		s.Step = step{Do: synthesis, N: s.Counts.Summed}
	default:
		s.startWave()
	}
}

func (s *state) countFailure(o ponder.Outcome) {
	out := &s.Outage
	text := textkit.TruncateBytes(textkit.OneLine(o.Error), maxFault)
	if isBudgetRefusal(o) { // not the model's fault
		s.LastError, out.Fault = cmp.Or(s.LastError, text), ""
	} else {
		s.LastError, out.Fault = text, strings.TrimSuffix(text, ".")
	}
	out.Class, out.RetryAfter = o.Class, o.NotBefore
	s.Failures++
	if runstate.IsPermanent(o.Class) || out.Answered && out.RetryAfter.After(s.Time.Wall) {
		s.Failures = max(s.Failures, maxFails)
	}
}

// applyCallError handles a permanent failure of a single call: it quotes documents, or tries other calls up
// to maxFails. A failed synthesis waits for the next interval.
func (s *state) applyCallError(o ponder.Outcome) {
	if o.Class == llm.TooLong && s.Step.Bad == "" && s.shrinkTimeline() {
		s.restartCalls(nil)
		return
	}
	if s.Step.Do != synthesis {
		s.countFailure(o)
	}
	if s.Step.Do == final {
		s.handleAnswerError(o)
		return
	}
	quoting := s.canGather()
	rests := s.Step.Bad == "" && s.Failures >= maxFails && s.scheduleRetry()
	s.setExtractive(quoting && s.Failures >= maxFails)
	switch {
	case s.Step.Bad != "" && s.applyAnswer(s.Step.Bad, "", true) == nil:
		return
	case rests, s.Step.Bad != "" && s.Failures >= maxFails && s.scheduleRetry():
	case s.Failures >= maxFails && !quoting:
		s.giveUp()
		return
	case s.Step.Do == questions && quoting:
		s.raiseExtractive()
	case s.Step.Do == synthesis:
		s.sumUpExtractive()
	}
	s.advance()
}

// handleAnswerError handles a failed call for the answer. It tries, in order: an unreadable earlier
// answer, the thinking model, a pause for repair without hurry, existing thoughts.
func (s *state) handleAnswerError(o ponder.Outcome) {
	switch {
	case s.Step.Bad != "" && s.applyAnswer(s.Step.Bad, "", true) == nil:
	case runstate.IsPermanent(o.Class) && s.opts.FinalRole != s.opts.ThoughtRole && s.Counts.Thoughts > 0 && !s.Step.ThoughtModel && !isBudgetRefusal(o):
		s.Step = step{Do: final, N: s.Step.N, ThoughtModel: true}
	case !s.AnswerNow && s.pauseForRepair():
		s.Step = step{Do: final, N: s.Step.N + 1}
	default:
		s.Refused = isBudgetRefusal(o)
		s.setExtractive(s.canGather() && s.Failures >= maxFails)
		s.finishExtractive()
	}
}

// isRequestError reports whether the request may have caused a failure of this class.
func isRequestError(c llm.Class) bool {
	return c == llm.Filtered || c == llm.TooLong || c == llm.Malformed
}

func isBudgetRefusal(o ponder.Outcome) bool { return o.Refused && o.Class == llm.Payment }

func (s *state) giveUp() {
	if s.Counts.Thoughts == 0 {
		s.failRun(s.LastError)
		return
	}
	s.concludeRun(runstate.Reason{Code: ponder.EndModelFailed, Text: "the model failed: " + strings.TrimSuffix(s.LastError, ".")})
}
