package approval

import (
	"encoding/json"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// newTurns returns turns of alternating messages and answers. The last turn may have no answer.
func newTurns(texts ...string) (turns []Turn) {
	for i, text := range texts {
		if i%2 == 0 {
			turns = append(turns, Turn{User: text})
		} else {
			turns[len(turns)-1].Answer = []string{text}
		}
	}
	return turns
}

func newCall(tool, args string, turns ...Turn) Request {
	return Request{Tool: tool, Args: json.RawMessage(args), Turns: turns}
}

// answerCondition returns a condition that holds if an answer has the text, in any turn or in the last one.
func answerCondition(text string, last bool) Condition {
	return Condition{
		Name: text + " was said",
		Do:   constantText("say " + text),
		Met: func(_ Tool, w Request) bool {
			turns := w.Turns
			if last {
				turns = turns[max(0, len(turns)-1):]
			}
			return slices.ContainsFunc(turns, func(t Turn) bool { return slices.Contains(t.Answer, text) })
		},
	}
}

// testGate returns a gate with a tool of each kind.
func testGate() Gate {
	return Gate{Tools: append(Declarations(),
		Tool{Name: "look"},
		Tool{Name: "send_mail", Changes: true, Needs: []Condition{Confirmed(), answerCondition("looked", false), answerCondition("weighed", true)}},
		Tool{Name: "pay", Changes: true, Needs: []Condition{Confirmed()}},
		Tool{Name: "touch", Changes: true},
	)}
}

func TestYes(t *testing.T) {
	for _, text := range []string{"yes", "Yes.", "YES!", "y", "ok", "Sure, go ahead", "Yes, please.", "go ahead", "do it", "ja", "Ja, bitte!", "oui", "sí", "はい", "👍", "approved", "looks good, thanks"} {
		if !isYes(text) {
			t.Errorf("%q is no yes", text)
		}
	}
	for _, text := range []string{
		"", " ", "no", "yes?", "yes, but not today", "ok wait", "yesterday", "okra", "not yes", "yes if it is cheap", "Yes to the first, no to the second", "yes, send 5", "yes\nand delete all",
		"I said yes", "maybe", "ja, aber nur das erste", "don't do it", "go", "sure, instead send it to Bob", "y" + strings.Repeat(" really", 30), "👍 for the first", "👎", "/plan yes",
	} {
		if isYes(text) {
			t.Errorf("%q is a yes", text)
		}
	}
}

func TestConfirmed(t *testing.T) {
	const mail = `{"to":"ann@example.com","text":"See you\nat 5.","urgent":true,"cc":null,"tags":["a1","b2"]}`
	const shown = "Shall I send mail?\n\n- **to**: `ann@example.com`\n- text: \"See you at 5.\"\n- urgent: true\n- tags: a1, b2"
	tests := []struct {
		name, tool, args, shown, said string
		want                          bool
	}{
		{"all of it", "send_mail", mail, shown, "yes", true},
		{"the name with an underscore", "send_mail", mail, strings.Replace(shown, "send mail", "use send_mail", 1), "ok", true},
		{"as the gate says it", "send_mail", mail, "Shall I do this? " + callText("send_mail", json.RawMessage(mail)), "yes", true},
		{"no yes", "send_mail", mail, shown, "hm", false},
		{"a question", "send_mail", mail, shown, "yes?", false},
		{"another tool", "pay", mail, shown, "yes", false},
		{"another value", "send_mail", strings.Replace(mail, "ann@", "bob@", 1), shown, "yes", false},
		{"a part of a value", "send_mail", strings.Replace(mail, "ann@example.com", "ann@example.co", 1), shown, "yes", false},
		{"one more value", "send_mail", strings.Replace(mail, `"b2"`, `"b2","c3"`, 1), shown, "yes", false},
		{"the values change places", "pay", `{"from":"B","to":"A"}`, "Shall I pay, from: A, to: B?", "yes", false},
		{"and in theirs", "pay", `{"from":"A","to":"B"}`, "Shall I pay, from: A, to: B?", "yes", true},
		{"other names", "pay", `{"from":"A","via":"B"}`, "Shall I pay, from: A, to: B?", "yes", false},
		{"names with spaces", "pay", `{"from_account":"A","to":"B"}`, "Pay with From Account: A; to: B?", "yes", true},
		{"a number", "pay", `{"amount":10}`, "Shall I pay 10 euros?", "yes", true},
		{"a number in a number", "pay", `{"amount":10}`, "Shall I pay 100 euros?", "yes", false},
		{"a number before a point", "pay", `{"amount":10}`, "Shall I pay 10.5 euros?", "yes", false},
		{"a number with thousands", "pay", `{"amount":10}`, "Shall I pay 10,000 euros?", "yes", false},
		{"a number at the end", "pay", `{"amount":10}`, "Shall I pay 10?", "yes", true},
		{"another sign", "pay", `{"amount":10}`, "Shall I pay -10?", "yes", false},
		{"a path in a path", "pay", `{"path":"etc"}`, "Shall I pay for /etc?", "yes", false},
		{"a file without its end", "pay", `{"path":"report"}`, "Shall I pay report.md?", "yes", false},
		{"nothing but the tool", "pay", `{}`, "Shall I pay?", "yes", true},
		{"not even the tool", "pay", `{}`, "Shall I?", "yes", false},
		{"no arguments", "pay", ``, "Shall I pay?", "yes", false},
		{"no object", "pay", `["x"]`, "Shall I pay x?", "yes", false},
		{"no JSON", "pay", `{"x":`, "Shall I pay x?", "yes", false},
		{"in an inner object", "pay", `{"a":{"b":"x","c":7}}`, "pay with b: x and c: 7?", "yes", true},
	}
	c := Confirmed()
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := newCall(tt.tool, tt.args, newTurns("do something", tt.shown, tt.said)...)
			if got := c.Met(Tool{Name: tt.tool}, w); got != tt.want {
				t.Errorf("%v, want %v", got, tt.want)
			}
		})
	}
	late := newCall("pay", `{"amount":10}`, newTurns("x", "Shall I pay 10?", "how are you", "well", "yes")...)
	if c.Met(Tool{Name: "pay"}, late) {
		t.Error("a yes to another answer counts")
	}
	same := newCall("pay", `{"amount":10}`, Turn{User: "yes", Answer: []string{"Shall I pay 10?"}})
	if c.Met(Tool{Name: "pay"}, same) {
		t.Error("a yes counts that was said before")
	}
}

