package simulation

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"strings"

	"ponder"
	"ponder/llm"
	"ponder/mode/chat"
)

// The names of the test modes. Work is a tree of runs with calls, tools and writes; talk answers
// each message once.
const (
	workMode = "work"
	talkMode = "talk"
)

// modes returns the modes of a node. The two test modes are small, so that a seed is fast, and
// use each kind of action. The real modes run in a share of the seeds.
func modes() []ponder.Mode {
	return append(realModes(),
		ponder.Mode{Name: workMode, Version: 1, Start: startWork, Load: loadState[work]},
		ponder.Mode{
			Name: talkMode, Version: 1, History: true,
			Wakes: func(ev ponder.Event) bool {
				b, ok := ev.Body.(ponder.UserMessage)
				return ok && strings.HasPrefix(b.Content, "talk ")
			},
			Start: func(r ponder.Run) ponder.State { return talk{} },
			Carry: func(_ ponder.Run, last ponder.State) ponder.State { return last.(talk).carried() },
			Load:  loadState[talk],
		},
		chatMode(),
	)
}

// chatMode is the real mode of conversations, for threads whose messages begin with "chat ".
func chatMode() ponder.Mode {
	m := chat.New(chat.Options{})
	m.Wakes = func(ev ponder.Event) bool {
		b, ok := ev.Body.(ponder.UserMessage)
		return ok && strings.HasPrefix(b.Content, "chat ")
	}
	return m
}

func loadState[S ponder.State](_ ponder.Run, js []byte) (ponder.State, error) {
	var s S
	err := json.Unmarshal(js, &s)
	return s, err
}

// A plan is the shape of a work run. It is the options of the run.
type plan struct {
	Seed  uint64
	Steps int
	Width int
	Depth int // of runs below it
	Notes int // thoughts after each step
}

// work is the state of a run that makes some actions at once, writes thoughts about them, and
// repeats that. Its thoughts contain a digest of all that it observed.
type work struct {
	Run      ponder.RunID
	Plan     plan
	Step     int
	Seen     map[string]bool // finished actions of the step
	Told     bool            // the budget is spent, or the user wants the answer
	Ended    string          // the answer of the last call
	HasEnded bool
	Digest   uint64
	Commands int // commands that it observed
	Acked    int // commands that it acknowledged
}

func startWork(r ponder.Run) ponder.State {
	w := work{Run: r.ID}
	_ = json.Unmarshal(r.Options, &w.Plan)
	return w
}

// observe adds an event to a digest.
func observe(digest uint64, ev ponder.Event) uint64 {
	h := fnv.New64a()
	fmt.Fprintf(h, "%x %s %s %s", digest, ev.Run, ev.Cause, ev.Body.Type())
	return h.Sum64()
}

func (w work) Apply(ev ponder.Event) ponder.State {
	switch b := ev.Body.(type) {
	case ponder.CallFinished:
		if ev.ActionKey() == "final" {
			w.HasEnded, w.Ended = true, b.Text()+b.Error
		}
		w.see(ev.ActionKey())
	case ponder.ToolResult:
		w.see(ev.ActionKey())
	case ponder.RunFinished:
		w.see(string(ev.Run[len(w.Run)+1:]))
	case ponder.BudgetSpent:
		w.Told = true
	case ponder.Steer:
		w.Told = w.Told || b.Do == ponder.AnswerNow
		w.Commands++
	case ponder.Thought:
		if ev.Run == w.Run && b.Kind == "last" {
			w.Step, w.Seen = b.Number+1, nil
		}
		return w
	case ponder.Progress:
		if ev.Run == w.Run {
			w.Acked++
		}
		return w
	default:
		return w
	}
	w.Digest = observe(w.Digest, ev)
	return w
}

func (w *work) see(key string) {
	seen := maps.Clone(w.Seen)
	if seen == nil {
		seen = make(map[string]bool)
	}
	seen[key] = true
	w.Seen = seen
}

func (w work) Next(ponder.Moment) (do []ponder.Action) {
	for i := w.Acked; i < w.Commands; i++ {
		do = append(do, ponder.Write{Key: fmt.Sprintf("ack-%d", i), Bodies: []ponder.Body{ponder.Progress{Stage: "ack", Content: fmt.Sprint(i)}}})
	}
	switch {
	case w.HasEnded:
		return append(do, ponder.Finish{Answer: fmt.Sprintf("done %x: %s", w.Digest, w.Ended)})
	case w.Told || w.Step >= w.Plan.Steps:
		return append(do, w.call("final", ponder.Frontier))
	}
	var open []ponder.Action
	for i := range w.Plan.Width {
		if a := w.action(i); !w.Seen[keyOf(a)] {
			open = append(open, a)
		}
	}
	if len(open) > 0 {
		return append(do, open...)
	}
	return append(do, w.notes()...)
}

