package session

import (
	"cmp"
	"slices"
	"strconv"

	"ponder"
	"ponder/internal/textkit"
	"ponder/llm"
	"ponder/llm/structured"
	"ponder/mode/internal/lookup"
	"ponder/mode/internal/runstate"
)

// slot is one focus of a wave with its results. A wave is applied when all cells are done, in their
// order, so that the order of results does not matter.
type slot struct {
	N     int   `json:"n"`
	Focus focus `json:"focus"`
	Done  bool  `json:"done,omitempty"` // with the step
	structured.Retry

	Found       found           `json:"found,omitzero"` // of a look
	LookupDone  bool            `json:"got,omitempty"`  // found is complete; the web is pending
	Web         *webResult      `json:"web,omitempty"`  // nil if the web is not searched
	NewPassages int             `json:"news,omitempty"` // passages found
	FewerReason string          `json:"less,omitempty"` // why documents or memory found fewer than possible
	Thoughts    []modelThought  `json:"heard,omitempty"`
	Questions   []modelQuestion `json:"asked,omitempty"`   // questions among the thoughts
	Settled     bool            `json:"settled,omitempty"` // the model has no more questions
	Model       string          `json:"model,omitempty"`
	Failed      ponder.Outcome  `json:"failed,omitzero"`
}

func (c *slot) actionKey(do string) string { return do + "-" + strconv.Itoa(c.N) + retryMark(c.Retry) }

func (s *state) startWave() {
	s.Wave = nil
	for _, f := range s.chooseFoci(s.waveWidth()) {
		s.addSlot(f)
	}
	s.Step = step{Do: thoughts}
	if s.startLookups() {
		s.Step.Do = lookupStep
	}
}

func (s *state) canSearch() bool { return len(s.opts.Docs) > 0 || s.opts.Memory }

func (s *state) canGather() bool { return s.canSearch() || s.opts.Web }

func (s *state) startLookups() bool {
	online := s.shouldSearchWeb()
	for i := range s.Wave {
		c := &s.Wave[i]
		if online && i < maxSearches {
			c.Web = &webResult{}
		}
		c.Done = !s.canSearch() && c.Web == nil && online
	}
	return s.canSearch() || online
}

func (s *state) addSlot(f focus) {
	s.Counts.Rounds++
	if f.Question == "" {
		s.Counts.Views++
		f.View = s.Counts.Views
	}
	s.Wave = append(slices.Clip(s.Wave), slot{N: s.Counts.Rounds, Focus: f})
	n := s.Counts.Rounds - 1
	s.queueWrite("focus", &n, ponder.Progress{Content: f.Text, Stage: "focus", Iteration: s.Counts.Rounds, Ref: f.Question})
}

func (s *state) awaitedKeys(c *slot) (keys []string) {
	switch {
	case c.Done:
	case s.Step.Do == lookupStep:
		if s.canSearch() && !c.LookupDone {
			keys = append(keys, c.actionKey(lookupStep))
		}
		if c.Web != nil && !c.Web.Done {
			keys = append(keys, c.webKey())
		}
	case s.Step.Do == readStep:
		for _, p := range c.Web.Pages {
			if !p.Done {
				keys = append(keys, p.actionKey())
			}
		}
	default:
		keys = append(keys, c.actionKey(thoughts))
	}
	return keys
}

func (s *state) appendActions(do []ponder.Action, c *slot) []ponder.Action {
	for _, key := range s.awaitedKeys(c) {
		switch {
		case s.Step.Do == thoughts:
			do = append(do, s.modelCall(key, c))
		case s.Step.Do == readStep:
			do = append(do, s.readPageAction(c, key))
		case key == c.webKey():
			do = append(do, s.webSearchAction(c))
		default:
			do = append(do, s.searchAction(c))
		}
	}
	return do
}

// findSlot returns the cell that awaits key, in a cloned wave, or nil.
func (s *state) findSlot(key string) *slot {
	i := slices.IndexFunc(s.Wave, func(c slot) bool { return slices.Contains(s.awaitedKeys(&c), key) })
	if i < 0 {
		return nil
	}
	s.Wave = slices.Clone(s.Wave)
	return &s.Wave[i]
}

