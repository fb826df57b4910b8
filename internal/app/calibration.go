package app

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"ponder"
	"ponder/internal/calibration"
	"ponder/mode/session"
)

// An EndedSession is what a session that has ended claimed, and how it turned out.
type EndedSession struct {
	Run     ponder.RunID
	Claim   ponder.Synthesis // the last
	id      string           // of the event of that
	Outcome *float64         // the newest word on it; nil if there is none
}

// Claimed reports whether the session claimed anything.
func (j EndedSession) Claimed() bool { return j.id != "" && !j.Claim.Assumed }

// firstTail is how many events are looked at first, from the end of a thread. What
// judge looks for is as a rule among the last few.
const firstTail = 16

// JudgeSession finds out how the newest session of a thread ended and turned out. It reads
// the thread from its end, no further than it must: unless whole is set, what was
// claimed is looked for only if there is an outcome. It returns the zero judged if
// no session has ended.
func JudgeSession(ctx context.Context, log ponder.Log, info ponder.Info, whole bool) (EndedSession, error) {
	for n := ponder.Seq(firstTail); ; n *= 4 {
		after := max(0, info.Head-n)
		j, err := judgeFrom(ctx, log, info.ID, after)
		switch {
		case err != nil:
			return j, fmt.Errorf("read how %s ended: %w", info.ID, err)
		case after == 0, j.id != "", j.Run != "" && j.Outcome == nil && !whole:
			return j, nil
		}
	}
}

// SessionEnd returns the status of a session and, if it has ended, how sure it is, in words.
func (a *App) SessionEnd(ctx context.Context, store ponder.Store, info ponder.Info) (status, sure string, err error) {
	status = StatusText(info)
	if !info.Status.Ended() {
		return status, "", nil
	}
	j, err := JudgeSession(ctx, store, info, true)
	if err != nil || !j.Claimed() {
		return status, "", err
	}
	if j.Claim.Final && j.Claim.Unaided && info.Model != "" {
		status += WithoutModel
	}
	if info.Kind == ponder.KindSession {
		sure = a.Calibration(ctx, store).Certainty(j.Claim.Confidence, j.Claim.Basis).String()
	}
	return status, sure, nil
}

// WithoutModel is added to the status of a session whose answer no model wrote, though one
// was configured.
const WithoutModel = " without the model"

func judgeFrom(ctx context.Context, log ponder.Log, id ponder.ThreadID, after ponder.Seq) (EndedSession, error) {
	claims, outcomes := make(map[ponder.RunID]EndedSession), make(map[ponder.RunID]*float64)
	var run ponder.RunID
	for ev, err := range log.Events(ctx, id, after) {
		if err != nil {
			return EndedSession{}, err
		}
		switch b := ev.Body.(type) {
		case ponder.Synthesis:
			claims[ev.Run] = EndedSession{Claim: b, id: ev.ID}
		case ponder.RunFinished:
			if ev.Run.Parent() == "" {
				run = ev.Run
			}
		case ponder.Resolved:
			outcomes[ponder.RunID(b.Ref)] = b.Outcome
		}
	}
	j := claims[run]
	j.Run, j.Outcome = run, outcomes[run]
	return j, nil
}

// A ResolvedSession is a session whose outcome is known.
type ResolvedSession struct {
	calibration.Case
	Model string
}

func (j EndedSession) resolved() ResolvedSession {
	r := ResolvedSession{calibration.Case{Claimed: j.Claim.Confidence, Basis: basisOf(j.Claim.Basis), Outcome: *j.Outcome}, j.Claim.Model}
	if r.Model == "" {
		r.Model = "(no model)"
	}
	return r
}

func basisOf(b ponder.Basis) calibration.Basis { return calibration.Basis(b) }

// maxJudged is how many sessions are learned from at most: the newest.
const maxJudged = 5000

// ResolvedSessions returns the sessions of the owner whose outcome is known. What
// several threads have in common, as forks do, counts once.
func ResolvedSessions(ctx context.Context, store ponder.Store, who string) ([]ResolvedSession, error) {
	threads, err := store.List(ctx, ponder.Filter{Kind: ponder.KindSession, Owner: who, Limit: maxJudged})
	if err != nil {
		return nil, fmt.Errorf("list sessions: %w", err)
	}
	var list []ResolvedSession
	seen := make(map[string]bool)
	for _, info := range threads {
		if !info.Status.Ended() {
			continue
		}
		j, err := JudgeSession(ctx, store, info, false)
		if err != nil {
			return nil, err
		}
		if j.Outcome != nil && j.Claimed() && !seen[j.id] {
			seen[j.id] = true
			list = append(list, j.resolved())
		}
	}
	return list, nil
}

