package research

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"ponder"
)

// whileWriting sends a command during the first call for the answer, and returns the finished
// driver.
func whileWriting(t *testing.T, o Options, command ponder.Steer) *driver {
	t.Helper()
	var d *driver
	f := answerWriter(trench, func(a ponder.Call, n int) ponder.Body {
		if n == 1 {
			d.appendEvent("", command)
			return nil // cancelled or retried
		}
		return textAnswer("HMS Challenger sounded the Challenger Deep in 1875 [e3]. It is 10,935 metres deep [e4].")
	})
	d = newDriver(t, deepest, o, 3*time.Minute, f.answerAction)
	return d.runToEnd()
}

func singleAck(t *testing.T, d *driver) ponder.Progress {
	t.Helper()
	var list []ponder.Progress
	for _, b := range bodiesOf[ponder.Progress](d) {
		if b.Stage == ponder.StageSteered {
			list = append(list, b)
		}
	}
	if len(list) != 1 {
		t.Fatalf("acknowledged %+v", list)
	}
	for _, ev := range d.log {
		if _, ok := ev.Body.(ponder.Steer); ok && ev.ID != list[0].Ref {
			t.Errorf("the command %s is acknowledged as %s", ev.ID, list[0].Ref)
		}
	}
	return list[0]
}

func writtenPrompt(d *driver) string {
	text := ""
	for _, c := range d.modelCalls() {
		if strings.HasPrefix(c.Key, "write-") {
			text = c.Request.System + c.Request.Messages[0].Text()
		}
	}
	return text
}

func TestSteer(t *testing.T) {
	web := Options{Web: true}
	for name, test := range map[string]struct {
		command   ponder.Steer
		cancelled []string
		want      string // in the prompt for the answer
		not       string
	}{
		"add":     {ponder.Steer{Do: ponder.AddQuestion, Content: "What lives there?"}, []string{"write-1"}, "- What lives there? (the user asks this)", "xyzzy"},
		"words":   {ponder.Steer{Content: "What lives there?"}, []string{"write-1"}, "- What lives there? (the user asks this)", "xyzzy"},
		"drop":    {ponder.Steer{Do: ponder.DropQuestion, Args: json.RawMessage(`{"question":"q1"}`)}, []string{"write-1"}, "- Find who measured it.", "- Find the depth."},
		"rank":    {ponder.Steer{Do: ponder.RankQuestion, Args: json.RawMessage(`{"question":"q2","priority":9}`)}, []string{"write-1"}, "first:\n- Find who measured it.", "xyzzy"},
		"correct": {ponder.Steer{Do: ponder.Correct, Content: "It is 10,920 metres deep."}, []string{"write-1"}, "] It is 10,920 metres deep.", "xyzzy"},
		"pin":     {ponder.Steer{Do: ponder.PinSource, Args: json.RawMessage(`{"source":"e1"}`)}, []string{"write-1"}, "[Page of https://other.test/deep]", "xyzzy"},
		"ban":     {ponder.Steer{Do: ponder.BanSource, Args: json.RawMessage(`{"source":"other.test"}`)}, []string{"write-1"}, "sea.test", "other.test"},
		"persona": {ponder.Steer{Do: ponder.SetPersona, Content: "As a diver.", Args: json.RawMessage(`{"name":"Jo"}`)}, []string{"write-1"}, "You answer as Jo", "xyzzy"},
	} {
		t.Run(name, func(t *testing.T) {
			d := whileWriting(t, web, test.command)
			if b := singleAck(t, d); b.Refused || !slices.Equal(b.Cancelled, test.cancelled) || b.Label != string(test.command.Do) {
				t.Errorf("acknowledged %+v", b)
			}
			if text := writtenPrompt(d); !strings.Contains(text, test.want) || strings.Contains(text, test.not) {
				t.Errorf("asked with, want %q and not %q:\n%s", test.want, test.not, text)
			}
			if d.fin.Status != ponder.Completed {
				t.Errorf("finished %+v", d.fin)
			}
			checkCites(t, d)
		})
	}
}

