package research

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"ponder"
	"ponder/internal/textkit"
	"ponder/mode/internal/lookup"
)

// The orders that research obeys, beside those of the engine. What each needs is in
// the Content or the Args of the [ponder.Steer].
const (
	AddQuestion  ponder.Order = "add_question"  // Content; [SteerArgs].Priority, 8 if none
	DropQuestion ponder.Order = "drop_question" // Question
	RankQuestion ponder.Order = "rank_question" // Question, Priority
	Correct      ponder.Order = "correct"       // Content: the fact as it is
	PinSource    ponder.Order = "pin_source"    // Source
	BanSource    ponder.Order = "ban_source"    // Source
	SetPersona   ponder.Order = "persona"       // Content: the voice; Name
)

// SteerArgs are the Args of an order.
type SteerArgs struct {
	Question string `json:"question,omitempty"` // its id, or its text
	Priority int    `json:"priority,omitempty"` // 1 to 10
	Source   string `json:"source,omitempty"`   // a path or URL, or the id of evidence
	Name     string `json:"name,omitempty"`     // of a persona
}

// Bounds on what a user wishes for.
const (
	maxFacts      = 30
	maxFact       = 600 // bytes
	maxQuestion   = 500 // bytes
	maxQuestions  = 40
	maxPinned     = 30
	mostUrgent    = 10
	userUrgent    = 8
	plannedUrgent = 5
)

// UserSource is the Source of evidence that is a correction of the user. It has no
// original.
const UserSource = "user"

// A fact is a correction of the user. It is evidence too.
type fact struct {
	ID       string `json:"id"`
	Evidence string `json:"evidence"` // its id
	Text     string `json:"text"`
}

// A reply says what became of a wish.
type reply struct {
	text    string
	refused bool
	add     []ponder.Body
	anew    bool // what is being written is to be written anew
}

func refuse(format string, args ...any) reply {
	return reply{text: fmt.Sprintf(format, args...), refused: true}
}

// obey does what a user wishes, and writes what became of it.
func (s *state) obey(id string, b ponder.Steer) {
	before := s.inFlight()
	was := s.Work
	r, known := s.wish(b)
	if !known {
		return
	}
	if r.anew && !r.refused {
		s.anew(was)
	}
	var cancelled []string
	if !r.refused && !s.Paused { // a pause has put an end to all
		after := s.inFlight()
		cancelled = slices.DeleteFunc(before, func(key string) bool { return slices.Contains(after, key) })
	}
	s.note("steered", &s.Counts.Steered, append([]ponder.Body{ponder.Progress{
		Content: r.text, Stage: ponder.Steered, Label: string(b.Do), Ref: id, Refused: r.refused, Cancelled: none(cancelled),
	}}, r.add...)...)
}

// anew has the answer written anew, if it is being written or judged.
func (s *state) anew(was *work) {
	if s.Step == writing && s.Work == was || s.Step == judging {
		s.Draft = nil
		s.compose()
	}
}

// inFlight returns the keys of what is waited for.
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

// wish does what is wished for; what is not meant for research is not known.
func (s *state) wish(b ponder.Steer) (r reply, known bool) {
	var args SteerArgs
	if len(b.Args) > 0 && b.Do != ponder.SetBudget && json.Unmarshal(b.Args, &args) != nil {
		return refuse("its arguments can't be read"), true
	}
	switch {
	case b.Do == ponder.Cancel:
		return reply{}, false
	case s.Step == done:
		return refuse("the research is over"), true
	case b.Do == ponder.SetBudget:
		return s.limits(b), true
	case b.Do == ponder.AnswerNow:
		return s.hurry(), true
	case s.End != "":
		return refuse("the answer is being written already: %s", s.End), true
	}
	return s.order(b, args), true
}

// order does what an order of research wishes for.
func (s *state) order(b ponder.Steer, args SteerArgs) reply {
	switch b.Do {
	case AddQuestion, "":
		return s.add(b.Content, args.Priority)
	case DropQuestion:
		return s.drop(cmp.Or(args.Question, b.Content))
	case RankQuestion:
		return s.rank(cmp.Or(args.Question, b.Content), args.Priority)
	case Correct:
		return s.correct(b.Content)
	case PinSource:
		return s.pin(cmp.Or(args.Source, b.Content))
	case BanSource:
		return s.ban(cmp.Or(args.Source, b.Content))
	case SetPersona:
		return s.speakAs(args.Name, b.Content)
	}
	return refuse("no such order: %s", label(string(b.Do)))
}

