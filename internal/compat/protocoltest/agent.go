package protocoltest

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"ponder/internal/compat"
	"ponder/llm"
)

// An Agent is a protocol that asks questions of an agent: without the client's tools and system
// prompt, and without earlier messages in each request.
type Agent struct {
	Routes func(*compat.Dispatcher) map[string]http.Handler

	// Ask asks a question, of the conversation in a new context. Violations of the protocol fail t.
	Ask func(t *testing.T, r *Rig, token, question string) Reply

	Local bool // without tokens, for a process of its own
}

// CheckAgent checks the requirements of [Check] that apply to agents, in virtual time.
func CheckAgent(t *testing.T, l Agent) {
	for name, f := range map[string]func(*testing.T, Agent){
		"answer": checkAgentAnswer, "failures": checkAgentFailures, "nothing internal": checkAgentInternal, "signs of life": checkAgentLife,
		"who may ask": checkAgentScopes, "the server stops": checkAgentStop,
	} {
		t.Run(name, func(t *testing.T) { synctest.Test(t, func(t *testing.T) { f(t, l) }) })
	}
}

func (l Agent) newRig(t *testing.T, answer func(req *llm.Request, n int) Answer) *Rig {
	return New(t, Options{Model: &Model{Answer: answer}, Tools: Lookups(time.Second), Routes: l.Routes})
}

func (l Agent) ask(t *testing.T, r *Rig, token, question string) Reply {
	t.Helper()
	got := l.Ask(t, r, token, question)
	if strings.Contains(fmt.Sprint(got), canary) {
		t.Errorf("the client sees an internal detail: %+v", got)
	}
	return got
}

func checkAgentAnswer(t *testing.T, l Agent) {
	const text = "The sea is deep,\n\nand salty: 水 <b>."
	r := l.newRig(t, func(*llm.Request, int) Answer {
		return Answer{Reasoning: "Let me see.", Text: text, Pause: time.Second, Piece: 2}
	})
	if got := l.ask(t, r, Mine, "How deep is the sea?"); got.Text != text || got.Error != "" || strings.Contains(got.Text, "Let me see") {
		t.Errorf("told %+v", got)
	}
}

// checkAgentFailures checks that failures hide provider messages, before and after some text.
func checkAgentFailures(t *testing.T, l Agent) {
	for _, after := range []int{0, 2} {
		r := l.newRig(t, func(*llm.Request, int) Answer {
			return Answer{Text: "The sea is deep, and salty.", Err: &llm.Error{Class: llm.Auth, Message: canary, Model: "test/model"}, After: after}
		})
		if got := l.ask(t, r, Mine, "How deep?"); !strings.Contains(got.Error, "rejects the API key") {
			t.Errorf("told %+v", got)
		}
	}
}

func checkAgentInternal(t *testing.T, l Agent) {
	r := l.newRig(t, func(*llm.Request, int) Answer { return Answer{Text: "The sea is deep.", Pause: time.Second, Piece: 2} })
	time.AfterFunc(2500*time.Millisecond, func() {
		for _, info := range r.Threads(Owner) {
			r.appendInternal(info.ID)
		}
	})
	if got := l.ask(t, r, Mine, "How deep?"); got.Text != "The sea is deep." {
		t.Errorf("told %+v", got)
	}
	if len(r.Threads(Owner)) == 0 {
		t.Error("no thread")
	}
}

func checkAgentLife(t *testing.T, l Agent) {
	r := l.newRig(t, func(*llm.Request, int) Answer { return Answer{Text: "deep", Wait: 65 * time.Second} })
	if got := l.ask(t, r, Mine, "How deep?"); got.Text != "deep" || got.Error != "" {
		t.Errorf("told %+v", got)
	}
}

func checkAgentScopes(t *testing.T, l Agent) {
	if l.Local {
		return
	}
	r := l.newRig(t, nil)
	for _, token := range []string{Look, "wrong"} {
		if got := l.ask(t, r, token, "How deep?"); got.Error == "" {
			t.Errorf("%s: %+v", token, got)
		}
	}
	if n := len(r.Threads(Owner)); n > 0 {
		t.Errorf("%d threads were begun", n)
	}
}

// checkAgentStop checks that a stopping server answers no question as if it were complete.
func checkAgentStop(t *testing.T, l Agent) {
	if l.Local {
		return
	}
	r := l.newRig(t, func(*llm.Request, int) Answer { return Answer{Text: "deep", Wait: time.Hour} })
	time.AfterFunc(time.Minute, r.Stop)
	begun := time.Now()
	if got := l.ask(t, r, Mine, "How deep?"); got.Text != "" || time.Since(begun) > 2*time.Minute {
		t.Errorf("told %+v after %s", got, time.Since(begun))
	}
}
