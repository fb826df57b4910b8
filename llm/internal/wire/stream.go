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

// maxAnswer bounds what is kept of one answer, in bytes.
const maxAnswer = 64 << 20

// A Fold makes an answer of the pieces of a stream. It is used by one goroutine.
type Fold interface {
	// Add takes a piece, valid until Add returns, and returns what is new to
	// see in it. Last says that the answer is complete and nothing after this
	// piece matters.
	Add(piece []byte) (delta llm.Delta, last bool, err error)

	// Over reports whether the terminal signal was seen. What follows it, such as
	// counts, is waited for only a moment.
	Over() bool

	// Answer returns the answer if its terminal signal was seen, else nil.
	Answer() (*llm.Response, error)

	// Usage returns what the answer used so far, as far as is known.
	Usage() llm.Usage
}

// An Ask says what was asked, for the errors of an answer.
type Ask struct {
	Model string // full name
	Size  int    // of the request, in bytes

	// Sent is the header of the request. Keys in it are shown in no error.
	Sent http.Header

	// Advice says what a user can do about a class of failure. It may be nil.
	Advice func(llm.Class) string
}

// Stream reads the pieces of resp into fold and yields what comes of them, to
// the end that [llm.Model] asks of Generate. A piece that is an error ends it;
// so does the end of the pieces before the terminal signal, as Truncated. What
// goes wrong after the signal does no harm. Every error names the model and the
// usage until then. It does not close the body.
func (a Ask) Stream(resp *http.Response, pieces iter.Seq2[[]byte, error], fold Fold, yield func(llm.Delta, error) bool) {
	var lost error
	clock := clockOf(resp)
	for piece, err := range pieces {
		if err != nil {
			lost = err
			break
		}
		over := fold.Over()
		if e := InBand(piece); e != nil {
			if over {
				break
			}
			yield(llm.Delta{}, a.Blame(e, fold.Usage()))
			return
		}
		delta, last, err := fold.Add(piece)
		if err != nil {
			yield(llm.Delta{}, a.Cut(err, fold.Usage()))
			return
		}
		seen := delta.Text != "" || delta.Reasoning != ""
		if seen && !yield(delta, nil) {
			return
		}
		if last {
			break
		}
		clock.piece(fold.Over(), seen || !over)
	}
	answer, err := fold.Answer()
	if lost != nil && (answer == nil || llm.ClassOf(lost) == llm.Cancelled) {
		err = lost
	} else if err == nil && answer == nil {
		err = &llm.Error{Class: llm.Truncated, Message: "the stream ended before the answer was complete"}
	}
	if err != nil {
		yield(llm.Delta{}, a.Cut(err, fold.Usage()))
		return
	}
	Finish(resp)
	yield(llm.Delta{Done: answer}, nil)
}

// Cut is the error of an attempt that was cut off and may be billed all the
// same. If the provider counted nothing until then, its usage is a guess, unless
// nothing reached it.
func (a Ask) Cut(err error, used llm.Usage) error {
	var e *llm.Error
	refused := errors.As(err, &e) && (e.Status != 0 || e.Class == llm.Unreachable || e.Class == llm.BadRequest) || errors.Is(err, errUnsent)
	if !refused {
		used = CountedOr(used, a.Size, 0)
	}
	return a.Blame(err, used)
}

// Blame makes an *[llm.Error] of err that names the model and the usage, and says
// what to do.
func (a Ask) Blame(err error, used llm.Usage) error {
	var e *llm.Error
	if !errors.As(err, &e) {
		e = &llm.Error{Class: llm.Malformed, Message: textkit.VisibleLine(err.Error(), maxMessage), Err: err}
	}
	blamed := *e
	blamed.Model, blamed.Message = a.Model, redact(blamed.Message, secrets(a.Sent))
	if blamed.Usage == (llm.Usage{}) {
		blamed.Usage = used
	}
	if blamed.Advice == "" {
		blamed.Advice = adviceOf(a.Advice, blamed.Class)
	}
	return &blamed
}

// Mangled is the error of a piece that is not what the protocol says: Truncated
// if it ends in the middle. An err that is an [llm.Error] already is returned as
// it is. It quotes nothing of the piece.
func Mangled(what string, err error) error {
	var e *llm.Error
	if errors.As(err, &e) {
		return e
	}
	if short(err) {
		return &llm.Error{Class: llm.Truncated, Message: "the answer ends in the middle of " + what, Err: err}
	}
	return &llm.Error{Class: llm.Malformed, Message: "cannot read " + what + " of the answer", Err: err}
}

// short reports whether err is of JSON that ends in the middle. The decoder
// tries a blank at the end, which words, numbers and escapes do not take.
func short(err error) bool {
	var syntax *json.SyntaxError
	return errors.Is(err, io.ErrUnexpectedEOF) || errors.As(err, &syntax) &&
		(syntax.Error() == "unexpected end of JSON input" || strings.Contains(syntax.Error(), "character ' ' in "))
}

// Data reads the data of server-sent events. An event named "error" is an error
// that [InBand] knows, whatever its data.
func Data(r io.Reader) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		for ev, err := range Events(r) {
			data := ev.Data
			if err == nil && ev.Name == "error" && InBand(data) == nil {
				data, err = named(data)
			}
			if !yield(data, err) || err != nil {
				return
			}
		}
	}
}

// named makes an error that [InBand] knows of the data of an event that is called one.
func named(data []byte) ([]byte, error) {
	if env, ok := open(data); ok && present(data) && !reflect.DeepEqual(env, envelope{}) {
		return slices.Concat([]byte(`{"error":`), data, []byte("}")), nil
	}
	return json.Marshal(map[string]string{"error": cmp.Or(textkit.VisibleLine(plain(data), maxMessage), unexplained)})
}

// Whole reads all of r, up to 64 MB, as one piece.
func Whole(r io.Reader) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		data, err := limitio.ReadAll(r, maxAnswer)
		if errors.Is(err, limitio.ErrTooLarge) {
			err = oversize()
		}
		yield(data, err)
	}
}

func oversize() error {
	return &llm.Error{Class: llm.Malformed, Message: fmt.Sprintf("the answer is larger than %d MB", maxAnswer>>20)}
}
