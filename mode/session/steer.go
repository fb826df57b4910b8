package session

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"ponder"
	"ponder/internal/textkit/similarity"
	"ponder/mode/internal/lookup"
	"ponder/mode/internal/runstate"
	"ponder/mode/internal/steering"
)

const maxBanned = 1000

type fact struct {
	ID   string `json:"id"`
	Text string `json:"text"`

	normText similarity.Text
}

func (s *state) applySteer(id string, b ponder.Steer) {
	ack, applied := s.steeringRun().Apply(id, b)
	if ack == nil {
		return
	}
	s.queueWrite("steered", &s.Counts.Steered, ack...)
	if applied && s.Step.isInWave() {
		s.continueWave()
	}
}

func (s *state) steeringRun() steering.Run {
	return steering.Run{
		Name: "the session", Writing: "the session is writing its answer",
		Over: s.Step.Do == done, End: s.StopReason, Spent: s.BudgetSpent, Paused: s.Paused, Facts: len(s.Facts),
		HasText: hasText, InFlight: s.inFlight, Steer: s.applyCommand,
	}
}

// continueWave advances a wave after a command removed cells.
func (s *state) continueWave() {
	if len(s.Wave) == 0 {
		s.startWave()
		return
	}
	s.settleWave()
}

func (s *state) applyCommand(c steering.Command) steering.Result {
	switch c.Do {
	case ponder.SetBudget:
		s.Calls, s.TimeLimit = cmp.Or(c.Limits.Calls, s.Calls), cmp.Or(c.Limits.Time, s.TimeLimit)
		return steering.Done("the limits are changed: %v", c.Limits)
	case ponder.AnswerNow:
		return s.answerNow()
	case ponder.AddQuestion:
		return s.addQuestion(c.Content, c.Priority)
	case ponder.DropQuestion:
		return s.dropQuestion(c.Target)
	case ponder.RankQuestion:
		return s.rankByUser(c.Target, c.Priority)
	case ponder.Correct:
		return s.addCorrection(c.Content)
	case ponder.PinSource:
		return s.pinSource(s.resolveSource(c.Target))
	case ponder.BanSource:
		return s.banSource(s.resolveSource(c.Target))
	}
	return steering.Unknown(c.Do)
}

func (s *state) answerNow() steering.Result {
	switch {
	case s.Step.Do == final && s.Step.N > 0 && !s.AnswerNow:
		s.AnswerNow = true
		return steering.Done("if the model fails again, the answer will be written without it")
	case s.StopReason != "":
		return s.steeringRun().RefuseBusy()
	}
	s.AnswerNow = true
	s.concludeRun("the user requested the answer")
	if s.Paused {
		return steering.Done("the answer will be written when the session resumes")
	}
	return steering.Done("the answer is being written")
}

func (s *state) addQuestion(text string, priority int) steering.Result {
	feel := normalizeText(text)
	if i, known := s.findKnown(feel); i >= 0 {
		q := s.Open[i]
		s.markFromUser(i)
		r := steering.Done("question %s already asks this; its priority is %d", q.ID, max(q.Priority, priority))
		r.Add = s.raisePriority(i, priority, "asked again by the user")
		return r
	} else if at := slices.IndexFunc(s.Explored, func(q *question) bool { return feel.Compare(q.normText) == similarity.Same }); known && at >= 0 && s.Explored[at].Text == text {
		return steering.Refuse("question %s asked this and is explored", s.Explored[at].ID)
	}
	s.Open = slices.Clip(s.Open)
	b := s.appendQuestion(&question{Text: text, Priority: priority, FromUser: true, normText: *feel}, ponder.SubQuestion{By: "user"})
	r := steering.Done("question q%d is added with priority %d", s.Counts.Questions, priority)
	r.Add = []ponder.Body{b}
	return r
}

