package protocoltest

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"ponder"
	"ponder/internal/auth"
	"ponder/internal/compat"
	"ponder/llm"
)

type Language struct {
	Routes func(*compat.Dispatcher) map[string]http.Handler
	Refuse func(w http.ResponseWriter, r *http.Request, why *auth.Refusal) bool

	// Ask encodes a request.
	Ask func(Prompt) (path, body string)
	// Read parses any response. Violations of the protocol are errors.
	Read func(Stream) (Reply, error)

	Sign string // heartbeat of a stream
	Chat string // header with the conversation's name; empty: none
}

type Prompt struct {
	Model    string // empty: ponder/chat
	System   string
	Messages []string // by user and model in turn
	Stream   bool
	Tool     bool // the client has the tool weather
}

type Reply struct {
	ID       string // equal for equal answers; empty if the protocol has none
	Text     string
	Thinking string
	Calls    []llm.ToolCall
	Error    string
}

// canary marks internal text.
const canary = "CANARY-7f3"

// Check checks all requirements of a protocol, in virtual time.
func Check(t *testing.T, l Language) {
	for name, f := range map[string]func(*testing.T, Language){
		"answer": checkAnswer, "research": checkResearch, "calls": checkCalls, "failures": checkFailures, "the request is at fault": checkFault, "statuses": checkStatuses, "begun answers": checkPrefill,
		"the client goes away": checkLeave, "signs of life": checkLife, "found again": checkFound, "keys": checkKeys, "sent again": checkAgain, "begun anew": checkRestart,
		"nothing internal": checkInternal, "who may ask": checkScopes, "the server stops": checkStop, "approvals": checkApprovals, "approvals alone": checkApprovalAlone,
	} {
		t.Run(name, func(t *testing.T) { synctest.Test(t, func(t *testing.T) { f(t, l) }) })
	}
}

func (l Language) newRig(t *testing.T, answer func(req *llm.Request, n int) Answer) *Rig {
	return New(t, Options{Model: &Model{Answer: answer}, Tools: Lookups(time.Second), Routes: l.Routes, Refuse: l.Refuse})
}

// newRequest takes headers as names and values in turn.
func (l Language) newRequest(s Prompt, headers ...string) *http.Request {
	s.Model = cmp.Or(s.Model, "ponder/chat")
	path, body := l.Ask(s)
	r := Request(context.Background(), http.MethodPost, path, body)
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	return r
}

func (l Language) sendPrompt(t *testing.T, r *Rig, s Prompt, headers ...string) (Reply, Stream) {
	t.Helper()
	got := r.Stream(l.newRequest(s, headers...), 0)
	reply, err := l.Read(got)
	if err != nil {
		t.Fatalf("%v, in %d %s", err, got.Code, got.Body)
	}
	if strings.Contains(got.Body, canary) {
		t.Errorf("the client sees an internal detail: %s", got.Body)
	}
	return reply, got
}

func forBoth(s Prompt, f func(Prompt)) {
	for _, s.Stream = range []bool{true, false} {
		f(s)
	}
}

func checkAnswer(t *testing.T, l Language) {
	r := l.newRig(t, func(*llm.Request, int) Answer {
		return Answer{Reasoning: "Let me see.", Text: "The sea is deep,\n\nand salty.", Pause: time.Second}
	})
	for _, tool := range []bool{true, false} {
		forBoth(Prompt{Messages: []string{"How deep is the sea?"}, System: "Be brief.", Tool: tool}, func(s Prompt) {
			got, out := l.sendPrompt(t, r, s)
			if got.Text != "The sea is deep,\n\nand salty." || strings.TrimSpace(got.Thinking) != "Let me see." || got.Error != "" || out.Code != http.StatusOK {
				t.Errorf("%+v: told %+v", s, got)
			}
		})
	}
	for _, req := range r.Model.Requests()[:2] {
		if !strings.Contains(req.System, "Be brief.") || len(req.Tools) != 1 || req.Tools[0].Name != "weather" || !strings.Contains(string(req.Tools[0].Schema), "city") {
			t.Errorf("asked %q with %+v", req.System, req.Tools)
		}
	}
}

func checkResearch(t *testing.T, l Language) {
	r := l.newRig(t, nil)
	forBoth(Prompt{Model: "ponder/research", Messages: []string{"How deep is the sea, and why?"}}, func(s Prompt) {
		got, _ := l.sendPrompt(t, r, s)
		if len(got.Text) < 20 || !strings.Contains(got.Thinking, "Looking for: ") || got.Error != "" {
			t.Errorf("told %+v", got)
		}
	})
}

