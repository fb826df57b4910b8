package research

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"ponder"
	"ponder/internal/textkit"
	"ponder/mode/internal/lookup"
	"ponder/mode/internal/steering"
)

const (
	maxQuestions  = 40
	plannedUrgent = 5
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
	s.note("steered", &s.Counts.Steered, ack...)
}

func (s *state) steeringRun() steering.Run {
	return steering.Run{
		Name: "the research", Writing: "the answer is being written",
		Over: s.Step == done, End: s.End, Spent: s.Told, Paused: s.Paused, Facts: len(s.Facts),
		Said: isSaid, InFlight: s.inFlight, Steer: s.steer,
	}
}

// steer applies a checked command. If it changes the material of an answer in progress, the answer
// restarts.
func (s *state) steer(c steering.Command) (r steering.Result) {
	was, changed := s.Work, false
	switch c.Do {
	case ponder.SetBudget:
		s.Calls, s.Allowed = cmp.Or(c.Limits.Calls, s.Calls), cmp.Or(c.Limits.Time, s.Allowed)
		r = steering.Done("the limits are changed: %v", c.Limits)
	case ponder.AnswerNow:
		r = s.hurry()
	case ponder.AddQuestion:
		r = s.add(c.Content, c.Priority)
	case ponder.DropQuestion:
		r, changed = s.drop(c.Target), true
	case ponder.RankQuestion:
		r, changed = s.rank(c.Target, c.Priority), true
	case ponder.Correct:
		r, changed = s.correct(c.Content), true
	case ponder.PinSource:
		r, changed = s.pin(s.source(c.Target))
	case ponder.BanSource:
		r, changed = s.ban(s.source(c.Target))
	case ponder.SetPersona:
		r, changed = s.speakAs(c.Target, c.Content), true
	default:
		r = steering.Unknown(c.Do)
	}
	if changed && !r.Refused {
		s.anew(was)
	}
	return r
}

func (s *state) anew(was *work) {
	if s.Step == writing && s.Work == was || s.Step == judging {
		s.Draft = nil
		s.compose()
	}
}

func (s *state) inFlight() (keys []string) {
	if s.Planning {
		keys = append(keys, s.Retry.key(planKey))
	}
	for _, l := range s.wanted() {
		keys = append(keys, l.key())
	}
	if key := s.calling(); key != "" {
		keys = append(keys, key)
	}
	return keys
}

func (s *state) hurry() steering.Result {
	if s.End != "" && s.Step != gathering {
		return s.steeringRun().Busy()
	}
	if s.End != "" {
		s.compose() // its looks are obsolete
	} else {
		s.conclude("an answer was wanted now")
	}
	if s.Paused {
		return steering.Done("the answer will be written when the research goes on")
	}
	return steering.Done("the answer is being written")
}

func (s *state) conclude(why string) {
	if s.End != "" || s.Step == done {
		return
	}
	s.End = why
	switch {
	case s.Step == judging:
		s.publish()
	case s.Step == writing && s.Told && !s.Work.waits():
		w := *s.Work // the running call is the conclusion
		w.Last, s.Work = true, &w
	case s.Step == writing:
		s.cutShort()
	default:
		s.compose()
	}
}

func (s *state) cutShort() {
	w := *s.Work
	s.Work, w.Last = &w, true
	if !w.waits() {
		s.Counts.Written++
		w.Call = s.Counts.Written
		return
	}
	w.Uses = slices.Clone(w.Uses)
	for i, u := range w.Uses {
		if u.Result == nil {
			w.Uses[i].Result = result(u.Call, "Not done: the answer is wanted now.", true)
		}
	}
	s.resume(&w)
}

// pose adds a question and returns its event. It returns false for duplicates and beyond the limit.
func (s *state) pose(content string, priority int, user bool) (ponder.Body, bool) {
	content = textkit.TruncateBytes(textkit.OneLine(content), steering.MaxQuestion)
	is := func(q question) bool { return strings.EqualFold(q.Text, content) }
	if !isSaid(content) || slices.ContainsFunc(s.Questions, is) || len(s.Questions) >= maxQuestions {
		return nil, false
	}
	s.Counts.Questions++
	q := question{ID: "q" + strconv.Itoa(s.Counts.Questions), Text: content, Priority: priority, User: user}
	s.Questions = append(s.Questions[:len(s.Questions):len(s.Questions)], q)
	b := ponder.SubQuestion{Content: content, ID: q.ID, Priority: priority, Offset: s.offset()}
	if user {
		b.By = "user"
	}
	return b, true
}

func (s *state) add(content string, priority int) steering.Result {
	b, ok := s.pose(content, priority, true)
	if !ok {
		return steering.Refuse("it is asked already, or there are %d questions, which is the most", maxQuestions)
	}
	q := s.Questions[len(s.Questions)-1]
	r := steering.Done("question %s is added with priority %d, and looked up", q.ID, priority)
	r.Add = []ponder.Body{b}
	s.lookUp(q)
	return r
}