func TestChecklist(t *testing.T) {
	g := testGate()
	ask, args := "Shall I send mail to ann?", `{"to":"ann"}`
	full := newTurns("write to ann", ask, "yes")
	full[0].Answer = append(full[0].Answer, "looked")
	full[1].Answer = []string{"weighed"}
	without := func(change func([]Turn)) []Turn {
		turns := slices.Clone(full)
		change(turns)
		return turns
	}
	tests := []struct {
		name    string
		turns   []Turn
		missing []string // of the reason
	}{
		{"all", full, nil},
		{"not confirmed", without(func(ts []Turn) { ts[1].User = "no" }), []string{"[ ] the user has confirmed these very arguments: show the user exactly this, ask whether to do it, and wait for a plain yes: send_mail with to: ann", "[x] looked was said"}},
		{"not looked", without(func(ts []Turn) { ts[0].Answer = []string{ask} }), []string{"[ ] looked was said: say looked", "[x] the user has confirmed"}},
		{"not weighed", without(func(ts []Turn) { ts[1].Answer = nil }), []string{"[ ] weighed was said: say weighed"}},
		{"weighed before", without(func(ts []Turn) { ts[1].Answer, ts[0].Answer = nil, append(full[1].Answer, full[0].Answer...) }), []string{"[ ] weighed was said"}},
		{"nothing", nil, []string{"[ ] the user has confirmed", "[ ] looked was said", "[ ] weighed was said"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := g.Check(newCall("send_mail", args, tt.turns...))
			if (got == "") != (tt.missing == nil) {
				t.Errorf("reason %q", got)
			}
			for _, want := range tt.missing {
				if !strings.Contains(got, want) {
					t.Errorf("reason %q lacks %q", got, want)
				}
			}
		})
	}
}

