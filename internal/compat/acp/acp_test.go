package acp

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"ponder"
	"ponder/internal/auth"
	"ponder/internal/compat"
	"ponder/internal/compat/protocoltest"
)

// A testClient speaks JSON-RPC over pipes, as an editor does.
type testClient struct {
	t       *testing.T
	in      io.WriteCloser
	answers map[string]chan rpcMessage
	updates chan rpcMessage
	served  chan error
	next    int
	permit  string // the option of permissions
}

type rpcMessage struct {
	ID     json.RawMessage `json:"id,omitempty"`
	Method string          `json:"method,omitempty"`
	Params json.RawMessage `json:"params,omitempty"`
	Result json.RawMessage `json:"result,omitempty"`
	Error  *struct {
		Code    int
		Message string
	} `json:"error,omitempty"`
}

func newClient(t *testing.T, r *protocoltest.Rig, owner string) *testClient {
	in, to := io.Pipe()
	from, out := io.Pipe()
	c := &testClient{t: t, in: to, answers: make(map[string]chan rpcMessage), updates: make(chan rpcMessage, 100_000), served: make(chan error, 1)}
	go func() {
		err := Serve(context.Background(), Config{Desk: r.Desk, Caller: auth.Caller{Owner: owner, Scopes: auth.Scopes()}, Dir: "/"}, in, out)
		out.Close()
		c.served <- err
	}()
	for _, id := range append([]string{"null", "1.5"}, slices.Collect(func(yield func(string) bool) {
		for i := range 100 {
			if !yield(fmt.Sprint(i)) {
				return
			}
		}
	})...) {
		c.answers[id] = make(chan rpcMessage, 100)
	}
	go c.readAll(from)
	t.Cleanup(func() {
		to.Close()
		from.Close()
	})
	return c
}

func (c *testClient) readAll(from io.Reader) {
	lines := bufio.NewReader(from)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return
		}
		var m rpcMessage
		if err := json.Unmarshal(line, &m); err != nil {
			c.t.Errorf("%q: %v", line, err)
		}
		switch {
		case m.Method == "session/request_permission":
			c.updates <- m
			outcome := `{"outcome":"cancelled"}`
			if c.permit != "" {
				outcome = `{"outcome":"selected","optionId":"` + c.permit + `"}`
			}
			go c.write(`{"jsonrpc":"2.0","id":` + string(m.ID) + `,"result":{"outcome":` + outcome + `}}`)
		case m.Method != "":
			c.updates <- m
		default:
			c.answers[string(m.ID)] <- m
		}
	}
}

func (c *testClient) write(line string) { _, _ = io.WriteString(c.in, line+"\n") }

// start sends a request and returns its id.
func (c *testClient) start(method, params string) string {
	c.next++
	id := fmt.Sprint(c.next)
	c.write(`{"jsonrpc":"2.0","id":` + id + `,"method":"` + method + `","params":` + params + `}`)
	return id
}

func (c *testClient) call(method, params string) rpcMessage {
	c.t.Helper()
	return <-c.answers[c.start(method, params)]
}

// updatesSoFar returns the new updates as JSON, by kind.
func (c *testClient) updatesSoFar() map[string][]string {
	synctest.Wait()
	list := make(map[string][]string)
	for {
		select {
		case m := <-c.updates:
			if m.Method == "session/request_permission" {
				list[m.Method] = append(list[m.Method], string(m.Params))
				continue
			}
			var p struct {
				Update struct {
					Kind    string `json:"sessionUpdate"`
					Content json.RawMessage
				}
			}
			if err := json.Unmarshal(m.Params, &p); err != nil {
				c.t.Fatal(err)
			}
			text := string(m.Params)
			if strings.HasSuffix(p.Update.Kind, "_chunk") {
				var block struct{ Text string }
				if err := json.Unmarshal(p.Update.Content, &block); err != nil {
					c.t.Fatal(err)
				}
				text = block.Text
			}
			list[p.Update.Kind] = append(list[p.Update.Kind], text)
		default:
			return list
		}
	}
}

