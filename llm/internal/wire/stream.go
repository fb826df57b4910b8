package wire

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"reflect"
	"slices"
	"strings"

	"ponder/internal/limitio"
	"ponder/internal/textkit"
	"ponder/llm"
)

const maxAnswer = 64 << 20

// A Fold builds an answer from a stream's pieces. It is not safe for concurrent use.
type Fold interface {
	// Add adds a piece, valid until Add returns, and returns its visible part. last
	// reports that later pieces do not matter.
	Add(piece []byte) (delta llm.Delta, last bool, err error)

	// IsFinished reports whether the terminal event was seen. Later events, such as usage, are
	// awaited briefly.
	IsFinished() bool

	// Answer returns nil before the terminal event.
	Answer() (*llm.Response, error)

	// Usage returns the usage so far, as far as known.
	Usage() llm.Usage
}

// A RequestInfo describes a request, for errors.
type RequestInfo struct {
	Model string // full name
	Size  int    // request bytes

	// Sent is the request's header; errors never show its keys.
	Sent http.Header

	// Advice returns a remedy for a class. It may be nil.
	Advice func(llm.Class) string

	// Output separates reasoning, text and calls. It may be nil.
	Output *Output
}

// Stream feeds pieces to fold and yields deltas as [llm.Model] requires. A stream without
// terminal event is Truncated; later failures are ignored. Errors have the model and
// usage. Stream does not close the body.
func (a RequestInfo) Stream(resp *http.Response, pieces iter.Seq2[[]byte, error], fold Fold, yield func(llm.Delta, error) bool) {
	var lost error
	clock := startCommentTimer(resp)
	for piece, err := range joinRunes(pieces) {
		if err != nil {
			lost = err
			break
		}
		over := fold.IsFinished()
		if e := InBandError(piece); e != nil {
			if over {
				break
			}
			if a.yieldRest(true, yield) {
				yield(llm.Delta{}, a.Attribute(e, fold.Usage()))
			}
			return
		}
		delta, last, err := fold.Add(piece)
		if err != nil {
			if a.yieldRest(true, yield) {
				yield(llm.Delta{}, a.AttributeCut(err, fold.Usage()))
			}
			return
		}
		delta = a.Output.readDelta(delta)
		seen := delta.Text != "" || delta.Reasoning != ""
		if seen && !yield(delta, nil) {
			return
		}
		if last {
			break
		}
		clock.notePiece(fold.IsFinished(), seen || !over)
	}
	answer, err := fold.Answer()
	if lost != nil && (answer == nil || llm.ClassOf(lost) == llm.Cancelled) {
		err = lost
	} else if err == nil && answer == nil {
		err = &llm.Error{Class: llm.Truncated, Message: "the stream ended before the answer was complete"}
	}
	if !a.yieldRest(err != nil || answer.Finish.IsCut(), yield) {
		return
	}
	if err != nil {
		yield(llm.Delta{}, a.AttributeCut(err, fold.Usage()))
		return
	}
	a.Output.finishAnswer(answer)
	Finish(resp)
	yield(llm.Delta{Done: answer}, nil)
}

// yieldRest yields the text that a.Output held back. cut reports that the answer broke off. It
// returns what yield returns.
func (a RequestInfo) yieldRest(cut bool, yield func(llm.Delta, error) bool) bool {
	rest := a.Output.closeDelta(cut)
	return rest.Text == "" && rest.Reasoning == "" || yield(rest, nil)
}

// AttributeCut returns the error of an interrupted attempt. It estimates missing usage, unless the
// request never arrived.
func (a RequestInfo) AttributeCut(err error, used llm.Usage) error {
	var e *llm.Error
	refused := errors.As(err, &e) && (e.Status != 0 || e.Class == llm.Unreachable || e.Class == llm.BadRequest) || errors.Is(err, errUnsent)
	if !refused {
		used = FillMissing(used, a.Size, 0)
	}
	return a.Attribute(err, used)
}

// Attribute converts err to an *[llm.Error] with model, usage and advice.
func (a RequestInfo) Attribute(err error, used llm.Usage) error {
	var e *llm.Error
	if !errors.As(err, &e) {
		e = &llm.Error{Class: llm.Malformed, Message: textkit.VisibleLine(err.Error(), maxMessage), Err: err}
	}
	blamed := *e
	blamed.Model, blamed.Message = a.Model, redact(blamed.Message, secretKeys(a.Sent))
	if blamed.Usage == (llm.Usage{}) {
		blamed.Usage = used
	}
	if blamed.Advice == "" {
		blamed.Advice = adviceOf(a.Advice, blamed.Class)
	}
	return &blamed
}

// PieceError returns the error of an invalid piece: Truncated for incomplete JSON, otherwise
// Malformed. It keeps an [llm.Error], and quotes nothing.
func PieceError(what string, err error) error {
	var e *llm.Error
	if errors.As(err, &e) {
		return e
	}
	if isIncomplete(err) {
		return &llm.Error{Class: llm.Truncated, Message: "the answer ends within " + what, Err: err}
	}
	return &llm.Error{Class: llm.Malformed, Message: "cannot read " + what + " of the answer", Err: err}
}

// isIncomplete reports incomplete JSON. The decoder adds a blank, which is invalid in words,
// numbers and escapes.
func isIncomplete(err error) bool {
	var syntax *json.SyntaxError
	return errors.Is(err, io.ErrUnexpectedEOF) || errors.As(err, &syntax) &&
		(syntax.Error() == "unexpected end of JSON input" || strings.Contains(syntax.Error(), "character ' ' in "))
}

// Data yields the data of events, with "error" events converted for [InBandError].
func Data(r io.Reader) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		for ev, err := range Events(r) {
			data := ev.Data
			if err == nil && ev.Name == "error" && InBandError(data) == nil {
				data, err = wrapError(data)
			}
			if !yield(data, err) || err != nil {
				return
			}
		}
	}
}

func wrapError(data []byte) ([]byte, error) {
	if env, ok := parseEnvelope(data); ok && isPresent(data) && !reflect.DeepEqual(env, envelope{}) {
		return slices.Concat([]byte(`{"error":`), data, []byte("}")), nil
	}
	return json.Marshal(map[string]string{"error": cmp.Or(textkit.VisibleLine(plainText(data), maxMessage), unexplained)})
}

// ReadWhole yields up to 64 MB as one piece.
func ReadWhole(r io.Reader) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		data, err := limitio.ReadAll(r, maxAnswer)
		if errors.Is(err, limitio.ErrTooLarge) {
			err = oversizeError()
		}
		yield(data, err)
	}
}

func oversizeError() error {
	return &llm.Error{Class: llm.Malformed, Message: fmt.Sprintf("the answer is larger than %d MB", maxAnswer>>20)}
}