func checkCalls(t *testing.T, l Language) {
	calls := []llm.ToolCall{{ID: "c1", Name: "weather", Input: []byte(`{"city":"Rome"}`)}, {ID: "c2", Name: "weather", Input: []byte(`{"city":"Oslo"}`)}}
	r := l.newRig(t, func(*llm.Request, int) Answer { return Answer{Text: "I look.", Calls: calls} })
	forBoth(Prompt{Messages: []string{"How is the weather?"}, Tool: true}, func(s Prompt) {
		got, _ := l.sendPrompt(t, r, s)
		if got.Text != "I look." || len(got.Calls) != len(calls) {
			t.Fatalf("told %+v", got)
		}
		for i, c := range got.Calls {
			if c.Name != "weather" || string(c.Input) != string(calls[i].Input) || i > 0 && c.ID == got.Calls[0].ID && c.ID != "" {
				t.Errorf("call %d is %s %s %s", i, c.ID, c.Name, c.Input)
			}
		}
	})
}

// checkFailures checks that failures hide provider messages and are not repeated from a cache.
func checkFailures(t *testing.T, l Language) {
	for _, after := range []int{0, 2} {
		asked := 0
		r := l.newRig(t, func(*llm.Request, int) Answer {
			asked++
			return Answer{Text: "The sea is deep, and salty.", Err: &llm.Error{Class: llm.Auth, Message: canary, Model: "test/model"}, After: after}
		})
		for _, tool := range []bool{true, false} {
			forBoth(Prompt{Messages: []string{"How deep?"}, Tool: tool}, func(s Prompt) {
				before := asked
				got, out := l.sendPrompt(t, r, s)
				if !strings.Contains(got.Error, "rejects the API key") || !s.Stream && out.Code < 500 {
					t.Errorf("%+v: told %d %+v", s, out.Code, got)
				}
				l.sendPrompt(t, r, s)
				if asked < before+2 {
					t.Errorf("%+v: a stored failure is sent again without a call of the model", s)
				}
			})
		}
	}
}

func checkFault(t *testing.T, l Language) {
	r := l.newRig(t, func(*llm.Request, int) Answer { return Answer{Err: &llm.Error{Class: llm.TooLong, Message: canary}} })
	got, out := l.sendPrompt(t, r, Prompt{Messages: []string{"How deep?"}, Tool: true})
	if out.Code != http.StatusBadRequest || !strings.Contains(got.Error, "too long") {
		t.Errorf("told %d %+v", out.Code, got)
	}
}

// LongText returns n sentences, at most 100, that do not repeat each other.
func LongText(n int) string {
	nouns, adjectives := strings.Fields("sea trench ridge shelf vent reef gulf bay strait basin"), strings.Fields("deep cold dark salty wide calm old steep quiet warm")
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "The %s is %s. ", nouns[i%10], adjectives[(i/10+3*i)%10])
	}
	return b.String()
}

// checkLeave checks that an abandoned exchange is cancelled and a conversation continues.
func checkLeave(t *testing.T, l Language) {
	r := l.newRig(t, func(*llm.Request, int) Answer {
		return Answer{Text: LongText(40), Pause: time.Second}
	})
	for kind, want := range map[ponder.Kind]ponder.Status{ponder.KindExchange: ponder.Cancelled, ponder.KindConversation: ponder.Completed} {
		forBoth(Prompt{Messages: []string{"How deep?"}, Tool: kind == ponder.KindExchange}, func(s Prompt) {
			ctx, leave := context.WithTimeout(context.Background(), 2*time.Second)
			defer leave()
			r.Stream(l.newRequest(s).WithContext(ctx), 0)
			time.Sleep(5 * time.Minute)
			list := r.Threads(Owner)
			if info := list[len(list)-1]; info.Kind != kind || info.Status != want {
				t.Errorf("%s: %s is %s, want %s", info.ID, info.Kind, info.Status, want)
			}
		})
	}
}

func checkLife(t *testing.T, l Language) {
	r := l.newRig(t, func(*llm.Request, int) Answer { return Answer{Text: "deep", Wait: 65 * time.Second} })
	got, out := l.sendPrompt(t, r, Prompt{Messages: []string{"How deep?"}, Stream: true})
	if n := strings.Count(out.Body, l.Sign); n < 4 || got.Text != "deep" {
		t.Errorf("%d signs of life in %s", n, out.Body)
	}
}

