package research

import (
	"cmp"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"ponder"
	"ponder/internal/textkit"
	"ponder/mode/internal/lookup"
)

// gatherShare is the share of the time limit after which no round begins.
const gatherShare = 0.6

// Next implements [ponder.State]. Timeouts only produce a Write; the state changes once it is in
// the log.
func (s *state) Next(now ponder.Moment) []ponder.Action {
	do := make([]ponder.Action, 0, len(s.Notes)+8)
	for _, n := range s.Notes {
		do = append(do, n.Action())
	}
	if s.Step == done {
		return append(do, s.Outcome.Action())
	}
	if s.Planning {
		key := s.Retry.attemptKey(planKey)
		do = s.appendTimeout(do, now, s.PlanSince, s.planLimit()+cutWait, key, "The plan takes too long; continuing without it.")
		do = append(do, ponder.Call{Key: key, Role: s.opts.PlanRole, Request: s.Retry.requestFor(planKey, s.planCall()), Until: cutTime(s.PlanSince, s.planLimit())})
	}
	for _, l := range s.activeLookups() {
		do = s.appendTimeout(do, now, l.Since, s.lookupTimeout(l), l.actionKey(), l.toolName()+" timed out: "+l.Query)
		do = append(do, s.lookupAction(l))
	}
	return s.appendCall(do, now)
}

func (s *state) appendCall(do []ponder.Action, now ponder.Moment) []ponder.Action {
	key := s.awaitedCall()
	if key == "" {
		return do
	}
	until := time.Duration(0)
	if s.AwaitedKey == key { // otherwise the call predates the state's record
		limit := s.callLimit() + cutWait
		do = s.appendTimeout(do, now, s.AskSince, limit, key, "The model takes too long; continuing without it.")
		if timeLeft(now, s.AskSince, limit) <= 0 {
			return do
		}
		until = cutTime(s.AskSince, s.callLimit())
	}
	var call ponder.Call
	switch s.Step {
	case reflecting:
		call = ponder.Call{Key: key, Role: s.opts.PlanRole, Request: s.Retry.requestFor(s.reflectKey(), s.reflectCall())}
	case judging:
		call = s.judgeCall()
	default:
		call = s.writeCall()
	}
	call.Until = until
	return append(do, call)
}

// advance advances the state when nothing is awaited.
func (s *state) advance() {
	if s.Step == gathering && !s.Planning && len(s.activeLookups()) == 0 {
		s.endRound()
	}
	s.markStarted()
	if key := s.awaitedCall(); key != s.AwaitedKey {
		if key != s.Retry.attemptKey(s.AwaitedKey) { // a retry is part of the same wait
			s.AskSince = s.Time.Milliseconds()
		}
		s.AwaitedKey = key
	}
	if !s.isRetrying() {
		s.Retry = retry{}
	}
}

func numberedKey(what string, n int) string { return what + "-" + strconv.Itoa(n) }

// endRound ends a round of looks: it asks for a reflection or writes the answer.
func (s *state) endRound() {
	y := measureRound(s.usableEvidence(), s.Round, float64(s.Time.Milliseconds()-s.RoundAt)/1000, s.callsSpent()-s.RoundSpent)
	s.RoundHistory.Effort = s.Effort
	s.RoundHistory = s.RoundHistory.addRound(y)
	why := s.roundStopReason()
	if why == "" {
		s.Step = reflecting
		s.Counts.Reflected++
		return
	}
	s.notifyUser(stageAnalysis, "Enough", "Search ended: "+why+".")
	s.startAnswer()
}

func (s *state) callsSpent() int { return s.Counts.Calls + s.Counts.Iteration }

func (s *state) nextRound() {
	s.Round++
	s.Opened, s.Lookups = 0, nil
	s.RoundAt, s.RoundSpent = s.Time.Milliseconds(), s.callsSpent()
}

// roundStopReason returns why there is no further round, or "".
func (s *state) roundStopReason() string {
	switch {
	case s.StopReason != "":
		return s.StopReason
	case s.Approved:
		return "the approved plan is done"
	case s.opts.WithoutModel:
		return "no model is available for reflection"
	case !s.canGather():
		return "there are no sources to search"
	case s.Effort == trivial:
		return "the question is simple"
	case s.Round >= s.opts.MaxRounds:
		return formatCount(s.Round, "round is the limit", "rounds are the limit")
	case s.Calls > 0 && s.Counts.Calls >= s.Calls-2:
		return "the remaining calls are reserved for the answer"
	case s.isLate():
		return "most of the time is used"
	}
	return stopReason(s.RoundHistory)
}

func (s *state) isLate() bool {
	limit := s.timeLimit().Milliseconds()
	return limit > 0 && float64(s.Time.Milliseconds()) >= gatherShare*float64(limit)
}

func (s *state) reflectKey() string { return numberedKey("reflect", s.Counts.Reflected) }

// applyReflection applies a reflection: it enqueues new queries or has the answer written.
func (s *state) applyReflection(b ponder.CallFinished) {
	var r reflection
	err := errors.New(textkit.TruncateBytes(textkit.OneLine(b.Error), maxFault))
	if s.shrinkEvidence(s.reflectCall(), b.Outcome) {
		s.Counts.Reflected++
		return
	}
	if b.Error == "" {
		r, err = readReflection(answerText(&b))
		if err != nil && s.retryAnswer(s.reflectKey(), s.AskSince, b, err) {
			return
		}
		r = r.dropRepeated(s.askedQueries())
		r.Web, r.Memory = s.filterQueries(r.Web), s.filterQueries(r.Memory)
	}
	if err != nil {
		s.skipReflection(err.Error())
		return
	}
	why := lookup.Sanitize(textkit.TruncateBytes(textkit.OneLine(r.Why), maxFault))
	if !r.Enough && s.hasNewQueries(r) {
		s.nextRound()
		s.Step = gathering
		s.notifyUser(stageReflection, "What is missing", cmp.Or(why, "Evidence is missing."))
		s.adoptPlan(plan{Web: r.Web, Memory: r.Memory}, ponder.Plan{Content: why, Model: b.Model})
		return
	}
	if !r.Enough {
		why = "there are no new queries"
	}
	s.notifyUser(stageReflection, "Enough", "Search ended: "+cmp.Or(strings.TrimRight(why, ".… "), "the evidence is sufficient")+".")
	s.startAnswer()
}

func (s *state) skipReflection(why string) {
	s.notifyUser(stageNote, "No reflection", "The reflection failed: "+strings.TrimRight(why, ".")+".")
	s.startAnswer()
}

func (s *state) hasNewQueries(r reflection) bool {
	is := func(kind string) func(string) bool {
		return func(q string) bool {
			q = s.boundQuery(kind, q)
			return q != "" && !s.wasAsked(askedKey(kind, q))
		}
	}
	return s.opts.Web && slices.ContainsFunc(r.Web, is(webLookup)) || s.canSearch() && slices.ContainsFunc(r.Memory, is(memoryLookup))
}
