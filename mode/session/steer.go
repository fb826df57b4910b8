package session

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"ponder"
	"ponder/internal/textkit"
	"ponder/internal/textkit/similarity"
	"ponder/mode/internal/lookup"
)

// The orders that a session obeys, beside those of the engine. What each needs
// is in the Content or the Args of the [ponder.Steer].
const (
	AddQuestion  ponder.Order = "add_question"  // Content; [SteerArgs].Priority, 8 if none
	DropQuestion ponder.Order = "drop_question" // Question
	RankQuestion ponder.Order = "rank_question" // Question, Priority
	Correct      ponder.Order = "correct"       // Content: the fact as it is
	PinSource    ponder.Order = "pin_source"    // Source
	BanSource    ponder.Order = "ban_source"    // Source
)

// SteerArgs are the Args of an order.
type SteerArgs struct {
	Question string `json:"question,omitempty"` // its id, or its text
	Priority int    `json:"priority,omitempty"` // 1 to 10
	Source   string `json:"source,omitempty"`   // a path or URL, or the id of evidence
}

// Bounds on what a user wishes for.
const (
	maxFacts   = 30
	maxFact    = 600 // bytes
	maxSources = 30
	maxBarred  = 1000
	mostUrgent = 10
	userUrgent = 8
)

// A fact is a correction of the user.
type fact struct {
	ID   string `json:"id"`
	Text string `json:"text"`

	feel similarity.Text
}

// A reply says what became of a wish.
type reply struct {
	text      string
	refused   bool
	cancelled []string
	add       []ponder.Body
}

func refuse(format string, args ...any) reply {
	return reply{text: fmt.Sprintf(format, args...), refused: true}
}

// obey does what a user wishes, and writes what became of it.
func (s *state) obey(id string, b ponder.Steer) {
	r, known := s.wish(b)
	if !known {
		return
	}
	if s.Paused {
		r.cancelled = nil // the pause has put an end to all
	}
	s.write("steered", &s.Counts.Steered, append([]ponder.Body{ponder.Progress{
		Content: r.text, Stage: "steered", Label: string(b.Do), Ref: id, Refused: r.refused, Cancelled: r.cancelled,
	}}, r.add...)...)
	if !r.refused && s.Step.inWave() {
		s.goOn()
	}
}

// goOn does what a wave waits for once some of it is not wanted any more.
func (s *state) goOn() {
	if len(s.Wave) == 0 {
		s.round()
		return
	}
	s.settleWave()
}

// wish does what is wished for; what is not meant for a session is not known.
func (s *state) wish(b ponder.Steer) (r reply, known bool) {
	var args SteerArgs
	if len(b.Args) > 0 && b.Do != ponder.SetBudget && json.Unmarshal(b.Args, &args) != nil {
		return refuse("its arguments can't be read"), true
	}
	switch {
	case b.Do == ponder.Cancel:
		return reply{}, false
	case s.Step.Do == done:
		return refuse("the session is over"), true
	case b.Do == ponder.SetBudget:
		return s.limit(b), true
	case b.Do == ponder.AnswerNow:
		return s.hurry(), true
	case s.End != "":
		return refuse("the session is writing its answer already: %s", s.End), true
	}
	switch b.Do {
	case AddQuestion, "":
		return s.add(b.Content, args.Priority), true
	case DropQuestion:
		return s.drop(args.Question), true
	case RankQuestion:
		return s.reprioritise(args.Question, args.Priority), true
	case Correct:
		return s.correct(b.Content), true
	case PinSource:
		return s.pin(args.Source), true
	case BanSource:
		return s.ban(args.Source), true
	}
	return refuse("no such order: %s", textkit.TruncateBytes(textkit.OneLine(string(b.Do)), maxLabel)), true
}

func (s *state) limit(b ponder.Steer) reply {
	limits, err := (ponder.Budget{}).With(b.Args)
	switch {
	case s.Told:
		return refuse("the budget is spent already, and the answer is being written")
	case err != nil:
		return refuse("%v", err)
	}
	s.Calls, s.Limit = cmp.Or(limits.Calls, s.Calls), cmp.Or(limits.Time, s.Limit)
	return reply{text: "the limits are changed: " + limits.String()}
}

