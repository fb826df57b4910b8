package simulation

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"strings"
	"time"

	"ponder"
	"ponder/llm"
	"ponder/mode/subconscious"
)

// A model is a model of the provider, as one node sees it.
type model struct {
	*node
	name string
}

func (n *node) models() map[ponder.Role][]ponder.Model {
	price := ponder.Price{Source: ponder.PriceTable, Input: 1, Output: 4}
	first, second := &model{n, "sim/first"}, &model{n, "sim/second"}
	one, two := []ponder.Model{{Model: first, Price: price}}, []ponder.Model{{Model: first, Price: price}, {Model: second, Price: price}}
	models := map[ponder.Role][]ponder.Model{ponder.Fast: one, ponder.Slow: two, ponder.Cheap: one, ponder.Frontier: one}
	for _, r := range subconscious.DefaultRoles() {
		models[subconscious.ModelOf(r.Name)] = one
	}
	return models
}

func (m *model) Name() string { return m.name }

// A behaviour is what the provider does with a request.
type behaviour int

const (
	answers behaviour = iota
	answersSlowly
	answersTwice
	answersLate // also after the call was cancelled
	claimsTooMuch
	limitsRate
	fails
	breaksOff
	refusesUnsent
)

// behaviourOf returns what the provider does with a call.
func (w *world) behaviourOf(name string) behaviour {
	if w.isCalm() {
		return answers
	}
	for _, b := range []struct {
		share int
		behaviour
	}{{8, answersSlowly}, {4, answersTwice}, {4, answersLate}, {3, claimsTooMuch}, {6, limitsRate}, {5, fails}, {4, breaksOff}, {3, refusesUnsent}} {
		if w.number(100, fmt.Sprint(b.behaviour, name)) < b.share {
			return b.behaviour
		}
	}
	return answers
}

func (m *model) Generate(ctx context.Context, req *llm.Request) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		cancelled := &llm.Error{Class: llm.Cancelled, Model: m.name, Message: "cancelled", Err: ctx.Err()}
		if m.pass(fmt.Sprint("send ", hashRequest(req))) != nil || ctx.Err() != nil {
			yield(llm.Delta{}, cancelled)
			return
		}
		call := m.checker.noteSend(m.node, req)
		name := fmt.Sprint(call)
		does := m.behaviourOf(name)
		m.record("%s sends %v: %d", m.node.name, call, does)
		takes := m.duration(50*time.Millisecond, 12*time.Second, "takes "+name)
		if does == answersSlowly {
			takes += m.duration(10*time.Second, 100*time.Second, "slow "+name)
		}
		if m.isCalm() {
			takes = min(takes, m.duration(50*time.Millisecond, 2*time.Second, "calm "+name))
		}
		done := ctx.Done()
		if does == answersLate {
			done = nil
		}
		t := time.NewTimer(takes)
		select {
		case <-t.C:
		case <-m.closed:
		case <-done:
			t.Stop()
			_ = m.pass("cancelled " + name)
			yield(llm.Delta{}, cancelled)
			return
		}
		if m.faultAt("answer") == killBefore {
			m.kill("with an answer")
		}
		if m.pass("answer "+name) != nil {
			yield(llm.Delta{}, cancelled)
			return
		}
		if err := m.failure(does, name); err != nil {
			if does != breaksOff || yield(llm.Delta{Text: "it br"}, nil) {
				yield(llm.Delta{}, err)
			}
			return
		}
		message, finish := llm.Say(llm.Assistant, "answer to "+string(call.run)+" "+call.cause), llm.FinishStop
		if isReal(call.mode) {
			message = m.answerReal(req, name)
		}
		if len(message.Calls()) > 0 {
			finish = llm.FinishTools
		}
		text := message.Text()
		use := llm.Usage{Input: req.Size() / 4, Output: message.Size()/4 + 1}
		if does == claimsTooMuch {
			use.Output *= 1000
		}
		resp := &llm.Response{Message: message, Finish: finish, Model: m.name, Usage: use}
		if yield(llm.Delta{Text: text}, nil) && yield(llm.Delta{Done: resp}, nil) && does == answersTwice {
			yield(llm.Delta{Done: resp}, nil)
		}
	}
}

// failure returns the error of a call, or nil. Each error names the time of the next attempt, as
// the wait would be random otherwise.
func (m *model) failure(does behaviour, name string) error {
	e := &llm.Error{Model: m.name, Message: "failed", RetryAfter: m.duration(200*time.Millisecond, 3*time.Second, "retry "+name)}
	switch does {
	case limitsRate:
		e.Class, e.RetryAfter = llm.RateLimited, m.duration(time.Second, 40*time.Second, "limit "+name)
	case fails:
		e.Class = llm.Transient
	case breaksOff:
		e.Class = llm.Truncated
	case refusesUnsent:
		e.Class, e.Unsent = llm.Transient, true
	default:
		return nil
	}
	return e
}

// tools returns the tools of a node: one that may be repeated, and one that must not.
func (n *node) tools() []ponder.Tool {
	use := func(ctx context.Context, key string) (string, error) {
		c := ponder.ToolContextFrom(ctx)
		return "found " + key, n.use(ctx, fmt.Sprint("tool ", c.Thread, c.Run, key))
	}
	type input struct{ Key string }
	look := ponder.NewTool("look", "Look.", nil, func(ctx context.Context, in input) (string, error) { return use(ctx, in.Key) })
	act := ponder.NewTool("act", "Act.", nil, func(ctx context.Context, in input) (string, error) {
		c := ponder.ToolContextFrom(ctx)
		if err := n.pass(fmt.Sprint("act ", c.Thread, c.Run, in.Key)); err != nil {
			return "", err
		}
		if ctx.Err() == nil {
			n.record("%s acts %s %s %s", n.name, c.Thread, c.Run, in.Key)
			n.checker.noteOnce(c.Thread, c.Run, in.Key)
		}
		return use(ctx, in.Key)
	})
	act.Once = true
	return append(n.searchTools(), look, act)
}

// use lets the use of a tool with a name take its time.
func (n *node) use(ctx context.Context, name string) error {
	select {
	case <-time.After(n.duration(10*time.Millisecond, 4*time.Second, name)):
	case <-ctx.Done():
	}
	if err := n.pass(name); err != nil {
		return err
	}
	return ctx.Err()
}

func toolArgs(key string) json.RawMessage { return json.RawMessage(`{"Key":"` + key + `"}`) }

func mapKeys[K comparable, V any](m map[K]V) iter.Seq[K] { return maps.Keys(m) }

// secret marks content that no user may see.
const secret = "SECRET"

func hasSecret(text string) bool { return strings.Contains(text, secret) }
