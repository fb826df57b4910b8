package llm

import (
	"slices"
	"time"
)

// A limiter adapts the limit of concurrent requests to a server. It is a variant of TCP Vegas
// (Brakmo and Peterson, 1994) as used for requests by VegasLimit of Netflix's
// concurrency-limits: the difference to the latency of a free server shows the length of its
// queue, and the limit follows the capacity. It is pure: it knows no clock and does no I/O.
//
// The length of answers must not count, so the latency is the time to the first output. The
// limiter compares lower quartiles of several requests of the same model, because single ones
// differ. The share of the queue in the time of a call, times the requests in flight, is the
// length of the queue (Little's law).
//
// At first each prompt answer adds slowStart requests, so that the limit quadruples with each
// round. After the first queue or refusal, each quartile without a queue adds 1, 2, 4, ...
// requests. The limit grows only while requests wait for it.
//
// A reduction must shorten the latency. If two do not, other causes lengthened it, such as
// longer prompts: the limiter takes it for that of a free server and restores the limit.
//
// A refusal (429) reduces the limit to the other requests in flight, which the server accepted.
type limiter struct {
	max     int
	limit   float64
	grown   bool      // past the slow start
	step    float64   // next growth
	hold    int       // quartiles without growth after a refusal
	changed time.Time // the limit; requests that were sent before tell nothing about it
	floor   float64   // of refusals since then
	writing time.Duration
	models  map[string]*latencyModel
}

// A latencyModel has the latencies of one model.
type latencyModel struct {
	free     time.Duration // lower quartile without a queue
	suspect  bool          // the last quartile showed a queue
	best     time.Duration
	firsts   []time.Duration // since the last quartile
	inFlight int             // sum over firsts
	trial    latencyTrial
}

// A latencyTrial is a reduction whose effect is not known yet.
type latencyTrial struct {
	limit    float64 // before the first reduction
	quartile time.Duration
	failures int // reductions that did not shorten the latency
}

const (
	firstLimit      = 16
	slowStart       = 3                     // growth with each prompt answer
	refusedHold     = 4                     // quartiles
	minSamples      = 16                    // of a quartile
	maxSamples      = 64                    // of a quartile
	minExcess       = 50 * time.Millisecond // shorter queues do not count
	minQueueShare   = 1. / 8                // of the time of a call
	maxTrials       = 2                     // reductions that fail
	helpfulShare    = 0.85                  // a reduction must shorten the latency to this share
	promptShare     = 3                     // a prompt answer takes at most this multiple of the best
	writingWeight   = 1. / 16               // of a call in the mean time of writing
	maxLatencyCount = 200                   // models
)

func newLimiter(limit int) limiter {
	return limiter{max: limit, limit: float64(min(limit, firstLimit)), models: make(map[string]*latencyModel)}
}

func (l *limiter) current() int { return int(l.limit) }

func (l *limiter) setLimit(to float64, now time.Time) {
	l.limit, l.changed = min(max(to, 1), float64(l.max)), now
}

// A firstOutput is the beginning of an answer.
type firstOutput struct {
	model    string
	sent     time.Time
	after    time.Duration // since sent
	inFlight int           // when it was sent
	waiting  bool          // other requests wait for a slot
}

// observeFirst adapts the limit to the beginning of an answer.
func (l *limiter) observeFirst(f firstOutput, now time.Time) {
	m := l.models[f.model]
	if m == nil {
		if len(l.models) >= maxLatencyCount {
			clear(l.models)
		}
		m = &latencyModel{best: f.after}
		l.models[f.model] = m
	}
	m.best = min(m.best, f.after)
	if !l.grown && f.waiting && f.after <= max(promptShare*m.best, 2*m.free)+minExcess {
		l.limit = min(l.limit+slowStart, float64(l.max))
	}
	if f.sent.Before(l.changed) {
		return
	}
	m.firsts, m.inFlight = append(m.firsts, f.after), m.inFlight+f.inFlight
	if len(m.firsts) < min(max(int(l.limit/2), minSamples), maxSamples) {
		return
	}
	slices.Sort(m.firsts)
	quartile, inFlight := m.firsts[len(m.firsts)/4], float64(m.inFlight)/float64(len(m.firsts))
	m.firsts, m.inFlight = m.firsts[:0], 0
	l.observeQuartile(m, quartile, inFlight, f.waiting, now)
}

// observeQuartile adapts the limit to the lower quartile of the latencies of a model.
func (l *limiter) observeQuartile(m *latencyModel, quartile time.Duration, inFlight float64, waiting bool, now time.Time) {
	trial := m.trial
	m.trial = latencyTrial{}
	excess := quartile - m.free
	share := float64(excess) / float64(quartile+l.writing)
	queue := m.free > 0 && excess > max(minExcess, m.free/2) && share > minQueueShare
	if trial.limit > 0 && float64(quartile) > helpfulShare*float64(trial.quartile) {
		trial.failures++
	}
	switch {
	case queue && !waiting && inFlight < min(firstLimit, l.limit/2): // too few to cause it
		m.trial = trial
	case queue && (trial.failures == maxTrials || inFlight < 2): // other causes
		m.free, m.suspect = quartile, false
		l.setLimit(max(l.limit, trial.limit), now)
	case queue && !m.suspect: // perhaps by chance
		m.suspect, m.trial = true, trial
	case queue:
		if trial.failures == 0 {
			trial.limit = l.limit
		}
		m.suspect, m.trial = false, latencyTrial{trial.limit, quartile, trial.failures}
		l.grown, l.step = true, 1
		l.setLimit(min(l.limit-1, max(inFlight/8, inFlight*(1-share))), now)
		l.forgetSamples()
	default:
		m.suspect = false
		m.learnFree(quartile)
		l.grow(waiting, now)
	}
}

// learnFree learns the lower quartile of a free server. It falls quickly and rises slowly, because a
// growing queue lengthens it too.
func (m *latencyModel) learnFree(quartile time.Duration) {
	switch {
	case m.free == 0: // perhaps with a queue
		m.free = min(quartile, promptShare*m.best)
	case quartile < m.free:
		m.free -= (m.free - quartile) / 2
	default:
		m.free += (quartile - m.free) / 16
	}
}

// grow raises the limit after a quartile without a queue.
func (l *limiter) grow(waiting bool, now time.Time) {
	switch {
	case l.hold > 0:
		l.hold--
	case l.grown && waiting && l.limit < float64(l.max):
		l.setLimit(l.limit+l.step, now)
		l.step = min(2*l.step, max(1, l.limit/2))
		l.forgetSamples()
	}
}

// forgetSamples drops the samples that preceded a change of the limit.
func (l *limiter) forgetSamples() {
	for _, m := range l.models {
		m.firsts, m.inFlight = m.firsts[:0], 0
	}
}

// observeWriting learns the time of a call from its first output to its end.
func (l *limiter) observeWriting(took time.Duration) {
	if l.writing == 0 {
		l.writing = took
		return
	}
	l.writing += time.Duration(writingWeight * float64(took-l.writing))
}

// observeRefusal reduces the limit to the other requests in flight, but at most by half for
// requests that were sent together.
func (l *limiter) observeRefusal(sent time.Time, others int, now time.Time) {
	if !sent.Before(l.changed) || l.floor == 0 {
		l.floor, l.changed = max(1, l.limit/2), now
		l.forgetSamples()
	}
	l.grown, l.step, l.hold = true, 1, refusedHold
	l.limit = max(1, min(l.limit, max(l.floor, float64(others))))
}
