package wire

import (
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"ponder/llm"
)

// A slowReader yields pieces at intervals and repeats the last; \x00 is the end.
type slowReader struct {
	every  time.Duration
	pieces []string
	stop   <-chan struct{}
}

func (d *slowReader) Read(p []byte) (int, error) {
	select {
	case <-time.After(d.every):
	case <-d.stop:
		return 0, io.ErrUnexpectedEOF
	}
	if d.pieces[0] == "\x00" {
		return 0, io.EOF
	}
	n := copy(p, d.pieces[0])
	if len(d.pieces) > 1 {
		d.pieces = d.pieces[1:]
	}
	return n, nil
}

func (d *slowReader) Close() error { return nil }

// Answers end, with or without a terminal event.
func TestClock(t *testing.T) {
	for _, tt := range []struct {
		name   string
		every  time.Duration
		pieces []string
		class  llm.Class // "" is an answer
		after  time.Duration
	}{
		{"an answer in one piece that comes slowly", 2 * time.Minute, []string{"e", "n", "d", "\x00"}, "", 8 * time.Minute},
		{"comments before the first piece", 20 * time.Second, []string{": wait\n\n"}, llm.Transient, 5 * time.Minute},
		{"comments after the end", time.Second, []string{"data: a\n\n", "data: almost\n\n", ": wait\n\n"}, "", 12 * time.Second},
		{"silence after the end", 40 * time.Second, []string{"data: a\n\n", "data: almost\n\n", ": wait\n\n"}, "", 90 * time.Second},
		{"counts without end after the end", time.Second, []string{"data: almost\n\n"}, "", 11 * time.Second},
		{"an error after the end", time.Second, []string{"data: almost\n\n", "data: {\"error\":\"too late\"}\n\n"}, "", 2 * time.Second},
		{"a slow answer", 2 * time.Minute, []string{"data: a\n\n", "data: b\n\n", "data: c\n\n", "data: d\n\n", "data: end\n\n"}, "", 10 * time.Minute},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, kind, read := newClient(), "text/event-stream", Data
				if slices.Contains(tt.pieces, "\x00") {
					kind, read = "application/json", ReadWhole
				}
				c.HTTP.Transport = roundTripFunc(func(r *http.Request) (*http.Response, error) {
					return &http.Response{
						StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {kind}},
						Body: &slowReader{tt.every, tt.pieces, r.Context().Done()}, Request: r,
					}, nil
				})
				began := time.Now()
				resp, err := postBody(t.Context(), c, "http://h/", nil)
				if err != nil {
					t.Fatal(err)
				}
				var class llm.Class
				RequestInfo{Model: "p/m"}.Stream(resp, read(resp.Body), &listFold{}, func(_ llm.Delta, err error) bool {
					if err != nil {
						class = llm.ClassOf(err)
					}
					return true
				})
				if took := time.Since(began); class != tt.class || took != tt.after {
					t.Errorf("got %q after %v, want %q after %v", class, took, tt.class, tt.after)
				}
				resp.Body.Close()
				time.Sleep(2 * drainTime) // longer than drain reads
			})
		})
	}
}

// All fields classify error events.
func TestNamedErrors(t *testing.T) {
	for _, tt := range []struct {
		body  string
		class llm.Class
		wait  time.Duration
		text  string
	}{
		{`event: error` + "\n" + `data: {"code":"rate_limit_exceeded","message":"slow down"}`, llm.RateLimited, 0, "slow down"},
		{`error: {"code":429,"message":"slow down"}`, llm.RateLimited, 0, "slow down"},
		{`event: error` + "\n" + `data: {"status":"RESOURCE_EXHAUSTED","message":"no","details":[{"retryDelay":"53s"}]}`, llm.RateLimited, 53 * time.Second, "no"},
		{`event: error` + "\n" + `data: {"code":"context_length_exceeded"}`, llm.TooLong, 0, "context_length_exceeded"},
		{`event: error` + "\n" + `data: {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`, llm.Transient, 0, "Overloaded"},
		{`event: error` + "\n" + `data: {}`, llm.Transient, 0, unexplained},
		{`event: error` + "\n" + `data: <html>`, llm.Transient, 0, unexplained},
		{`event: error`, llm.Transient, 0, unexplained},
		{`error: it broke`, llm.Transient, 0, "it broke"},
		{`{"error":{"message":"it broke","code":429}}` + "\n" + `data: [DONE]`, llm.RateLimited, 0, "it broke"},
		{`data: {"error":{"message":"secret key-17 is bad"}}`, llm.Transient, 0, "secret [redacted] is bad"},
	} {
		t.Run(tt.body, func(t *testing.T) {
			ask := RequestInfo{Sent: http.Header{"X-Api-Key": {"key-17"}}}
			resp := &http.Response{Body: io.NopCloser(strings.NewReader(tt.body + "\n\n"))}
			var got *llm.Error
			ask.Stream(resp, Data(resp.Body), &listFold{}, func(_ llm.Delta, err error) bool {
				_ = errors.As(err, &got)
				return true
			})
			if got == nil || got.Class != tt.class || got.RetryAfter != tt.wait || got.Message != tt.text {
				t.Errorf("got %+v", got)
			}
		})
	}
}
