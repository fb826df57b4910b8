package protocoltest

import (
	"cmp"
	"context"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

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

// checkStatuses checks the statuses of early failures, streamed or not, and that a repeat by an SDK
// asks the model again.
func checkStatuses(t *testing.T, l Language) {
	for _, c := range []struct {
		class llm.Class
		code  int
		after string
		words string
	}{
		{llm.RateLimited, http.StatusTooManyRequests, "3600", "rate limit"},
		{llm.TooLong, http.StatusBadRequest, "", "prompt is too long: it exceeds the context window. This model's maximum context length is"},
		{llm.Filtered, http.StatusBadRequest, "", "refuses the content"},
		{llm.BadRequest, http.StatusBadRequest, "", "rejects the request"},
		{llm.Payment, http.StatusPaymentRequired, "", "no money"},
		{llm.Auth, http.StatusBadGateway, "", "rejects the API key"},
		{llm.Unreachable, http.StatusServiceUnavailable, "3600", "cannot be reached"},
	} {
		r := l.newRig(t, func(*llm.Request, int) Answer {
			return Answer{Err: &llm.Error{Class: c.class, Message: canary, RetryAfter: time.Hour}}
		})
		for _, tool := range []bool{true, false} {
			forBoth(Prompt{Messages: []string{"How deep?"}, Tool: tool}, func(s Prompt) {
				asked := len(r.Model.Requests())
				for i, header := range []string{"0", "1"} {
					got, out := l.sendPrompt(t, r, s, "X-Stainless-Retry-Count", header)
					if out.Code != c.code || out.Header.Get("Retry-After") != c.after || !strings.Contains(got.Error, c.words) {
						t.Errorf("%s, %+v: told %d, after %q: %+v", c.class, s, out.Code, out.Header.Get("Retry-After"), got)
					}
					if n := len(r.Model.Requests()) - asked; n <= i {
						t.Errorf("%s, %+v: %d requests after %d", c.class, s, n, i+1)
					}
				}
			})
		}
	}
}

// checkPrefill checks that an answer continues the last message of the client, without repeating it.
func checkPrefill(t *testing.T, l Language) {
	for _, c := range []struct{ begun, answer, want string }{
		{"The sea is", "deep, and salty.", "deep, and salty."},
		{"The sea is", "The sea is deep, and salty.", "deep, and salty."},
		{"The sea is", "The sea", "The sea"},
		{"The sea is", "The seal is grey.", "The seal is grey."},
		{"{", `{"depth":11}`, `"depth":11}`},
	} {
		for _, pause := range []time.Duration{0, time.Second} {
			r := l.newRig(t, func(*llm.Request, int) Answer { return Answer{Text: c.answer, Pause: pause} })
			forBoth(Prompt{Messages: []string{"How deep?", c.begun}}, func(s Prompt) {
				got, out := l.sendPrompt(t, r, s)
				if strings.TrimSpace(got.Text) != c.want || out.Code != http.StatusOK {
					t.Errorf("%q, %q: told %d %+v", c.begun, c.answer, out.Code, got)
				}
			})
			if n := r.countConversations(Owner); n > 0 {
				t.Errorf("%d conversations", n)
			}
			last := r.Model.Requests()[0].Messages
			if n := len(last); n != 3 || last[1].Role != llm.Assistant || last[1].Text() != c.begun || last[2].Role != llm.User {
				t.Errorf("asked %+v", last)
			}
		}
	}
}
