package session

import (
	"cmp"
	"slices"
	"strconv"

	"ponder"
	"ponder/internal/textkit"
	"ponder/llm/structured"
	"ponder/mode/internal/lookup"
	"ponder/mode/internal/runstate"
)

// cell is one focus of a wave with its results. A wave is applied when all cells are done, in their
// order, so that the order of results does not matter.
type cell struct {
	N     int   `json:"n"`
	Focus focus `json:"focus"`
	Done  bool  `json:"done,omitempty"` // with the step
	structured.Retry

	Found   found          `json:"found,omitzero"` // of a look
	Got     bool           `json:"got,omitempty"`  // found is complete; the web is pending
	Web     *webLook       `json:"web,omitempty"`  // nil if the web is not searched
	News    int            `json:"news,omitempty"` // passages found
	Less    string         `json:"less,omitempty"` // why documents or memory found fewer than possible
	Heard   []heard        `json:"heard,omitempty"`
	Asked   []asked        `json:"asked,omitempty"`   // questions among the thoughts
	Settled bool           `json:"settled,omitempty"` // the model has no more questions
	Model   string         `json:"model,omitempty"`
	Failed  ponder.Outcome `json:"failed,omitzero"`
}

func (c *cell) key(do string) string { return do + "-" + strconv.Itoa(c.N) + markOf(c.Retry) }

func (s *state) round() {
	s.Wave = nil
	for _, f := range s.choose(s.width()) {
		s.begin(f)
	}
	s.Step = step{Do: thoughts}
	if s.lookUp() {
		s.Step.Do = look
	}
}

func (s *state) searches() bool { return len(s.opts.Docs) > 0 || s.opts.Memory }

func (s *state) gathers() bool { return s.searches() || s.opts.Web }

func (s *state) lookUp() bool {
	online := s.askWeb()
	for i := range s.Wave {
		c := &s.Wave[i]
		if online && i < maxSearches {
			c.Web = &webLook{}
		}
		c.Done = !s.searches() && c.Web == nil && online
	}
	return s.searches() || online
}

func (s *state) begin(f focus) {
	s.Counts.Rounds++
	s.Wave = append(slices.Clip(s.Wave), cell{N: s.Counts.Rounds, Focus: f})
	n := s.Counts.Rounds - 1
	s.write("focus", &n, ponder.Progress{Content: f.Text, Stage: "focus", Iteration: s.Counts.Rounds, Ref: f.Question})
}

func (s *state) waits(c *cell) (keys []string) {
	switch {
	case c.Done:
	case s.Step.Do == look:
		if s.searches() && !c.Got {
			keys = append(keys, c.key(look))
		}
		if c.Web != nil && !c.Web.Done {
			keys = append(keys, c.webKey())
		}
	case s.Step.Do == reads:
		for _, p := range c.Web.Pages {
			if !p.Done {
				keys = append(keys, p.key())
			}
		}
	default:
		keys = append(keys, c.key(thoughts))
	}
	return keys
}

func (s *state) consider(do []ponder.Action, c *cell) []ponder.Action {
	for _, key := range s.waits(c) {
		switch {
		case s.Step.Do == thoughts:
			do = append(do, s.ask(key, c))
		case s.Step.Do == reads:
			do = append(do, s.readPage(c, key))
		case key == c.webKey():
			do = append(do, s.searchWeb(c))
		default:
			do = append(do, s.search(c))
		}
	}
	return do
}

// cell returns the cell that awaits key, in a cloned wave, or nil.
func (s *state) cell(key string) *cell {
	i := slices.IndexFunc(s.Wave, func(c cell) bool { return slices.Contains(s.waits(&c), key) })
	if i < 0 {
		return nil
	}
	s.Wave = slices.Clone(s.Wave)
	return &s.Wave[i]
}

func (s *state) lookedCell(key string, b ponder.ToolResult) {
	c := s.cell(key)
	if c == nil {
		return
	}
	if key == c.webKey() {
		c.Web = c.Web.answered(b)
	} else {
		c.Got, c.Found = true, lookup.ReadFound(b.Result, maxHits)
		if b.Error != "" {
			c.Found, c.Failed = found{}, b.Outcome
		}
	}
	if len(s.waits(c)) == 0 {
		c.Done, c.Got = true, false
	}
	s.settleWave()
}

func (s *state) answeredCell(key string, b *ponder.CallFinished) {
	c := s.cell(key)
	if c == nil || s.Step.Do != thoughts {
		return
	}
	c.Model = b.Model
	if b.Error != "" {
		if c.Failed = b.Outcome; c.Bad != "" && c.hear(c.Bad, true) == nil {
			c.Failed = ponder.Outcome{}
		}
		c.Done = true
		s.settleWave()
		return
	}
	text := heardOf(b)
	err := c.hear(text, false)
	switch {
	case err == nil:
	case c.Why == "":
		c.Retry = structured.RetryOf(text, err)
		return
	case c.hear(text, true) == nil, c.hear(c.Bad, true) == nil:
	default:
		c.Failed = unanswered(b, err)
	}
	c.Done = true
	s.settleWave()
}

func (c *cell) hear(text string, prose bool) error {
	a, err := readAnswer(text, prose)
	if err == nil {
		c.Heard, c.Asked, c.Settled = a.thoughts, a.asked, a.settled
	}
	return err
}

