package compat_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"ponder"
	"ponder/internal/app"
	"ponder/internal/compat"
	"ponder/internal/compat/protocoltest"
	"ponder/llm"
)

func echoAnswer(req *llm.Request, _ int) protocoltest.Answer {
	if strings.Contains(req.System, "title") {
		return protocoltest.Plain("A title")
	}
	last := req.Messages[len(req.Messages)-1].Text()
	return protocoltest.Plain("Answer to " + last[:min(len(last), 40)] + ".")
}

func storedMessages(r *protocoltest.Rig, id ponder.ThreadID) (list []string) {
	for _, ev := range r.Events(id) {
		switch b := ev.Body.(type) {
		case ponder.UserMessage:
			list = append(list, b.Content)
		case ponder.AssistantMessage:
			list = append(list, b.Content)
		}
	}
	return list
}

func startAndCollect(t *testing.T, r *protocoltest.Rig, a compat.Request) (compat.Job, string) {
	t.Helper()
	w := r.Start(a)
	list := r.CollectParts(w, false)
	checkWhole(t, list)
	end := list[len(list)-1].End
	if end.Status != ponder.Completed {
		t.Fatalf("ended %+v", end)
	}
	return w, end.Text
}

// A client with the same history continues its conversation. A different history or owner does not.
func TestConversation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := protocoltest.New(t, protocoltest.Options{Model: &protocoltest.Model{Answer: echoAnswer}})
		one, first := startAndCollect(t, r, newRequest(r, "ponder/chat", "Hello, sea"))
		two, second := startAndCollect(t, r, newRequest(r, "ponder/chat", "Hello, sea", first, "How deep?"))
		three, _ := startAndCollect(t, r, newRequest(r, "ponder/chat", "Hello, sea", first, "How deep?", second, "How wide?"))
		if !one.Fresh || two.Fresh || one.Thread != two.Thread || two.Thread != three.Thread {
			t.Errorf("%+v, %+v, %+v", one, two, three)
		}
		if got := len(storedMessages(r, one.Thread)); got != 6 {
			t.Errorf("%d messages", got)
		}
		other, _ := startAndCollect(t, r, newRequest(r, "ponder/chat", "Hello, sea", first, "How old?"))
		if other.Thread == one.Thread {
			t.Error("it went on with what has gone another way since")
		}
		shown := r.Model.Requests()
		if last := shown[len(shown)-1]; !strings.Contains(fmt.Sprint(last), "Hello, sea") && !strings.Contains(fmt.Sprint(shown[len(shown)-2]), "Hello, sea") {
			t.Error("what was said before is not known")
		}
		edited, _ := startAndCollect(t, r, newRequest(r, "ponder/chat", "Hello, sea", "I never said that", "How deep?"))
		if edited.Thread == one.Thread || edited.Thread == other.Thread {
			t.Error("it went on with a conversation of another answer")
		}
		hers := newRequest(r, "ponder/chat", "Hello, sea", first, "How deep?", second, "How wide?")
		hers.Owner = "anna"
		if w, _ := startAndCollect(t, r, hers); w.Thread == one.Thread {
			t.Error("anna went on with the conversation of another")
		}
		alone := newRequest(r, "ponder/chat", "Hello, sea")
		if w, _ := startAndCollect(t, r, alone); w.Thread == one.Thread {
			t.Error("a beginning went on with something")
		}
	})
}

// A client with a conversation name continues it with any history.
func TestNamedConversation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := protocoltest.New(t, protocoltest.Options{Model: &protocoltest.Model{Answer: echoAnswer}})
		a := newRequest(r, "ponder/chat", "Hello, sea")
		a.Chat = "c1"
		one, _ := startAndCollect(t, r, a)
		a.Messages = []llm.Message{llm.Say(llm.User, "How deep?")}
		two, _ := startAndCollect(t, r, a)
		if one.Thread != two.Thread || one.ID() == two.ID() {
			t.Errorf("%s, then %s", one.ID(), two.ID())
		}
		a.Owner = "anna"
		if three, _ := startAndCollect(t, r, a); three.Thread == one.Thread {
			t.Error("anna has the conversation of another")
		}
	})
}

