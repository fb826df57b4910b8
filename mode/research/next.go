package research

import (
	"cmp"
	"errors"
	"slices"
	"strconv"
	"strings"

	"ponder"
	"ponder/internal/textkit"
	"ponder/mode/internal/lookup"
)

// lookingShare is the share of the time limit after which no round begins.
const lookingShare = 0.6

// Next implements [ponder.State]. Timeouts only produce a Write; the state changes once it is in
// the log.
func (s *state) Next(now ponder.Moment) []ponder.Action {
	do := make([]ponder.Action, 0, len(s.Notes)+8)
	for _, n := range s.Notes {
		do = append(do, n.Action())
	}
	if s.Step == done {
		return append(do, s.Out.Action())
	}
	if s.Planning {
		key := s.Retry.key(planKey)
		do = s.await(do, now, s.PlanSince, s.askLimit(), key, "The plan takes too long: it goes on without.")
		do = append(do, ponder.Call{Key: key, Role: s.opts.PlanRole, Request: s.Retry.requestFor(planKey, s.planCall())})
	}
	for _, l := range s.wanted() {
		do = s.await(do, now, l.Since, s.limit(l), l.key(), l.tool()+" does not answer, and is given up: "+l.Query)
		do = append(do, s.use(l))
	}
	return s.ask(do, now)
}

func (s *state) ask(do []ponder.Action, now ponder.Moment) []ponder.Action {
	key := s.calling()
	if key == "" {
		return do
	}
	if s.Ask == key { // otherwise the call predates the state's record
		limit := s.callLimit()
		do = s.await(do, now, s.AskSince, limit, key, "The model takes too long: it goes on without.")
		if left(now, s.AskSince, limit) <= 0 {
			return do
		}
	}
	switch s.Step {
	case reflecting:
		req := reflectRequest(s.run.Input, s.opts, s.Plan, s.usable(), s.queries())
		return append(do, ponder.Call{Key: key, Role: s.opts.PlanRole, Request: s.Retry.requestFor(s.reflectKey(), req)})
	case judging:
		return append(do, s.judge())
	}
	return append(do, s.write())
}

// wind advances the state when nothing is awaited.
func (s *state) wind() {
	if s.Step == gathering && !s.Planning && len(s.wanted()) == 0 {
		s.rounded()
	}
	s.began()
	if key := s.calling(); key != s.Ask {
		if key != s.Retry.key(s.Ask) { // a retry is part of the same wait
			s.AskSince = s.Time.Milliseconds()
		}
		s.Ask = key
	}
	if !s.retries() {
		s.Retry = retry{}
	}
}

func number(what string, n int) string { return what + "-" + strconv.Itoa(n) }

// rounded ends a round of looks: it asks for a reflection or writes the answer.
func (s *state) rounded() {
	y := yieldOf(s.usable(), s.Round, float64(s.Time.Milliseconds()-s.RoundAt)/1000, s.spent()-s.RoundSpent)
	s.Worth.Effort = s.Effort
	s.Worth = s.Worth.with(y)
	why := s.stop()
	if why == "" {
		s.Step = reflecting
		s.Counts.Reflected++
		return
	}
	s.tell(stageAnalysis, "Enough", "No more is looked up: "+why+".")
	s.compose()
}

func (s *state) spent() int { return s.Counts.Calls + s.Counts.Iteration }

func (s *state) nextRound() {
	s.Round++
	s.Opened, s.Looks = 0, nil
	s.RoundAt, s.RoundSpent = s.Time.Milliseconds(), s.spent()
}

// stop returns why there is no further round, or "".
func (s *state) stop() string {
	switch {
	case s.End != "":
		return s.End
	case s.opts.WithoutModel:
		return "there is no model to ask what is missing"
	case !s.gathers():
		return "there is nothing to look into"
	case s.Effort == trivial:
		return "the question is a simple one"
	case s.Round >= s.opts.MaxRounds:
		return counted(s.Round, "round is the most", "rounds are the most")
	case s.Calls > 0 && s.Counts.Calls >= s.Calls-2:
		return "no more calls are left but for the answer"
	case s.late():
		return "most of the time is used"
	}
	return enough(s.Worth)
}

func (s *state) late() bool {
	limit := s.time().Milliseconds()
	return limit > 0 && float64(s.Time.Milliseconds()) >= lookingShare*float64(limit)
}

func (s *state) reflectKey() string { return number("reflect", s.Counts.Reflected) }

// reflected applies a reflection: it enqueues new queries or has the answer written.
func (s *state) reflected(b ponder.CallFinished) {
	var r reflection
	err := errors.New(textkit.TruncateBytes(textkit.OneLine(b.Error), maxFault))
	if b.Error == "" {
		r, err = readReflection(b.Message.Text())
		if err != nil && s.again(s.reflectKey(), s.AskSince, b, err) {
			return
		}
		r = r.without(s.queries())
		r.Web, r.Memory = s.bearing(r.Web), s.bearing(r.Memory)
	}
	if err != nil {
		s.unreflected(err.Error())
		return
	}
	why := lookup.Tame(textkit.TruncateBytes(textkit.OneLine(r.Why), maxFault))
	if !r.Enough && s.opens(r) {
		s.nextRound()
		s.Step = gathering
		s.tell(stageReflection, "What is missing", cmp.Or(why, "Something is missing."))
		s.adopt(plan{Web: r.Web, Memory: r.Memory}, ponder.Plan{Content: why, Model: b.Model})
		return
	}
	if !r.Enough {
		why = "there is nothing new to ask"
	}
	s.tell(stageReflection, "Enough", "No more is looked up: "+cmp.Or(strings.TrimRight(why, ".… "), "what was found is enough")+".")
	s.compose()
}

func (s *state) unreflected(why string) {
	s.tell(stageNote, "No reflection", "What is missing is not known: "+strings.TrimRight(why, ".")+".")
	s.compose()
}

func (s *state) opens(r reflection) bool {
	is := func(kind string) func(string) bool {
		return func(q string) bool {
			q = lookup.Outgoing(textkit.OneLine(q))
			return q != "" && !s.asked(askedKey(kind, q))
		}
	}
	return s.opts.Web && slices.ContainsFunc(r.Web, is(onWeb)) || s.searches() && slices.ContainsFunc(r.Memory, is(inMemory))
}
