package chat

import (
	"testing"

	"ponder"
)

func TestReflectionView(t *testing.T) {
	userMessage := func(seq ponder.Seq) ponder.Event {
		return ponder.Event{Seq: seq, Run: "run_1", Body: ponder.Progress{Stage: DeepAsked}}
	}
	run := ponder.Event{Seq: 2, Run: "run_2", Body: ponder.RunStarted{Mode: deepMode}}
	came := func(seq ponder.Seq, cause string) ponder.Event {
		return ponder.Event{Seq: seq, Run: "run_2", Cause: cause, Body: ponder.InnerMonologue{Tool: deepTool}}
	}
	for _, tt := range []struct {
		name string
		evs  []ponder.Event
		busy bool
	}{
		{"nothing", nil, false},
		{"asked", []ponder.Event{userMessage(1), run}, true},
		{"asked by the user", []ponder.Event{{Seq: 1, Body: ponder.Observation{Sensor: DeepAsked}}}, true},
		{"came", []ponder.Event{userMessage(1), run, came(3, "muse-1/1.1")}, false},
		{"asked again meanwhile", []ponder.Event{userMessage(1), run, userMessage(3), came(4, "muse-1/1.1")}, true},
		{"and that came", []ponder.Event{userMessage(1), run, userMessage(3), came(4, "muse-1/1.1"), came(5, "muse-3/1.1")}, false},
		{"failed", []ponder.Event{userMessage(1), run, {Seq: 3, Cause: "failed-1/1.1", Body: ponder.Progress{Stage: DeepFailed}}}, false},
		{"the run failed", []ponder.Event{userMessage(1), run, {Seq: 3, Run: "run_2", Body: ponder.RunFinished{Status: ponder.Failed}}}, false},
		{"condensed", []ponder.Event{userMessage(1), run, {Seq: 3, Run: "run_1", Cause: "noted-1/1.1", Body: ponder.InnerMonologue{}}}, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var v ReflectionView
			for _, ev := range tt.evs {
				v.Apply(ev)
			}
			if v.Busy() != tt.busy {
				t.Errorf("busy: %v", v.Busy())
			}
		})
	}
}

func TestPendingMessages(t *testing.T) {
	said := func(id string) ponder.Event { return ponder.Event{ID: id, Body: ponder.UserMessage{Content: id}} }
	run := func(id ponder.RunID, mode string) ponder.Event {
		return ponder.Event{Run: id, Body: ponder.RunStarted{Mode: mode}}
	}
	ended := func(id ponder.RunID) ponder.Event { return ponder.Event{Run: id, Body: ponder.RunFinished{}} }
	answered := func(id string) ponder.Event {
		return ponder.Event{Run: "run_1", Body: ponder.Progress{Stage: TurnEnded, Ref: id}}
	}
	for name, tt := range map[string]struct {
		evs  []ponder.Event
		want string
	}{
		"none":                    {nil, ""},
		"said":                    {[]ponder.Event{said("a"), run("run_1", Name), said("b")}, "ab"},
		"the first is answered":   {[]ponder.Event{said("a"), said("b"), answered("a")}, "b"},
		"its run ended":           {[]ponder.Event{said("a"), run("run_1", Name), said("b"), ended("run_1")}, ""},
		"another run ended":       {[]ponder.Event{said("a"), run("run_1", Name), run("run_2", deepMode), ended("run_2")}, "a"},
		"answered elsewhere":      {[]ponder.Event{said("a"), {Body: ponder.AssistantMessage{Content: "So."}}, said("b")}, "b"},
		"said in an answer":       {[]ponder.Event{said("a"), {Run: "run_1", Body: ponder.AssistantMessage{Content: "So."}}}, "a"},
		"another one has ended":   {[]ponder.Event{said("a"), answered("b")}, "a"},
		"a run that began before": {[]ponder.Event{said("a"), ended("run_0")}, "a"},
	} {
		var p PendingMessages
		got := ""
		for _, ev := range tt.evs {
			p.Apply(ev)
		}
		for _, m := range p.Open {
			got += m.Text
		}
		if got != tt.want {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
		if answers, known := p.IsAnswering("run_2"); answers || known != (name == "another run ended") {
			t.Errorf("%s: run_2 answers: %v, %v", name, answers, known)
		}
	}
}
