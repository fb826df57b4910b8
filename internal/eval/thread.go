package eval

import (
	"context"
	"crypto/sha256"
	"encoding/base32"
	"errors"
	"fmt"

	"ponder"
	"ponder/engine"
	"ponder/internal/app"
	"ponder/internal/textkit"
	"ponder/mode/chat"
	"ponder/mode/session"
)

// threadID derives the id of a thread, so that a repeated command finds it.
func threadID(parts ...string) ponder.ThreadID {
	h := sha256.New()
	for _, p := range parts {
		fmt.Fprintf(h, "%d:%s", len(p), p)
	}
	sum := h.Sum(nil)[:16]
	sum[0] &= 0x3f
	return ponder.ThreadID("thr_" + base32.NewEncoding("0123456789ABCDEFGHJKMNPQRSTVWXYZ").WithPadding(base32.NoPadding).EncodeToString(sum))
}

type answerRecord struct {
	exists         bool
	questionPosted bool
	ended          bool
	run            ponder.RunID
	finished       ponder.RunFinished
	cost           Cost

	thoughts, reflections int
}

func (r *answerRecord) failureText() string {
	if r.finished.Status == ponder.Completed {
		return ""
	}
	return textkit.Truncate(textkit.OneLine(string(r.finished.Status)+": "+r.finished.Reason), 300)
}

func (e *Runner) answerRecord(ctx context.Context, id ponder.ThreadID) (answerRecord, error) {
	r := answerRecord{}
	_, err := e.store.Thread(ctx, id)
	if errors.Is(err, ponder.ErrNoThread) {
		return r, nil
	}
	r.exists = true
	for ev, failed := range e.store.Events(ctx, id, 0) {
		if err = failed; err != nil {
			break
		}
		r.applyEvent(ev)
	}
	if err != nil {
		return r, fmt.Errorf("read %s: %w", id, err)
	}
	return r, nil
}

func (r *answerRecord) applyEvent(ev ponder.Event) {
	switch b := ev.Body.(type) {
	case ponder.UserMessage:
		r.questionPosted = true
	case ponder.RunStarted:
		if b.Mode == chat.Name || b.Mode == session.Name || b.Mode == judgeMode {
			r.run = ev.Run
		}
	case ponder.RunFinished:
		if ev.Run == r.run {
			r.ended, r.finished, r.cost.Seconds = true, b, ev.Elapsed.Seconds()
		}
	case ponder.Thought:
		r.thoughts++
	case ponder.InnerMonologue:
		r.reflections++
	case ponder.CallFinished:
		if !b.Made() {
			return
		}
		r.cost.Calls++
		r.cost.Tokens += b.Spent.Tokens
		r.cost.USD += b.Spent.Money.USD()
		if b.Price == ponder.PriceUnknown {
			r.cost.Unpriced++
		}
	}
}

// maxReflected is the part of an event that a reflection reads, in bytes, with a margin.
const maxReflected = 3500

func (e *Runner) startThread(ctx context.Context, id ponder.ThreadID, v *Strategy, asked, title string) error {
	thread := ponder.Thread{ID: id, Kind: ponder.KindConversation, Title: title, Owner: app.LocalOwner}
	var first []ponder.Event
	switch v.Kind {
	case KindSession:
		thread.Kind = ponder.KindSession
		first = append(first, ponder.Event{Run: ponder.RunID(ponder.NewID("run")), Body: ponder.RunStarted{Input: asked, Mode: session.Name,
			Version: session.New().Version, Budget: ponder.Budget{Time: v.Time}, Options: []byte(encodeJSON(session.Options{Unattended: true}))}})
	case KindDeep:
		first = reflectionRequest(asked)
	default:
		first = append(first, askEvent(asked))
	}
	if err := e.store.Create(ctx, thread, first...); err != nil {
		return fmt.Errorf("start an answer: %w", err)
	}
	return nil
}

func askEvent(asked string) ponder.Event {
	return ponder.Event{Cause: "question", Body: ponder.UserMessage{Content: asked}}
}

// reflectionRequest returns the events that request a reflection before the question. A long
// question goes ahead in parts, as internal notes.
func reflectionRequest(asked string) (list []ponder.Event) {
	if len(asked) > maxReflected {
		for rest := asked; rest != ""; {
			n := min(len(rest), maxReflected)
			for n < len(rest) && rest[n]&0xc0 == 0x80 {
				n--
			}
			list = append(list, ponder.Event{Internal: true, Body: ponder.SystemNote{Content: "The user is about to ask: " + rest[:n]}})
			rest = rest[n:]
		}
		asked = "What the user is about to ask."
	}
	return append(list, ponder.Event{Internal: true, Body: ponder.Observation{Sensor: chat.DeepAsked, Content: asked}})
}

// finishAnswer finishes an answer and returns its record. Once all else is done, it posts later unless
// that is empty.
func (e *Runner) finishAnswer(ctx context.Context, mind *engine.Engine, id ponder.ThreadID, r answerRecord, later string) (answerRecord, error) {
	defer e.budget.Work()()
	if later != "" && !r.questionPosted {
		if err := mind.Work(ctx, id); err != nil {
			return r, e.explainHeld(err)
		}
		if _, err := e.store.Append(ctx, id, 0, askEvent(later)); err != nil && !errors.Is(err, ponder.ErrTaken) {
			return r, fmt.Errorf("request an answer: %w", err)
		}
	}
	if err := mind.Work(ctx, id); err != nil {
		return r, e.explainHeld(err)
	}
	r, err := e.answerRecord(ctx, id)
	if err == nil && !r.ended {
		err = fmt.Errorf("thread %s has not ended", id)
	}
	return r, err
}

func (e *Runner) explainHeld(err error) error {
	if errors.Is(err, ponder.ErrHeld) {
		return errors.New("another process already runs this evaluation")
	}
	return err
}