func (c *testClient) newSession() string {
	c.t.Helper()
	m := c.call("session/new", `{"cwd":"/tmp","mcpServers":[]}`)
	var out struct {
		SessionID string `json:"sessionId"`
		Modes     struct {
			CurrentModeID  string `json:"currentModeId"`
			AvailableModes []any  `json:"availableModes"`
		}
		ConfigOptions []struct{ ID, CurrentValue, Type string }
	}
	if err := json.Unmarshal(m.Result, &out); err != nil || out.Modes.CurrentModeID != "think" || len(out.Modes.AvailableModes) != 5 || len(out.ConfigOptions) != 4 || out.SessionID == "" {
		c.t.Fatalf("%+v: %v", m, err)
	}
	return out.SessionID
}

func promptOf(session, text string) string {
	js, _ := json.Marshal(map[string]any{"sessionId": session, "prompt": []any{map[string]string{"type": "text", "text": text}}})
	return string(js)
}

func stopOf(m rpcMessage) string {
	var out struct{ StopReason string }
	_ = json.Unmarshal(m.Result, &out)
	if m.Error != nil {
		return m.Error.Message
	}
	return out.StopReason
}

func inBubble(t *testing.T, o protocoltest.Options, f func(t *testing.T, r *protocoltest.Rig, c *testClient)) {
	synctest.Test(t, func(t *testing.T) {
		r := protocoltest.New(t, o)
		c := newClient(t, r, "local")
		f(t, r, c)
		c.in.Close()
		if err := <-c.served; err != nil {
			t.Errorf("the server ended with %v", err)
		}
	})
}

func TestInitialize(t *testing.T) {
	inBubble(t, protocoltest.Options{}, func(t *testing.T, _ *protocoltest.Rig, c *testClient) {
		for _, version := range []string{"1", "2", "0"} {
			m := c.call("initialize", `{"protocolVersion":`+version+`,"clientCapabilities":{"fs":{"readTextFile":true}}}`)
			var out struct {
				ProtocolVersion   int
				AgentCapabilities struct{ LoadSession bool }
				AgentInfo         struct{ Name string }
			}
			if err := json.Unmarshal(m.Result, &out); err != nil || out.ProtocolVersion != 1 || !out.AgentCapabilities.LoadSession || out.AgentInfo.Name != "ponder" {
				t.Errorf("%s: %s, %v", version, m.Result, err)
			}
		}
		c.newSession()
		if got := c.updatesSoFar(); len(got["available_commands_update"]) != 1 || !strings.Contains(got["available_commands_update"][0], `"name":"deep_think"`) {
			t.Errorf("commands: %v", got)
		}
	})
}

// TestWays checks a prompt in each mode.
func TestWays(t *testing.T) {
	for way, want := range map[string][]string{
		"think":        {"agent_message_chunk", "session_info_update"},
		"deep_think":   {"agent_message_chunk"},
		"research":     {"agent_message_chunk", "agent_thought_chunk", "tool_call", "tool_call_update"},
		"session":      {"agent_message_chunk", "agent_thought_chunk", "plan"},
		"subconscious": {"agent_message_chunk"},
	} {
		t.Run(way, func(t *testing.T) {
			inBubble(t, protocoltest.Options{Tools: protocoltest.Lookups(time.Second)}, func(t *testing.T, r *protocoltest.Rig, c *testClient) {
				id := c.newSession()
				if m := c.call("session/set_mode", `{"sessionId":"`+id+`","modeId":"`+way+`"}`); m.Error != nil {
					t.Fatal(m.Error)
				}
				if got := stopOf(c.call("session/prompt", promptOf(id, "How deep is the sea, and why?"))); got != "end_turn" {
					t.Errorf("stopped by %q", got)
				}
				got := c.updatesSoFar()
				for _, kind := range want {
					if len(got[kind]) == 0 {
						t.Errorf("no %s in %v", kind, got)
					}
				}
				if way == "deep_think" && !r.Calls().Said[0].Deep {
					t.Error("no reflection")
				}
			})
		})
	}
}

