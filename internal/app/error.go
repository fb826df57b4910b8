package app

import (
	"context"
	"errors"
	"fmt"

	"ponder"
	"ponder/internal/config"
	"ponder/internal/textkit"
	"ponder/knowledge/lookup"
	"ponder/llm"
)

// A Code classifies an error. The command line maps it to an exit code, HTTP to a status.
type Code string

const (
	Invalid     Code = "invalid"     // the request or the configuration is wrong
	NotFound    Code = "not_found"   // no object has the name or id
	Conflict    Code = "conflict"    // the object has ended
	NotReady    Code = "not_ready"   // the configuration or the provider of a model lacks something
	Limit       Code = "limit"       // the caller has used its number of requests
	OverBudget  Code = "over_budget" // the caller has used its money
	Unavailable Code = "unavailable"
	Storage     Code = "storage"
	Incomplete  Code = "incomplete" // the work stopped before its end and can continue
	Canceled    Code = "canceled"   // the caller stopped the work
	Internal    Code = "internal"
)

// An Error is an error that its caller can correct. Its message names no flag and no command;
// surfaces add their own.
type Error struct {
	Code    Code
	Field   string // name in the HTTP API; empty: none
	Message string
	Err     error
}

func (e *Error) Error() string { return e.Message }

func (e *Error) Unwrap() error { return e.Err }

// Errorf returns an error of a code and a field. A %w in format sets its cause.
func Errorf(code Code, field, format string, args ...any) error {
	err := fmt.Errorf(format, args...)
	e := &Error{Code: code, Field: field, Message: err.Error()}
	if _, many := err.(interface{ Unwrap() []error }); many || errors.Unwrap(err) != nil {
		e.Err = err
	}
	return e
}

func Invalidf(field, format string, args ...any) error {
	return Errorf(Invalid, field, format, args...)
}

func NotFoundf(field, format string, args ...any) error {
	return Errorf(NotFound, field, format, args...)
}

func NotReadyf(format string, args ...any) error { return Errorf(NotReady, "", format, args...) }

// InField returns err as an error about a field, with its code and message.
func InField(field string, err error) error {
	return &Error{Code: CodeOf(err), Field: field, Message: err.Error(), Err: err}
}

// OfModel returns err as an error about a request's model, if the model or its provider is the
// cause. With an empty model it returns err.
func OfModel(model string, err error) error {
	var refused *llm.Error
	if model != "" && errors.As(err, &refused) && (refused.Class == llm.NotFound || refused.Class == llm.BadRequest) {
		return Invalidf("model_id", "%w", err)
	}
	return ofModelName(model, err)
}

// ofModelName returns err as an error about a model's name if that is invalid.
func ofModelName(model string, err error) error {
	var known *Error
	if model == "" || CodeOf(err) != Invalid || errors.As(err, &known) && known.Field != "" {
		return err
	}
	return Invalidf("model_id", "%w", err)
}

// CodeOf returns the code of an error; [Internal] if unclassified.
func CodeOf(err error) Code {
	var known *Error
	var refused *llm.Error
	switch {
	case errors.As(err, &known):
		return known.Code
	case errors.Is(err, context.Canceled):
		return Canceled
	case errors.Is(err, config.ErrNoKey):
		return NotReady
	case errors.Is(err, config.ErrUnknownProvider), errors.Is(err, config.ErrUnknownKey), errors.Is(err, config.ErrInvalidSetting):
		return Invalid
	case errors.Is(err, ponder.ErrNoThread):
		return NotFound
	case errors.Is(err, ponder.ErrEnded):
		return Conflict
	case errors.Is(err, ponder.ErrFull), errors.Is(err, ponder.ErrReadOnly):
		return Storage
	case errors.As(err, &refused) && NeedsUser(refused.Class):
		return NotReady
	case errors.As(err, &refused), errors.Is(err, context.DeadlineExceeded):
		return Unavailable
	}
	return Internal
}

// NeedsUser reports whether only a user can correct a failure of a model.
func NeedsUser(c llm.Class) bool {
	return c == llm.Auth || c == llm.Payment || c == llm.NotFound || c == llm.Unreachable
}

// Public returns the form of err for callers outside this process. It hides the text of an
// [Internal] error, which the caller of Public logs.
func Public(err error) *Error {
	e := publicError(err)
	e.Message = lookup.NamePaths(e.Message)
	return e
}

func publicError(err error) *Error {
	var known *Error
	if errors.As(err, &known) {
		return &Error{known.Code, known.Field, textkit.OneLine(known.Message), err}
	}
	e := &Error{Code: CodeOf(err), Err: err}
	switch {
	case errors.Is(err, ponder.ErrNoEvent), errors.Is(err, ponder.ErrNoRun), e.Code == NotFound:
		e.Code, e.Message = NotFound, "not found; it may have been removed"
	case e.Code == Conflict:
		e.Message = "the run has already ended"
	case e.Code == Storage:
		e.Message = "cannot write to the database: free disk space, or make the file writable"
	case errors.Is(err, ponder.ErrDamaged):
		e.Message = "the database is damaged: restore a backup"
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		e.Code, e.Message = Unavailable, "the server is stopping or was too slow: try again"
	case e.Code == Internal:
		e.Message = "internal error: see the server's log"
	default:
		e.Message = textkit.Truncate(textkit.OneLine(err.Error()), maxMessage)
	}
	return e
}

// maxMessage bounds messages of other packages' errors, in runes.
const maxMessage = 300

var (
	ErrNoModel    = errors.New("no model is configured")
	ErrNoVectors  = errors.New("no embedding model is configured")
	ErrUnpriced   = errors.New("its price is unknown")
	ErrUnreadable = errors.New("no readable documents")
	ErrNoPersona  = errors.New("no such persona")

	ErrLongQuestion = errors.New("the question has more than")
	ErrNoQuestion   = errors.New("the question is too short")
)

var (
	ErrNothingYet   = NotFoundf("", "no sessions yet")
	ErrNoResearch   = NotFoundf("", "no research yet")
	ErrNothingKnown = NotFoundf("", "the memory is empty")
	ErrNoSearch     = NotReadyf("no web search is configured: set EXA_API_KEY, BRAVE_API_KEY, TAVILY_API_KEY or SEARXNG_URL, or web.folder to a folder of pages")
)

// ErrPrices is the cause of a warning about fetched prices.
var ErrPrices = errors.New("ignored the fetched prices")

// NoModel returns the error of work that needs a model. missed, if set, says why the configured
// one is unavailable.
func NoModel(missed error) error {
	if missed == nil {
		return NotReadyf("%w: start Ollama, or set a key such as ANTHROPIC_API_KEY or OPENAI_API_KEY", ErrNoModel)
	}
	return &Error{Code: NotReady, Message: missed.Error(), Err: errors.Join(ErrNoModel, missed)}
}