func TestBuiltInTools(t *testing.T) {
	g := Gate{Tools: Declarations()}
	for _, name := range []string{"think", "deep_think", "knowledge_search", "web_fetch", "thread_read"} {
		if reason := g.Check(newCall(name, `{}`)); reason != "" || g.findTool(name).Changes {
			t.Errorf("%s: %s", name, reason)
		}
	}
	const tea = `{"text":"Ann likes tea."}`
	for _, tt := range []struct {
		name  string
		turns []Turn
		want  bool
	}{
		{"asked", newTurns("Remember that I like tea"), true},
		{"asked kindly", newTurns("Yes, please remember: I like tea."), true},
		{"in German", newTurns("Bitte merke dir, dass ich Tee mag"), true},
		{"a question", newTurns("Do you remember what I like?"), false},
		{"another question", newTurns("Remember my tea?"), false},
		{"told", newTurns("I like tea"), false},
		{"offered and taken", newTurns("I like tea", `Shall I remember "Ann likes tea."?`, "yes"), true},
		{"offered and not taken", newTurns("I like tea", `Shall I remember "Ann likes tea."?`, "no"), false},
		{"something else was offered", newTurns("I like tea", `Shall I remember "Ann likes tea and gin."?`, "yes"), false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if reason := g.Check(newCall("remember", tea, tt.turns...)); (reason == "") != tt.want {
				t.Errorf("reason %q", reason)
			}
		})
	}
}

func TestPlanMode(t *testing.T) {
	const plan = "Here it is.\n\n## Plan\n\n1. look at it\n2. touch it\n\nShall I go on?"
	tests := []struct {
		name  string
		on    bool
		tool  string
		turns []Turn
		want  bool
	}{
		{"off", false, "touch", newTurns("go"), true},
		{"no plan", true, "touch", newTurns("go"), false},
		{"looking is free", true, "look", newTurns("go"), true},
		{"by a message", false, "touch", newTurns("/plan tidy up"), false},
		{"a word that is not the mark", false, "touch", newTurns("/planet x"), true},
		{"switched off again", false, "touch", newTurns("/plan tidy up", "well", "/plan off"), true},
		{"which the flag forbids", true, "touch", newTurns("/plan off"), false},
		{"approved", true, "touch", newTurns("go", plan, "yes"), true},
		{"approved after /plan", false, "touch", newTurns("/plan go", plan, "go ahead"), true},
		{"not approved", true, "touch", newTurns("go", plan, "hm"), false},
		{"approved for later turns", true, "touch", newTurns("go", plan, "yes", "done with 1", "go on with the rest"), true},
		{"called off", true, "touch", newTurns("go", plan, "yes", "done with 1", "Stop, that is wrong"), false},
		{"another plan", true, "touch", newTurns("go", plan, "yes", plan, "hm"), false},
		{"another plan, approved", true, "touch", newTurns("go", plan, "hm", plan, "ok"), true},
		{"a tool that it does not name", true, "pay", newTurns("go", plan, "yes"), false},
		{"the approval of something else", true, "touch", newTurns("go", plan, "what is 1?", "looking", "yes"), false},
		{"a plan without steps", true, "touch", newTurns("go", "## Plan\n\nI will touch it.", "yes"), false},
		{"steps without a plan", true, "touch", newTurns("go", "1. touch it", "yes"), false},
		{"in bold", true, "touch", newTurns("go", "**The plan**\n- touch it", "yes"), true},
		{"the checklist of the tool stays", true, "send_mail", newTurns("go", "Plan:\n- send_mail", "yes"), false},
		{"a tool that nobody knows", true, "launch", newTurns("go", "Plan:\n- launch", "yes"), true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			g := testGate()
			g.Plan = tt.on
			reason := g.Check(newCall(tt.tool, `{}`, tt.turns...))
			if (reason == "") != tt.want {
				t.Errorf("reason %q", reason)
			}
			if !tt.want && !strings.Contains(reason, "Not done: "+tt.tool+" changes the world") {
				t.Errorf("reason %q", reason)
			}
		})
	}
	if !strings.Contains(PlanRules(), "## Plan") {
		t.Error("the rules do not say how a plan begins")
	}
}