// A request after a work continues it, or forks it if a later turn exists.
func TestBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := protocoltest.New(t, protocoltest.Options{Model: &protocoltest.Model{Answer: echoAnswer}})
		one, _ := startAndCollect(t, r, newRequest(r, "ponder/chat", "Hello, sea"))
		behind := func(after compat.Job, text string) compat.Request {
			a := newRequest(r, "ponder/chat", text)
			a.After = after
			return a
		}
		two, _ := startAndCollect(t, r, behind(one, "How deep?"))
		fork, _ := startAndCollect(t, r, behind(one, "How wide?"))
		if two.Thread != one.Thread || fork.Thread == one.Thread {
			t.Errorf("%s, %s, %s", one.ID(), two.ID(), fork.ID())
		}
		got := storedMessages(r, fork.Thread)
		if len(got) != 4 || got[0] != "Hello, sea" || got[2] != "How wide?" {
			t.Errorf("the fork has %q", got)
		}
		after, _ := startAndCollect(t, r, behind(fork, "And how old?"))
		if after.Thread != fork.Thread {
			t.Errorf("%s continues %s", after.ID(), fork.ID())
		}
		keyed := behind(one, "How blue?")
		keyed.Key = "k"
		if a, b := r.Start(keyed), r.Start(keyed); a.ID() != b.ID() {
			t.Errorf("%s, then %s", a.ID(), b.ID())
		}
		hers := behind(one, "How deep?")
		hers.Owner = "anna"
		if _, err := r.Desk.Begin(t.Context(), hers); app.CodeOf(err) != app.NotFound {
			t.Errorf("behind the work of another: %v", err)
		}
	})
}

// A request after an exchange or a session knows its content.
func TestFollowUpOfOtherWork(t *testing.T) {
	for _, apart := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			r := protocoltest.New(t, protocoltest.Options{})
			first := newRequest(r, "ponder/session", "Why do whales sing at night?")
			if first.Standalone = apart; apart {
				first.Model, _ = r.Desk.Model("ponder/chat")
			}
			one, _ := startAndCollect(t, r, first)
			a := newRequest(r, "ponder/chat", "Tell me more")
			a.After = one
			two, _ := startAndCollect(t, r, a)
			if two.Thread == one.Thread {
				t.Fatal("it is the same thread")
			}
			for _, req := range r.Model.Requests() {
				if js := fmt.Sprint(req.System, req.Messages); strings.Contains(js, "Tell me more") && strings.Contains(js, "whales") {
					return
				}
			}
			t.Error("what was asked before is not known")
		})
	}
}

func TestWorkNotThere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := protocoltest.New(t, protocoltest.Options{Model: protocoltest.FixedModel("deep")})
		w, _ := startAndCollect(t, r, newRequest(r, "ponder/chat", "How deep?"))
		thread, _, _ := strings.Cut(w.ID(), "-")
		for _, id := range []string{"", "x", thread, thread + "-", thread + "-0", thread + "--1", thread + "-2", thread + "-99999999999999999999", thread + "-999", w.ID() + "-1", "../" + w.ID(), w.ID() + "\x00"} {
			if got, err := r.Desk.FindJob(t.Context(), protocoltest.Owner, id); err == nil && got.ID() != w.ID() {
				t.Errorf("%q is %s", id, got.ID())
			} else if f := r.Desk.APIErrorOf(err); err != nil && f.Status != http.StatusNotFound {
				t.Errorf("%q: %d %s", id, f.Status, f.Detail)
			}
		}
		if _, err := r.Desk.FindJob(t.Context(), "anna", w.ID()); err == nil {
			t.Error("anna finds the work of another")
		}
	})
}

func FuzzModel(f *testing.F) {
	for _, name := range []string{"ponder", "ponder/chat", "ponder/research:a/b", "a/b/c", "ponder/a/b", "gpt-5", "claude-x", "/", "ponder/", "a/", ":", "ponder/ponder/x", " ponder/chat ", "loop", "a b/c"} {
		f.Add(name)
	}
	d := &compat.Dispatcher{Aliases: map[string]string{"gpt-5": "ponder/chat", "claude-*": "anthropic/claude", "loop": "loop", "*": "ponder/session", "claude-opus*": "ponder/research"}}
	bare := &compat.Dispatcher{}
	f.Fuzz(func(t *testing.T, name string) {
		for _, desk := range []*compat.Dispatcher{d, bare} {
			m, ok := desk.Model(name)
			if !ok {
				if m != (compat.Model{}) {
					t.Errorf("%q means nothing, and %+v", name, m)
				}
				continue
			}
			if m.Name != name || m.Kind != compat.Chat && m.Kind != compat.Research && m.Kind != compat.Session {
				t.Errorf("%q: %+v", name, m)
			}
			if provider, model, cut := strings.Cut(m.Model, "/"); m.Model != "" && (!cut || provider == "" || model == "" || provider == "ponder") {
				t.Errorf("%q is thought by %q", name, m.Model)
			}
		}
	})
}