func TestAddedQuestion(t *testing.T) {
	d := whileWriting(t, Options{Web: true}, ponder.Steer{Do: ponder.AddQuestion, Content: "What lives in the hadal zone?"})
	asked := d.toolActions(WebSearchTool)
	if !slices.ContainsFunc(asked, func(a ponder.Do) bool { return strings.Contains(strings.ToLower(queryText(a.Args)), "hadal") }) {
		t.Errorf("searched with %s", asked[len(asked)-1].Args)
	}
	q := bodiesOf[ponder.SubQuestion](d)
	if last := q[len(q)-1]; last.By != "user" || last.ID != "q3" || last.Priority != 8 {
		t.Errorf("question %+v", last)
	}
}

func TestBanned(t *testing.T) {
	d := whileWriting(t, Options{Web: true}, ponder.Steer{Do: ponder.BanSource, Args: json.RawMessage(`{"source":"https://sea.test/deep"}`)})
	of := make(map[string]string)
	for _, e := range bodiesOf[ponder.Evidence](d) {
		of[e.ID] = e.Source
	}
	for _, c := range bodiesOf[ponder.Claim](d) {
		for _, q := range append(c.Quotes, c.Against...) {
			if of[q.Evidence] == "https://sea.test/deep" {
				t.Errorf("claim %q rests on %s", c.Content, q.Evidence)
			}
		}
		if slices.ContainsFunc(c.Cites, func(id string) bool { return of[id] == "https://sea.test/deep" }) {
			t.Errorf("claim %q cites %v", c.Content, c.Cites)
		}
	}
}

func TestCorrected(t *testing.T) {
	var d *driver
	f := answerWriter(trench, func(a ponder.Call, n int) ponder.Body {
		return textAnswer("The Challenger Deep is 10,920 metres deep [e1].")
	})
	d = newDriver(t, deepest, Options{}, 3*time.Minute, f.answerAction)
	d.inputs = map[int]ponder.Body{1: ponder.Steer{Do: ponder.Correct, Content: "The Challenger Deep is 10,920 metres deep."}}
	d.runToEnd()
	c := bodiesOf[ponder.Claim](d)
	if len(c) != 1 || c[0].Verdict != "supported" || strings.Contains(d.fin.Answer, "[unverified]") {
		t.Errorf("%q: claims %+v", d.fin.Answer, c)
	}
}

func TestRefusedCommands(t *testing.T) {
	for name, command := range map[string]ponder.Steer{
		"no question":   {Do: ponder.AddQuestion, Content: " "},
		"no such":       {Do: ponder.DropQuestion, Args: json.RawMessage(`{"question":"q99"}`)},
		"priority":      {Do: ponder.RankQuestion, Args: json.RawMessage(`{"question":"q1","priority":11}`)},
		"no fact":       {Do: ponder.Correct},
		"no source":     {Do: ponder.BanSource},
		"no pin":        {Do: ponder.PinSource, Args: json.RawMessage(`{"source":"?"}`)},
		"no persona":    {Do: ponder.SetPersona},
		"no limit":      {Do: ponder.SetBudget, Args: json.RawMessage(`{}`)},
		"unknown":       {Do: "dance"},
		"bad arguments": {Do: ponder.BanSource, Args: json.RawMessage(`[7]`)},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDriver(t, deepest, Options{Web: true}, 3*time.Minute, trench.answerAction)
			d.inputs = map[int]ponder.Body{8: command}
			if d.runToEnd(); !singleAck(t, d).Refused || len(singleAck(t, d).Cancelled) > 0 {
				t.Errorf("acknowledged %+v", singleAck(t, d))
			}
		})
	}
}

func TestCommandsLast(t *testing.T) {
	d := newDriver(t, deepest, Options{Web: true}, 3*time.Minute, trench.answerAction)
	d.inputs = map[int]ponder.Body{5: ponder.Steer{Do: ponder.BanSource, Args: json.RawMessage(`{"source":"other.test"}`)}}
	d.runToEnd()
	for _, e := range bodiesOf[ponder.Evidence](d) {
		if strings.Contains(e.Source, "other.test") && !slices.ContainsFunc(d.log[:6], func(ev ponder.Event) bool { b, ok := ev.Body.(ponder.Evidence); return ok && b.ID == e.ID }) {
			t.Errorf("%s was gathered after its source was banned", e.Source)
		}
	}
	for _, do := range d.toolActions(WebSearchTool)[1:] {
		if !strings.Contains(string(do.Args), `"without":["other.test"]`) {
			t.Errorf("searched with %s", do.Args)
		}
	}
	if strings.Contains(writtenPrompt(d), "other.test") {
		t.Error("a banned source is shown")
	}
}
