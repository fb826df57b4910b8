package ways_test

import (
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"ponder/internal/compat"
	"ponder/internal/compat/protocoltest"
	"ponder/internal/compat/ways"
	"ponder/internal/racetest"
	"ponder/llm"
)

func TestOptions(t *testing.T) {
	r := protocoltest.New(t, protocoltest.Options{})
	for _, tt := range []struct{ metadata, field string }{
		{`{}`, ""},
		{`{"way":"Deep-Think","minutes":2.5,"max_cost_usd":0.5,"max_calls":9,"max_tokens":1000,"effort":"low"}`, ""},
		{`{"way":"research","model":"test/model","no_web":true,"no_memory":true,"plan_first":true,"other":[1]}`, ""},
		{`{"way":"guess"}`, "way"},
		{`{"way":7}`, "metadata"},
		{`{"minutes":"5"}`, "metadata"},
		{`{"minutes":-1}`, "minutes"},
		{`{"minutes":1e300}`, "minutes"},
		{`{"max_cost_usd":1e300}`, "max_cost_usd"},
		{`{"max_cost_usd":-0.01}`, "max_cost_usd"},
		{`{"max_calls":-3}`, "max_calls"},
		{`{"max_tokens":99999999999}`, "max_tokens"},
		{`{"effort":"most"}`, "effort"},
		{`{"model":"gpt"}`, "model"},
		{`{"model":"host/abc"}`, "model"},
		{`{"model":"` + strings.Repeat("x", 20<<10) + `"}`, "metadata"},
	} {
		var metadata map[string]any
		if err := json.Unmarshal([]byte(tt.metadata), &metadata); err != nil {
			t.Fatal(err)
		}
		o, err := ways.ReadOptions(metadata)
		if err == nil {
			_, err = o.NewRequest(r.Desk, "local", llm.Say(llm.User, "How deep is the sea?"))
		}
		field := ""
		if err != nil {
			field = r.Desk.APIErrorOf(err).Field
		}
		if field != tt.field {
			t.Errorf("%.80s: an error of %q, want %q: %v", tt.metadata, field, tt.field, err)
		}
	}
}

func TestRequest(t *testing.T) {
	r := protocoltest.New(t, protocoltest.Options{})
	o := ways.Options{Way: "session", Minutes: 2.5, MaxCost: 0.5, MaxCalls: 9}.Merge(ways.Options{Minutes: 4, NoWeb: true})
	a, err := o.NewRequest(r.Desk, "local", llm.Say(llm.User, "How deep?"))
	if err != nil || a.Model.Kind != compat.Session || a.Budget.Time != 4*time.Minute || a.Budget.Money != 500_000 || a.Budget.Calls != 9 || !a.NoWeb || a.Owner != "local" {
		t.Errorf("%+v, %v", a, err)
	}
}

func TestParseCommand(t *testing.T) {
	for text, want := range map[string]ways.Command{
		"/pause":                    {Name: "pause"},
		"  /steer ten more minutes": {Name: "steer", Text: "ten more minutes"},
		"/session minutes=5 max_cost_usd=0.2 plan_first=true Why =?": {Name: "session", Text: "Why =?", Options: ways.Options{Way: "session", Minutes: 5, MaxCost: 0.2, PlanFirst: true}},
		"/research minutes=soon Why?":                                {Name: "research", Text: "minutes=soon Why?", Options: ways.Options{Way: "research"}},
		"/deep-think\nWhy?":                                          {Name: "deep_think", Text: "Why?", Options: ways.Options{Way: "deep_think"}},
		"/usr/bin/env is a path":                                     {},
		"/":                                                          {},
		"What does /pause do?":                                       {},
	} {
		got, ok := ways.ParseCommand(text)
		if ok != (want.Name != "") || got != want && ok {
			t.Errorf("%q: %+v, %t", text, got, ok)
		}
	}
}

