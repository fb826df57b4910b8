package chat

import "ponder"

const deepMode = "deep"

// PendingMessages folds a conversation into its unanswered messages.
type PendingMessages struct {
	Open []Message

	answeringRuns map[ponder.RunID]bool // started runs: do they answer?
}

// Apply folds the next event.
func (p *PendingMessages) Apply(ev ponder.Event) {
	switch b := ev.Body.(type) {
	case ponder.UserMessage:
		p.Open = append(p.Open, messageFrom(ev, b))
	case ponder.AssistantMessage:
		if ev.Run == "" { // imported
			p.Open = nil
		}
	case ponder.RunStarted:
		if p.answeringRuns == nil {
			p.answeringRuns = make(map[ponder.RunID]bool)
		}
		p.answeringRuns[ev.Run] = b.Mode == Name
	case ponder.RunFinished:
		if p.answeringRuns[ev.Run] {
			p.Open = nil
		}
	case ponder.Progress:
		if b.Stage == TurnEnded && len(p.Open) > 0 && p.Open[0].ID == b.Ref {
			p.Open = p.Open[1:]
		}
	}
}

// IsAnswering reports whether a run answers messages, and whether its start was applied.
func (p *PendingMessages) IsAnswering(run ponder.RunID) (answers, known bool) {
	answers, known = p.answeringRuns[run]
	return answers, known
}

// ReflectionView folds a conversation into the state of its reflections.
type ReflectionView struct {
	Asked ponder.Seq
	Done  ponder.Seq

	runs map[ponder.RunID]bool
}

// Busy reports whether a reflection is pending.
func (r *ReflectionView) Busy() bool { return r.Asked > r.Done }

// Apply folds the next event.
func (r *ReflectionView) Apply(ev ponder.Event) {
	switch b := ev.Body.(type) {
	case ponder.Progress:
		switch b.Stage {
		case DeepAsked:
			r.Asked = ev.Seq
		case DeepFailed, DeepRefused:
			r.markDone(ev)
		}
	case ponder.Observation:
		if b.Sensor == DeepAsked {
			r.Asked = ev.Seq
		}
	case ponder.InnerMonologue:
		if b.Tool == deepTool {
			r.markDone(ev)
		}
	case ponder.RunStarted:
		if b.Mode == deepMode {
			if r.runs == nil {
				r.runs = make(map[ponder.RunID]bool)
			}
			r.runs[ev.Run] = true
		}
	case ponder.RunFinished:
		if r.runs[ev.Run] {
			delete(r.runs, ev.Run)
			r.Done = max(r.Done, r.Asked)
		}
	}
}

// markDone applies an event whose key contains the seq of a request: muse-N, failed-N or refused-N.
func (r *ReflectionView) markDone(ev ponder.Event) {
	if n, ok := parseTurnSeq(ev.Cause); ok {
		r.Done = max(r.Done, n)
	}
}