func (r *Rig) countConversations(owner string) (n int) {
	for _, info := range r.Threads(owner) {
		if info.Kind == ponder.KindConversation {
			n++
		}
	}
	return n
}

func checkFound(t *testing.T, l Language) {
	r := l.newRig(t, func(*llm.Request, int) Answer { return Plain("very deep") })
	want := func(owner string, n int) {
		t.Helper()
		if got := r.countConversations(owner); got != n {
			t.Errorf("%d conversations of %s, want %d", got, owner, n)
		}
	}
	said := []string{"How deep?", "very deep", "And why?"}
	l.sendPrompt(t, r, Prompt{Messages: said[:1]})
	l.sendPrompt(t, r, Prompt{Messages: said, Stream: true})
	want(Owner, 1)
	l.sendPrompt(t, r, Prompt{Messages: []string{"How deep?", "not at all", "And why?"}})
	want(Owner, 2)
	l.sendPrompt(t, r, Prompt{Messages: append(said, "very deep", "So?")}, "Authorization", "Bearer "+Hers)
	want(Owner, 2)
	want("anna", 1)
	if l.Chat == "" {
		return
	}
	l.sendPrompt(t, r, Prompt{Messages: []string{"One"}}, l.Chat, "chat 1")
	l.sendPrompt(t, r, Prompt{Messages: []string{"Two"}}, l.Chat, "chat 1")
	want(Owner, 3)
	l.sendPrompt(t, r, Prompt{Messages: []string{"Two"}}, l.Chat, "chat 1", "Authorization", "Bearer "+Hers)
	want(Owner, 3)
	want("anna", 2)
}

func checkKeys(t *testing.T, l Language) {
	r := l.newRig(t, func(*llm.Request, int) Answer { return Plain("deep") })
	forBoth(Prompt{Tool: true}, func(s Prompt) {
		before := len(r.Model.Requests())
		s.Messages = []string{"How deep?"}
		key := []string{"Idempotency-Key", map[bool]string{true: "a", false: "b"}[s.Stream]}
		one, _ := l.sendPrompt(t, r, s, key...)
		two, _ := l.sendPrompt(t, r, s, key...)
		if one.Text != "deep" || two.Text != one.Text || one.ID != two.ID || len(r.Model.Requests()) != before+1 {
			t.Errorf("told %+v, and %+v", one, two)
		}
		l.sendPrompt(t, r, s, append(key, "Authorization", "Bearer "+Hers)...)
		if len(r.Model.Requests()) != before+2 {
			t.Error("the key of another owner counts")
		}
		s.Messages = []string{"How salty?"}
		if other, out := l.sendPrompt(t, r, s, key...); out.Code != http.StatusUnprocessableEntity || other.Error == "" {
			t.Errorf("other words: %d %+v", out.Code, other)
		}
	})
}

func checkAgain(t *testing.T, l Language) {
	r := l.newRig(t, func(*llm.Request, int) Answer { return Answer{Text: "deep", Wait: 8 * time.Second} })
	forBoth(Prompt{Messages: []string{"How deep?"}, Tool: true}, func(s Prompt) {
		before := len(r.Model.Requests())
		want := func(n int, when string) {
			t.Helper()
			if got := len(r.Model.Requests()) - before; got != n {
				t.Errorf("%s: %d requests, want %d", when, got, n)
			}
		}
		ctx, leave := context.WithTimeout(context.Background(), time.Second)
		defer leave()
		r.Stream(l.newRequest(s).WithContext(ctx), 0)
		if got, _ := l.sendPrompt(t, r, s); got.Text != "deep" {
			t.Errorf("told %+v", got)
		}
		want(1, "behind one that was not waited for")
		l.sendPrompt(t, r, s, "X-Stainless-Retry-Count", "1")
		want(1, "said to be sent again")
		l.sendPrompt(t, r, s)
		want(2, "once more")
		l.sendPrompt(t, r, s, "Authorization", "Bearer "+Hers, "X-Stainless-Retry-Count", "1")
		want(3, "by another owner")
	})
}