func (s *state) limits(b ponder.Steer) reply {
	limits, err := (ponder.Budget{}).With(b.Args)
	switch {
	case s.Told:
		return refuse("the budget is spent already, and the answer is being written")
	case err != nil:
		return refuse("%v", err)
	}
	s.Calls, s.Allowed = cmp.Or(limits.Calls, s.Calls), cmp.Or(limits.Time, s.Allowed)
	return reply{text: "the limits are changed: " + limits.String()}
}

func (s *state) hurry() reply {
	if s.End != "" && s.Step != gathering {
		return refuse("the answer is being written already: %s", s.End)
	}
	r := reply{text: "the answer is being written"}
	if s.Paused {
		r.text = "the answer will be written when the research goes on"
	}
	if s.End != "" {
		s.compose() // the looks that it waits for are not wanted any more
		return r
	}
	s.conclude("an answer was wanted now")
	return r
}

// conclude has the answer written from what there is.
func (s *state) conclude(why string) {
	if s.End != "" || s.Step == done {
		return
	}
	s.End = why
	switch {
	case s.Step == judging:
		s.publish()
	case s.Step == writing && s.Told && !s.Work.waits():
		w := *s.Work // the call that is made is the conclusion
		w.Last, s.Work = true, &w
	case s.Step == writing:
		s.cutShort()
	default:
		s.compose()
	}
}

// cutShort has the answer written without the tools that are not through.
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

