package research

import (
	"cmp"
	_ "embed" // for the prompts
	"fmt"
	"slices"
	"strings"
	"unicode"

	"ponder"
	"ponder/internal/textkit"
	"ponder/llm"
	"ponder/llm/structured"
	"ponder/mode/internal/lookup"
	"ponder/mode/internal/runstate"
)

var (
	//go:embed prompts/synthesis.md
	synthesisPrompt string
	//go:embed prompts/tools.md
	toolsPrompt string
	//go:embed prompts/progress.md
	progressPrompt string
	//go:embed prompts/judge.md
	judgePrompt string
)

const (
	maxPiece       = 1600 // bytes of a part of a passage
	maxAnswer      = 64 << 10
	maxVoice       = 4 << 10
	maxFound       = 12 << 10
	maxOlder       = 12 << 10
	minToolRounds  = 6
	trivialCalls   = 3 // of a trivial question
	answerTokens   = 6000
	shortTokens    = 1500
	maxListedSteps = 12
)

// answerInProgress is an answer in progress.
type answerInProgress struct {
	Call      int           `json:"call"`
	Rounds    int           `json:"rounds,omitempty"`
	Msgs      []llm.Message `json:"msgs"`
	Uses      []toolUse     `json:"uses,omitempty"`
	NoTools   bool          `json:"last,omitempty"`  // no further tools
	TextOnly  bool          `json:"pass,omitempty"`  // retried as text only, because no text came
	PlanModel bool          `json:"other,omitempty"` // uses the planning model, because the writing model failed
}

func (w *answerInProgress) callKey() string { return numberedKey(writing, w.Call) }

// WritesAnswer reports whether the action key belongs to a call that writes the answer.
func WritesAnswer(key string) bool { return strings.HasPrefix(key, writing) }

func (w *answerInProgress) isWaiting() bool { return len(w.Uses) > 0 }

func (s *state) usableEvidence() []piece {
	list := make([]piece, 0, len(s.Evidence))
	for _, p := range s.Evidence {
		if !s.isBanned(p) {
			list = append(list, p)
		}
	}
	return list
}

func (s *state) isBanned(p piece) bool {
	return p.Withdrawn || slices.ContainsFunc(s.Banned, func(name string) bool { return p.isFrom(name) })
}

func (s *state) hasSources() bool {
	return slices.ContainsFunc(s.usableEvidence(), func(p piece) bool { return p.isQuotable() })
}

// startAnswer starts the answer from the current evidence.
func (s *state) startAnswer() {
	s.Lookups, s.Planning, s.Opened = nil, false, 0
	if s.opts.WithoutModel || s.opts.SynthesisStrategy == Never {
		s.answerWithQuotes("")
		return
	}
	s.Step = writing
	s.Counts.Written++
	prompt := s.draftPrompt()
	if !s.SmallContext && s.isTooSlow(len(prompt)) {
		s.SmallContext = true
		prompt = s.draftPrompt()
	}
	s.Work = &answerInProgress{Call: s.Counts.Written, Msgs: []llm.Message{sayMaterial(prompt)}}
	s.Work.NoTools = s.lastCall()
	s.notifyUser(stageSynthesis, "Writing", fmt.Sprintf("Writing the answer from %s of %s.", formatCount(len(s.usableEvidence()), "passage", "passages"), formatCount(len(s.Sources), "source", "sources")))
}

// lastCall reports whether the next call must not use tools.
func (s *state) lastCall() bool {
	switch {
	case s.BudgetSpent, s.StopReason != "", s.Approved, len(s.modelTools()) == 0:
		return true
	case s.Calls > 0 && s.Counts.Calls >= s.Calls-1:
		return true
	}
	return s.Work != nil && s.Work.Rounds >= max(2*s.opts.MaxRounds, minToolRounds)
}

func (s *state) writeCall() ponder.Call {
	w := s.Work
	req := llm.Request{System: s.systemPrompt(), Messages: w.Msgs, Tools: s.modelTools(), MaxTokens: answerTokens, Cache: true}
	if s.Effort == trivial {
		req.MaxTokens = shortTokens
	}
	if w.NoTools && len(req.Tools) > 0 {
		req.ToolChoice = "none"
	}
	role := s.opts.SynthesisRole
	if w.PlanModel {
		role = s.opts.PlanRole
	}
	return ponder.Call{Key: w.callKey(), Role: role, Request: req, Shown: true, Answer: true}
}