// lookUp researches a user's question before the answer is written.
func (s *state) lookUp(q question) {
	web, memory := queriesOf(q.Text)
	if s.Step != gathering {
		s.Step, s.Work, s.Draft = gathering, nil, nil
		s.nextRound()
	}
	if s.searches() {
		s.enqueue(inMemory, memory, q.ID)
	}
	if s.opts.Web {
		s.enqueue(onWeb, web, q.ID)
	}
}

func (s *state) find(name string) (int, steering.Result) {
	is := func(q question) bool { return strings.EqualFold(q.ID, name) || strings.EqualFold(q.Text, name) }
	if i := slices.IndexFunc(s.Questions, is); i >= 0 {
		return i, steering.Result{}
	}
	return -1, steering.Refuse("there is no question %q that is open", label(name))
}

func (s *state) drop(name string) steering.Result {
	i, r := s.find(name)
	if i < 0 {
		return r
	}
	id := s.Questions[i].ID
	s.Questions = steering.None(slices.Delete(slices.Clone(s.Questions), i, i+1))
	s.Looks = steering.None(slices.DeleteFunc(slices.Clone(s.Looks), func(l look) bool { return l.Ref == id && !l.Done }))
	r = steering.Done("question %s is dropped", id)
	r.Add = []ponder.Body{ponder.QuestionUpdated{ID: id, Dropped: true, Reason: "dropped by the user"}}
	return r
}

func (s *state) rank(name string, priority int) steering.Result {
	i, r := s.find(name)
	if i < 0 {
		return r
	}
	id := s.Questions[i].ID
	if r = steering.Rank(id, priority); !r.Refused {
		s.Questions = slices.Clone(s.Questions)
		s.Questions[i].Priority = priority
		r.Add = []ponder.Body{ponder.QuestionUpdated{ID: id, Priority: priority, Reason: "ranked by the user"}}
	}
	return r
}

// correct adds a fact, which counts as a quote of the user.
func (s *state) correct(content string) steering.Result {
	s.Counts.Facts++
	s.Counts.Evidence++
	f := fact{ID: "c" + strconv.Itoa(s.Counts.Facts), Evidence: "e" + strconv.Itoa(s.Counts.Evidence), Text: content}
	s.Facts = append(slices.Clip(s.Facts), f)
	p := piece{N: s.Counts.Evidence, Source: UserSource, Title: "Said by the user", Quote: content, Score: 1, Worth: 1, Kind: factKind, Cluster: UserSource, Round: s.Round}
	s.Evidence = append(slices.Clip(s.Evidence), p)
	r := steering.Done("correction %s holds from now on, as %s", f.ID, f.Evidence)
	r.Add = []ponder.Body{ponder.Evidence{
		Content: content, ID: p.id(), Source: p.Source, Title: p.Title, End: len(content), Hash: lookup.Sum(content), Score: 1, Cluster: p.Cluster,
	}}
	return r
}

func (s *state) source(name string) string {
	for _, p := range s.Evidence {
		if strings.EqualFold(p.id(), name) {
			return p.Source
		}
	}
	return name
}

// pin prefers a source and reports whether evidence of it exists.
func (s *state) pin(source string) (r steering.Result, had bool) {
	r, isNew := s.Pin(source)
	if !isNew {
		return r, false
	}
	s.Evidence = slices.Clone(s.Evidence)
	for i, p := range s.Evidence {
		if p.from(source) {
			s.Evidence[i].Score, had = min(1, p.Score*pinnedWeight), true
		}
	}
	return steering.Done("%s is preferred from now on", source), had
}

// ban excludes a source and reports whether evidence of it exists.
func (s *state) ban(source string) (r steering.Result, had bool) {
	r, isNew := s.Ban(source)
	if !isNew {
		return r, false
	}
	s.Looks = steering.None(slices.DeleteFunc(slices.Clone(s.Looks), func(l look) bool {
		return !l.Done && l.Page != nil && lookup.HitAmong(*l.Page, []string{source}) && l.Use == 0
	}))
	if !slices.ContainsFunc(s.Evidence, func(p piece) bool { return p.from(source) }) {
		return steering.Done("%s is left out from now on; nothing that was found so far is of it", source), false
	}
	return steering.Done("%s is left out from now on", source), true
}

func (s *state) speakAs(name, voice string) steering.Result {
	p := Persona{Name: label(name), Voice: textkit.TruncateBytes(textkit.CleanTrim(voice), maxVoice)}
	if p == (Persona{}) {
		return steering.Refuse("there is no persona in it")
	}
	s.Persona = p
	return steering.Done("it is answered as %s from now on", cmp.Or(p.Name, "you say"))
}
