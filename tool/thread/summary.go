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

// Where a summary is kept: the name of the fold, and the version of its form.
const (
	fold    = "earlier"
	version = "3"
)

// tail is how many of a thread's newest events are read first: what a session
// concluded is nearly always among them.
const tail = 64

// A Reader reads threads, as [ponder.Log] says.
type Reader interface {
	Events(ctx context.Context, thread ponder.ThreadID, after ponder.Seq) iter.Seq2[ponder.Event, error]
}

// A summary is what is remembered of a session. It is bounded, and it is kept.
type summary struct {
	Run        ponder.RunID `json:"run"`
	Question   string       `json:"question"`
	Answer     string       `json:"answer,omitempty"` // its beginning; none if the session did not complete
	Confidence float64      `json:"confidence,omitempty"`
	Ended      time.Time    `json:"ended,omitzero"`
	Resolved   *float64     `json:"resolved,omitempty"`  // how it turned out, 0 to 1
	Untrusted  bool         `json:"untrusted,omitempty"` // it had evidence that strangers wrote
	Nothing    bool         `json:"nothing,omitempty"`   // its answer says only that nothing was found

	thread  ponder.ThreadID
	seq     ponder.Seq // of the newest event that is in it
	gathers bool       // it may have evidence, as far as its options say
}

// with returns the summary after ev. A new session on the thread replaces the one
// before it.
func (s summary) with(ev ponder.Event) summary {
	s.seq = ev.Seq
	switch b := ev.Body.(type) {
	case ponder.RunStarted:
		if ev.Run.Parent() == "" {
			s = summary{
				Run: ev.Run, Question: textkit.Line(b.Input, maxQuestion), thread: s.thread, seq: s.seq,
				Untrusted: s.Untrusted, gathers: s.gathers || gathers(b.Options), // what was read before on a thread may be in what is said on it
			}
		}
	case ponder.Evidence:
		s.Untrusted = s.Untrusted || b.Untrusted
	case ponder.Synthesis:
		if ev.Run == s.Run {
			s.Nothing = b.Unaided && b.Confidence == 0 && !b.Assumed // a quotation has some
		}
	case ponder.RunFinished:
		if ev.Run == s.Run && b.Status == ponder.Completed {
			s.Answer, s.Confidence, s.Ended = textkit.TruncateBytes(textkit.CleanTrim(textkit.Prefix(b.Answer, 2*maxAnswer)), maxAnswer), unit(b.Confidence), ev.Time
		}
	case ponder.Resolved:
		if b.Outcome != nil && (b.Ref == string(s.Run) || b.Ref == "") {
			outcome := unit(*b.Outcome)
			s.Resolved = &outcome
		}
	}
	return s
}

// gathers reports whether a session with these options gathers evidence. Of options
// that can't be read it is taken for granted.
func gathers(options json.RawMessage) bool {
	if len(options) == 0 {
		return false
	}
	var o struct {
		Docs                 []json.RawMessage
		Memory, Web, Earlier bool
	}
	return json.Unmarshal(options, &o) != nil || len(o.Docs) > 0 || o.Memory || o.Web || o.Earlier
}

// loaded returns the summary that was kept of a thread; an empty one if none was,
// or it is of no use.
func loaded(ctx context.Context, store ponder.Checkpoints, info ponder.Info) (summary, error) {
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

// read brings a summary up to date and keeps it.
func read(ctx context.Context, store Store, info ponder.Info, s summary) (summary, error) {
	s, err := fresh(ctx, store, info, s)
	if err != nil {
		return s, fmt.Errorf("read %s: %w", info.ID, err)
	}
	js, err := json.Marshal(s)
	if err != nil {
		return s, fmt.Errorf("summary of %s: %w", info.ID, err)
	}
	// Without it the thread is read again the next time, and no harm is done.
	_ = store.SaveCheckpoint(ctx, info.ID, fold, version, s.seq, js)
	return s, nil
}

// fresh returns the summary of a thread as it is now. Of a long thread it reads
// the beginning and the end; if they do not belong together, or leave it open
// whether strangers wrote what it rests on, all of it.
func fresh(ctx context.Context, log Reader, info ponder.Info, s summary) (summary, error) {
	if s.seq > 0 || info.Head <= 2*tail {
		return s.after(ctx, log, s.seq, nil)
	}
	first, err := s.after(ctx, log, 0, func(s summary) bool {
		return s.Run != "" && (!s.gathers || s.Untrusted || s.seq >= tail)
	})
	if err != nil {
		return s, err
	}
	if ended, err := first.after(ctx, log, info.Head-tail, nil); err != nil || ended.Answer != "" && (ended.Untrusted || !ended.gathers) {
		return ended, err
	}
	return s.after(ctx, log, 0, nil)
}

// after returns the summary with the events after one, up to where enough says so.
func (s summary) after(ctx context.Context, log Reader, seq ponder.Seq, enough func(summary) bool) (summary, error) {
	for ev, err := range log.Events(ctx, s.thread, seq) {
		if err != nil {
			return s, err
		}
		if s = s.with(ev); enough != nil && enough(s) {
			break
		}
	}
	return s, nil
}

// unit returns x in 0..1; 0 if it is no number.
func unit(x float64) float64 {
	if math.IsNaN(x) {
		return 0
	}
	return min(max(x, 0), 1)
}
