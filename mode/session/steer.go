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

const maxBarred = 1000

type fact struct {
	ID   string `json:"id"`
	Text string `json:"text"`

	feel similarity.Text
}

func (s *state) applySteer(id string, b ponder.Steer) {
	ack, applied := s.steeringRun().Apply(id, b)
	if ack == nil {
		return
	}
	s.write("steered", &s.Counts.Steered, ack...)
	if applied && s.Step.inWave() {
		s.continueWave()
	}
}

func (s *state) steeringRun() steering.Run {
	return steering.Run{
		Name: "the session", Writing: "the session is writing its answer",
		Over: s.Step.Do == done, End: s.End, Spent: s.Told, Paused: s.Paused, Facts: len(s.Facts),
		Said: said, InFlight: s.inFlight, Steer: s.steer,
	}
}

// continueWave advances a wave after a command removed cells.
func (s *state) continueWave() {
	if len(s.Wave) == 0 {
		s.round()
		return
	}
	s.settleWave()
}

func (s *state) steer(c steering.Command) steering.Result {
	switch c.Do {
	case ponder.SetBudget:
		s.Calls, s.Limit = cmp.Or(c.Limits.Calls, s.Calls), cmp.Or(c.Limits.Time, s.Limit)
		return steering.Done("the limits are changed: %v", c.Limits)
	case ponder.AnswerNow:
		return s.hurry()
	case ponder.AddQuestion:
		return s.add(c.Content, c.Priority)
	case ponder.DropQuestion:
		return s.drop(c.Target)
	case ponder.RankQuestion:
		return s.reprioritise(c.Target, c.Priority)
	case ponder.Correct:
		return s.correct(c.Content)
	case ponder.PinSource:
		return s.pin(s.source(c.Target))
	case ponder.BanSource:
		return s.ban(s.source(c.Target))
	}
	return steering.Unknown(c.Do)
}

func (s *state) hurry() steering.Result {
	switch {
	case s.Step.Do == final && s.Step.N > 0 && !s.Now:
		s.Now = true
		return steering.Done("if the model fails again, the answer will be put together without it")
	case s.End != "":
		return s.steeringRun().Busy()
	}
	s.Now = true
	s.conclude("an answer was wanted now")
	if s.Paused {
		return steering.Done("the answer will be written when the session goes on")
	}
	return steering.Done("the answer is being written")
}

func (s *state) add(text string, priority int) steering.Result {
	feel := feel(text)
	if i, known := s.known(feel); i >= 0 {
		q := s.Open[i]
		s.wished(i)
		r := steering.Done("question %s asks that already; its priority is %d", q.ID, max(q.Priority, priority))
		r.Add = s.urge(i, priority, "asked again by the user")
		return r
	} else if at := slices.IndexFunc(s.Explored, func(q *question) bool { return feel.Compare(q.feel) == similarity.Same }); known && at >= 0 && s.Explored[at].Text == text {
		return steering.Refuse("question %s asked that already, and is explored", s.Explored[at].ID)
	}
	s.Open = slices.Clip(s.Open)
	b := s.pose(&question{Text: text, Priority: priority, Wished: true, feel: *feel}, ponder.SubQuestion{By: "user"})
	r := steering.Done("question q%d is added with priority %d", s.Counts.Questions, priority)
	r.Add = []ponder.Body{b}
	return r
}

// find returns the index of an open question by id or text, or -1 and a refusal.
func (s *state) find(name string) (int, steering.Result) {
	is := func(q *question) bool { return strings.EqualFold(q.ID, name) || strings.EqualFold(q.Text, name) }
	if i := slices.IndexFunc(s.Open, is); i >= 0 {
		return i, steering.Result{}
	}
	if n, ok := strings.CutPrefix(strings.ToLower(name), "q"); ok {
		if n, err := strconv.Atoi(n); err == nil && 0 < n && n <= s.Counts.Questions {
			return -1, steering.Refuse("question %s is not open any more", name)
		}
	}
	if slices.ContainsFunc(s.Explored, is) {
		return -1, steering.Refuse("question %s is not open any more", name)
	}
	return -1, steering.Refuse("there is no question %q", name)
}

func (s *state) drop(name string) steering.Result {
	i, r := s.find(name)
	if i < 0 {
		return r
	}
	id := s.Open[i].ID
	r = steering.Done("question %s is dropped", id)
	r.Add = []ponder.Body{s.dropped(i, "dropped by the user")}
	s.Wave = steering.None(slices.DeleteFunc(slices.Clone(s.Wave), func(c cell) bool { return c.Focus.Question == id }))
	return r
}

func (s *state) reprioritise(name string, priority int) steering.Result {
	i, r := s.find(name)
	if i < 0 {
		return r
	}
	if r = steering.Rank(s.Open[i].ID, priority); !r.Refused {
		s.wished(i)
		r.Add = s.rank(i, priority, "ranked by the user")
	}
	return r
}

// correct adds a fact and restarts calls made without it.
func (s *state) correct(text string) steering.Result {
	s.Counts.Facts++
	f := fact{ID: "c" + strconv.Itoa(s.Counts.Facts), Text: text, feel: similarity.Of(text)}
	s.Facts = append(slices.Clip(s.Facts), f)
	s.anew(func(*cell) bool { return true })
	return steering.Done("correction %s holds from now on", f.ID)
}

func (s *state) anew(want func(*cell) bool) {
	switch s.Step.Do {
	case questions:
		s.Counts.Asked++
		s.Step = step{Do: questions, N: s.Counts.Asked}
	case synthesis:
		s.Counts.Summed++
		s.Step = step{Do: synthesis, N: s.Counts.Summed}
	case thoughts:
		s.again(want)
	}
}

func (s *state) source(name string) string {
	for _, e := range s.Evidence {
		if strings.EqualFold(e.id(), name) {
			return e.Source
		}
	}
	return name
}

func (s *state) pin(source string) steering.Result {
	if !s.within(source) {
		return steering.Refuse("%s is not among the %s of the session", source, s.sources())
	}
	r, isNew := s.Pin(source)
	if isNew {
		r = steering.Done("%s is preferred from the next look on", source)
	}
	return r
}

// ban excludes a source and restarts calls that had its passages.
func (s *state) ban(source string) steering.Result {
	r, isNew := s.Ban(source)
	if !isNew {
		return r
	}
	foci := make(map[string]bool)
	had := len(s.Evidence)
	s.Evidence = steering.None(slices.DeleteFunc(slices.Clone(s.Evidence), func(e evidence) bool {
		if !e.from(source) {
			return false
		}
		foci[e.Question] = true
		s.Barred = runstate.Push(s.Barred, e.N, maxBarred)
		return true
	}))
	if had == len(s.Evidence) {
		return steering.Done("%s is left out from now on; nothing that was found so far is of it", source)
	}
	s.retract()
	s.anew(func(c *cell) bool { return foci[c.Focus.Question] })
	return steering.Done("%s is left out from now on", source)
}

// within reports whether the session may use source. Any source may be in the memory.
func (s *state) within(source string) bool {
	return s.opts.Memory || s.opts.Web && lookup.HostOf(source) != "" ||
		slices.ContainsFunc(s.opts.Docs, func(doc string) bool { return lookup.IsOf(source, doc) }) ||
		slices.ContainsFunc(s.Evidence, func(e evidence) bool { return e.from(source) })
}
