package client

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"ponder"
)

func TestSessions(t *testing.T) {
	d := newTestAPI(t)
	ctx := t.Context()
	s, err := d.Start(ctx, Question{Question: "Why does the pump fail?", Minutes: 1.5, Tokens: 9000, Title: "The pump"})
	if err != nil || s.ID == "" || s.Question != "Why does the pump fail?" || s.Status != ponder.Created || s.Title != "The pump" || s.Budget.Seconds != 90 || s.Budget.Tokens != 9000 || s.Created == nil {
		t.Fatalf("%+v, %v", s, err)
	}
	run := ponder.RunID("run_" + s.ID)
	for _, b := range []ponder.Body{
		ponder.Thought{Content: "It is cold.", Kind: "exploration", Confidence: 0.5}, ponder.Thought{Content: "The valve sticks.", Number: 1, Kind: "insight"},
		ponder.SubQuestion{Content: "How cold?", ID: "q1", Priority: 7}, ponder.Synthesis{Content: "The valve.", Confidence: 0.8, Insights: []string{"cold"}},
	} {
		d.appendEvent(t, s.ID, ponder.Event{Run: run, Body: b})
	}
	if thoughts, err := d.Thoughts(ctx, s.ID, 0); err != nil || len(thoughts) != 2 || thoughts[0].Text != "It is cold." || thoughts[1].Type != "insight" {
		t.Errorf("%+v, %v", thoughts, err)
	}
	if thoughts, err := d.Thoughts(ctx, s.ID, 1); err != nil || len(thoughts) != 1 || thoughts[0].Number != 1 {
		t.Errorf("%+v, %v", thoughts, err)
	}
	if list, err := d.Questions(ctx, s.ID); err != nil || len(list) != 1 || list[0].Text != "How cold?" || list[0].Priority != 7 {
		t.Errorf("%+v, %v", list, err)
	}
	if list, err := d.Syntheses(ctx, s.ID); err != nil || len(list) != 1 || list[0].Confidence != 0.8 || list[0].Insights[0] != "cold" {
		t.Errorf("%+v, %v", list, err)
	}
	if s, err = d.Pause(ctx, s.ID); err != nil || s.Status != ponder.Paused {
		t.Errorf("paused: %+v, %v", s, err)
	}
	if _, err := d.Pause(ctx, s.ID); !errors.Is(err, &Problem{Status: 409}) {
		t.Errorf("paused again: %v", err)
	}
	if s, err = d.Resume(ctx, s.ID, ""); err != nil || s.Status == ponder.Paused {
		t.Errorf("resumed: %+v, %v", s, err)
	}
	if file, err := d.Export(ctx, s.ID, "markdown"); err != nil || string(file) != "markdown of "+s.ID {
		t.Errorf("%q, %v", file, err)
	}
	if err := d.Delete(ctx, s.ID); err != nil {
		t.Error(err)
	}
	if _, err := d.Session(ctx, s.ID); !errors.Is(err, &Problem{Status: 404}) || errors.Is(err, &Problem{Status: 409}) {
		t.Errorf("after it was deleted: %v", err)
	}
	if err := d.Delete(ctx, s.ID); !errors.Is(err, &Problem{Status: 404}) {
		t.Errorf("deleted again: %v", err)
	}
}

// appendEvent appends an event to a session without a holder.
func (d *testAPI) appendEvent(t *testing.T, id string, ev ponder.Event) {
	t.Helper()
	ctx, node := t.Context(), ponder.NodeID(ponder.NewID("nod"))
	if err := d.store.Join(ctx, ponder.Node{ID: node}); err != nil {
		t.Fatal(err)
	}
	lease, err := d.store.Take(ctx, ponder.ThreadID(id), node)
	if err != nil {
		t.Fatal(err)
	}
	list, err := d.store.Append(ctx, ponder.ThreadID(id), lease.Fence, ev)
	if err != nil {
		t.Fatal(err)
	}
	if err := d.store.Release(ctx, ponder.ThreadID(id), lease.Fence, list[0].Seq, 0); err != nil {
		t.Fatal(err)
	}
}

