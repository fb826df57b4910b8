package main

import (
	"context"
	"fmt"
	"log/slog"

	"ponder"
	"ponder/internal/calibration"
	"ponder/mode/session"
)

// A judged is what a session that has ended claimed, and how it turned out.
type judged struct {
	run     ponder.RunID
	claim   ponder.Synthesis // the last
	id      string           // of the event of that
	outcome *float64         // the newest word on it; nil if there is none
}

// confident reports whether the session claimed anything.
func (j judged) confident() bool { return j.id != "" && !j.claim.Assumed }

// firstTail is how many events are looked at first, from the end of a thread. What
// judge looks for is as a rule among the last few.
const firstTail = 16

// judge finds out how the newest session of a thread ended and turned out. It reads
// the thread from its end, no further than it must: unless whole is set, what was
// claimed is looked for only if there is an outcome. It returns the zero judged if
// no session has ended.
func judge(ctx context.Context, log ponder.Log, info ponder.Info, whole bool) (judged, error) {
	for n := ponder.Seq(firstTail); ; n *= 4 {
		after := max(0, info.Head-n)
		j, err := judgeFrom(ctx, log, info.ID, after)
		switch {
		case err != nil:
			return j, fmt.Errorf("read how %s ended: %w", info.ID, err)
		case after == 0, j.id != "", j.run != "" && j.outcome == nil && !whole:
			return j, nil
		}
	}
}

func judgeFrom(ctx context.Context, log ponder.Log, id ponder.ThreadID, after ponder.Seq) (judged, error) {
	claims, outcomes := make(map[ponder.RunID]judged), make(map[ponder.RunID]*float64)
	var run ponder.RunID
	for ev, err := range log.Events(ctx, id, after) {
		if err != nil {
			return judged{}, err
		}
		switch b := ev.Body.(type) {
		case ponder.Synthesis:
			claims[ev.Run] = judged{claim: b, id: ev.ID}
		case ponder.RunFinished:
			if ev.Run.Parent() == "" {
				run = ev.Run
			}
		case ponder.Resolved:
			outcomes[ponder.RunID(b.Ref)] = b.Outcome
		}
	}
	j := claims[run]
	j.run, j.outcome = run, outcomes[run]
	return j, nil
}

// A resolved is a session whose outcome is known.
type resolved struct {
	calibration.Case
	model string
}

func (j judged) resolved() resolved {
	r := resolved{calibration.Case{Claimed: j.claim.Confidence, Basis: basisOf(j.claim.Basis), Outcome: *j.outcome}, j.claim.Model}
	if r.model == "" {
		r.model = "(no model)"
	}
	return r
}

func basisOf(b ponder.Basis) calibration.Basis { return calibration.Basis(b) }

// maxJudged is how many sessions are learned from at most: the newest.
const maxJudged = 5000

// allResolved returns the sessions of the owner whose outcome is known. What
// several threads have in common, as forks do, counts once.
func allResolved(ctx context.Context, store ponder.Store, who string) ([]resolved, error) {
	threads, err := store.List(ctx, ponder.Filter{Kind: ponder.KindSession, Owner: who, Limit: maxJudged})
	if err != nil {
		return nil, fmt.Errorf("list sessions: %w", err)
	}
	var list []resolved
	seen := make(map[string]bool)
	for _, info := range threads {
		if !info.Status.Ended() {
			continue
		}
		j, err := judge(ctx, store, info, false)
		if err != nil {
			return nil, err
		}
		if j.outcome != nil && j.confident() && !seen[j.id] {
			seen[j.id] = true
			list = append(list, j.resolved())
		}
	}
	return list, nil
}

// casesOf returns the cases of sessions.
func casesOf(list []resolved) []calibration.Case {
	cases := make([]calibration.Case, len(list))
	for i, r := range list {
		cases[i] = r.Case
	}
	return cases
}

// calibration returns what confidences are worth in this database, as far as that
// is known. It is found out once in a command. If it cannot be, they are shown as
// uncalibrated, for whatever is wrong with the database will come up elsewhere.
func (a *cli) calibration(ctx context.Context, store ponder.Store) session.Calibration {
	if a.known != nil {
		return *a.known
	}
	list, err := allResolved(ctx, store, a.who())
	if err != nil {
		slog.Warn("confidences cannot be calibrated", "error", err)
	}
	c := calibrationOf(calibration.Fit(casesOf(list)))
	a.known = &c
	return c
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

// wanting says what is missing to be calibrated, and what to do about it; empty if
// nothing is.
func (a *cli) wanting(m calibration.Map) string {
	l := m.Lacking()
	if l == (calibration.Lacking{}) {
		return ""
	}
	text := fmt.Sprintf("uncalibrated: %d of %d resolved sessions", m.Cases(), calibration.Wanted)
	if m.Cases() >= calibration.Wanted {
		text = fmt.Sprintf("uncalibrated: %d resolved sessions", m.Cases())
	}
	switch {
	case m.Cases() == 0:
	case l.Right:
		text += ", and none of them was right"
	case l.Wrong:
		text += ", and none of them was wrong"
	}
	return text
}
