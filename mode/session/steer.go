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
	"ponder/mode/internal/steerstate"
)

const (
	maxBanned  = 1000
	maxRemoved = 60 // pieces of evidence that a release restores
)

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

func (s *state) steeringRun() steerstate.Run {
	return steerstate.Run{
		Name: "the session", Writing: "the session is writing its answer",
		Over: s.Step.Do == done, End: s.StopReason, Spent: s.BudgetSpent, Paused: s.Paused, Facts: len(s.Facts), Limits: s.limits(),
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

func (s *state) applyCommand(c steerstate.Command) steerstate.Result {
	switch c.Do {
	case ponder.SetBudget:
		s.setLimits(c.Limits)
		return steerstate.Done("the limits are changed: %v", c.Limits)
	case ponder.AnswerNow:
		return s.answerNow()
	case ponder.AddQuestion:
		return s.addQuestion(c.Content, c.Priority)
	case ponder.DropQuestion:
		return s.dropQuestion(c.Target)
	case ponder.RestoreQuestion:
		return s.restoreQuestion(&question{ID: c.Target, Text: c.Content, Priority: c.Priority, FromUser: !c.Model})
	case ponder.RankQuestion:
		return s.rankByUser(c.Target, c.Priority, !c.Model)
	case ponder.Correct:
		return s.addCorrection(c.Content)
	case ponder.Withdraw:
		return s.withdrawCorrection(c.Target)
	case ponder.ReleaseSource:
		return s.releaseSource(s.resolveSource(c.Target))
	case ponder.PinSource:
		return s.pinSource(s.resolveSource(c.Target))
	case ponder.BanSource:
		return s.banSource(s.resolveSource(c.Target))
	}
	return steerstate.Unknown(c.Do)
}

// noTimeLimit is the TimeLimit of a run whose time limit was removed.
const noTimeLimit = -1

// limits returns the limits of the run now.
func (s *state) limits() ponder.Budget {
	if s.Limits != nil {
		return *s.Limits
	}
	return s.run.Budget
}

func (s *state) setLimits(c ponder.LimitChange) {
	now := c.Apply(s.limits())
	s.Limits = &now
	s.Calls = c.Apply(ponder.Budget{Cost: ponder.Cost{Calls: s.Calls}}).Calls
	if s.TimeLimit = cmp.Or(c.Time, s.TimeLimit); slices.Contains(c.Unlimited, "time") {
		s.TimeLimit = noTimeLimit
	}
}

func (s *state) answerNow() steerstate.Result {
	switch {
	case s.Step.Do == final && s.Step.N > 0 && !s.AnswerNow:
		s.AnswerNow = true
		return steerstate.Done("if the model fails again, the answer will be written without it")
	case s.StopReason != "":
		return s.steeringRun().RefuseBusy()
	}
	s.AnswerNow = true
	s.concludeRun(runstate.UserReason)
	if s.Paused {
		return steerstate.Done("the answer will be written when the session resumes")
	}
	return steerstate.Done("the answer is being written")
}

func (s *state) addQuestion(text string, priority int) steerstate.Result {
	feel := normalizeText(text)
	if i, known := s.findKnown(feel); i >= 0 {
		q := s.Open[i]
		s.markFromUser(i, true)
		r := steerstate.Done("question %s already asks this; its priority is %d", q.ID, max(q.Priority, priority))
		r.Add, r.Undo = s.raisePriority(i, priority, "asked again by the user"), revertRank(q)
		return r
	} else if at := slices.IndexFunc(s.Explored, func(q *question) bool { return feel.Compare(q.normText) == similarity.Same }); known && at >= 0 && s.Explored[at].Text == text {
		if q := *s.Explored[at]; q.Dropped {
			q.Priority, q.FromUser = priority, true
			return s.restoreQuestion(&q)
		}
		return steerstate.Refuse("question %s asked this and is explored", s.Explored[at].ID)
	}
	s.Open = slices.Clip(s.Open)
	b := s.appendQuestion(&question{Text: text, Priority: priority, FromUser: true, normText: *feel}, ponder.SubQuestion{By: "user"})
	r := steerstate.Done("question q%d is added with priority %d", s.Counts.Questions, priority)
	r.Add, r.Undo = []ponder.Body{b}, revertAdd("q"+strconv.Itoa(s.Counts.Questions))
	return r
}

func revertAdd(id string) []ponder.SteerStep {
	return steerstate.Step(ponder.DropQuestion, "", ponder.SteerArgs{Question: id})
}

func revertRank(q *question) []ponder.SteerStep {
	return steerstate.Step(ponder.RankQuestion, "", ponder.SteerArgs{Question: q.ID, Priority: q.Priority, Model: !q.FromUser})
}

// restoreQuestion opens a dropped question again.
func (s *state) restoreQuestion(q *question) steerstate.Result {
	is := func(o *question) bool { return o.ID == q.ID }
	if slices.ContainsFunc(s.Open, is) {
		return steerstate.Refuse("question %s is open", q.ID)
	}
	if at := slices.IndexFunc(s.Explored, is); at >= 0 {
		if !s.Explored[at].Dropped {
			return steerstate.Refuse("question %s is explored", q.ID)
		}
		s.Explored = removeAt(s.Explored, at)
	}
	q.normText, q.Dropped = *normalizeText(q.Text), false
	if s.Open = append(slices.Clip(s.Open), q); len(s.Open) > maxOpen {
		s.Open = removeAt(s.Open, lowestPriority(s.Open))
	}
	r := steerstate.Done("question %s is open again with priority %d", q.ID, q.Priority)
	r.Add = []ponder.Body{ponder.QuestionUpdated{ID: q.ID, Priority: q.Priority, Reopened: true, Reason: "restored by the user"}}
	r.Undo = revertAdd(q.ID)
	return r
}

// findOpen returns the index of an open question by id or text, or -1 and a refusal.
func (s *state) findOpen(name string) (int, steerstate.Result) {
	is := func(q *question) bool { return strings.EqualFold(q.ID, name) || strings.EqualFold(q.Text, name) }
	if i := slices.IndexFunc(s.Open, is); i >= 0 {
		return i, steerstate.Result{}
	}
	if n, ok := strings.CutPrefix(strings.ToLower(name), "q"); ok {
		if n, err := strconv.Atoi(n); err == nil && 0 < n && n <= s.Counts.Questions {
			return -1, steerstate.Refuse("question %s is no longer open", name)
		}
	}
	if slices.ContainsFunc(s.Explored, is) {
		return -1, steerstate.Refuse("question %s is no longer open", name)
	}
	return -1, steerstate.Refuse("there is no question %q", name)
}

func (s *state) dropQuestion(name string) steerstate.Result {
	i, r := s.findOpen(name)
	if i < 0 {
		return r
	}
	q := *s.Open[i]
	id := q.ID
	r = steerstate.Done("question %s is dropped", id)
	r.Undo = steerstate.Step(ponder.RestoreQuestion, q.Text, ponder.SteerArgs{Question: id, Priority: q.Priority, Model: !q.FromUser})
	r.Add = []ponder.Body{s.markDropped(i, "dropped by the user")}
	s.Wave = steerstate.NilIfEmpty(slices.DeleteFunc(slices.Clone(s.Wave), func(c slot) bool { return c.Focus.Question == id }))
	return r
}

// rankByUser sets a priority. Models may not change it if the user keeps the question.
func (s *state) rankByUser(name string, priority int, keep bool) steerstate.Result {
	i, r := s.findOpen(name)
	if i < 0 {
		return r
	}
	if r = steerstate.RankResult(s.Open[i].ID, priority); !r.Refused {
		r.Undo = revertRank(s.Open[i])
		s.markFromUser(i, keep)
		r.Add = s.setPriority(i, priority, "ranked by the user")
	}
	return r
}

// addCorrection adds a fact and restarts calls made without it.
func (s *state) addCorrection(text string) steerstate.Result {
	s.Counts.Facts++
	f := fact{ID: "c" + strconv.Itoa(s.Counts.Facts), Text: text, normText: similarity.Parse(text)}
	s.Facts = append(slices.Clip(s.Facts), f)
	s.restartCalls(func(*slot) bool { return true })
	r := steerstate.Done("correction %s is in force", f.ID)
	r.Undo = steerstate.Step(ponder.Withdraw, "", ponder.SteerArgs{Question: f.ID})
	return r
}

// withdrawCorrection removes a fact and restarts calls made with it.
func (s *state) withdrawCorrection(id string) steerstate.Result {
	at := slices.IndexFunc(s.Facts, func(f fact) bool { return strings.EqualFold(f.ID, id) })
	if at < 0 {
		return steerstate.Refuse("there is no correction %q", id)
	}
	s.Facts = removeAt(s.Facts, at)
	s.restartCalls(func(*slot) bool { return true })
	return steerstate.Done("correction %s is withdrawn", strings.ToLower(id))
}

func (s *state) restartCalls(want func(*slot) bool) {
	switch s.Step.Do {
	case questions:
		s.Counts.Asked++
		s.Step = step{Do: questions, N: s.Counts.Asked}
	case synthesis:
		s.Counts.Summed++
		s.Step = step{Do: synthesis, N: s.Counts.Summed}
	case final:
		s.Step = step{Do: final, N: s.Step.N + 1, ThoughtModel: s.Step.ThoughtModel}
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

func (s *state) pinSource(source string) steerstate.Result {
	if !s.canUseSource(source) {
		return steerstate.Refuse("%s is not one of the %s of the session", source, s.sourceNoun())
	}
	undo := s.Revert(source)
	r, isNew := s.Pin(source)
	if isNew {
		s.restoreEvidence(source)
		r = steerstate.Done("%s will be preferred from the next search", source)
		r.Undo = undo
	}
	return r
}

// releaseSource ends a preference or an exclusion. The evidence of an excluded source returns.
func (s *state) releaseSource(source string) steerstate.Result {
	r, _ := s.Release(source)
	s.restoreEvidence(source)
	return r
}

func (s *state) restoreEvidence(source string) {
	isFrom := func(e evidence) bool { return e.isFrom(source) }
	for _, e := range s.Removed {
		if isFrom(e) {
			s.Evidence = append(slices.Clip(s.Evidence), e)
			s.BannedEvidence = steerstate.NilIfEmpty(slices.DeleteFunc(slices.Clone(s.BannedEvidence), func(n int) bool { return n == e.N }))
		}
	}
	s.Removed = steerstate.NilIfEmpty(slices.DeleteFunc(slices.Clone(s.Removed), isFrom))
}

// banSource excludes a source and restarts calls that had its passages.
func (s *state) banSource(source string) (r steerstate.Result) {
	undo := s.Revert(source)
	r, isNew := s.Ban(source)
	if !isNew {
		return r
	}
	defer func() { r.Undo = undo }()
	foci := make(map[string]bool)
	had := len(s.Evidence)
	s.Evidence = steerstate.NilIfEmpty(slices.DeleteFunc(slices.Clone(s.Evidence), func(e evidence) bool {
		if !e.isFrom(source) {
			return false
		}
		foci[e.Question] = true
		s.BannedEvidence = runstate.AppendLast(s.BannedEvidence, e.N, maxBanned)
		s.Removed = runstate.AppendLast(s.Removed, e, maxRemoved)
		return true
	}))
	if had == len(s.Evidence) {
		return steerstate.Done("%s is excluded; no evidence so far comes from it", source)
	}
	s.retractBanned()
	s.restartCalls(func(c *slot) bool { return foci[c.Focus.Question] })
	return steerstate.Done("%s is excluded", source)
}

// canUseSource reports whether the session may use source. Any source may be in the memory.
func (s *state) canUseSource(source string) bool {
	return s.opts.Memory || s.opts.Web && lookup.HostOf(source) != "" ||
		slices.ContainsFunc(s.opts.Docs, func(doc string) bool { return lookup.Denotes(source, doc) }) ||
		slices.ContainsFunc(s.Evidence, func(e evidence) bool { return e.isFrom(source) })
}
