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

// System prompts are constant within a run and messages only grow, so that prefix caches hit.
var (
	//go:embed synthesis.md
	synthesisPrompt string
	//go:embed judge.md
	judgePrompt string
)

const (
	maxPack        = 48 << 10 // bytes of evidence per request
	smallPack      = 8 << 10  // for a model with a small context
	maxPiece       = 1200     // bytes of a passage
	maxAnswer      = 64 << 10
	maxVoice       = 4 << 10
	maxFound       = 12 << 10
	maxOlder       = 12 << 10
	leastRounds    = 6 // of tools in deep effort
	otherRounds    = 5 // in other efforts
	trivialCalls   = 3 // of a trivial question
	answerTokens   = 6000
	shortTokens    = 1500
	maxListedSteps = 12
)

// work is an answer in progress.
type work struct {
	Call   int           `json:"call"`
	Rounds int           `json:"rounds,omitempty"`
	Msgs   []llm.Message `json:"msgs"`
	Uses   []wanted      `json:"uses,omitempty"`
	Last   bool          `json:"last,omitempty"`  // no further tools
	Pass   bool          `json:"pass,omitempty"`  // retried as text only, because no text came
	Other  bool          `json:"other,omitempty"` // uses the planning model, because the writing model failed
}

func (w *work) key() string { return number(writing, w.Call) }

// WritesAnswer reports whether the action key belongs to a call that writes the answer.
func WritesAnswer(key string) bool { return strings.HasPrefix(key, writing) }

func (w *work) waits() bool { return len(w.Uses) > 0 }

func (s *state) usable() []piece {
	list := make([]piece, 0, len(s.Evidence))
	for _, p := range s.Evidence {
		if !s.banned(p) {
			list = append(list, p)
		}
	}
	return list
}

func (s *state) banned(p piece) bool {
	return slices.ContainsFunc(s.Banned, func(name string) bool { return p.from(name) })
}

func (s *state) sourced() bool {
	return slices.ContainsFunc(s.usable(), func(p piece) bool { return p.quotable() })
}

// compose starts the answer from the current evidence.
func (s *state) compose() {
	s.Looks, s.Planning, s.Opened = nil, false, 0
	if s.opts.WithoutModel || s.opts.SynthesisStrategy == Never {
		s.quote("")
		return
	}
	s.Step = writing
	s.Counts.Written++
	s.Work = &work{Call: s.Counts.Written, Msgs: []llm.Message{llm.Say(llm.User, s.brief())}}
	s.Work.Last = s.lastCall()
	s.tell(stageSynthesis, "Writing", fmt.Sprintf("Writing the answer from %s of %s.", counted(len(s.usable()), "passage", "passages"), counted(len(s.Sources), "source", "sources")))
}

// lastCall reports whether the next call must not use tools.
func (s *state) lastCall() bool {
	rounds := otherRounds
	if s.Effort == deep {
		rounds = max(2*s.opts.MaxRounds, leastRounds)
	}
	switch {
	case s.Told, s.End != "", len(s.tools()) == 0:
		return true
	case s.Effort == trivial && s.Counts.Calls >= trivialCalls-1, s.Calls > 0 && s.Counts.Calls >= s.Calls-1:
		return true
	}
	return s.Work != nil && s.Work.Rounds >= rounds
}

func (s *state) write() ponder.Action {
	w := s.Work
	req := llm.Request{System: s.system(), Messages: w.Msgs, Tools: s.tools(), MaxTokens: answerTokens, Cache: true}
	if s.Effort == trivial {
		req.MaxTokens = shortTokens
	}
	if w.Last && len(req.Tools) > 0 {
		req.ToolChoice = "none"
	}
	role := s.opts.SynthesisRole
	if w.Other {
		role = s.opts.PlanRole
	}
	return ponder.Call{Key: w.key(), Role: role, Request: req, Shown: true}
}