// TestBudget checks that options, commands and metadata limit the work.
func TestBudget(t *testing.T) {
	inBubble(t, protocoltest.Options{}, func(t *testing.T, r *protocoltest.Rig, c *testClient) {
		id := c.newSession()
		set := func(option, value string) rpcMessage {
			return c.call("session/set_config_option", `{"sessionId":"`+id+`","configId":"`+option+`","value":"`+value+`"}`)
		}
		for _, m := range []rpcMessage{set("mode", "session"), set("minutes", "5"), set("max_cost_usd", "0.5")} {
			if m.Error != nil {
				t.Error(m.Error)
			}
		}
		if m := set("minutes", "7e9"); m.Error == nil || m.Error.Code != -32602 {
			t.Errorf("%+v", m)
		}
		c.call("session/prompt", promptOf(id, "How deep is the sea?"))
		c.call("session/prompt", promptOf(id, "/session minutes=2 max_calls=40 How wide is the sea?"))
		begun := r.Calls().Begun
		if len(begun) != 2 {
			t.Fatalf("begun: %+v", begun)
		}
		if b := begun[0].Budget; b.Time != 5*time.Minute || b.Money != 500_000 {
			t.Errorf("%+v", b)
		}
		if b := begun[1].Budget; b.Time != 2*time.Minute || b.Calls != 40 || b.Money != 500_000 {
			t.Errorf("%+v", b)
		}
	})
}

// TestCancelAndResume checks that a cancelled session pauses, can be steered, and continues.
func TestCancelAndResume(t *testing.T) {
	inBubble(t, protocoltest.Options{}, func(t *testing.T, r *protocoltest.Rig, c *testClient) {
		id := c.newSession()
		running := c.start("session/prompt", promptOf(id, "/session minutes=10 How deep is the sea?"))
		time.Sleep(20 * time.Second)
		if got := stopOf(c.call("session/prompt", promptOf(id, "Which trench is the deepest?"))); got != "end_turn" {
			t.Errorf("steered: %q", got)
		}
		time.Sleep(5 * time.Second)
		got := c.updatesSoFar()
		if text := strings.Join(got["agent_message_chunk"], ""); !strings.Contains(text, "The question is added.") {
			t.Errorf("%q", text)
		}
		if plan := got["plan"]; len(plan) == 0 || !strings.Contains(plan[len(plan)-1], "Which trench is the deepest?") {
			t.Errorf("the plan: %q", plan)
		}
		c.write(`{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"` + id + `"}}`)
		if got := stopOf(<-c.answers[running]); got != "cancelled" {
			t.Errorf("cancelled: %q", got)
		}
		time.Sleep(time.Minute)
		if info := r.Threads("local")[0]; info.Status != ponder.Paused {
			t.Errorf("it is %s", info.Status)
		}
		c.updatesSoFar()
		c.call("session/prompt", promptOf(id, "/status"))
		if text := strings.Join(c.updatesSoFar()["agent_message_chunk"], ""); !strings.Contains(text, "is paused (paused by the client)") {
			t.Errorf("%q", text)
		}
		resumed := c.start("session/prompt", promptOf(id, "/resume"))
		time.Sleep(5 * time.Second)
		c.call("session/prompt", promptOf(id, "/answer"))
		if got := stopOf(<-c.answers[resumed]); got != "end_turn" {
			t.Errorf("resumed: %q", got)
		}
		if info := r.Threads("local")[0]; info.Status != ponder.Completed {
			t.Errorf("it is %s", info.Status)
		}
	})
}

// TestPlan checks that research with a plan asks for permission.
func TestPlan(t *testing.T) {
	for permit, want := range map[string]ponder.Status{"allow": ponder.Completed, "reject": ponder.Cancelled, "": ponder.Paused} {
		t.Run(permit, func(t *testing.T) {
			inBubble(t, protocoltest.Options{Tools: protocoltest.Lookups(time.Second)}, func(t *testing.T, r *protocoltest.Rig, c *testClient) {
				c.permit = permit
				id := c.newSession()
				if got := stopOf(c.call("session/prompt", promptOf(id, "/research plan_first=true How deep is the sea, and why?"))); permit == "" && got != "cancelled" {
					t.Errorf("stopped by %q", got)
				}
				if got := c.updatesSoFar(); len(got["session/request_permission"]) != 1 {
					t.Errorf("asked %q", got["session/request_permission"])
				}
				if info := r.Threads("local")[0]; info.Status != want {
					t.Errorf("it is %s, want %s", info.Status, want)
				}
				if permit == "" { // the plan still waits
					c.call("session/prompt", promptOf(id, "yes"))
					if info := r.Threads("local")[0]; info.Status != ponder.Completed {
						t.Errorf("after a yes it is %s", info.Status)
					}
				}
			})
		})
	}
}

