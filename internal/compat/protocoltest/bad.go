package protocoltest

import (
	"cmp"
	"context"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"ponder/llm"
)

type Bad struct {
	Path, Body string
	Code       int    // 0: 400
	Why        string // part of the error
}

// CheckBad checks that the requests are refused in the protocol's format and create nothing.
func CheckBad(t *testing.T, l Language, list []Bad) {
	synctest.Test(t, func(t *testing.T) {
		r := l.newRig(t, func(*llm.Request, int) Answer { return Plain("fine") })
		for _, b := range append(list, Bad{Path: list[0].Path, Body: `{"model":"` + strings.Repeat("x", maxBody) + `"}`, Code: http.StatusRequestEntityTooLarge, Why: "more than"}) {
			b.Code = cmp.Or(b.Code, http.StatusBadRequest)
			got := r.Stream(Request(context.Background(), http.MethodPost, b.Path, b.Body), 0)
			reply, err := l.Read(got)
			if got.Code != b.Code || err != nil || !strings.Contains(reply.Error, b.Why) {
				t.Errorf("%s %.200s: %d %s, %v; want %d %s", b.Path, b.Body, got.Code, got.Body, err, b.Code, b.Why)
			}
		}
		if n := len(r.Threads(Owner)); n > 0 {
			t.Errorf("%d threads were begun", n)
		}
	})
}

// Fuzz checks that no body causes a server error, and that errors have the protocol's format.
func Fuzz(f *testing.F, l Language, path string, seeds ...string) {
	for _, s := range seeds {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, body string) {
		synctest.Test(t, func(t *testing.T) {
			r := l.newRig(t, func(*llm.Request, int) Answer { return Plain("fine") })
			got := r.Stream(Request(context.Background(), http.MethodPost, path, body), 0)
			if got.Code >= http.StatusInternalServerError {
				t.Errorf("%d %s", got.Code, got.Body)
			}
			if _, err := l.Read(got); got.Code != http.StatusOK && err != nil {
				t.Errorf("%d %s: %v", got.Code, got.Body, err)
			}
		})
	})
}