// CasesOf returns the cases of sessions.
func CasesOf(list []ResolvedSession) []calibration.Case {
	cases := make([]calibration.Case, len(list))
	for i, r := range list {
		cases[i] = r.Case
	}
	return cases
}

// Calibration returns what confidences are worth in this database, as far as that
// is known. It is found out once in a command. If it cannot be, they are shown as
// uncalibrated, for whatever is wrong with the database will come up elsewhere.
func (a *App) Calibration(ctx context.Context, store ponder.Store) session.Calibration {
	if a.calibration != nil {
		return *a.calibration
	}
	list, err := ResolvedSessions(ctx, store, a.Owner())
	if err != nil {
		slog.Warn("confidences cannot be calibrated", "error", err)
	}
	c := calibrationOf(calibration.Fit(CasesOf(list)))
	a.calibration = &c
	return c
}

// CalibrationOf returns a function that calls Calibration.
func (a *App) CalibrationOf(store ponder.Store) func(context.Context) session.Calibration {
	return func(ctx context.Context) session.Calibration { return a.Calibration(ctx, store) }
}

// calibrationOf returns a map as sessions know it.
func calibrationOf(m calibration.Map) session.Calibration {
	if !m.Calibrated() {
		return session.Calibration{}
	}
	return session.Calibration{Cases: m.Cases(), Of: func(claimed float64, b ponder.Basis) (float64, bool) {
		return m.Of(claimed, basisOf(b))
	}}
}

// Worths are what claims of sessions of the owners are worth. They are safe for
// concurrent use.
type calibrations struct {
	mu     sync.Mutex
	list   map[string]cachedCalibration
	work   sync.WaitGroup
	ending chan struct{} // closed when nothing is to be found any more; nil before the first is
	closed bool
}

type cachedCalibration struct {
	session.Calibration
	at   time.Time     // when it was found; zero before that
	took time.Duration // to find it
	next chan struct{} // closed when it is found anew; nil if nobody is at that
}

const (
	worthLife  = time.Minute            // how long they are kept at least until they are found anew
	worthShare = 20                     // how many times as long as it takes to find them
	worthWait  = 500 * time.Millisecond // how long a request waits for what is not known yet
)

// calibrated returns what claims of an owner are worth, as far as that is known: where
// there are many sessions, it takes a while.
func (s *Service) Calibrated(ctx context.Context, who string) session.Calibration {
	return s.worths.of(ctx, who, func(ctx context.Context) session.Calibration { return s.as(who).Calibration(ctx, s.Store) })
}

// of returns what is known of an owner, and finds it anew beside that if it is old.
func (w *calibrations) of(ctx context.Context, who string, find func(context.Context) session.Calibration) session.Calibration {
	w.mu.Lock()
	one := w.list[who]
	old := one.at.IsZero() || time.Since(one.at) > max(worthLife, worthShare*one.took)
	if old && one.next == nil && !w.closed {
		one.next = make(chan struct{})
		w.list[who] = one
		if w.ending == nil {
			w.ending = make(chan struct{})
		}
		ending := w.ending
		w.work.Go(func() { w.find(context.WithoutCancel(ctx), ending, who, find) })
	}
	w.mu.Unlock()
	if !one.at.IsZero() || one.next == nil {
		return one.Calibration
	}
	late := time.NewTimer(worthWait)
	defer late.Stop()
	select {
	case <-one.next:
	case <-late.C:
	case <-ctx.Done():
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.list[who].Calibration
}

// find finds what claims of an owner are worth, unless all is closed before.
func (w *calibrations) find(ctx context.Context, ending <-chan struct{}, who string, find func(context.Context) session.Calibration) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	w.work.Go(func() {
		defer stop()
		select {
		case <-ending:
		case <-ctx.Done():
		}
	})
	begun := time.Now()
	c := find(ctx)
	w.mu.Lock()
	defer w.mu.Unlock()
	one := w.list[who]
	close(one.next)
	if one.next = nil; ctx.Err() == nil {
		one.Calibration, one.at, one.took = c, time.Now(), time.Since(begun)
	}
	w.list[who] = one
}

func (w *calibrations) close() {
	w.mu.Lock()
	w.closed = true
	if w.ending != nil {
		close(w.ending)
		w.ending = nil
	}
	w.mu.Unlock()
	w.work.Wait()
}