// system returns the system prompt with the persona and the owner's prompt.
func (s *state) system() string {
	system := synthesisPrompt
	if p := s.persona(); p != (Persona{}) {
		system += "\nYou answer as " + cmp.Or(label(p.Name), "the persona described here") + ", in their voice and with their expertise, without saying that you play a role."
		if p.Voice != "" {
			system += " Their voice:\n" + textkit.TruncateBytes(textkit.CleanTrim(p.Voice), maxVoice)
		}
		system += "\n"
	}
	if s.opts.Prompt != "" {
		system += "\nWhat the owner wants of all answers:\n" + textkit.TruncateBytes(textkit.CleanTrim(s.opts.Prompt), maxWish) + "\n"
	}
	return system
}

func (s *state) brief() string {
	var b strings.Builder
	b.WriteString("The question:\n<question>\n" + framed(textkit.TruncateBytes(textkit.CleanTrim(s.run.Input), maxAsked)) + "\n</question>\n")
	s.briefQuestions(&b)
	s.briefFacts(&b)
	s.briefOlder(&b)
	b.WriteString("\n" + s.pack())
	s.briefConflicts(&b)
	if list := s.unreached(); len(list) > 0 {
		b.WriteString("\nCould not be searched: " + strings.Join(list, ", ") + ". If the answer lacks something for that, say so.\n")
	}
	switch {
	case s.sourced():
	case s.opts.SynthesisStrategy == Auto:
		b.WriteString("\nNothing was found, and the user is told so. If you know what answers the question, say it as what is not from a source; else say in a sentence that you do not know.\n")
	default:
		b.WriteString("\nNothing was found. Say in the first sentence that the sources that were searched have nothing on it; then, if you know something, say it as what is not from a source.\n")
	}
	b.WriteString("\nAnswer the question.\n")
	return b.String()
}

func (s *state) briefQuestions(b *strings.Builder) {
	list := slices.Clone(s.Questions)
	slices.SortStableFunc(list, func(x, y question) int { return cmp.Compare(y.Priority, x.Priority) })
	for i, q := range list[:min(len(list), maxListedSteps)] {
		if i == 0 {
			b.WriteString("\nWhat the answer should cover, the most important first:\n")
		}
		b.WriteString("- " + framed(q.Text))
		if q.User {
			b.WriteString(" (the user asks this)")
		}
		b.WriteString("\n")
	}
}

func (s *state) briefFacts(b *strings.Builder) {
	for i, f := range s.Facts {
		if i == 0 {
			b.WriteString("\nThe user has said, and it holds against all sources; cite it by its id:\n")
		}
		b.WriteString("- [" + f.Evidence + "] " + framed(f.Text) + "\n")
	}
}

func (s *state) briefConflicts(b *strings.Builder) {
	for i, c := range s.conflicts() {
		if i == 0 {
			b.WriteString("\nSources seem to disagree here; look whether they do, and say so where it matters:\n")
		}
		b.WriteString("- " + safe(strings.Join(parts(c.Subject, c.Attribute, c.Time, c.Unit), ", ")) + ":")
		for j, side := range c.Sides {
			if j > 0 {
				b.WriteString(";")
			}
			b.WriteString(" " + safe(side.Value))
			for _, q := range side.Quotes[:min(len(side.Quotes), 4)] {
				b.WriteString(" [" + q.Evidence + "]")
			}
		}
		b.WriteString("\n")
	}
}

// safe returns a short untrusted text for a prompt.
func safe(s string) string {
	return framed(lookup.Defused(lookup.Tame(textkit.TruncateBytes(textkit.OneLine(s), lookup.MaxLabel))))
}

func parts(list ...string) []string {
	return slices.DeleteFunc(list, func(s string) bool { return s == "" })
}