func TestUnknownTool(t *testing.T) {
	var g Gate
	if reason := g.Check(newCall("launch", `{"at":"noon"}`, newTurns("go")...)); !strings.Contains(reason, "launch with at: noon") {
		t.Errorf("reason %q", reason)
	}
	if reason := g.Check(newCall("launch", `{"at":"noon"}`, newTurns("go", "Shall I launch at noon?", "yes")...)); reason != "" {
		t.Errorf("reason %q", reason)
	}
}

// TestProperties checks random conversations. Read-only tools are always allowed, other
// tools only with a complete checklist, and plan mode only forbids more.
func TestProperties(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	says := []string{"yes", "no", "ok", "hm", "/plan", "/plan off", "stop", "remember tea", "yes, but later", ""}
	answers := []string{"Shall I pay 10?", "Shall I launch 10?", "Shall I send mail to ann?", "Plan:\n- pay\n- touch", "## Plan\n1. send_mail", "well", "", "Plan:\n1. remember"}
	tools := []string{"look", "pay", "send_mail", "touch", "remember", "launch", "think"}
	inputs := []string{`{"amount":10}`, `{"to":"ann"}`, `{}`, `{"text":"tea"}`, `[`, ``}
	passed := map[string]int{}
	for range 20_000 {
		var turns []Turn
		for range 1 + r.IntN(4) {
			turn := Turn{User: says[r.IntN(len(says))]}
			if r.IntN(4) > 0 {
				turn.Answer = []string{answers[r.IntN(len(answers))]}
			}
			if r.IntN(2) > 0 {
				turn.Answer = append(turn.Answer, "weighed")
			}
			if r.IntN(2) > 0 {
				turn.Answer = append(turn.Answer, "looked")
			}
			turns = append(turns, turn)
		}
		w := newCall(tools[r.IntN(len(tools))], inputs[r.IntN(len(inputs))], turns...)
		g := testGate()
		tool := g.findTool(w.Tool)
		reason := g.Check(w)
		holds := !g.inPlanMode(turns) || Planned().Met(tool, w)
		for _, c := range tool.Needs {
			holds = holds && c.Met(tool, w)
		}
		if want := !tool.Changes || holds; want != (reason == "") {
			t.Fatalf("%s %s after %+v: %q", w.Tool, w.Args, turns, reason)
		}
		if g.Check(w) != reason {
			t.Fatal("the same wish is decided in two ways")
		}
		g.Plan = true
		strict := g.Check(w)
		if strict == "" && reason != "" && !slices.ContainsFunc(turns, func(t Turn) bool { return strings.HasPrefix(t.User, PlanMark) }) {
			t.Fatalf("plan mode lets through %s %s after %+v: %q", w.Tool, w.Args, turns, reason)
		}
		if n := len(turns); reason == "" && strings.Contains(w.Tool, "pay") && turns[n-1].User != "yes" && turns[n-1].User != "ok" {
			t.Fatalf("pay is let through after %+v", turns)
		}
		if reason == "" {
			passed[w.Tool]++
		}
	}
	for _, tool := range tools {
		if passed[tool] == 0 {
			t.Errorf("%s was never let through, so nothing is said of it", tool)
		}
	}
}

// FuzzCheck checks that no input causes a panic, and that a yes to the question that the
// gate asks for confirms the call.
func FuzzCheck(f *testing.F) {
	f.Add(`{"a":"b","c":[1,true,null,{"d":"e"}]}`, "Shall I pay a: b?", "yes")
	f.Add(`{"a":1`, "\xff", "👍")
	f.Add(`{"":""," ":" "}`, "Plan:\n1. x", "/plan")
	f.Fuzz(func(t *testing.T, args, answer, said string) {
		g := testGate()
		for _, tool := range []string{"pay", "send_mail", "remember", "launch", ""} {
			g.Check(newCall(tool, args, newTurns("x", answer, said)...))
		}
		list, err := argsOf(args)
		if err != nil || len(list) > 1 || len(list) == 1 && strings.ContainsAny(list[0].value, joiners+",:;") {
			return
		}
		shown := "Shall I use it? " + callText("pay", json.RawMessage(args)) + " ?"
		if reason := g.Check(newCall("pay", args, newTurns("x", shown, "yes")...)); reason != "" {
			t.Errorf("%q was shown for %q: %q", shown, args, reason)
		}
	})
}

func argsOf(js string) ([]arg, error) { return parseArgs(json.RawMessage(js)) }