// notes returns the thoughts after a step.
func (w work) notes() []ponder.Action {
	bodies := make([]ponder.Body, max(2, w.Plan.Notes))
	for i := range bodies {
		bodies[i] = ponder.Thought{Content: fmt.Sprintf("%x", w.Digest), Number: w.Step, Kind: "more"}
	}
	bodies[len(bodies)-1] = ponder.Thought{Content: fmt.Sprintf("%x", w.Digest), Number: w.Step, Kind: "last"}
	return []ponder.Action{
		ponder.Write{Key: fmt.Sprintf("inner-%d", w.Step), Internal: true, Bodies: []ponder.Body{ponder.SystemNote{Content: secret}}},
		ponder.Write{Key: fmt.Sprintf("note-%d", w.Step), Bodies: bodies},
	}
}

// action returns an action of the step.
func (w work) action(i int) ponder.Action {
	key := fmt.Sprintf("%d.%d", w.Step, i)
	h := observe(w.Plan.Seed, ponder.Event{Cause: key, Body: ponder.Steer{}}) >> 20
	switch h % 8 {
	case 0:
		return ponder.Do{Key: "look:" + key, Tool: "look", Args: toolArgs("look:" + key), Internal: true}
	case 1:
		return ponder.Do{Key: "act:" + key, Tool: "act", Args: toolArgs("act:" + key)}
	case 2:
		if w.Plan.Depth > 0 {
			p := plan{Seed: h, Steps: 1, Width: 2, Depth: w.Plan.Depth - 1}
			js, _ := json.Marshal(p)
			b := ponder.Budget{}
			if h%16 < 8 {
				b.Calls = 2
			}
			return ponder.Spawn{Key: "child:" + key, Mode: workMode, Input: key, Options: js, Budget: b}
		}
	}
	return w.call("call:"+key, ponder.Slow)
}

func (w work) call(key string, role ponder.Role) ponder.Call {
	return ponder.Call{Key: key, Role: role, Request: llm.Request{Messages: []llm.Message{llm.Say(llm.User, string(w.Run)+" "+key)}, MaxTokens: 400}}
}

func keyOf(a ponder.Action) string {
	switch a := a.(type) {
	case ponder.Call:
		return a.Key
	case ponder.Do:
		return a.Key
	case ponder.Spawn:
		return a.Key
	}
	return ""
}

// talk is the state of a run that answers messages, one at a time.
type talk struct {
	Waiting []string
	Said    string // the answer of the model
	HasSaid bool
}

func (s talk) carried() talk { return talk{Waiting: s.Waiting} }

func (s talk) Apply(ev ponder.Event) ponder.State {
	switch b := ev.Body.(type) {
	case ponder.UserMessage:
		s.Waiting = append(slices.Clip(s.Waiting), b.Content)
	case ponder.CallFinished:
		s.Said, s.HasSaid = b.Text()+b.Error, true
	case ponder.AssistantMessage:
		about, _, _ := strings.Cut(b.Content, ":")
		s.Waiting = slices.DeleteFunc(slices.Clone(s.Waiting), func(m string) bool { return m == about })
		s.Said, s.HasSaid = "", false
	}
	return s
}

func (s talk) Next(ponder.Moment) []ponder.Action {
	if len(s.Waiting) == 0 {
		return []ponder.Action{ponder.Finish{Answer: "all is answered"}}
	}
	name := strings.ReplaceAll(s.Waiting[0], " ", ".")
	if s.HasSaid {
		return []ponder.Action{ponder.Write{Key: "say." + name, Bodies: []ponder.Body{ponder.AssistantMessage{Content: s.Waiting[0] + ": " + s.Said}}}}
	}
	return []ponder.Action{ponder.Call{Key: "ask." + name, Role: ponder.Fast, Shown: true, Request: llm.Request{
		Messages: []llm.Message{llm.Say(llm.User, s.Waiting[0])}, MaxTokens: 400,
	}}}
}