func (s *state) briefOlder(b *strings.Builder) {
	o := s.opts.Since
	if o == nil {
		return
	}
	b.WriteString("\nAn older report on this")
	if !o.At.IsZero() {
		b.WriteString(", of " + lookup.Day(o.At))
	}
	b.WriteString(", said what stands below. Bring it up to date: give the answer as it holds now, and then say in a section of its own what has changed since, and what has not been confirmed again. Its citations do not hold any more: cite anew.\n<older_report>\n")
	b.WriteString(framed(lookup.Defused(textkit.TruncateBytes(textkit.CleanTrim(o.Answer), maxOlder))) + "\n</older_report>\n")
}

func (s *state) wrote(b ponder.CallFinished) {
	if b.Error != "" {
		s.unwritten(b.Outcome)
		return
	}
	w := *s.Work
	s.Work = &w
	calls := distinct(b.Message.Calls())
	if len(calls) > 0 && !w.Last && !s.lastCall() {
		w.Msgs = append(w.Msgs[:len(w.Msgs):len(w.Msgs)], b.Message)
		s.want(calls)
		return
	}
	said := textkit.TruncateBytes(textkit.CleanTrim(llm.Spoken(b.Message.Text())), maxAnswer)
	switch {
	case isSaid(said) && !structured.IsRefusal(said):
		s.check(said, b.Model, b.Finish.BrokeOff())
	case !w.Pass && !(s.Effort == trivial && s.Counts.Calls >= trivialCalls):
		w.Pass, w.Last, w.Uses = true, true, nil
		w.Msgs = append(w.Msgs[:len(w.Msgs):len(w.Msgs)], llm.Say(llm.User, "Write the answer to the question now, as text, from the evidence above. Call no tool.\n"))
		s.Counts.Written++
		w.Call = s.Counts.Written
		s.tell(stageSynthesis, "Once more", "The model gave no answer: it is asked for that alone.")
	default:
		s.quote("the model failed: " + llm.Unanswered(b.Model, b.Message, b.Finish, "").Error())
	}
}

// unwritten handles a failed call for the answer: it uses the planning model or quotations.
func (s *state) unwritten(o ponder.Outcome) {
	s.Fault = textkit.TruncateBytes(textkit.OneLine(o.Error), maxFault)
	if runstate.IsPermanent(o.Class) && !o.Refused && !s.Work.Other && s.opts.PlanRole != s.opts.SynthesisRole && !(s.Effort == trivial && s.Counts.Calls >= trivialCalls) {
		w := *s.Work
		s.Counts.Written++
		w.Other, w.Call = true, s.Counts.Written
		s.Work = &w
		s.tell(stageNote, "Another model", "The model for the answer failed: "+s.Fault+". Another is asked.")
		return
	}
	if o.Class == llm.TooLong && !s.Small && s.Effort != trivial {
		s.Small = true
		s.tell(stageNote, "Less at once", "The evidence was more than the model can read: it is shown the best of it.")
		s.compose()
		return
	}
	s.quote("the model failed: " + strings.TrimSuffix(s.Fault, "."))
}

func isSaid(s string) bool {
	return strings.ContainsFunc(s, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) })
}

func distinct(calls []llm.ToolCall) (list []llm.ToolCall) {
	for _, c := range calls {
		if !slices.ContainsFunc(list, func(o llm.ToolCall) bool { return o.ID == c.ID }) {
			list = append(list, c)
		}
	}
	return list
}

// quote answers in quotations. why is the failure of the model, if any.
func (s *state) quote(why string) {
	s.Work, s.Looks = nil, nil
	text, confidence := quotedAnswer(s.run.Input, s.usable(), why, s.reach())
	s.settleDraft(draft{Text: text, Unaided: true, Why: why, Confidence: confidence})
}

func (s *state) reach() reach {
	r := reach{looked: len(s.Reached) > 0, failed: s.unreached(), none: s.End}
	if !s.gathers() {
		r.none = "there is nothing to look into"
	}
	asked := []string{s.run.Input}
	for _, q := range s.Questions {
		if q.User {
			asked = append(asked, q.Text)
		}
	}
	for _, q := range asked {
		web, memory := queriesOf(q)
		r.own = slices.Concat(r.own, web, memory, []string{q})
	}
	return r
}