// personaPrompt returns the task to answer as the persona, or "".
func (s *state) personaPrompt() string {
	p := s.activePersona()
	if p == (Persona{}) {
		return ""
	}
	task := "\nYou answer as " + cmp.Or(cleanLabel(p.Name), "the persona described here") + ", in their voice and with their expertise, without saying that you play a role."
	if p.Voice != "" {
		task += " Their voice:\n" + textkit.TruncateBytes(textkit.CleanTrim(p.Voice), maxVoice)
	}
	return task + "\n"
}

func (s *state) answerPrompt() string {
	var b strings.Builder
	s.writeQuestion(&b)
	b.WriteString("\n" + s.evidencePack())
	s.writeMemoryText(&b)
	s.writeConflicts(&b)
	s.writeFacts(&b)
	s.writeOlderReport(&b)
	s.writeQuestions(&b)
	if list := s.failedPlaces(); len(list) > 0 {
		b.WriteString("\nCould not be searched: " + strings.Join(list, ", ") + ". If the answer lacks something for that, say so.\n")
	}
	switch {
	case s.hasSources():
	case s.opts.SynthesisStrategy == Auto:
		b.WriteString("\nNothing was found, and the user is told so. If you know what answers the question, say it as what is not from a source; else say in a sentence that you do not know.\n")
	default:
		b.WriteString("\nNothing was found. Say in the first sentence that the sources that were searched have nothing on it; then, if you know something, say it as what is not from a source.\n")
	}
	b.WriteString("\n" + synthesisPrompt)
	switch list := s.modelTools(); {
	case len(list) > 1:
		b.WriteString("\n" + toolsPrompt)
	case len(list) == 1:
		b.WriteString("\n" + progressPrompt)
	}
	b.WriteString(s.personaPrompt())
	return b.String()
}

func (s *state) writeQuestions(b *strings.Builder) {
	list := slices.Clone(s.Questions)
	slices.SortStableFunc(list, func(x, y question) int { return cmp.Compare(y.Priority, x.Priority) })
	for i, q := range list[:min(len(list), maxListedSteps)] {
		if i == 0 {
			b.WriteString("\nWhat the answer should cover, the most important first:\n")
		}
		b.WriteString("- " + escapeFrame(q.Text))
		if q.User {
			b.WriteString(" (the user asks this)")
		}
		b.WriteString("\n")
	}
}

func (s *state) writeFacts(b *strings.Builder) {
	for i, f := range s.Facts {
		if i == 0 {
			b.WriteString("\nThe user has said, and it holds against all sources; cite it by its id:\n")
		}
		b.WriteString("- [" + f.Evidence + "] " + escapeFrame(f.Text) + "\n")
	}
}

func (s *state) writeConflicts(b *strings.Builder) {
	for i, c := range s.findConflicts() {
		if i == 0 {
			b.WriteString("\nSources seem to disagree here; look whether they do, and say so where it matters:\n")
		}
		b.WriteString("- " + safeText(strings.Join(nonEmpty(c.Subject, c.Attribute, c.Time, c.Unit), ", ")) + ":")
		for j, side := range c.Sides {
			if j > 0 {
				b.WriteString(";")
			}
			b.WriteString(" " + safeText(side.Value))
			for _, q := range side.Quotes[:min(len(side.Quotes), 4)] {
				b.WriteString(" [" + q.Evidence + "]")
			}
		}
		b.WriteString("\n")
	}
}

// safeText returns a short untrusted text for a prompt.
func safeText(s string) string {
	return escapeFrame(lookup.DefuseCitations(lookup.Sanitize(textkit.TruncateBytes(textkit.OneLine(s), lookup.MaxLabel))))
}

func nonEmpty(list ...string) []string {
	return slices.DeleteFunc(list, func(s string) bool { return s == "" })
}

func (s *state) writeOlderReport(b *strings.Builder) {
	o := s.opts.Since
	if o == nil {
		return
	}
	b.WriteString("\nAn older report on this")
	if !o.At.IsZero() {
		b.WriteString(", of " + lookup.FormatDay(o.At))
	}
	b.WriteString(", said what stands below. Bring it up to date: give the answer as it holds now, and then say in a section of its own what has changed since, and what has not been confirmed again. Its citations do not hold any more: cite anew.\n<older_report>\n")
	b.WriteString(escapeFrame(lookup.DefuseCitations(textkit.TruncateBytes(textkit.CleanTrim(o.Answer), maxOlder))) + "\n</older_report>\n")
}

