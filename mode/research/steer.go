package research

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"ponder"
	"ponder/internal/textkit"
	"ponder/mode/internal/lookup"
	"ponder/mode/internal/runstate"
	"ponder/mode/internal/steerstate"
)

const (
	maxQuestions = 40
	planPriority = 5
)

// UserSource is the Source of a user's correction.
const UserSource = "user"

// fact is a correction of the user, which is also evidence.
type fact struct {
	ID       string `json:"id"`
	Evidence string `json:"evidence"`
	Text     string `json:"text"`
}

func (s *state) applySteer(id string, b ponder.Steer) {
	ack, _ := s.steeringRun().Apply(id, b)
	s.queueWrite("steered", &s.Counts.Steered, ack...)
}

func (s *state) steeringRun() steerstate.Run {
	return steerstate.Run{
		Name: "the research", Writing: "the answer is being written",
		Over: s.Step == done, End: s.StopReason, Spent: s.BudgetSpent, Paused: s.Paused, Facts: len(s.Facts), Limits: s.limits(),
		HasText: hasText, InFlight: s.inFlight, Steer: s.applyCommand,
	}
}

// applyCommand applies a checked command. If it changes the material of an answer in progress, the answer
// restarts.
func (s *state) applyCommand(c steerstate.Command) (r steerstate.Result) {
	was, changed := s.Work, false
	switch c.Do {
	case ponder.SetBudget:
		s.setLimits(c.Limits)
		r = steerstate.Done("the limits are changed: %v", c.Limits)
	case ponder.AnswerNow:
		r = s.answerNow()
	case ponder.AddQuestion:
		r = s.addQuestion(c.Content, c.Priority)
	case ponder.DropQuestion:
		r, changed = s.dropQuestion(c.Target), true
	case ponder.RestoreQuestion:
		r, changed = s.restoreQuestion(question{ID: c.Target, Text: c.Content, Priority: c.Priority, User: !c.Model}), true
	case ponder.RankQuestion:
		r, changed = s.rankQuestion(c.Target, c.Priority), true
	case ponder.Correct:
		r, changed = s.addCorrection(c.Content), true
	case ponder.Withdraw:
		r, changed = s.withdrawCorrection(c.Target), true
	case ponder.ReleaseSource:
		r, changed = s.releaseSource(s.resolveSource(c.Target))
	case ponder.PinSource:
		r, changed = s.pinSource(s.resolveSource(c.Target))
	case ponder.BanSource:
		r, changed = s.banSource(s.resolveSource(c.Target))
	case ponder.SetPersona:
		r, changed = s.setPersona(c.Target, c.Content), true
	default:
		r = steerstate.Unknown(c.Do)
	}
	if changed && !r.Refused {
		s.restartAnswer(was)
	}
	return r
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

func (s *state) restartAnswer(was *answerInProgress) {
	if s.Step == writing && s.Work == was || s.Step == judging {
		s.Draft = nil
		s.startAnswer()
	}
}

func (s *state) inFlight() (keys []string) {
	if s.Planning {
		keys = append(keys, s.Retry.attemptKey(planKey))
	}
	for _, l := range s.activeLookups() {
		keys = append(keys, l.actionKey())
	}
	if key := s.awaitedCall(); key != "" {
		keys = append(keys, key)
	}
	return keys
}

func (s *state) answerNow() steerstate.Result {
	if s.StopReason != "" && s.Step != gathering {
		return s.steeringRun().RefuseBusy()
	}
	if s.StopReason != "" {
		s.startAnswer() // its looks are obsolete
	} else {
		s.concludeRun(runstate.UserReason)
	}
	if s.Paused {
		return steerstate.Done("the answer will be written when the research resumes")
	}
	return steerstate.Done("the answer is being written")
}

// setStopReason sets why no further look is made, unless there is a reason already.
func (s *state) setStopReason(why runstate.Reason) {
	if s.StopReason == "" {
		s.StopReason, s.StopCode = why.Text, why.Code
	}
}

func (s *state) concludeRun(why runstate.Reason) {
	if s.StopReason != "" || s.Step == done {
		return
	}
	s.setStopReason(why)
	switch {
	case s.Step == judging:
		s.publishAnswer()
	case s.Step == writing && s.BudgetSpent && !s.Work.isWaiting():
		w := *s.Work // the running call is the conclusion
		w.NoTools, s.Work = true, &w
	case s.Step == writing:
		s.endToolUse()
	default:
		s.startAnswer()
	}
}

func (s *state) endToolUse() {
	w := *s.Work
	s.Work, w.NoTools = &w, true
	if !w.isWaiting() {
		s.Counts.Written++
		w.Call = s.Counts.Written
		return
	}
	w.Uses = slices.Clone(w.Uses)
	for i, u := range w.Uses {
		if u.Result == nil {
			w.Uses[i].Result = toolResult(u.Call, "Not done: the answer is wanted now.", true)
		}
	}
	s.sendResults(&w)
}

// appendQuestion adds a question and returns its event. It returns false for duplicates and beyond the limit.
func (s *state) appendQuestion(content string, priority int, user bool) (ponder.Body, bool) {
	content = textkit.TruncateBytes(textkit.OneLine(content), steerstate.MaxQuestion)
	is := func(q question) bool { return strings.EqualFold(q.Text, content) }
	if !hasText(content) || slices.ContainsFunc(s.Questions, is) || len(s.Questions) >= maxQuestions {
		return nil, false
	}
	s.Counts.Questions++
	q := question{ID: "q" + strconv.Itoa(s.Counts.Questions), Text: content, Priority: priority, User: user}
	s.Questions = append(s.Questions[:len(s.Questions):len(s.Questions)], q)
	b := ponder.SubQuestion{Content: content, ID: q.ID, Priority: priority, Offset: s.elapsedSeconds()}
	if user {
		b.By = "user"
	}
	return b, true
}

func (s *state) addQuestion(content string, priority int) steerstate.Result {
	b, ok := s.appendQuestion(content, priority, true)
	if !ok {
		return steerstate.Refuse("the question exists, or the limit of %d questions is reached", maxQuestions)
	}
	q := s.Questions[len(s.Questions)-1]
	r := steerstate.Done("question %s is added with priority %d and will be searched", q.ID, priority)
	r.Add = []ponder.Body{b}
	r.Undo = steerstate.Step(ponder.DropQuestion, "", ponder.SteerArgs{Question: q.ID})
	s.researchQuestion(q)
	return r
}

// restoreQuestion opens a dropped question again.
func (s *state) restoreQuestion(q question) steerstate.Result {
	if slices.ContainsFunc(s.Questions, func(o question) bool { return o.ID == q.ID }) {
		return steerstate.Refuse("question %s is open", q.ID)
	}
	if len(s.Questions) >= maxQuestions {
		return steerstate.Refuse("the limit of %d questions is reached", maxQuestions)
	}
	s.Questions = append(slices.Clip(s.Questions), q)
	r := steerstate.Done("question %s is open again with priority %d", q.ID, q.Priority)
	r.Add = []ponder.Body{ponder.QuestionUpdated{ID: q.ID, Priority: q.Priority, Reopened: true, Reason: "restored by the user"}}
	s.researchQuestion(q)
	return r
}

// researchQuestion researches a user's question before the answer is written.
func (s *state) researchQuestion(q question) {
	if s.Step == proposing {
		s.proposeQuestion(q)
		return
	}
	web, memory := heuristicQueries(q.Text)
	if s.Step != gathering {
		s.Step, s.Work, s.Draft = gathering, nil, nil
		s.nextRound()
	}
	if s.canSearch() {
		s.enqueueQueries(memoryLookup, memory, q.ID)
	}
	if s.opts.Web {
		s.enqueueQueries(webLookup, web, q.ID)
	}
}

func (s *state) findQuestion(name string) (int, steerstate.Result) {
	is := func(q question) bool { return strings.EqualFold(q.ID, name) || strings.EqualFold(q.Text, name) }
	if i := slices.IndexFunc(s.Questions, is); i >= 0 {
		return i, steerstate.Result{}
	}
	return -1, steerstate.Refuse("there is no open question %q", cleanLabel(name))
}

func (s *state) dropQuestion(name string) steerstate.Result {
	i, r := s.findQuestion(name)
	if i < 0 {
		return r
	}
	q := s.Questions[i]
	id := q.ID
	s.Questions = steerstate.NilIfEmpty(slices.Delete(slices.Clone(s.Questions), i, i+1))
	s.Lookups = steerstate.NilIfEmpty(slices.DeleteFunc(slices.Clone(s.Lookups), func(l lookupCall) bool { return l.Ref == id && !l.Done }))
	r = steerstate.Done("question %s is dropped", id)
	r.Undo = steerstate.Step(ponder.RestoreQuestion, q.Text, ponder.SteerArgs{Question: id, Priority: q.Priority, Model: !q.User})
	r.Add = []ponder.Body{ponder.QuestionUpdated{ID: id, Dropped: true, Reason: "dropped by the user"}}
	return r
}

func (s *state) rankQuestion(name string, priority int) steerstate.Result {
	i, r := s.findQuestion(name)
	if i < 0 {
		return r
	}
	id, old := s.Questions[i].ID, s.Questions[i].Priority
	if r = steerstate.RankResult(id, priority); !r.Refused {
		s.Questions = slices.Clone(s.Questions)
		s.Questions[i].Priority = priority
		r.Undo = steerstate.Step(ponder.RankQuestion, "", ponder.SteerArgs{Question: id, Priority: old})
		r.Add = []ponder.Body{ponder.QuestionUpdated{ID: id, Priority: priority, Reason: "ranked by the user"}}
	}
	return r
}

// addCorrection adds a fact, which counts as a quote of the user.
func (s *state) addCorrection(content string) steerstate.Result {
	s.Counts.Facts++
	s.Counts.Evidence++
	f := fact{ID: "c" + strconv.Itoa(s.Counts.Facts), Evidence: "e" + strconv.Itoa(s.Counts.Evidence), Text: content}
	s.Facts = append(slices.Clip(s.Facts), f)
	p := piece{N: s.Counts.Evidence, Source: UserSource, Title: "Stated by the user", Quote: content, Score: 1, SourceWeight: 1, Kind: factKind, Cluster: UserSource, Round: s.Round}
	s.Evidence = append(slices.Clip(s.Evidence), p)
	r := steerstate.Done("correction %s is in force as %s", f.ID, f.Evidence)
	r.Undo = steerstate.Step(ponder.Withdraw, "", ponder.SteerArgs{Question: f.ID})
	r.Add = []ponder.Body{ponder.Evidence{
		Content: content, ID: p.id(), Source: p.Source, Title: p.Title, End: len(content), Hash: lookup.HashText(content), Score: 1, Cluster: p.Cluster,
	}}
	return r
}

// withdrawCorrection removes a fact. Its evidence can no longer be cited.
func (s *state) withdrawCorrection(id string) steerstate.Result {
	at := slices.IndexFunc(s.Facts, func(f fact) bool { return strings.EqualFold(f.ID, id) })
	if at < 0 {
		return steerstate.Refuse("there is no correction %q", cleanLabel(id))
	}
	f := s.Facts[at]
	s.Facts = steerstate.NilIfEmpty(slices.Delete(slices.Clone(s.Facts), at, at+1))
	s.Evidence = slices.Clone(s.Evidence)
	for i := range s.Evidence {
		if s.Evidence[i].id() == f.Evidence {
			s.Evidence[i].Withdrawn = true
		}
	}
	return steerstate.Done("correction %s is withdrawn", f.ID)
}

func (s *state) resolveSource(name string) string {
	for _, p := range s.Evidence {
		if strings.EqualFold(p.id(), name) {
			return p.Source
		}
	}
	return name
}

// pinSource prefers a source and reports whether evidence of it exists.
func (s *state) pinSource(source string) (r steerstate.Result, had bool) {
	undo := s.Revert(source)
	r, isNew := s.Pin(source)
	if !isNew {
		return r, false
	}
	had = s.scaleScores(source, pinnedWeight)
	r = steerstate.Done("%s will be preferred", source)
	r.Undo = undo
	return r, had
}

// releaseSource ends a preference or an exclusion, and reports whether evidence of the source exists.
func (s *state) releaseSource(source string) (r steerstate.Result, had bool) {
	weight := 1.0
	if slices.Contains(s.Pinned, source) {
		weight = 1.0 / pinnedWeight
	}
	if r, had = s.Release(source); had {
		had = s.scaleScores(source, weight)
	}
	return r, had
}

// scaleScores multiplies the scores of the evidence of a source, and reports whether there is any.
func (s *state) scaleScores(source string, weight float64) (had bool) {
	s.Evidence = slices.Clone(s.Evidence)
	for i, p := range s.Evidence {
		if p.isFrom(source) {
			s.Evidence[i].Score, had = min(1, p.Score*weight), true
		}
	}
	return had
}

// banSource excludes a source and reports whether evidence of it exists.
func (s *state) banSource(source string) (r steerstate.Result, had bool) {
	undo := s.Revert(source)
	r, isNew := s.Ban(source)
	if !isNew {
		return r, false
	}
	defer func() { r.Undo = undo }()
	s.Lookups = steerstate.NilIfEmpty(slices.DeleteFunc(slices.Clone(s.Lookups), func(l lookupCall) bool {
		return !l.Done && l.Page != nil && lookup.HitDenotedBy(*l.Page, []string{source}) && l.Use == 0
	}))
	if !slices.ContainsFunc(s.Evidence, func(p piece) bool { return p.isFrom(source) }) {
		return steerstate.Done("%s is excluded; no evidence so far comes from it", source), false
	}
	return steerstate.Done("%s is excluded", source), true
}

func (s *state) setPersona(name, voice string) steerstate.Result {
	p := Persona{Name: cleanLabel(name), Voice: textkit.TruncateBytes(textkit.CleanTrim(voice), maxVoice)}
	if p == (Persona{}) {
		return steerstate.Refuse("no persona given")
	}
	old := s.activePersona()
	s.Persona = p
	r := steerstate.Done("answers now use the voice of %s", cmp.Or(p.Name, "the given text"))
	if old != (Persona{}) {
		r.Undo = steerstate.Step(ponder.SetPersona, old.Voice, ponder.SteerArgs{Name: old.Name})
	}
	return r
}