// pose adds a question, and returns its event; false if it is there already, or there
// are too many.
func (s *state) pose(content string, priority int, user bool) (ponder.Body, bool) {
	content = textkit.TruncateBytes(textkit.OneLine(content), maxQuestion)
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

func (s *state) add(content string, priority int) reply {
	priority = cmp.Or(priority, userUrgent)
	switch {
	case !isSaid(content):
		return refuse("there is no question in it")
	case priority < 1 || priority > mostUrgent:
		return refuse("a priority is from 1 to %d, not %d", mostUrgent, priority)
	}
	b, ok := s.pose(content, priority, true)
	if !ok {
		return refuse("it is asked already, or there are %d questions, which is the most", maxQuestions)
	}
	q := s.Questions[len(s.Questions)-1]
	r := reply{text: fmt.Sprintf("question %s is added with priority %d, and looked up", q.ID, priority), add: []ponder.Body{b}}
	s.lookUp(q)
	return r
}

// lookUp has a question of the user looked up, and the answer written after that.
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

// find returns the place of a question by its id or text, or -1.
func (s *state) find(name string) int {
	name = textkit.TruncateBytes(textkit.OneLine(name), maxQuestion)
	return slices.IndexFunc(s.Questions, func(q question) bool { return strings.EqualFold(q.ID, name) || strings.EqualFold(q.Text, name) })
}

func (s *state) drop(name string) reply {
	i := s.find(name)
	if i < 0 {
		return refuse("there is no question %q that is open", label(name))
	}
	q := s.Questions[i]
	s.Questions = none(slices.Delete(slices.Clone(s.Questions), i, i+1))
	var kept []look
	for _, l := range s.Looks {
		if l.Ref != q.ID || l.Done {
			kept = append(kept, l)
		}
	}
	s.Looks = kept
	return reply{text: "question " + q.ID + " is dropped", add: []ponder.Body{ponder.QuestionUpdated{ID: q.ID, Dropped: true, Reason: "dropped by the user"}}, anew: true}
}

func (s *state) rank(name string, priority int) reply {
	i := s.find(name)
	switch {
	case i < 0:
		return refuse("there is no question %q that is open", label(name))
	case priority < 1 || priority > mostUrgent:
		return refuse("a priority is from 1 to %d, not %d", mostUrgent, priority)
	}
	s.Questions = slices.Clone(s.Questions)
	s.Questions[i].Priority = priority
	id := s.Questions[i].ID
	return reply{text: fmt.Sprintf("question %s has priority %d", id, priority), add: []ponder.Body{ponder.QuestionUpdated{ID: id, Priority: priority, Reason: "ranked by the user"}}, anew: true}
}

// correct notes a fact, which counts as a quote of the user.
func (s *state) correct(content string) reply {
	content = textkit.TruncateBytes(textkit.OneLine(content), maxFact)
	switch {
	case !isSaid(content):
		return refuse("there is no fact in it")
	case len(s.Facts) == maxFacts:
		return refuse("there are %d corrections already, which is the most", maxFacts)
	}
	s.Counts.Facts++
	s.Counts.Evidence++
	f := fact{ID: "c" + strconv.Itoa(s.Counts.Facts), Evidence: "e" + strconv.Itoa(s.Counts.Evidence), Text: content}
	s.Facts = append(s.Facts[:len(s.Facts):len(s.Facts)], f)
	p := piece{N: s.Counts.Evidence, Source: UserSource, Title: "Said by the user", Quote: content, Score: 1, Worth: 1, Kind: factKind, Cluster: UserSource, Round: s.Round}
	s.Evidence = append(s.Evidence[:len(s.Evidence):len(s.Evidence)], p)
	return reply{text: "correction " + f.ID + " holds from now on, as " + f.Evidence, anew: true, add: []ponder.Body{ponder.Evidence{
		Content: content, ID: p.id(), Source: p.Source, Title: p.Title, End: len(content), Hash: lookup.Sum(content), Score: 1, Cluster: p.Cluster,
	}}}
}

// source returns what a user means by a source.
func (s *state) source(name string) string {
	name = strings.TrimSpace(textkit.OneLine(name))
	for _, p := range s.Evidence {
		if strings.EqualFold(p.id(), name) {
			return p.Source
		}
	}
	return textkit.TruncateBytes(name, lookup.MaxLabel)
}

func (s *state) pin(name string) reply {
	source := s.source(name)
	switch {
	case !isSaid(source):
		return refuse("there is no source in it")
	case slices.Contains(s.Pinned, source):
		return reply{text: source + " is pinned already"}
	case len(s.Pinned) == maxPinned:
		return refuse("%d sources are pinned already, which is the most", maxPinned)
	}
	s.Pinned = append(s.Pinned[:len(s.Pinned):len(s.Pinned)], source)
	s.Banned = none(slices.DeleteFunc(slices.Clone(s.Banned), func(b string) bool { return b == source }))
	had := false
	s.Evidence = slices.Clone(s.Evidence)
	for i, p := range s.Evidence {
		if p.from(source) {
			s.Evidence[i].Score, had = min(1, p.Score*pinnedWeight), true
		}
	}
	s.Evidence = none(s.Evidence)
	return reply{text: source + " is preferred from now on", anew: had}
}

// ban leaves out a source. An answer that is being written with it is written anew.
func (s *state) ban(name string) reply {
	source := s.source(name)
	switch {
	case !isSaid(source):
		return refuse("there is no source in it")
	case slices.Contains(s.Banned, source):
		return reply{text: source + " is banned already"}
	case len(s.Banned) == maxPinned:
		return refuse("%d sources are banned already, which is the most", maxPinned)
	}
	s.Banned = append(s.Banned[:len(s.Banned):len(s.Banned)], source)
	s.Pinned = none(slices.DeleteFunc(slices.Clone(s.Pinned), func(p string) bool { return p == source }))
	s.Looks = none(slices.DeleteFunc(slices.Clone(s.Looks), func(l look) bool { return !l.Done && l.Page != nil && l.Page.Among([]string{source}) && l.Use == 0 }))
	r := reply{text: source + " is left out from now on"}
	if r.anew = slices.ContainsFunc(s.Evidence, func(p piece) bool { return p.from(source) }); !r.anew {
		r.text += "; nothing that was found so far is of it"
	}
	return r
}

// speakAs changes who answers.
func (s *state) speakAs(name, voice string) reply {
	p := Persona{Name: label(name), Voice: textkit.TruncateBytes(textkit.CleanTrim(voice), maxVoice)}
	if p == (Persona{}) {
		return refuse("there is no persona in it")
	}
	s.Persona = p
	return reply{text: "it is answered as " + cmp.Or(p.Name, "you say") + " from now on", anew: true}
}

// none returns nil for an empty list.
func none[E any](list []E) []E {
	if len(list) == 0 {
		return nil
	}
	return list
}