func (s *state) applyAnswer(b ponder.CallFinished) {
	if b.Error != "" {
		s.handleWriteError(b.Outcome)
		return
	}
	w := *s.Work
	s.Work = &w
	calls := distinctCalls(b.Message.Calls())
	if len(calls) > 0 && !w.NoTools && !s.lastCall() {
		w.Msgs = append(w.Msgs[:len(w.Msgs):len(w.Msgs)], b.Message)
		s.startTools(calls)
		return
	}
	said := textkit.TruncateBytes(textkit.CleanTrim(answerCheck.CleanAnswer(answerText(&b), s.run.Input)), maxAnswer)
	switch {
	case hasText(said) && !structured.IsRefusal(said) && answerCheck.EchoFault(said) == "" && !answerCheck.IsQuestion(said, s.run.Input):
		s.checkAnswer(s.mergeRevision(said), b.Model, b.Finish.DescribeIncomplete())
	case !w.TextOnly && b.Finish != llm.FinishTime && !(s.Effort == trivial && s.Counts.Calls >= trivialCalls):
		w.TextOnly, w.NoTools, w.Uses = true, true, nil
		w.Msgs = append(w.Msgs[:len(w.Msgs):len(w.Msgs)], llm.Say(llm.User, "Write the answer to the question now, as text, from the evidence above. Call no tool.\n"))
		s.Counts.Written++
		w.Call = s.Counts.Written
		s.notifyUser(stageSynthesis, "Retry", "The model returned no answer; requesting it again without tools.")
	default:
		s.answerWithQuotes("the model failed: " + lookup.DefuseCitations(llm.ExplainEmpty(b.Model, b.Message, b.Finish, "").Error()))
	}
}

// handleWriteError handles a failed call for the answer: it uses the planning model or quotations.
func (s *state) handleWriteError(o ponder.Outcome) {
	s.LastError = textkit.TruncateBytes(textkit.OneLine(o.Error), maxFault)
	if o.Refused && o.Class == llm.Payment {
		s.answerRefused()
		return
	}
	if s.shrinkEvidence(s.writeCall().Request, o) {
		s.startAnswer()
		return
	}
	if runstate.IsPermanent(o.Class) && !o.Refused && !s.Work.PlanModel && s.opts.PlanRole != s.opts.SynthesisRole && !(s.Effort == trivial && s.Counts.Calls >= trivialCalls) {
		w := *s.Work
		s.Counts.Written++
		w.PlanModel, w.Call = true, s.Counts.Written
		s.Work = &w
		s.notifyUser(stageNote, "Another model", "The model for the answer failed: "+s.LastError+". Using another model.")
		return
	}
	s.answerWithQuotes("the model failed: " + strings.TrimSuffix(s.LastError, "."))
}

func hasText(s string) bool {
	return strings.ContainsFunc(s, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) })
}

func distinctCalls(calls []llm.ToolCall) (list []llm.ToolCall) {
	for _, c := range calls {
		if !slices.ContainsFunc(list, func(o llm.ToolCall) bool { return o.ID == c.ID }) {
			list = append(list, c)
		}
	}
	return list
}

// answerWithQuotes answers in quotations. why is the failure of the model, if any.
func (s *state) answerWithQuotes(why string) {
	s.Work, s.Lookups = nil, nil
	if s.Revision != nil {
		s.failRun("the section was not rewritten: " + why)
		return
	}
	text, confidence := quotedAnswer(s.run.Input, s.usableEvidence(), why, s.sourceCoverage())
	s.settleDraft(draft{Text: text, Unaided: true, Why: why, Confidence: confidence})
}

// answerRefused answers in quotations, because the budget ended before the call for the answer.
func (s *state) answerRefused() {
	s.Work, s.Lookups = nil, nil
	coverage := s.sourceCoverage()
	coverage.refused = true
	text, confidence := quotedAnswer(s.run.Input, s.usableEvidence(), s.stopCause().Or(runstate.BudgetReason(ponder.BudgetSpent{})).Text, coverage)
	s.settleDraft(draft{Text: text, Unaided: true, Refused: true, Confidence: confidence})
}

func (s *state) sourceCoverage() searchCoverage {
	r := searchCoverage{searched: len(s.Reached) > 0, failed: s.failedPlaces(), whyNotSearched: s.StopReason}
	if !s.canGather() {
		r.whyNotSearched = "there are no sources to search"
	}
	asked := []string{s.run.Input}
	for _, q := range s.Questions {
		if q.User {
			asked = append(asked, q.Text)
		}
	}
	for _, q := range asked {
		web, memory := heuristicQueries(q)
		r.ownQueries = slices.Concat(r.ownQueries, web, memory, []string{q})
	}
	return r
}