func TestPages(t *testing.T) {
	d := newTestAPI(t)
	var want []string
	for range 45 {
		s, err := d.Start(t.Context(), Question{Question: "Why?"})
		if err != nil {
			t.Fatal(err)
		}
		want = append(want, s.ID)
	}
	all := d.Sessions(t.Context(), "")
	for range 2 { // the iteration restarts
		var got []string
		for s, err := range all {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, s.ID)
		}
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("%d of %d sessions", len(got), len(want))
		}
	}
	n := d.wire.countRequests()
	for range d.Sessions(t.Context(), ponder.Created) {
		break
	}
	if d.wire.countRequests() != n+1 {
		t.Error("more pages were read than looked at")
	}
	for _, err := range New("127.0.0.1:8744", "wrong").withTransport(d.wire).Sessions(t.Context(), "") {
		if !errors.Is(err, &Problem{Status: 401}) {
			t.Errorf("with a wrong token: %v", err)
		}
	}
}

func (c *Client) withTransport(w *wire) *Client {
	c.HTTP.Transport = w
	return c
}

// The error of a Problem names all invalid fields, in one line.
func TestProblem(t *testing.T) {
	d := newTestAPI(t)
	_, err := d.Start(t.Context(), Question{Question: "?", Minutes: 99999, Parallel: 99})
	var p *Problem
	if !errors.As(err, &p) || p.Status != 422 || len(p.Fields) != 3 || strings.Contains(err.Error(), "\n") {
		t.Fatalf("%+v: %v", p, err)
	}
	for _, field := range []string{"body.question", "body.duration_minutes", "body.parallel"} {
		if !slices.ContainsFunc(p.Fields, func(f Field) bool { return f.Location == field && f.Message != "" }) || !strings.Contains(err.Error(), field) {
			t.Errorf("nothing of %s in %v", field, err)
		}
	}
}

func TestUnexpectedAnswers(t *testing.T) {
	for _, tt := range []struct {
		name, body string
		status     int
		want       string
	}{
		{"another program", "<html>hello", 200, "read the answer of the server"},
		{"another program refuses", "<html>no", 403, "check the address"},
		{"a redirect", "", 302, "check the address"},
		{"escape sequences", `{"title":"x","detail":"red \u001b[31m\nlines","status":400}`, 400, "red  [31m lines"},
		{"a title alone", `{"title":"Teapot","status":418}`, 418, "418 I'm a teapot"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := New("http://127.0.0.1:8744/", "").withTransport(&wire{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(tt.status)
				w.Write([]byte(tt.body))
			})})
			if _, err := c.Session(t.Context(), "thr_1"); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%v, want %s", err, tt.want)
			}
		})
	}
	if _, err := New("no address at all\n", "s3cret").Session(t.Context(), "x"); err == nil || strings.Contains(err.Error(), "s3cret") {
		t.Errorf("a bad address: %v", err)
	}
}

// A session starts once, even if messages are lost.
func TestStartedOnce(t *testing.T) {
	for _, tt := range []struct {
		name   string
		faults []fault
	}{
		{"nothing arrives", []fault{{before: errCut}, {before: errCut}}},
		{"the answer is lost", []fault{{after: errCut}, {after: errCut}}},
		{"the answer breaks off", []fault{{cut: 10}, {cut: 100}}},
		{"it is busy", []fault{{status: 503}, {status: 502}, {status: 504}}},
		{"all of it", []fault{{before: errCut}, {after: errCut}, {status: 429, retry: "2"}, {cut: 5}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := newTestAPI(t)
				d.wire.fault = func(n int, _ *http.Request) fault {
					if n < len(tt.faults) {
						return tt.faults[n]
					}
					return fault{}
				}
				s, err := d.Start(t.Context(), Question{Question: "Why?" + strings.Repeat(" so", 10)})
				if err != nil || s.ID == "" {
					t.Fatalf("%+v, %v", s, err)
				}
				d.wire.fault = nil
				count := 0
				for range d.Sessions(t.Context(), "") {
					count++
				}
				if count != 1 {
					t.Errorf("%d sessions", count)
				}
				keys := make(map[string]bool)
				for _, r := range d.wire.asked[:len(tt.faults)+1] {
					keys[r.Header.Get("Idempotency-Key")] = true
				}
				if len(keys) != 1 || keys[""] {
					t.Errorf("keys %v", keys)
				}
			})
		})
	}
}

func TestDeletedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newTestAPI(t)
		s, err := d.Start(t.Context(), Question{Question: "Why?"})
		if err != nil {
			t.Fatal(err)
		}
		d.wire.fault = func(n int, _ *http.Request) fault {
			if n == 1 {
				return fault{after: errCut}
			}
			return fault{}
		}
		if err := d.Delete(t.Context(), s.ID); err != nil {
			t.Errorf("an answer was lost: %v", err)
		}
	})
}

func TestRetries(t *testing.T) {
	for _, tt := range []struct {
		name        string
		patience    time.Duration
		fault       fault
		tries       int // lower limit
		least, most time.Duration
	}{
		{"a server that is not there", 0, fault{before: errCut}, 8, 20 * time.Second, DefaultRetryTime},
		{"longer", 5 * time.Minute, fault{before: errCut}, 60, 4 * time.Minute, 5 * time.Minute},
		{"none", -1, fault{before: errCut}, 1, 0, 0},
		{"a server that says when", 0, fault{status: 503, retry: "12"}, 3, 24 * time.Second, 24 * time.Second},
		{"one that says never", 0, fault{status: 503, retry: "86400"}, 1, 0, 0},
		{"one that refuses", 0, fault{status: 403}, 1, 0, 0},
		{"one that is broken", 0, fault{status: 500}, 1, 0, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := &wire{fault: func(int, *http.Request) fault { return tt.fault }}
				c := New("127.0.0.1:8744", "").withTransport(w)
				c.RetryTime = tt.patience
				began := time.Now()
				_, err := c.Start(t.Context(), Question{Question: "Why?"})
				if took := time.Since(began); err == nil || w.countRequests() < tt.tries || w.countRequests() > 3*tt.tries || took < tt.least || took > tt.most {
					t.Errorf("%d tries in %v: %v", w.countRequests(), took, err)
				}
			})
		})
	}
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		began := time.Now()
		_, err := New("127.0.0.1:8744", "").withTransport(&wire{fault: func(int, *http.Request) fault { return fault{before: errCut} }}).Session(ctx, "x")
		if err == nil || time.Since(began) != time.Second {
			t.Errorf("after %v: %v", time.Since(began), err)
		}
	})
}

func TestRetryAfter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for text, want := range map[string]time.Duration{
			"": 0, "7": 7 * time.Second, "-7": 0, "soon": 0, "999999999999999": maxRetry, "1e9": 0,
			time.Now().Add(90 * time.Second).UTC().Format(http.TimeFormat): 90 * time.Second, time.Now().Add(-time.Hour).UTC().Format(http.TimeFormat): 0,
		} {
			if got := retryAfter(text); got != want {
				t.Errorf("%q is %v, want %v", text, got, want)
			}
		}
	})
}

// Only the server gets the token, and ids cannot change the path.
func TestRequests(t *testing.T) {
	var other, path, token string
	elsewhere := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { other = r.URL.Path }))
	defer elsewhere.Close()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		path, token = r.URL.EscapedPath(), r.Header.Get("Authorization")
		http.Redirect(w, r, elsewhere.URL, http.StatusTemporaryRedirect)
	}))
	defer server.Close()
	c := New(strings.TrimPrefix(server.URL, "http://"), "mine")
	if _, err := c.Session(t.Context(), "../../v1/models?x=y#z"); err == nil || other != "" {
		t.Errorf("followed to %q: %v", other, err)
	}
	if path != "/api/thinking/..%2F..%2Fv1%2Fmodels%3Fx=y%23z" || token != "Bearer mine" {
		t.Errorf("asked %s with %q", path, token)
	}
}