// findOpen returns the index of an open question by id or text, or -1 and a refusal.
func (s *state) findOpen(name string) (int, steering.Result) {
	is := func(q *question) bool { return strings.EqualFold(q.ID, name) || strings.EqualFold(q.Text, name) }
	if i := slices.IndexFunc(s.Open, is); i >= 0 {
		return i, steering.Result{}
	}
	if n, ok := strings.CutPrefix(strings.ToLower(name), "q"); ok {
		if n, err := strconv.Atoi(n); err == nil && 0 < n && n <= s.Counts.Questions {
			return -1, steering.Refuse("question %s is no longer open", name)
		}
	}
	if slices.ContainsFunc(s.Explored, is) {
		return -1, steering.Refuse("question %s is no longer open", name)
	}
	return -1, steering.Refuse("there is no question %q", name)
}

func (s *state) dropQuestion(name string) steering.Result {
	i, r := s.findOpen(name)
	if i < 0 {
		return r
	}
	id := s.Open[i].ID
	r = steering.Done("question %s is dropped", id)
	r.Add = []ponder.Body{s.markDropped(i, "dropped by the user")}
	s.Wave = steering.NilIfEmpty(slices.DeleteFunc(slices.Clone(s.Wave), func(c slot) bool { return c.Focus.Question == id }))
	return r
}

func (s *state) rankByUser(name string, priority int) steering.Result {
	i, r := s.findOpen(name)
	if i < 0 {
		return r
	}
	if r = steering.RankResult(s.Open[i].ID, priority); !r.Refused {
		s.markFromUser(i)
		r.Add = s.setPriority(i, priority, "ranked by the user")
	}
	return r
}

// addCorrection adds a fact and restarts calls made without it.
func (s *state) addCorrection(text string) steering.Result {
	s.Counts.Facts++
	f := fact{ID: "c" + strconv.Itoa(s.Counts.Facts), Text: text, normText: similarity.Parse(text)}
	s.Facts = append(slices.Clip(s.Facts), f)
	s.restartCalls(func(*slot) bool { return true })
	return steering.Done("correction %s is in force", f.ID)
}

func (s *state) restartCalls(want func(*slot) bool) {
	switch s.Step.Do {
	case questions:
		s.Counts.Asked++
		s.Step = step{Do: questions, N: s.Counts.Asked}
	case synthesis:
		s.Counts.Summed++
		s.Step = step{Do: synthesis, N: s.Counts.Summed}
	case thoughts:
		s.restartSlots(want)
	}
}

func (s *state) resolveSource(name string) string {
	for _, e := range s.Evidence {
		if strings.EqualFold(e.id(), name) {
			return e.Source
		}
	}
	return name
}

func (s *state) pinSource(source string) steering.Result {
	if !s.canUseSource(source) {
		return steering.Refuse("%s is not one of the %s of the session", source, s.sourceNoun())
	}
	r, isNew := s.Pin(source)
	if isNew {
		r = steering.Done("%s will be preferred from the next search", source)
	}
	return r
}

// banSource excludes a source and restarts calls that had its passages.
func (s *state) banSource(source string) steering.Result {
	r, isNew := s.Ban(source)
	if !isNew {
		return r
	}
	foci := make(map[string]bool)
	had := len(s.Evidence)
	s.Evidence = steering.NilIfEmpty(slices.DeleteFunc(slices.Clone(s.Evidence), func(e evidence) bool {
		if !e.isFrom(source) {
			return false
		}
		foci[e.Question] = true
		s.BannedEvidence = runstate.AppendLast(s.BannedEvidence, e.N, maxBanned)
		return true
	}))
	if had == len(s.Evidence) {
		return steering.Done("%s is excluded; no evidence so far comes from it", source)
	}
	s.retractBanned()
	s.restartCalls(func(c *slot) bool { return foci[c.Focus.Question] })
	return steering.Done("%s is excluded", source)
}

// canUseSource reports whether the session may use source. Any source may be in the memory.
func (s *state) canUseSource(source string) bool {
	return s.opts.Memory || s.opts.Web && lookup.HostOf(source) != "" ||
		slices.ContainsFunc(s.opts.Docs, func(doc string) bool { return lookup.Denotes(source, doc) }) ||
		slices.ContainsFunc(s.Evidence, func(e evidence) bool { return e.isFrom(source) })
}
