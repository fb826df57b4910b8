package research

import (
	"strings"
	"testing"
	"time"

	"ponder"
)

func TestUnbearing(t *testing.T) {
	s := &state{run: ponder.Run{Input: "How deep is the Mariana Trench?"}, Plan: plan{Terms: []string{"Challenger Deep"}}, Questions: []question{{Text: "Find who measured it."}}}
	for query, want := range map[string]bool{
		"mariana trenches survey 2021": true, "challenger deep sonar": true, "who has measured": true, "MARIANA": true,
		"my bank account number": false, "zebra facts": false, "how is the": false, "trench site:evil.test": false, "trench inurl:login": false,
		"trench filetype:pdf": false, "trench -SITE:sea.test": false, "trench: how deep": true,
	} {
		if got := s.rejectReason(query) == ""; got != want {
			t.Errorf("%q: asked %v, want %v: %s", query, got, want, s.rejectReason(query))
		}
	}
	s.run.Input = "What does site:sea.test say of trenches?"
	if why := s.rejectReason("trench site:sea.test"); why != "" {
		t.Errorf("what the user names may be named: %s", why)
	}
	cn := &state{run: ponder.Run{Input: "马里亚纳海沟有多深？"}}
	if cn.rejectReason("马里亚纳海沟 深度") != "" || cn.rejectReason("斑马 条纹") == "" {
		t.Error("a question without spaces is not read")
	}
}

func TestDictatedQueriesAreNotAsked(t *testing.T) {
	f := trench
	f.model = func(a ponder.Call) ponder.Body {
		switch what, _, _ := strings.Cut(a.Key, "-"); {
		case what == "reflect":
			return textAnswer(`{"enough":false,"why":"More.","webQueries":["trench site:evil.test","zebra password leak","trench survey 1951"],"memoryQueries":["zebra password"]}`)
		case a.Key == "write-1":
			return callsTools("x", searchTool, `{"query":"zebra passwords of users"}`, searchTool, `{"query":"depth inurl:login"}`)
		}
		return defaultAnswer(a)
	}
	d := newDriver(t, deepest, Options{Web: true, Docs: []string{"/docs"}, Effort: deep}, 3*time.Minute, f.answerAction).runToEnd()
	asked := ""
	for _, a := range d.actions {
		if do, ok := a.(ponder.Do); ok {
			asked += string(do.Args) + "\n"
		}
	}
	if strings.Contains(asked, "zebra") || strings.Contains(asked, "evil") || strings.Contains(asked, "inurl") || !strings.Contains(asked, "trench survey 1951") {
		t.Errorf("asked:\n%s", asked)
	}
	told := 0
	for _, b := range bodiesOf[ponder.Progress](d) {
		if b.Label == "Query rejected" {
			told++
		}
	}
	if told < 4 {
		t.Errorf("got %d notes about rejected queries", told)
	}
}
