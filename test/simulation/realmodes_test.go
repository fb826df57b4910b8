package simulation

import (
	"context"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"slices"
	"strings"
	"time"

	"ponder"
	"ponder/llm"
	"ponder/llm/llmtest"
	"ponder/mode/research"
	"ponder/mode/session"
	"ponder/mode/subconscious"
)

// realModes returns the real modes of sessions, research and the subconscious.
func realModes() []ponder.Mode {
	return append(subconscious.New(subconscious.Options{}), watchMode(session.New()), watchMode(research.New()))
}

// A watchedState is the state of a real mode with a digest of all events that it observed. Before
// the run completes, it writes the digest and a hash of the state into the log.
type watchedState struct {
	State   ponder.State
	Run     ponder.RunID
	Digest  uint64
	Written bool
}

const digestStage = "digest"

func watchMode(m ponder.Mode) ponder.Mode {
	start, load := m.Start, m.Load
	m.Start = func(r ponder.Run) ponder.State { return watchedState{State: start(r), Run: r.ID} }
	m.Load = func(r ponder.Run, js []byte) (ponder.State, error) {
		var stored struct {
			State   json.RawMessage
			Digest  uint64
			Written bool
		}
		if err := json.Unmarshal(js, &stored); err != nil {
			return nil, err
		}
		state, err := load(r, stored.State)
		return watchedState{state, r.ID, stored.Digest, stored.Written}, err
	}
	return m
}

func (w watchedState) Apply(ev ponder.Event) ponder.State {
	if b, ok := ev.Body.(ponder.Progress); ok && b.Stage == digestStage && ev.Run == w.Run {
		w.Written = true
		return w
	}
	w.State, w.Digest = w.State.Apply(ev), observe(w.Digest, ev)
	return w
}

func (w watchedState) Next(now ponder.Moment) []ponder.Action {
	do := w.State.Next(now)
	ends := slices.ContainsFunc(do, func(a ponder.Action) bool { _, ok := a.(ponder.Finish); return ok })
	if ends && !w.Written {
		return []ponder.Action{ponder.Write{Key: digestStage, Bodies: []ponder.Body{ponder.Progress{Stage: digestStage, Content: w.describe()}}}}
	}
	return do
}

// describe returns the digest and a hash of the state.
func (w watchedState) describe() string {
	js, err := json.Marshal(w.State)
	if err != nil {
		panic(err)
	}
	h := fnv.New64a()
	h.Write(js)
	return fmt.Sprintf("%x %x", w.Digest, h.Sum64())
}

// startWatched returns the first state of a run of a watched mode.
func startWatched(r ponder.Run) (ponder.State, bool) {
	for _, m := range []ponder.Mode{session.New(), research.New()} {
		if m.Name == r.Mode {
			return watchedState{State: m.Start(r), Run: r.ID}, true
		}
	}
	return nil, false
}

// planReal plans a run of a real mode.
func (s *script) planReal(name string) {
	switch s.number(4, name+" mode") {
	case 0:
		s.header.Kind = ponder.KindSubconscious
		s.planMind(name)
	case 1:
		s.header.Kind = ponder.KindResearch
		o := research.Options{Docs: []string{"/docs"}, MaxRounds: 1 + s.number(2, name+" rounds"), Web: s.number(2, name+" web") == 0}
		s.planQuestion(name, research.Name, o, ponder.Budget{Time: time.Minute, Cost: ponder.Cost{Calls: 4 + s.number(4, name+" calls")}})
	default:
		o := session.Options{SynthesisInterval: float64(10 + s.number(40, name+" interval")), Parallel: 1 + s.number(3, name+" foci"), Unattended: true}
		if s.number(2, name+" docs") == 0 {
			o.Docs = []string{"/docs"}
		}
		s.planQuestion(name, session.Name, o, ponder.Budget{Time: time.Minute, Cost: ponder.Cost{Calls: 4 + s.number(5, name+" calls")}})
	}
}

// planQuestion plans a run that answers a question.
func (s *script) planQuestion(name, mode string, options any, b ponder.Budget) {
	js, err := json.Marshal(options)
	if err != nil {
		panic(err)
	}
	run := ponder.RunID("run_" + string(s.thread))
	version := 1
	if mode == session.Name {
		version = session.New().Version
	}
	at := s.duration(0, 10*time.Second, name+" first")
	s.inputs = append(s.inputs, input{at, ponder.Event{Run: run, Body: ponder.RunStarted{
		Mode: mode, Version: version, Input: "How deep is the sea of " + string(s.thread) + "?", Options: js, Budget: b,
	}}})
	s.planCommands(name, run, at)
}

// planMind plans observations and ticks of a subconscious.
func (s *script) planMind(name string) {
	at := s.duration(0, 5*time.Second, name+" first")
	for i := range 2 + s.number(3, name+" ticks") {
		what := fmt.Sprint(name, " tick ", i)
		for j := range 1 + s.number(3, what+" seen") {
			subject := fmt.Sprintf("disk %s %d.%d", s.thread, i, j)
			s.inputs = append(s.inputs, input{at, ponder.Event{Cause: "seen-" + fmt.Sprint(i, ".", j), Body: ponder.Observation{
				Sensor: "system", Subject: subject, State: "high", Level: 5 + s.number(5, what+subject), Content: "The " + subject + " is full.",
			}}})
			at += s.duration(10*time.Millisecond, time.Second, what+subject)
		}
		s.inputs = append(s.inputs, input{at, ponder.Event{Run: ponder.RunID(fmt.Sprintf("run_tick.%d", i)), Body: ponder.RunStarted{Mode: subconscious.Name, Version: 1}}})
		at += s.duration(time.Second, 40*time.Second, what)
	}
}

