package engine

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"ponder/llm"
)

// An answerReader assembles a streamed answer and decides where it ends.
type answerReader struct {
	text, reasoning []string
	size            int // of the text
	end             *llm.AnswerEnd
	cut             int // the text up to here is the answer; -1: all

	textLoop, reasoningLoop *llm.LoopDetector // nil: not yet needed
	verbatim                bool
}

func newAnswerReader(req *llm.Request) *answerReader {
	a := &answerReader{cut: -1, verbatim: req.Verbatim, end: llm.NewAnswerEnd(req.Schema)}
	if req.Verbatim {
		a.end = llm.NewAnswerEnd(nil)
	}
	return a
}

// add adds a delta. It returns the finish if the answer must end here, else "".
func (a *answerReader) add(d llm.Delta) llm.Finish {
	if d.Reasoning != "" {
		a.reasoning = append(a.reasoning, d.Reasoning)
	}
	if d.Text != "" {
		a.text = append(a.text, d.Text)
		a.size += len(d.Text)
	}
	if a.verbatim {
		return ""
	}
	if n, done := a.end.Add(d.Text); done {
		if a.cut = n; a.end.IsLoop() {
			return llm.FinishLoop
		}
		return llm.FinishStop
	}
	if n, found := findLoop(&a.textLoop, d.Text); found && a.size-n > maxEndedLoop {
		if length, ok := a.end.IsClosed(); ok { // the loop is not part of the value
			a.cut = length
			return llm.FinishStop
		}
		a.cut = n
		return llm.FinishLoop
	}
	if _, found := findLoop(&a.reasoningLoop, d.Reasoning); found && a.size == 0 {
		return llm.FinishLoop
	}
	return ""
}

// maxEndedLoop is how many bytes of repetition may follow the first round, in case the model ends the
// answer by itself. Such an answer is complete.
const maxEndedLoop = 800

// findLoop adds text to a detector, which it makes if necessary.
func findLoop(d **llm.LoopDetector, text string) (cut int, found bool) {
	if text == "" {
		return 0, false
	}
	if *d == nil {
		*d = llm.NewLoopDetector()
	}
	return (*d).Add(text)
}

// releaseDetectors recycles the detectors. The reader is of no use afterwards.
func (a *answerReader) releaseDetectors() {
	a.textLoop.Release()
	a.reasoningLoop.Release()
	a.textLoop, a.reasoningLoop = nil, nil
}

// isComplete reports whether the answer is complete unless the model corrects it.
func (a *answerReader) isComplete() bool {
	_, ok := a.end.IsClosed()
	return ok
}

// message returns the answer so far, up to the place where it ended.
func (a *answerReader) message() llm.Message {
	text := strings.Join(a.text, "")
	if n, ok := a.end.IsClosed(); ok && a.cut < 0 {
		a.cut = n
	}
	if a.cut >= 0 {
		text = text[:min(a.cut, len(text))]
	}
	msg := llm.Message{Role: llm.Assistant, Parts: []llm.Part{{Text: text}}}
	if len(a.reasoning) > 0 {
		msg.Parts = slices.Insert(msg.Parts, 0, llm.Part{Reasoning: strings.Join(a.reasoning, "")})
	}
	return msg
}

// errAllRead ends a call soon after its answer is complete.
var errAllRead = errors.New("the answer is complete")

// lingerTime is the time for usage, or for a correction, after a complete answer.
const lingerTime = 2 * time.Second

// A lingerTimer ends a call that continues after its complete answer, such as with white space.
type lingerTimer struct {
	timer   *time.Timer
	running bool
}

func (c *callAttempt) startLingerTimer() *lingerTimer {
	t := &lingerTimer{timer: time.AfterFunc(lingerTime, func() { c.stop(errAllRead) })}
	t.timer.Stop()
	return t
}

// setComplete notes whether the answer is complete so far.
func (t *lingerTimer) setComplete(complete bool) {
	if complete == t.running {
		return
	}
	if t.running = complete; complete {
		t.timer.Reset(lingerTime)
	} else {
		t.timer.Stop()
	}
}

// isAllRead reports whether a lingerTimer ended the call.
func (c *callAttempt) isAllRead() bool { return errors.Is(context.Cause(c.ctx), errAllRead) }