func (s *state) applyLookup(key string, b ponder.ToolResult) {
	c := s.findSlot(key)
	if c == nil {
		return
	}
	if key == c.webKey() {
		c.Web = c.Web.applyResult(b)
	} else {
		c.LookupDone, c.Found = true, lookup.ReadSearchResult(b.Result, maxHits)
		if b.Error != "" {
			c.Found, c.Failed = found{}, b.Outcome
		}
	}
	if len(s.awaitedKeys(c)) == 0 {
		c.Done, c.LookupDone = true, false
	}
	s.settleWave()
}

func (s *state) applyThoughts(key string, b *ponder.CallFinished) {
	c := s.findSlot(key)
	if c == nil || s.Step.Do != thoughts {
		return
	}
	c.Model = b.Model
	if b.Error != "" {
		if c.Failed = b.Outcome; c.Bad != "" && c.readThoughts(c.Bad, s.run.Input, true) == nil {
			c.Failed = ponder.Outcome{}
		}
		c.Done = true
		s.settleWave()
		return
	}
	text := answerText(b)
	err := c.readThoughts(text, s.run.Input, false)
	s.FormatIgnored = err != nil && (c.Why != "" || s.FormatIgnored)
	switch {
	case err == nil:
	case c.Why == "" && s.mayReask(b):
		c.Retry = structured.NewRetry(text, b.Finish, err)
		return
	case c.readThoughts(text, s.run.Input, true) == nil, c.Why != "" && c.readThoughts(c.Bad, s.run.Input, true) == nil:
	default:
		c.Failed = unansweredOutcome(b, err)
	}
	c.Done = true
	s.settleWave()
}

func (c *slot) readThoughts(text, question string, prose bool) error {
	a, err := readAnswer(text, question, c.Focus.Text, prose)
	if err == nil {
		c.Thoughts, c.Questions, c.Settled = a.thoughts, a.questions, a.settled
	}
	return err
}

func (s *state) settleWave() {
	if slices.ContainsFunc(s.Wave, func(c slot) bool { return !c.Done }) {
		return
	}
	switch s.Step.Do {
	case lookupStep:
		s.settleLookups()
		return
	case readStep:
		s.startThoughts()
		return
	}
	wave := s.Wave
	s.Wave = nil
	if s.recordOutcome(wave); s.Failures >= maxFails && !s.scheduleRetry() && !s.canGather() {
		s.giveUp()
		return
	}
	s.setExtractive(s.Failures >= maxFails)
	s.applyWave(wave)
	s.shedEvidence()
	s.advance()
}

// recordOutcome records the outcome of a wave's calls. If all failed, they count as one failure, because
// one outage may cause them all. A permanent class takes precedence.
func (s *state) recordOutcome(wave []slot) {
	var worst ponder.Outcome
	for i := range wave {
		switch o := wave[i].Failed; {
		case o.Error == "":
			s.resetFailures()
			return
		case !runstate.IsPermanent(worst.Class):
			worst = o
		}
	}
	if worst.Class == llm.TooLong && s.Shrinks < maxShrinks {
		return // applyWave shortens the prompts
	}
	s.countFailure(worst)
}

func (s *state) applyWave(wave []slot) {
	was := s.Counts.Thoughts
	shrunk := slices.ContainsFunc(wave, func(c slot) bool { return c.Failed.Class == llm.TooLong }) && s.shrinkTimeline()
	for i := range wave {
		c := &wave[i]
		if s.Focus = c.Focus; c.Failed.Error != "" {
			s.quotePassages(c.FewerReason)
			if !shrunk || c.Failed.Class != llm.TooLong {
				s.dropFailedQuestion(c.Failed)
			}
		} else {
			s.addThoughts(c.Thoughts, c.Model, false)
			s.raiseQuestions(c.Questions)
		}
	}
	s.evaluateWave(wave, s.Counts.Thoughts-was)
}

// dropFailedQuestion drops the question of the focus if the failure may be due to it.
func (s *state) dropFailedQuestion(o ponder.Outcome) {
	at := slices.IndexFunc(s.Open, func(q *question) bool { return q.ID == s.Focus.Question })
	if at >= 0 && !s.Unaided && isRequestError(o.Class) {
		b := s.markDropped(at, "the model failed on this question: "+textkit.TruncateBytes(textkit.OneLine(o.Error), maxFault))
		s.Explored[len(s.Explored)-1].Omitted = true
		s.queueWrite("aside", &s.Counts.Omitted, b)
	}
}

