package engine

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"ponder"
	"ponder/llm"
)

// Times of a run with a time limit. See docs/design/time.md.
const (
	answerGrace   = 10 * time.Second // the answer is expected so long after the limit
	maxOverrun    = 15 * time.Second // the call for the answer is cut so long after the limit
	minAnswerTime = 2 * time.Second  // a shorter time is not worth a call
	cutGrace      = 2 * time.Second  // the result of a cut call arrives within this time
)

// What a run reserves for its answer, and what makes another call before it useful.
const (
	answerTokens = 512 // unless the answers of the model are longer
	answerGrowth = 1.5 // of the request for the answer, relative to earlier ones
	usefulTokens = 128 // fewer tokens hardly contain a complete part
	tokenSlack   = 1.5 // of the limit of a call: its time cuts it exactly
)

// A callCut ends a call in flight and keeps its text. A soft cut does not end a call without text.
type callCut struct {
	in   *intent
	soft bool
}

// concludeAt returns the thinking time at which a run must conclude, so that its answer ends soon
// after its time limit. A run keeps at least half of its time for thinking.
func (r *run) concludeAt() time.Duration {
	limit, needed := r.Budget.Time, time.Duration(0)
	for _, v := range r.speeds {
		needed = max(needed, v.CallTime(int(answerGrowth*v.Bytes), max(answerTokens, int(v.Output))))
	}
	return min(limit, max(limit/2, limit+answerGrace-needed))
}

// answerEnd returns the thinking time at which the engine cuts the call for the answer. A user who
// resumes a run gives it that time again.
func (r *run) answerEnd() time.Duration { return max(r.Budget.Time, r.resumedAt) + maxOverrun }

// concludesWith reports whether a call may take the time that the run reserves for its answer.
func (r *run) concludesWith(answer bool) bool { return r.budgetNotified || answer }

// cutTimes returns the thinking times at which the engine cuts a call in flight: the soft cuts in
// their order, and the last. Zero is never.
//
// Until a call of the run has ended, nothing is known about the speed of the model. The first call
// may then take as long as the answer would. If it is still silent, the time is better spent on it.
func (r *run) cutTimes(in *intent) (soft []time.Duration, last time.Duration) {
	if limit := r.Budget.Time; limit > 0 {
		switch {
		case r.concludesWith(in.call.Answer):
			last = r.answerEnd()
		case len(r.speeds) > 0:
			last = r.concludeAt()
		default:
			half := (in.startedAt + limit + answerGrace) / 2
			soft, last = []time.Duration{min(half, limit), limit}, limit+maxOverrun
		}
	}
	if until := in.call.Until; until > 0 && (last == 0 || until < last) {
		last = until
	}
	return soft, last
}

// nextTime returns the next thinking time after spent at which decideTime may decide something,
// or 0.
func (r *run) nextTime(spent time.Duration) (next time.Duration) {
	add := func(t time.Duration) {
		if t > spent && (next == 0 || t < next) {
			next = t
		}
	}
	if r.Budget.Time > 0 && !r.budgetNotified {
		add(r.concludeAt())
	}
	for _, a := range r.actions {
		if in := a.inFlight; in != nil && in.call != nil {
			soft, last := r.cutTimes(in)
			for _, t := range soft {
				add(t)
			}
			if add(last); in.cut {
				add(in.cutAt + cutGrace)
			}
		}
	}
	return next
}

// decideTime cuts the calls of a run whose time is over. When the run must conclude, decideTime
// waits for the results of the cut calls, then notifies the run and returns true. A run that
// writes its answer already is not notified.
func (d *decision) decideTime(r *run) (notified bool) {
	spent, pending := r.spentAt(d.clock), false
	for _, key := range slices.Sorted(maps.Keys(r.actions)) {
		in := r.actions[key].inFlight
		if in == nil || in.call == nil {
			continue
		}
		soft, last := r.cutTimes(in)
		for i, at := range soft {
			if spent >= at && in.softCuts <= i {
				in.softCuts = i + 1
				d.cuts = append(d.cuts, callCut{in, true})
			}
		}
		if last > 0 && spent >= last {
			if !in.cut {
				in.cut, in.cutAt = true, spent
			}
			d.cuts = append(d.cuts, callCut{in, false})
		}
		pending = pending || in.call.Answer || !in.cut || spent < in.cutAt+cutGrace
	}
	if r.budgetNotified || r.Budget.Time <= 0 || spent < r.concludeAt() || pending {
		return false
	}
	d.emit(ponder.Event{Run: r.ID, Body: r.Budget.SpentOf("time")})
	return true
}

// fitTime returns how many tokens a call may write in the time that is left to it: at most out,
// and at least min(out, minTokens). If the time does not suffice, fitTime returns the limit.
func (d *decision) fitTime(r *run, c ponder.Call, m ponder.Model, size, out int) (int, ponder.BudgetSpent) {
	limit := r.Budget.Time
	if limit <= 0 {
		return out, ponder.BudgetSpent{}
	}
	v, end, least := r.speeds[m.Name()], r.answerEnd(), minAnswerTime
	if !r.concludesWith(c.Answer) {
		end, least = r.concludeAt(), v.CallTime(size, usefulTokens)
	}
	left := end - r.spentAt(d.clock)
	if left < least || left <= 0 {
		return 0, r.Budget.SpentOf("time")
	}
	tokens := int(tokenSlack * float64(v.TokensWithin(size, left, out)))
	return max(min(out, tokens), min(out, minTokens)), ponder.BudgetSpent{}
}

// learnSpeed trains the speeds of a run and the runs above it with a call that wrote something or
// was cut.
func (t *threadState) learnSpeed(ev ponder.Event, b ponder.CallFinished) {
	in := t.intents[string(ev.Run)+" "+ev.Cause]
	silent := b.First == 0 && b.Finish == llm.FinishTime
	if in == nil || in.call == nil || b.First == 0 && !silent {
		return
	}
	took := time.Duration(b.Took) * time.Millisecond
	timing := llm.CallSample{Bytes: in.call.Size, First: time.Duration(b.First) * time.Millisecond, Took: took, Tokens: b.Usage.Output}
	timing.Complete = b.Error == "" && !b.Finish.IsCut()
	if silent {
		timing.First, timing.Tokens = took, 0
	}
	for r := in.run; r != nil; r = r.parent {
		speeds := maps.Clone(r.speeds)
		if speeds == nil {
			speeds = make(map[string]llm.Speed)
		}
		speeds[in.call.Model] = speeds[in.call.Model].Learn(timing)
		r.speeds = speeds
	}
}

// cutCalls cuts calls of this holder. Their results have the text until then.
func (h *holder) cutCalls(cuts []callCut) {
	for _, c := range cuts {
		f := h.attempts[c.in.id()]
		if f == nil || !f.cutAt.IsZero() || c.soft && f.written.Load() == 0 {
			continue
		}
		f.cutAt = time.Now()
		f.cancel(errCut)
	}
}

// errCut is the cause of a cut call.
var errCut = errors.New("the time of the call is over")

// isCut reports whether the engine cut the call.
func (c *callAttempt) isCut() bool { return errors.Is(context.Cause(c.ctx), errCut) }

// unendedCut returns the result of a cut call that does not end.
func unendedCut(in *intent) *ponder.CallFinished {
	return &ponder.CallFinished{Model: in.call.Model, Finish: llm.FinishTime, Spent: in.held}
}