func (s *state) hurry() reply {
	switch {
	case s.Step.Do == final && s.Step.N > 0 && !s.Now:
		s.Now = true
		return reply{text: "if the model fails again, the answer will be put together without it"}
	case s.End != "":
		return refuse("the session is writing its answer already: %s", s.End)
	}
	s.Now = true
	r := reply{text: "the answer is being written", cancelled: s.inFlight()}
	if s.Paused {
		r.text = "the answer will be written when the session goes on"
	}
	s.conclude("an answer was wanted now")
	return r
}

func (s *state) add(text string, priority int) reply {
	text = textkit.TruncateBytes(textkit.OneLine(text), maxQuestion)
	if !said(text) {
		return refuse("there is no question in it")
	}
	if priority == 0 {
		priority = userUrgent
	}
	if priority < 1 || priority > mostUrgent {
		return refuse("a priority is from 1 to %d, not %d", mostUrgent, priority)
	}
	feel := feel(text)
	if i, known := s.known(feel); i >= 0 {
		q := s.Open[i]
		s.wished(i)
		return reply{text: fmt.Sprintf("question %s asks that already; its priority is %d", q.ID, max(q.Priority, priority)), add: s.urge(i, priority, "asked again by the user")}
	} else if at := slices.IndexFunc(s.Explored, func(q *question) bool { return feel.Compare(q.feel) == similarity.Same }); known && at >= 0 && s.Explored[at].Text == text {
		return refuse("question %s asked that already, and is explored", s.Explored[at].ID)
	}
	s.Open = slices.Clip(s.Open)
	b := s.pose(&question{Text: text, Priority: priority, Wished: true, feel: *feel}, ponder.SubQuestion{By: "user"})
	return reply{text: fmt.Sprintf("question q%d is added with priority %d", s.Counts.Questions, priority), add: []ponder.Body{b}}
}

// find returns the place of an open question by its id or text, or a reply that
// says why there is none.
func (s *state) find(name string) (int, reply) {
	name = textkit.TruncateBytes(textkit.OneLine(name), maxQuestion)
	is := func(q *question) bool { return strings.EqualFold(q.ID, name) || strings.EqualFold(q.Text, name) }
	if i := slices.IndexFunc(s.Open, is); i >= 0 {
		return i, reply{}
	}
	if n, ok := strings.CutPrefix(strings.ToLower(name), "q"); ok {
		if n, err := strconv.Atoi(n); err == nil && 0 < n && n <= s.Counts.Questions {
			return -1, refuse("question %s is not open any more", name)
		}
	}
	if slices.ContainsFunc(s.Explored, is) {
		return -1, refuse("question %s is not open any more", name)
	}
	return -1, refuse("there is no question %q", name)
}

func (s *state) drop(name string) reply {
	i, r := s.find(name)
	if i < 0 {
		return r
	}
	id := s.Open[i].ID
	r = reply{text: "question " + id + " is dropped", add: []ponder.Body{s.dropped(i, "dropped by the user")}}
	var kept []cell
	for _, c := range s.Wave {
		if c.Focus.Question != id {
			kept = append(kept, c)
		} else {
			r.cancelled = append(r.cancelled, s.waits(&c)...)
		}
	}
	s.Wave = kept
	return r
}

func (s *state) reprioritise(name string, priority int) reply {
	i, r := s.find(name)
	switch {
	case i < 0:
		return r
	case priority < 1 || priority > mostUrgent:
		return refuse("a priority is from 1 to %d, not %d", mostUrgent, priority)
	}
	s.wished(i)
	return reply{text: fmt.Sprintf("question %s has priority %d", s.Open[i].ID, priority), add: s.rank(i, priority, "ranked by the user")}
}

