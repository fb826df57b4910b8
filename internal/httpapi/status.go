package httpapi

import (
	"cmp"
	"net/http"
	"strconv"
	"time"

	"ponder/internal/limitio"
)

// A status is a response that knows its status.
type status struct {
	http.ResponseWriter
	code int
	body *limitio.Body // of the request; may be nil
}

func (s *status) releaseBody() {
	if s.body != nil {
		s.body.Release()
	}
}

func (s *status) WriteHeader(code int) {
	if s.code != 0 { // huma writes again after a disconnect
		return
	}
	s.noteStart(code)
	if h := s.Header(); code == http.StatusTooManyRequests && h.Get("Retry-After") == "" { // a daily quota, not a rate
		h.Set("Retry-After", strconv.Itoa(int(untilTomorrow(time.Now())/time.Second)+1))
	}
	s.ResponseWriter.WriteHeader(code)
}

func (s *status) Write(b []byte) (int, error) {
	s.noteStart(cmp.Or(s.code, http.StatusOK))
	return s.ResponseWriter.Write(b)
}

// noteStart is called when the response starts, which may be a stream of hours.
func (s *status) noteStart(code int) {
	if s.code == 0 && s.body != nil {
		s.body.ReleaseDecoded()
	}
	s.code = code
}

// Unwrap serves [http.ResponseController].
func (s *status) Unwrap() http.ResponseWriter { return s.ResponseWriter }