// checkRestart checks that a stream fails if a restarted answer does not extend the sent text.
func checkRestart(t *testing.T, l Language) {
	const question, first, readEvents = "How deep?", "The sea is deep, as all know who were there once.", 3
	for name, c := range map[string]struct {
		again string
		fails bool
	}{
		"the same":             {first, false},
		"more":                 {first + " So it is.", false},
		"other than was heard": {"The sea is deep, as all know who sail.", false}, // differs from received text, not from sent text
		"other words":          {"It is 42.", true},
		"other at last":        {"The sea is deep, as it was.", true},
		"less":                 {"The sea is", true},
	} {
		asked := 0
		r := l.newRig(t, func(req *llm.Request, _ int) Answer {
			if req.Messages[len(req.Messages)-1].Text() != question {
				return Plain("The sea") // a title
			}
			if asked++; asked%2 == 1 {
				return Answer{Text: first, Pause: 100 * time.Millisecond, Err: &llm.Error{Class: llm.Truncated, Message: canary}, After: readEvents}
			}
			return Answer{Text: c.again, Pause: 100 * time.Millisecond}
		})
		for _, tool := range []bool{true, false} {
			forBoth(Prompt{Messages: []string{question}, Tool: tool}, func(s Prompt) {
				before := asked
				got, _ := l.sendPrompt(t, r, s)
				if !s.Stream || !c.fails {
					if got.Text != c.again || got.Error != "" {
						t.Errorf("%s: %+v: told %+v", name, s, got)
					}
					return
				}
				if got.Text == "" || !strings.HasPrefix(first, got.Text) || !strings.Contains(got.Error, "restarted its answer") {
					t.Errorf("%s: %+v: told %+v", name, s, got)
				}
				if got, _ := l.sendPrompt(t, r, s); got.Text != c.again || got.Error != "" || asked != before+2 {
					t.Errorf("%s: %+v: asked again, and told %+v", name, s, got)
				}
			})
		}
	}
}

// checkInternal checks that internal events and the system prompt never reach a client.
func checkInternal(t *testing.T, l Language) {
	r := l.newRig(t, func(*llm.Request, int) Answer {
		return Answer{Reasoning: "Hm.", Text: "The sea is deep.", Pause: time.Second, Piece: 2}
	})
	for _, tool := range []bool{true, false} {
		forBoth(Prompt{Messages: []string{"How deep?"}, System: canary, Tool: tool}, func(s Prompt) {
			known := len(r.Threads(Owner))
			time.AfterFunc(2500*time.Millisecond, func() {
				list := r.Threads(Owner)
				if len(list) != known+1 {
					t.Errorf("%d threads", len(list))
				}
				r.appendInternal(list[len(list)-1].ID)
			})
			if got, _ := l.sendPrompt(t, r, s); got.Text != "The sea is deep." || strings.TrimSpace(got.Thinking) != "Hm." {
				t.Errorf("told %+v", got)
			}
		})
	}
}

func (r *Rig) appendInternal(id ponder.ThreadID) {
	_, err := r.Store.Append(context.Background(), id, 0,
		ponder.Event{Internal: true, Body: ponder.AttachmentAdded{Name: canary, Media: "text/plain", Content: canary}})
	if err != nil {
		r.t.Error(err)
	}
}

func checkScopes(t *testing.T, l Language) {
	r := l.newRig(t, nil)
	for auth, want := range map[string]int{"Bearer " + Look: http.StatusForbidden, "Bearer wrong": http.StatusUnauthorized, "": http.StatusUnauthorized} {
		forBoth(Prompt{Messages: []string{"How deep?"}}, func(s Prompt) {
			if got, out := l.sendPrompt(t, r, s, "Authorization", auth); out.Code != want || got.Error == "" {
				t.Errorf("%q: %d %+v", auth, out.Code, got)
			}
		})
	}
	if n := len(r.Threads(Owner)); n > 0 {
		t.Errorf("%d threads were begun", n)
	}
}

// checkStop checks that a stopping server ends streams with an error.
func checkStop(t *testing.T, l Language) {
	r := l.newRig(t, func(*llm.Request, int) Answer { return Answer{Text: "deep", Wait: time.Hour} })
	time.AfterFunc(time.Minute, r.Stop)
	begun := time.Now()
	forBoth(Prompt{Messages: []string{"How deep?"}}, func(s Prompt) {
		if got, _ := l.sendPrompt(t, r, s); got.Error == "" || time.Since(begun) > 2*time.Minute {
			t.Errorf("told %+v after %s", got, time.Since(begun))
		}
	})
}