// raiseQuestions takes questions that came with thoughts, which saves a call for questions.
func (s *state) raiseQuestions(list []modelQuestion) {
	if len(list) > 0 && s.SinceQuestions >= questionEvery {
		s.SinceQuestions, s.CallValue.Asked = 0, true
		s.queueWrite("asked", &s.Counts.Raised, s.addQuestions(list, false)...)
	}
}

// settleLookups applies the looks and starts page reads if worthwhile.
func (s *state) settleLookups() {
	s.Wave = slices.Clone(s.Wave)
	for i := range s.Wave {
		c := &s.Wave[i]
		if s.Focus = c.Focus; s.canSearch() {
			c.NewPassages = s.applyHits(c)
		}
		c.Found, c.Failed = found{}, ponder.Outcome{}
	}
	if s.recordWebOutcome(); s.choosePages() {
		s.Step = step{Do: readStep}
		return
	}
	s.startThoughts()
}

// startThoughts applies the web results and starts the thoughts.
func (s *state) startThoughts() {
	wave := slices.Clone(s.Wave)
	for i := range wave {
		c := &wave[i]
		s.Focus = c.Focus
		if c.Web != nil {
			c.NewPassages += s.gatherWeb(c)
		} else if !s.canSearch() {
			c.Done = false
			continue
		}
		over := ""
		if s.EmptyRounds++; c.NewPassages > 0 {
			s.EmptyRounds = 0
		} else {
			over = s.explainEmpty(c)
		}
		if c.Focus.Question == "" {
			s.EmptyReason = over
		}
		c.Done, c.Web, c.NewPassages, c.FewerReason = false, nil, 0, over
	}
	if !s.Unaided {
		s.Wave, s.Step = wave, step{Do: thoughts}
		return
	}
	s.Wave = nil
	for i := range wave {
		s.Focus = wave[i].Focus
		s.quotePassages(wave[i].FewerReason)
	}
	s.shedEvidence()
	s.advance()
}

func (s *state) restartSlots(want func(*slot) bool) {
	if !s.Step.isInWave() {
		return
	}
	old := s.Wave
	s.Wave = nil
	for _, c := range old {
		if want(&c) {
			s.addSlot(c.Focus)
		} else {
			s.Wave = append(s.Wave, c)
		}
	}
}

func (s *state) inFlight() (keys []string) {
	switch {
	case s.Step.Do == done:
	case !s.Step.isInWave():
		return []string{s.Step.actionKey()}
	}
	for i := range s.Wave {
		keys = append(keys, s.awaitedKeys(&s.Wave[i])...)
	}
	return keys
}

// waveWidth returns the number of foci in the next wave. It reserves a call for the answer, and is one
// once nothing new comes.
func (s *state) waveWidth() int {
	n := s.opts.Parallel
	if s.CallValue.Stale > 0 {
		n = 1
	}
	if s.Calls > 0 {
		n = min(n, s.Calls-s.Counts.Calls-1)
	}
	if s.Unaided && !s.canSearch() {
		n = min(n, maxSearches)
	}
	return max(1, n)
}

// chooseFoci returns the n most urgent open questions, ties by user's first, then oldest. Without any,
// or if quoting found nothing for them, it returns the user's question.
func (s *state) chooseFoci(n int) (list []focus) {
	open := s.Open
	if s.Unaided && s.EmptyRounds >= dryRounds {
		open = nil
	}
	if len(open) > 1 {
		open = slices.Clone(open)
		slices.SortStableFunc(open, func(a, b *question) int {
			if a.Priority == b.Priority && a.FromUser != b.FromUser {
				if a.FromUser {
					return -1
				}
				return 1
			}
			return cmp.Compare(b.Priority, a.Priority)
		})
	}
	for _, q := range open[:min(n, len(open))] {
		list = append(list, focus{Question: q.ID, Text: q.Text})
	}
	if len(list) == 0 {
		list = append(list, focus{Text: textkit.TruncateBytes(textkit.OneLine(s.run.Input), maxFocus)})
	}
	return list
}