func (s *state) settleWave() {
	if slices.ContainsFunc(s.Wave, func(c cell) bool { return !c.Done }) {
		return
	}
	switch s.Step.Do {
	case look:
		s.settleLooks()
		return
	case reads:
		s.gathered()
		return
	}
	wave := s.Wave
	s.Wave = nil
	if s.judge(wave); s.Fails >= maxFails && !s.rest() && !s.gathers() {
		s.giveUp()
		return
	}
	s.unaid(s.Fails >= maxFails)
	s.takeIn(wave)
	s.forget()
	s.advance()
}

// judge records the outcome of a wave's calls. If all failed, they count as one failure, because
// one outage may cause them all. A permanent class takes precedence.
func (s *state) judge(wave []cell) {
	var worst ponder.Outcome
	for i := range wave {
		switch o := wave[i].Failed; {
		case o.Error == "":
			s.answered()
			return
		case !runstate.IsPermanent(worst.Class):
			worst = o
		}
	}
	s.fails(worst)
}

func (s *state) takeIn(wave []cell) {
	was := s.Counts.Thoughts
	for i := range wave {
		c := &wave[i]
		if s.Focus = c.Focus; c.Failed.Error != "" {
			s.quote(c.Less)
			s.setAside(c.Failed)
		} else {
			s.think(c.Heard, c.Model, false)
			s.wonder(c.Asked)
		}
	}
	s.weigh(wave, s.Counts.Thoughts-was)
}

// setAside drops the question of the focus if the failure may be due to it.
func (s *state) setAside(o ponder.Outcome) {
	at := slices.IndexFunc(s.Open, func(q *question) bool { return q.ID == s.Focus.Question })
	if at >= 0 && !s.Unaided && particular(o.Class) {
		b := s.dropped(at, "the model failed on it: "+textkit.TruncateBytes(textkit.OneLine(o.Error), maxFault))
		s.Explored[len(s.Explored)-1].Aside = true
		s.write("aside", &s.Counts.Aside, b)
	}
}

// wonder takes questions that came with thoughts, which saves a call for questions.
func (s *state) wonder(list []asked) {
	if len(list) > 0 && s.Since >= questionEvery {
		s.Since, s.Worth.Asked = 0, true
		s.write("asked", &s.Counts.Raised, s.raise(list, false)...)
	}
}

// settleLooks applies the looks and starts page reads if worthwhile.
func (s *state) settleLooks() {
	s.Wave = slices.Clone(s.Wave)
	for i := range s.Wave {
		c := &s.Wave[i]
		if s.Focus = c.Focus; s.searches() {
			c.News = s.looked(c)
		}
		c.Found, c.Failed = found{}, ponder.Outcome{}
	}
	if s.online(); s.choosePages() {
		s.Step = step{Do: reads}
		return
	}
	s.gathered()
}

// gathered applies the web results and starts the thoughts.
func (s *state) gathered() {
	wave := slices.Clone(s.Wave)
	for i := range wave {
		c := &wave[i]
		s.Focus = c.Focus
		if c.Web != nil {
			c.News += s.surfed(c)
		} else if !s.searches() {
			c.Done = false
			continue
		}
		over := ""
		if s.Dry++; c.News > 0 {
			s.Dry = 0
		} else {
			over = s.nothing(c)
		}
		if c.Focus.Question == "" {
			s.Over = over
		}
		c.Done, c.Web, c.News, c.Less = false, nil, 0, over
	}
	if !s.Unaided {
		s.Wave, s.Step = wave, step{Do: thoughts}
		return
	}
	s.Wave = nil
	for i := range wave {
		s.Focus = wave[i].Focus
		s.quote(wave[i].Less)
	}
	s.forget()
	s.advance()
}

func (s *state) again(want func(*cell) bool) {
	if !s.Step.inWave() {
		return
	}
	old := s.Wave
	s.Wave = nil
	for _, c := range old {
		if want(&c) {
			s.begin(c.Focus)
		} else {
			s.Wave = append(s.Wave, c)
		}
	}
}

func (s *state) inFlight() (keys []string) {
	switch {
	case s.Step.Do == done:
	case !s.Step.inWave():
		return []string{s.Step.key()}
	}
	for i := range s.Wave {
		keys = append(keys, s.waits(&s.Wave[i])...)
	}
	return keys
}

// width returns the number of foci in the next wave. It reserves a call for the answer, and is one
// once nothing new comes.
func (s *state) width() int {
	n := s.opts.Parallel
	if s.Worth.Stale > 0 {
		n = 1
	}
	if s.Calls > 0 {
		n = min(n, s.Calls-s.Counts.Calls-1)
	}
	if s.Unaided && !s.searches() {
		n = min(n, maxSearches)
	}
	return max(1, n)
}

// choose returns the n most urgent open questions, ties by user's first, then oldest. Without any,
// or if quoting found nothing for them, it returns the user's question.
func (s *state) choose(n int) (list []focus) {
	open := s.Open
	if s.Unaided && s.Dry >= dryRounds {
		open = nil
	}
	if len(open) > 1 {
		open = slices.Clone(open)
		slices.SortStableFunc(open, func(a, b *question) int {
			if a.Priority == b.Priority && a.Wished != b.Wished {
				if a.Wished {
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
