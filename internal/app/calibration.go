package app

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"ponder"
	"ponder/internal/calibration"
	"ponder/internal/report"
	"ponder/mode/session"
)

type EndedSession struct {
	Run     ponder.RunID
	End     ponder.EndReason
	Claim   ponder.Synthesis
	id      string
	Outcome *float64
}

func (j EndedSession) Claimed() bool { return j.id != "" && !j.Claim.Assumed }

// firstTail is the number of newest events read first, which usually suffice for JudgeSession.
const firstTail = 16

// JudgeSession returns the end and the outcome of a thread's newest session, or the zero value.
// It reads backwards, no further than necessary. Unless whole is set, it looks for the claim
// only if there is an outcome.
func JudgeSession(ctx context.Context, log ponder.Log, info ponder.Info, whole bool) (EndedSession, error) {
	for n := ponder.Seq(firstTail); ; n *= 4 {
		after := max(0, info.Head-n)
		j, err := judgeFrom(ctx, log, info.ID, after)
		switch {
		case err != nil:
			return j, fmt.Errorf("read the outcome of %s: %w", info.ID, err)
		case after == 0, j.id != "", j.Run != "" && j.Outcome == nil && !whole:
			return j, nil
		}
	}
}

// SessionEnd returns the status of a session and, once it has ended, its confidence and why it stopped, in
// words.
func (a *App) SessionEnd(ctx context.Context, store ponder.Store, info ponder.Info) (status, sure, why string, err error) {
	status = StatusText(info)
	if !info.Status.Ended() {
		return status, "", "", nil
	}
	j, err := JudgeSession(ctx, store, info, true)
	why = report.EndText(j.End)
	if err != nil || !j.Claimed() {
		return status, "", why, err
	}
	if j.Claim.Final && j.Claim.WithoutModel && info.Model != "" {
		status += WithoutModel
	}
	if info.Kind == ponder.KindSession {
		sure = a.Calibration(ctx, store).Certainty(j.Claim.Confidence, j.Claim.Basis).String()
	}
	return status, sure, why, nil
}

// WithoutModel is appended to the status of a session answered without its configured model.
const WithoutModel = " without the model"

func judgeFrom(ctx context.Context, log ponder.Log, id ponder.ThreadID, after ponder.Seq) (EndedSession, error) {
	claims, outcomes := make(map[ponder.RunID]EndedSession), make(map[ponder.RunID]*float64)
	var run ponder.RunID
	var end ponder.EndReason
	for ev, err := range log.Events(ctx, id, after) {
		if err != nil {
			return EndedSession{}, err
		}
		switch b := ev.Body.(type) {
		case ponder.Synthesis:
			claims[ev.Run] = EndedSession{Claim: b, id: ev.ID}
		case ponder.RunFinished:
			if ev.Run.Parent() == "" {
				run, end = ev.Run, b.EndReason()
			}
		case ponder.Resolution:
			outcomes[ponder.RunID(b.Ref)] = b.Outcome
		}
	}
	j := claims[run]
	j.Run, j.End, j.Outcome = run, end, outcomes[run]
	return j, nil
}

type ResolvedSession struct {
	calibration.Case
	Model string
}

func (j EndedSession) resolvedSession() ResolvedSession {
	r := ResolvedSession{calibration.Case{Claimed: j.Claim.Confidence, Basis: basisOf(j.Claim.Basis), Outcome: *j.Outcome}, j.Claim.Model}
	if r.Model == "" {
		r.Model = "(no model)"
	}
	return r
}

func basisOf(b ponder.Basis) calibration.Basis { return calibration.Basis(b) }

// maxJudged is the number of newest sessions used for calibration.
const maxJudged = 5000

// ResolvedSessions returns the owner's sessions with a known outcome. An outcome shared by
// forks counts once.
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
			list = append(list, j.resolvedSession())
		}
	}
	return list, nil
}

func CasesOf(list []ResolvedSession) []calibration.Case {
	cases := make([]calibration.Case, len(list))
	for i, r := range list {
		cases[i] = r.Case
	}
	return cases
}

// Calibration returns the owner's calibration, computed once per command. After an error it is
// uncalibrated, since other uses of the database report the error.
func (a *App) Calibration(ctx context.Context, store ponder.Store) session.Calibration {
	if a.calibration != nil {
		return *a.calibration
	}
	list, err := ResolvedSessions(ctx, store, a.Owner())
	if err != nil {
		slog.Warn("cannot calibrate confidences", "error", err)
	}
	c := calibrationOf(calibration.Fit(CasesOf(list)))
	a.calibration = &c
	return c
}

func (a *App) CalibrationOf(store ponder.Store) func(context.Context) session.Calibration {
	return func(ctx context.Context) session.Calibration { return a.Calibration(ctx, store) }
}

func calibrationOf(m calibration.Map) session.Calibration {
	if !m.IsCalibrated() {
		return session.Calibration{}
	}
	return session.Calibration{Cases: m.Cases(), Probability: func(claimed float64, b ponder.Basis) (float64, bool) {
		return m.Estimate(claimed, basisOf(b))
	}}
}

// calibrations caches the calibration of each owner. It is safe for concurrent use.
type calibrations struct {
	mu     sync.Mutex
	list   map[string]cachedCalibration
	work   sync.WaitGroup
	ending chan struct{}
	closed bool
}

type cachedCalibration struct {
	session.Calibration
	at   time.Time
	took time.Duration
	next chan struct{} // closed after the computation; nil if none runs
}

const (
	calibrationLife       = time.Minute            // minimal lifetime
	calibrationLifeFactor = 20                     // lifetime as a multiple of the computation's time
	calibrationWait       = 500 * time.Millisecond // how long a request waits for the first result
)

// Calibrated returns the calibration of an owner's claims. It may lag behind, since the
// computation is slow.
func (s *Service) Calibrated(ctx context.Context, who string) session.Calibration {
	return s.calibrations.forOwner(ctx, who, func(ctx context.Context) session.Calibration { return s.forOwner(who).Calibration(ctx, s.Store) })
}

// forOwner returns the cached calibration, and refreshes an old one in the background.
func (w *calibrations) forOwner(ctx context.Context, who string, find func(context.Context) session.Calibration) session.Calibration {
	w.mu.Lock()
	one := w.list[who]
	old := one.at.IsZero() || time.Since(one.at) > max(calibrationLife, calibrationLifeFactor*one.took)
	if old && one.next == nil && !w.closed {
		one.next = make(chan struct{})
		w.list[who] = one
		if w.ending == nil {
			w.ending = make(chan struct{})
		}
		ending := w.ending
		w.work.Go(func() { w.refresh(context.WithoutCancel(ctx), ending, who, find) })
	}
	w.mu.Unlock()
	if !one.at.IsZero() || one.next == nil {
		return one.Calibration
	}
	late := time.NewTimer(calibrationWait)
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

func (w *calibrations) refresh(ctx context.Context, ending <-chan struct{}, who string, find func(context.Context) session.Calibration) {
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