// TestLoad checks that sessions can be listed and loaded, also by another process, but not by others.
func TestLoad(t *testing.T) {
	inBubble(t, protocoltest.Options{Tools: protocoltest.Lookups(time.Second)}, func(t *testing.T, r *protocoltest.Rig, c *testClient) {
		id := c.newSession()
		for _, text := range []string{"How deep is the sea?", "/session minutes=1 How wide is the sea?", "And how old?"} {
			c.call("session/prompt", promptOf(id, text))
		}
		later := newClient(t, r, "local")
		m := later.call("session/list", `{"cwd":"/home/anna"}`)
		if !strings.Contains(string(m.Result), id) || !strings.Contains(string(m.Result), `"cwd":"/home/anna"`) {
			t.Errorf("listed %s", m.Result)
		}
		if m := later.call("session/load", `{"sessionId":"`+id+`","cwd":"/tmp","mcpServers":[]}`); m.Error != nil {
			t.Fatal(m.Error.Message)
		}
		got := later.updatesSoFar()
		if asked := strings.Join(got["user_message_chunk"], "|"); asked != "How deep is the sea?|How wide is the sea?|And how old?" {
			t.Errorf("asked %q", asked)
		}
		if len(got["agent_message_chunk"]) < 3 || len(got["plan"]) == 0 {
			t.Errorf("got %v", got)
		}
		if got := stopOf(later.call("session/prompt", promptOf(id, "Thanks."))); got != "end_turn" {
			t.Errorf("stopped by %q", got)
		}
		later.in.Close()
		hers := newClient(t, r, "anna")
		for _, method := range []string{"session/load", "session/resume"} {
			if m := hers.call(method, `{"sessionId":"`+id+`","cwd":"/tmp","mcpServers":[]}`); m.Error == nil || m.Error.Code != codeNotFound {
				t.Errorf("%s by another owner: %+v", method, m)
			}
		}
		if m := hers.call("session/list", `{}`); string(m.Result) != `{"sessions":[]}` {
			t.Errorf("listed for another owner: %s", m.Result)
		}
		hers.in.Close()
	})
}

// TestConfirm checks that the client asks the question of Ponder, and that the call runs only if the user allows it.
func TestConfirm(t *testing.T) {
	for permit, want := range map[string]int{"allow": 1, "reject": 0, "cancelled": 0, "": 0} {
		t.Run("permit "+permit, func(t *testing.T) {
			lamp := &protocoltest.Lamp{Says: protocoltest.Attacks[1]}
			inBubble(t, lamp.Options(protocoltest.Options{}), func(t *testing.T, r *protocoltest.Rig, c *testClient) {
				c.permit = permit
				id := c.newSession()
				c.call("session/prompt", promptOf(id, "Switch on the lamp of the kitchen"))
				got := c.updatesSoFar()
				if asked := got["session/request_permission"]; len(asked) != 1 || !strings.Contains(asked[0], `"rawInput":{"room":"kitchen"`) || !strings.Contains(asked[0], "Ponder asks for your approval") {
					t.Errorf("asked %q", asked)
				}
				if runs := lamp.Runs(); len(runs) != want || want > 0 && runs[0] != protocoltest.LampArgs {
					t.Errorf("ran %q", runs)
				}
				said := r.Calls().Said
				if permit == "allow" || permit == "reject" {
					if len(said) != 2 || len(said[1].Decisions) != 1 || said[1].Decisions[0].Approved != (permit == "allow") {
						t.Errorf("said %+v", said)
					}
					return
				}
				for _, text := range protocoltest.YesWords {
					c.call("session/prompt", promptOf(id, text))
				}
				if runs := lamp.Runs(); len(runs) != 0 {
					t.Errorf("ran %q", runs)
				}
			})
		})
	}
}