func FuzzParseCommand(f *testing.F) {
	for _, d := range ways.Commands() {
		f.Add("/" + d.Name + " minutes=5 text")
	}
	f.Add("/session max_calls=1 model=a/b=c no_web=1 x")
	f.Fuzz(func(t *testing.T, text string) {
		c, ok := ways.ParseCommand(text)
		if !ok {
			return
		}
		if c.Name == "" || !strings.Contains(text, c.Text) && !strings.Contains(text, "\n") || utf8.ValidString(text) && !utf8.ValidString(c.Text) {
			t.Errorf("%q: %+v", text, c)
		}
		again, ok := ways.ParseCommand("/" + c.Name + " " + c.Text)
		if !ok || again.Text != c.Text || again.Name != c.Name {
			t.Errorf("%q: %+v, then %+v", text, c, again)
		}
	})
}

// TestContext checks that work in a context knows the earlier work of all ways, and that other owners have no access.
func TestContext(t *testing.T) {
	for i, first := range []string{"think", "research", "session"} {
		for j, name := range []string{"my chat", ways.NewName("local", "")} {
			if (i+j)%racetest.Stride(2) != 0 {
				continue
			}
			t.Run(first, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) { checkContext(t, first, name) })
			})
		}
	}
}

func checkContext(t *testing.T, first, name string) {
	r := protocoltest.New(t, protocoltest.Options{Tools: protocoltest.Lookups(time.Second)})
	ctx := t.Context()
	texts := []string{"How deep is the sea, and why?", "Which zebra is the oldest?", "And which whale?", "Are you sure?"}
	jobs := make(map[string]bool)
	for i, way := range []string{first, "session", "think", "research"} {
		c, err := ways.OpenContext(ctx, r.Desk, "local", name)
		if err != nil {
			t.Fatal(err)
		}
		a, err := ways.Options{Way: way}.NewRequest(r.Desk, "local", llm.Say(llm.User, texts[i]))
		if err != nil {
			t.Fatal(err)
		}
		a.Key = "key " + texts[i]
		w, err := c.Begin(ctx, a, ways.IsName(name))
		if err != nil {
			t.Fatalf("%s in %s: %v", way, first, err)
		}
		r.CollectParts(w, false)
		jobs[w.ID()] = true
		again, err := ways.OpenContext(ctx, r.Desk, "local", name)
		if err != nil {
			t.Fatal(err)
		}
		w2, err := again.Begin(ctx, a, ways.IsName(name))
		if err != nil || w2.ID() != w.ID() {
			t.Errorf("%s in %s: a repeated key gives %s, not %s: %v", way, first, w2.ID(), w.ID(), err)
		}
		w2.Forget()
		a.Messages = []llm.Message{llm.Say(llm.User, "Other words?")}
		if _, err := again.Begin(ctx, a, ways.IsName(name)); err == nil {
			t.Errorf("%s in %s: a key is used for other words", way, first)
		}
	}
	c, err := ways.OpenContext(ctx, r.Desk, "local", name)
	if err != nil {
		t.Fatal(err)
	}
	turns, err := c.Turns(ctx)
	var asked []string
	for _, turn := range turns {
		asked = append(asked, turn.Question)
		if turn.Answer == "" || !jobs[turn.Job] {
			t.Errorf("%+v is no job, or has no answer", turn)
		}
	}
	if diff := cmp.Diff(texts, asked); diff != "" || err != nil {
		t.Errorf("%s: %v %s", first, err, diff)
	}
	known := 0
	for _, req := range r.Model.Requests() {
		js, _ := json.Marshal(req)
		if strings.Contains(string(js), "zebra") && strings.Contains(string(js), texts[2]) {
			known++
		}
	}
	if known == 0 {
		t.Error("the third message does not know the second")
	}
	other, err := ways.OpenContext(ctx, r.Desk, "anna", name)
	if err != nil || other.Exists() {
		t.Errorf("another owner has the context: %v", err)
	}
	for id := range jobs {
		w, err := r.Desk.FindJob(ctx, "local", id)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := ways.NameOf(ctx, r.Desk, w.Thread); err != nil || got != name {
			t.Errorf("%s has the context %q: %v", id, got, err)
		}
	}
}
