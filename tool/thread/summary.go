package thread

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"math"
	"ponder/internal/textkit"
	"time"

	"ponder"
)

// The checkpoint of a summary: its fold, and the version of its form.
const (
	fold    = "earlier"
	version = "3"
)

// tail is the number of the newest events that are read first. They nearly always contain
// the end of a session.
const tail = 64

// A Reader reads threads: see [ponder.Log].
type Reader interface {
	Events(ctx context.Context, thread ponder.ThreadID, after ponder.Seq) iter.Seq2[ponder.Event, error]
}

// A summary is the stored summary of a session. Its size is limited.
type summary struct {
	Run        ponder.RunID `json:"run"`
	Question   string       `json:"question"`
	Answer     string       `json:"answer,omitempty"` // the start of the answer; empty if the session did not complete
	Confidence float64      `json:"confidence,omitempty"`
	Ended      time.Time    `json:"ended,omitzero"`
	Resolved   *float64     `json:"resolved,omitempty"`  // the outcome, 0 to 1
	Untrusted  bool         `json:"untrusted,omitempty"` // the session had evidence of strangers
	Nothing    bool         `json:"nothing,omitempty"`   // the answer says only that nothing was found

	thread  ponder.ThreadID
	seq     ponder.Seq // the newest event in the summary
	gathers bool       // the session may have evidence, according to its options
}

// applyEvent returns the summary after ev. A new session on the thread replaces the one before
// it.
func (s summary) applyEvent(ev ponder.Event) summary {
	s.seq = ev.Seq
	switch b := ev.Body.(type) {
	case ponder.RunStarted:
		if ev.Run.Parent() == "" {
			s = summary{
				Run: ev.Run, Question: textkit.Line(b.Input, maxQuestion), thread: s.thread, seq: s.seq,
				Untrusted: s.Untrusted, gathers: s.gathers || gathersEvidence(b.Options), // a session may repeat the content of an earlier one on the thread
			}
		}
	case ponder.Evidence:
		s.Untrusted = s.Untrusted || b.Untrusted
	case ponder.Synthesis:
		if ev.Run == s.Run {
			s.Nothing = b.WithoutModel && b.Confidence == 0 && !b.Assumed // quotations have some confidence
		}
	case ponder.RunFinished:
		if ev.Run == s.Run && b.Status == ponder.Completed {
			s.Answer, s.Confidence, s.Ended = textkit.TruncateBytes(textkit.CleanTrim(textkit.Prefix(b.Answer, 2*maxAnswer)), maxAnswer), clampUnit(b.Confidence), ev.Time
		}
	case ponder.Resolution:
		if b.Outcome != nil && (b.Ref == string(s.Run) || b.Ref == "") {
			outcome := clampUnit(*b.Outcome)
			s.Resolved = &outcome
		}
	}
	return s
}

// gathersEvidence reports whether a session with these options gathers evidence. It returns true
// for invalid options.
func gathersEvidence(options json.RawMessage) bool {
	if len(options) == 0 {
		return false
	}
	var o struct {
		Docs                 []json.RawMessage
		Memory, Web, Earlier bool
	}
	return json.Unmarshal(options, &o) != nil || len(o.Docs) > 0 || o.Memory || o.Web || o.Earlier
}

// loadSummary returns the stored summary of a thread, or an empty one if there is no usable one.
func loadSummary(ctx context.Context, store ponder.Checkpoints, info ponder.Info) (summary, error) {
	s := summary{thread: info.ID}
	seq, js, err := store.LoadCheckpoint(ctx, info.ID, fold, version)
	if err != nil {
		return s, fmt.Errorf("load summary of %s: %w", info.ID, err)
	}
	kept := summary{thread: info.ID, seq: seq}
	if js != nil && json.Unmarshal(js, &kept) == nil {
		return kept, nil
	}
	return s, nil
}

// updateSummary updates a summary and stores it.
func updateSummary(ctx context.Context, store Store, info ponder.Info, s summary) (summary, error) {
	s, err := foldSummary(ctx, store, info, s)
	if err != nil {
		return s, fmt.Errorf("read %s: %w", info.ID, err)
	}
	js, err := json.Marshal(s)
	if err != nil {
		return s, fmt.Errorf("summary of %s: %w", info.ID, err)
	}
	// Ignore errors: the next use reads the thread again.
	_ = store.SaveCheckpoint(ctx, info.ID, fold, version, s.seq, js)
	return s, nil
}

// foldSummary returns the current summary of a thread. It reads the start and the end of a long
// thread. If they belong to different sessions, or do not show whether evidence came from
// strangers, it reads the whole thread.
func foldSummary(ctx context.Context, log Reader, info ponder.Info, s summary) (summary, error) {
	if s.seq > 0 || info.Head <= 2*tail {
		return s.applyFrom(ctx, log, s.seq, nil)
	}
	first, err := s.applyFrom(ctx, log, 0, func(s summary) bool {
		return s.Run != "" && (!s.gathers || s.Untrusted || s.seq >= tail)
	})
	if err != nil {
		return s, err
	}
	if ended, err := first.applyFrom(ctx, log, info.Head-tail, nil); err != nil || ended.Answer != "" && (ended.Untrusted || !ended.gathers) {
		return ended, err
	}
	return s.applyFrom(ctx, log, 0, nil)
}

// applyFrom returns the summary with the events after seq, until enough returns true.
func (s summary) applyFrom(ctx context.Context, log Reader, seq ponder.Seq, enough func(summary) bool) (summary, error) {
	for ev, err := range log.Events(ctx, s.thread, seq) {
		if err != nil {
			return s, err
		}
		if s = s.applyEvent(ev); enough != nil && enough(s) {
			break
		}
	}
	return s, nil
}

// clampUnit returns x limited to 0..1, or 0 for NaN.
func clampUnit(x float64) float64 {
	if math.IsNaN(x) {
		return 0
	}
	return min(max(x, 0), 1)
}
