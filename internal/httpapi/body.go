package httpapi

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"strconv"
	"time"

	"ponder/internal/auth"
)

// Times of a request's body.
const (
	bodyTime  = 30 * time.Second // that every body may take to arrive
	leastPace = 16 << 10         // bytes that give it a second more
	leaveTime = 2 * time.Second  // for what is still sent by whom no answer is owed
)

// takeBody reads the body of a request, so that no handler waits for it; those read it from
// memory. It returns why a body that did not arrive is refused. A stream that comes after
// it has no deadline.
func takeBody(w http.ResponseWriter, r *http.Request) *auth.Refusal {
	if !hasBody(r) {
		return nil
	}
	src := &arriving{src: http.MaxBytesReader(w, r.Body, MaxBody), ctl: http.NewResponseController(w), begun: time.Now()}
	body, err := io.ReadAll(src)
	if err == nil {
		_ = src.ctl.SetReadDeadline(time.Time{}) // what cannot do that has had none
		r.Body = io.NopCloser(bytes.NewReader(body))
		return nil
	}
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		return &auth.Refusal{Status: http.StatusRequestEntityTooLarge, Detail: "the body has more than " + strconv.FormatInt(large.Limit, 10) + " bytes"}
	case time.Now().Before(src.until):
		return &auth.Refusal{Status: http.StatusBadRequest, Detail: "the body of the request did not arrive as a whole"}
	}
	return &auth.Refusal{Status: http.StatusRequestTimeout, Detail: "the body of the request came too slowly"}
}

// dismiss is called before the answer to a request whose body nobody reads: the server would
// wait for the rest of it otherwise, for as long as the client likes.
func dismiss(w http.ResponseWriter, r *http.Request) {
	if !hasBody(r) {
		return
	}
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(leaveTime))
	if r.ProtoMajor == 1 { // in HTTP/2 the stream alone is closed, and the word would end all others
		w.Header().Set("Connection", "close")
	}
}

func hasBody(r *http.Request) bool {
	return r.Body != nil && r.Body != http.NoBody && r.ContentLength != 0
}

// An arriving is a body on its way, which has to keep a pace.
type arriving struct {
	src   io.Reader
	ctl   *http.ResponseController
	begun time.Time
	until time.Time // the deadline
	n     int64     // bytes that have come
}

func (b *arriving) Read(p []byte) (int, error) {
	until := b.begun.Add(bodyTime + time.Duration(b.n/leastPace)*time.Second)
	if until.After(b.until) {
		b.until = until
		_ = b.ctl.SetReadDeadline(until) // what cannot do that is no connection
	}
	n, err := b.src.Read(p)
	b.n += int64(n)
	return n, err
}