// TestMisuse checks that wrong requests are answered, and that the next one works.
func TestMisuse(t *testing.T) {
	inBubble(t, protocoltest.Options{}, func(t *testing.T, _ *protocoltest.Rig, c *testClient) {
		id := c.newSession()
		for method, list := range map[string][]string{
			"session/prompt": {
				`{}`, `{"sessionId":"` + id + `","prompt":[]}`, `{"sessionId":7,"prompt":[]}`, promptOf("01KXXXXXXXXXXXXXXXXXXXXXXX", "x"), `[]`,
				`{"sessionId":"` + id + `","prompt":[{"type":"image","data":"%%","mimeType":"image/png"}]}`,
				`{"sessionId":"` + id + `","prompt":[{"type":"audio","data":"AAAA","mimeType":"audio/wav"}]}`,
				`{"sessionId":"` + id + `","prompt":[{"type":"text","text":"x"}],"_meta":{"minutes":-1}}`,
				`{"sessionId":"` + id + `","prompt":[{"type":"text","text":"x"}],"_meta":{"way":"guess"}}`,
			},
			"session/new":               {`{"_meta":{"way":"guess"}}`, `7`},
			"session/load":              {`{}`, `{"sessionId":"../../etc"}`, `{"sessionId":"` + strings.Repeat("A", 26) + `"}`},
			"session/set_mode":          {`{}`, `{"sessionId":"` + id + `","modeId":"root"}`},
			"session/set_config_option": {`{}`, `{"sessionId":"` + id + `","configId":"a","value":"b"}`, `{"sessionId":"` + id + `","configId":"mode","type":"boolean","value":true}`},
			"session/close":             {`{"sessionId":"x"}`},
			"session/fork":              {`{}`},
		} {
			for _, params := range list {
				if m := c.call(method, params); m.Error == nil || m.Error.Message == "" {
					t.Errorf("%s %.80s: no error: %s", method, params, m.Result)
				}
			}
		}
		for _, line := range []string{`not JSON`, `[]`, `{"jsonrpc":"2.0"}`, `{"id":{},"method":"initialize"}`, `{"id":1.5}`, strings.Repeat("x", maxLine+9)} {
			c.write(line)
		}
		c.write("")
		c.write("\ufeff" + `{"jsonrpc":"2.0","id":99,"method":"initialize","params":{"protocolVersion":1}}`)
		if m := <-c.answers["99"]; m.Error != nil {
			t.Errorf("after wrong lines: %+v", m)
		}
		if got := len(c.answers["null"]); got != 5 || len(c.answers["1.5"]) != 1 {
			t.Errorf("%d errors for wrong lines", got)
		}
	})
}

func FuzzLines(f *testing.F) {
	f.Add(`{"jsonrpc":"2.0","id":1,"method":"a"}` + "\n" + `{"id":"x","result":{}}`)
	f.Add("x\n[]\n\n\ufeff{}\n" + `{"id":{"a":1},"method":"b"}`)
	f.Fuzz(func(t *testing.T, text string) {
		var out strings.Builder
		w := newSyncWriter(&out)
		passed, err := io.ReadAll(compat.NewLineReader(strings.NewReader(text), maxLine, w.passLine, func() {}))
		if err != nil {
			t.Fatal(err)
		}
		for line := range bytes.Lines(passed) {
			var m message
			if json.Unmarshal(line, &m) != nil || m.Method == nil && len(m.ID) == 0 {
				t.Errorf("passed %q", line)
			}
		}
		for line := range strings.Lines(out.String()) {
			var m rpcMessage
			if err := json.Unmarshal([]byte(line), &m); err != nil || m.Error == nil {
				t.Errorf("answered %q: %v", line, err)
			}
		}
	})
}

func TestAgent(t *testing.T) {
	protocoltest.CheckAgent(t, protocoltest.Agent{Local: true, Ask: func(t *testing.T, r *protocoltest.Rig, _, question string) protocoltest.Reply {
		c := newClient(t, r, protocoltest.Owner)
		m := c.call("session/prompt", promptOf(c.newSession(), question))
		got := c.updatesSoFar()
		out := protocoltest.Reply{Text: strings.Join(got["agent_message_chunk"], ""), Thinking: strings.Join(got["agent_thought_chunk"], "")}
		if m.Error != nil {
			out.Error = m.Error.Message
		}
		c.in.Close()
		if err := <-c.served; err != nil {
			t.Errorf("the server ended with %v", err)
		}
		return out
	}})
}