// correct notes a fact. What was asked without it is asked anew.
func (s *state) correct(text string) reply {
	text = textkit.TruncateBytes(textkit.OneLine(text), maxFact)
	switch {
	case !said(text):
		return refuse("there is no fact in it")
	case len(s.Facts) == maxFacts:
		return refuse("there are %d corrections already, which is the most", maxFacts)
	}
	s.Counts.Facts++
	f := fact{ID: "c" + strconv.Itoa(s.Counts.Facts), Text: text, feel: similarity.Of(text)}
	s.Facts = append(slices.Clip(s.Facts), f)
	return reply{text: "correction " + f.ID + " holds from now on", cancelled: s.anew(func(*cell) bool { return true })}
}

// anew asks again what was asked of a focus that want is true for, and what is
// asked of all.
func (s *state) anew(want func(*cell) bool) (cancelled []string) {
	switch s.Step.Do {
	case questions:
		cancelled = s.inFlight()
		s.Counts.Asked++
		s.Step = step{Do: questions, N: s.Counts.Asked}
	case synthesis:
		cancelled = s.inFlight()
		s.Counts.Summed++
		s.Step = step{Do: synthesis, N: s.Counts.Summed}
	case thoughts:
		return s.again(want)
	}
	return cancelled
}

// source returns what a user means by a source.
func (s *state) source(name string) string {
	name = strings.TrimSpace(textkit.OneLine(name))
	for _, e := range s.Evidence {
		if strings.EqualFold(e.id(), name) {
			return e.Source
		}
	}
	return textkit.TruncateBytes(name, maxLabel)
}

func (s *state) pin(name string) reply {
	source := s.source(name)
	switch {
	case !said(source):
		return refuse("there is no source in it")
	case !s.within(source):
		return refuse("%s is not among the %s of the session", source, s.sources())
	case slices.Contains(s.Pinned, source):
		return reply{text: source + " is pinned already"}
	case len(s.Pinned) == maxSources:
		return refuse("%d sources are pinned already, which is the most", maxSources)
	}
	s.Pinned = append(slices.Clip(s.Pinned), source)
	s.Banned = slices.DeleteFunc(slices.Clone(s.Banned), func(b string) bool { return b == source })
	s.Banned = none(s.Banned)
	return reply{text: source + " is preferred from the next look on"}
}

// ban leaves out a source. What was asked with passages of it is asked anew.
func (s *state) ban(name string) reply {
	source := s.source(name)
	switch {
	case !said(source):
		return refuse("there is no source in it")
	case slices.Contains(s.Banned, source):
		return reply{text: source + " is banned already"}
	case len(s.Banned) == maxSources:
		return refuse("%d sources are banned already, which is the most", maxSources)
	}
	s.Banned = append(slices.Clip(s.Banned), source)
	s.Pinned = none(slices.DeleteFunc(slices.Clone(s.Pinned), func(p string) bool { return p == source }))
	foci := make(map[string]bool)
	had := len(s.Evidence)
	s.Evidence = none(slices.DeleteFunc(slices.Clone(s.Evidence), func(e evidence) bool {
		if !e.from(source) {
			return false
		}
		foci[e.Question] = true
		s.Barred = push(s.Barred, e.N, maxBarred)
		return true
	}))
	r := reply{text: source + " is left out from now on"}
	if had == len(s.Evidence) {
		r.text += "; nothing that was found so far is of it"
	} else {
		s.unsay()
		r.cancelled = s.anew(func(c *cell) bool { return foci[c.Focus.Question] })
	}
	return r
}

// within reports whether a source is among those that the session may look into.
// What the memory has, the session does not know.
func (s *state) within(source string) bool {
	return s.opts.Memory || s.opts.Web && lookup.HostOf(source) != "" ||
		slices.ContainsFunc(s.opts.Docs, func(doc string) bool { return lookup.IsOf(source, doc) }) ||
		slices.ContainsFunc(s.Evidence, func(e evidence) bool { return e.from(source) })
}

// none returns nil for an empty list.
func none[E any](list []E) []E {
	if len(list) == 0 {
		return nil
	}
	return list
}