// decide starts decisions about the escalations that the ticks raised.
func (s *script) decide(ctx context.Context) {
	for i := range 3 {
		for {
			if !s.sleepUntil(ctx, time.Since(s.began)+s.duration(2*time.Second, 3*time.Second, fmt.Sprint("decide ", s.thread, i))) {
				return
			}
			if info, ok := s.threadInfo(s.thread); ok && info.Open == 0 {
				break
			}
		}
		v := subconscious.NewView()
		for ev, err := range s.base.Events(ctx, s.thread, 0) {
			if err != nil {
				return
			}
			v = v.Apply(ev)
		}
		for _, ev := range v.Undecided {
			id := ev.Body.(ponder.Escalation).ID
			run := ponder.RunID(fmt.Sprintf("run_%s.%d", id, i))
			start := ponder.Event{Run: run, Body: ponder.RunStarted{Mode: subconscious.DecideMode, Version: 1, Input: id}}
			name := fmt.Sprint("decision ", s.thread, run)
			s.repeat(ctx, name, func(n *node) bool { return s.send(n, name, start) })
		}
	}
}

// answerReal returns the answer of the model to a request of a real mode.
func (w *world) answerReal(req *llm.Request, name string) llm.Message {
	if req.Schema != nil && strings.Contains(string(req.Schema.JSON), `"rests_on"`) {
		escalates := w.number(2, "escalates "+name) == 0
		return llm.Say(llm.Assistant, fmt.Sprintf(`{"findings":[{"type":"anomaly","summary":"Disk %d fills up.","importance":%d,"rests_on":["o1"]}],"escalate":%v,"reason":"It may stop."}`,
			w.number(100, "finding "+name), 3+w.number(7, "importance "+name), escalates))
	}
	if len(req.Tools) > 0 && req.ToolChoice != "none" {
		t := req.Tools[w.number(len(req.Tools), "tool "+name)]
		args := map[string]string{"text": "The disk is full.", "reason": "It is known.", "query": "depth of the sea " + name, "stage": "analysis", "message": "Weighing."}
		if js, err := json.Marshal(args); err == nil && (req.ToolChoice == "required" || w.number(2, "uses "+name) == 0) {
			return llm.Message{Role: llm.Assistant, Parts: []llm.Part{{Call: &llm.ToolCall{ID: "c1", Name: t.Name, Input: js}}}}
		}
	}
	m, err := llmtest.Plausible(w.seed)(req)
	if err != nil {
		panic(err)
	}
	return m
}

// isReal reports whether a mode is one of realModes.
func isReal(mode string) bool {
	switch mode {
	case session.Name, research.Name, subconscious.Name, subconscious.RoleMode, subconscious.DecideMode:
		return true
	}
	return false
}

// searchTools returns the tools of sessions and research.
func (n *node) searchTools() (tools []ponder.Tool) {
	type input struct {
		Query, URL string
		Exclude    []string
	}
	for _, name := range []string{session.SearchTool, session.WebSearchTool, session.WebFetchTool, research.PersonaTool, "remember"} {
		tool := ponder.NewTool(name, "Look.", json.RawMessage(`{}`), func(ctx context.Context, in input) (string, error) {
			c := ponder.ToolContextFrom(ctx)
			what := fmt.Sprint(name, c.Thread, c.Run, in)
			if err := n.use(ctx, what); err != nil {
				return "", err
			}
			depth := n.number(9000, what)
			quote := fmt.Sprintf("The sea of %s is %d metres deep.", c.Thread, depth)
			if name == session.WebSearchTool {
				return fmt.Sprintf(`{"results":[{"url":"https://sea.test/%d","title":"Sea","snippet":%q,"score":0.7}]}`, depth, quote), nil
			}
			return fmt.Sprintf(`{"hits":[{"id":"h%d","source":"/docs/%d.md","quote":%q,"start":0,"end":%d,"score":0.5}]}`, depth, depth%4, quote, len(quote)), nil
		})
		tool.Untrusted = name != session.SearchTool
		tools = append(tools, tool)
	}
	return tools
}

// checkReal checks what holds for the real modes: a session ends with the synthesis that it
// wrote last, no piece of evidence and no thought has the number of another, and no escalation
// is raised or decided twice.
func (c *checker) checkReal(t *threadCheck, evs []ponder.Event) {
	seen, final := make(map[string]bool), make(map[ponder.RunID]string)
	once := func(ev ponder.Event, what string) {
		if key := string(ev.Run) + " " + what; seen[key] {
			c.w.report("%s: %s is there twice, again at %d", t.id, key, ev.Seq)
		} else {
			seen[key] = true
		}
	}
	for _, ev := range evs {
		r := t.runs[ev.Run]
		if r == nil || !isReal(r.mode) {
			continue
		}
		switch b := ev.Body.(type) {
		case ponder.Evidence:
			once(ev, "evidence "+b.ID)
		case ponder.Thought:
			once(ev, fmt.Sprint("thought ", b.Number))
		case ponder.Synthesis:
			if b.Final {
				final[ev.Run] = b.Content
			}
		case ponder.Escalation:
			ev.Run = ""
			once(ev, fmt.Sprint("escalation ", b.ID, " decided ", b.Outcome != ""))
		case ponder.RunFinished:
			if r.mode == session.Name && b.Status == ponder.Completed && b.Answer != final[ev.Run] {
				c.w.report("%s: %s answers %q, but its last synthesis is %q", t.id, ev.Run, b.Answer, final[ev.Run])
			}
		}
	}
}
