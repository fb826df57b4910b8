package main

import (
	"encoding/json"
	"strings"
	"testing"

	"ponder/internal/app"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"

	"ponder"
	"ponder/internal/steering"
	"ponder/mode/session"
)

func TestSteerFlags(t *testing.T) {
	v := session.NewView()
	v.Session.Run = "run_1"
	v.Session.Budget = session.Limits{Seconds: 300, Calls: 10}
	v.Questions = []session.Question{{ID: "q1", Text: "How deep?"}, {ID: "q2", Text: "How wide?", Explored: true}, {ID: "q3", Text: "How old?", State: session.Dropped}}
	v.Sources = []session.Source{{ID: "e1", Source: "/d/a.md"}}
	w := &app.SessionView{View: v}
	for _, tt := range []struct {
		name, line string
		want       []string // operation, content and arguments
		err        string
	}{
		{name: "in their order", line: "--correct=It is salt.|--add=How old?|--priority=3|--add=Who asks?|--drop=Q1", want: []string{
			"correct It is salt. ", `add_question How old? {"priority":3}`, "add_question Who asks? ", `drop_question  {"question":"q1"}`,
		}},
		{name: "by its words", line: "--rank=how  deep?=9", want: []string{`rank_question  {"question":"q1","priority":9}`}},
		{name: "an explored one is the session's to judge", line: "--drop=q2", want: []string{`drop_question  {"question":"q2"}`}},
		{name: "limits are one wish", line: "--calls=5|--answer-now|--for=10m|--tokens=2k|--cost=0.5", want: []string{
			`budget  {"calls":5,"tokens":2000,"micro_usd":500000,"time_ns":600000000000}`, "answer_now  ",
		}},
		{name: "more", line: "--for=+90s|--calls=+1", want: []string{`budget  {"calls":11,"time_ns":390000000000}`}},
		{name: "more than is sensible", line: "--calls=1000000|--for=+24h", want: []string{`budget  {"calls":1000000,"time_ns":86400000000000}`}},
		{name: "sources", line: "--pin=e1|--ban=https://example.com/x|--pin=no/such/file", want: []string{
			`pin_source  {"source":"e1"}`, `ban_source  {"source":"https://example.com/x"}`, `pin_source  {"source":"no/such/file"}`,
		}},
		{name: "escapes", line: "--correct=red\x1b[31m  and\nmore", want: []string{"correct red and more "}},
		{name: "not answer now", line: "--answer-now=false"},
		{name: "no more than no limit", line: "--tokens=+1k", err: "no such limit"},
		{name: "no question", line: "--drop=q7", err: `no question "q7": open questions: q1`},
		{name: "no priority", line: "--rank=q1=12", err: "no priority"},
		{name: "no id", line: "--rank==3", err: "value missing"},
		{name: "priority of nothing", line: "--drop=q1|--priority=3", err: "preceding --add"},
		{name: "not text", line: "--add=\xff\xfe", err: "UTF-8"},
		{name: "too long", line: "--add=" + strings.Repeat("a", steering.MaxText+1), err: "longer than"},
		{name: "no time", line: "--for=-3m", err: "for"},
		{name: "maybe", line: "--answer-now=maybe", err: "use true or false"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var f steerFlags
			flags := pflag.NewFlagSet("", pflag.ContinueOnError)
			f.addFlags(flags)
			var evs []ponder.Event
			var words []string
			if tt.line != "" {
				words = strings.Split(tt.line, "|")
			}
			err := flags.Parse(words)
			if err == nil {
				evs, err = f.commandEvents(t.Context(), w)
			}
			if err != nil && strings.Contains(err.Error(), ", q3") {
				t.Errorf("a dropped question is suggested: %v", err)
			}
			if (err != nil) != (tt.err != "") || err != nil && !strings.Contains(err.Error(), tt.err) {
				t.Fatalf("error %v, want %q", err, tt.err)
			}
			var got []string
			for _, ev := range evs {
				b := ev.Body.(ponder.Steer)
				if got = append(got, string(b.Do)+" "+b.Content+" "+string(b.Args)); ev.Run != "run_1" {
					t.Errorf("run is %s", ev.Run)
				}
				if b.Args != nil && !json.Valid(b.Args) {
					t.Errorf("%s is not JSON", b.Args)
				}
			}
			if d := cmp.Diff(tt.want, got); d != "" {
				t.Error(d)
			}
		})
	}
}

// Only the copy mark of a fork separates its commands from those of the original.
func TestForkCommands(t *testing.T) {
	var sent []ponder.Event
	for _, ev := range []ponder.Event{
		{Seq: 1, Body: ponder.Steer{Do: ponder.Cancel}}, {Seq: 2, Body: ponder.SystemNote{Content: "forked", Reason: "fork", From: "thr_1", At: 1}},
		{Seq: 3, Body: ponder.Steer{Do: ponder.Cancel}}, {Seq: 4, Body: ponder.SystemNote{Content: "imported", Foreign: "x"}}, {Seq: 5, Body: ponder.Steer{Do: ponder.Cancel}},
	} {
		sent = addForkCommand(sent, ev)
	}
	if len(sent) != 2 || sent[0].Seq != 3 || sent[1].Seq != 5 {
		t.Errorf("commands %+v", sent)
	}
}
