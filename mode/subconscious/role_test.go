package subconscious

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"ponder"
)

func TestDefaultRoles(t *testing.T) {
	var got []string
	for _, r := range DefaultRoles() {
		got = append(got, r.Name+" "+strings.Join(r.sortedTypes(), " "))
		if r.Prompt == "" || r.Doc == "" || len(r.Prompt) > maxRolePrompt || r.Every != 0 || !isRoleName(r.Name) {
			t.Errorf("role is %+v", r)
		}
	}
	want := []string{
		"watcher observation anomaly pattern", "librarian pattern connection promise forgotten stale",
		"oracle upcoming preparation risk", "dreamer idea question challenge connection",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestSees(t *testing.T) {
	due := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for _, tt := range []struct {
		o    ponder.Observation
		want string
	}{
		{ponder.Observation{Sensor: "mail"}, "watcher dreamer"},
		{ponder.Observation{Sensor: "mail:work", Due: due}, "watcher oracle dreamer"},
		{ponder.Observation{Sensor: "calendar:home"}, "watcher oracle dreamer"},
		{ponder.Observation{Sensor: "feed:news"}, "watcher dreamer"},
		{ponder.Observation{Sensor: "own"}, "librarian dreamer"},
		{ponder.Observation{Sensor: "other"}, "dreamer"},
		{ponder.Observation{Sensor: "delivery:desktop", Due: due}, ""},
		{ponder.Observation{Sensor: "subconscious"}, ""},
	} {
		var got []string
		for _, r := range DefaultRoles() {
			if r.Sees(tt.o) {
				got = append(got, r.Name)
			}
		}
		if s := strings.Join(got, " "); s != tt.want {
			t.Errorf("%+v is seen by %q, want %q", tt.o, s, tt.want)
		}
	}
	news := Role{Reads: []string{"feed:news"}}
	if !news.Sees(ponder.Observation{Sensor: "feed:news"}) || news.Sees(ponder.Observation{Sensor: "feed:other"}) {
		t.Error("a role may read one sensor of a kind")
	}
}

func TestReadRole(t *testing.T) {
	want := Role{
		Name: "money", Doc: "Money that comes and goes", Prompt: "You look for bills.\n\n---\nMore.", Reads: []string{"mail", "files:home", "due"}, Category: ActiveThreads,
		Types: map[string]Category{"bill": ActiveThreads, "habit": Patterns}, Every: 6 * time.Hour, Looks: LookUpMemory,
	}
	for name, head := range map[string]string{
		"inline": "doc: \"Money that comes and goes\"\nreads: [mail, 'files:home', due]\ncategory: active_threads\ntypes: {bill: active_threads, habit: patterns}\nevery: 6h\nlooks: memory",
		"below":  "# a comment\ndoc: Money that comes and goes\n\nreads:\n  - mail\n- files:home\n  - due\ncategory: 'active_threads'\ntypes:\n  bill:\n  habit: patterns\nevery: 360m\nlooks: 'memory'",
		"bare":   "doc: Money that comes and goes\nreads: mail, files:home, due, mail\ncategory: active_threads\ntypes: bill, habit: patterns\nevery: 6h0m\nlooks: \"memory\"",
	} {
		for _, end := range []string{"\n", "\r\n"} {
			file := strings.ReplaceAll("---\n"+head+"\n---\n\nYou look for bills.\n\n---\nMore.\n", "\n", end)
			got, err := ReadRole("roles/money.md", []byte(file))
			if diff := cmp.Diff(want, got); err != nil || diff != "" {
				t.Errorf("%s: %v %s", name, err, diff)
			}
		}
	}
	minimal, err := ReadRole("x", []byte("---\nreads: '*'\n---\nLook.\nAt all."))
	if diff := cmp.Diff(Role{Name: "x", Doc: "Look.", Prompt: "Look.\nAt all.", Reads: []string{"*"}, Category: Hunches}, minimal); err != nil || diff != "" {
		t.Error(err, diff)
	}
}

func TestReadRoleErrors(t *testing.T) {
	for name, tt := range map[string]struct{ name, file, want string }{
		"name":        {"My Role.md", "", `role "My Role": name the file with`},
		"escape":      {"\x1b[31mx", "", `role "x": name the file`},
		"huge":        {"x.md", strings.Repeat("x", maxRoleFile+1), "role x: the file has more than 16 KB"},
		"binary":      {"x.md", "---\xff", "role x: the file is not UTF-8 text"},
		"empty":       {"x.md", "", `role x: line 1: the file must begin with "---" and front matter`},
		"open":        {"x.md", "---\ndoc: x\n", `role x: line 3: the front matter does not end: a line "---" is missing`},
		"no colon":    {"x.md", "---\ndoc\n---\nx", `role x: line 2: want "key: value", not "doc"`},
		"unknown":     {"x.md", "---\ndoc: x\nmodel: y\n---\nx", `role x: line 3: unknown key "model": want doc, reads, category, types, every or looks`},
		"twice":       {"x.md", "---\ndoc: x\ndoc: y\n---\nx", "role x: line 3: doc is given twice"},
		"item":        {"x.md", "---\n- x\n---\nx", "role x: line 2: no key precedes this list item"},
		"category":    {"x.md", "---\nreads: '*'\ncategory: ideas\n---\nx", `role x: line 3: category "ideas": want active_threads, patterns, hunches or insights`},
		"reads":       {"x.md", "---\nreads: [mail, a b]\n---\nx", `role x: line 2: reads has "a b": want kinds of sensors`},
		"reads none":  {"x.md", "---\ndoc: x\n---\nx", "role x: line 3: reads is missing"},
		"type":        {"x.md", "---\nreads: mail\ntypes:\n  A!: hunches\n---\nx", `role x: line 4: types has "A!": want lower-case letters`},
		"type to":     {"x.md", "---\nreads: mail\ntypes: {a: b}\n---\nx", `role x: line 3: category "b" of type a: want active_threads`},
		"every":       {"x.md", "---\nreads: mail\nevery: 5s\n---\nx", `role x: line 3: every "5s": want a duration from 1m to 720h, as in 6h`},
		"looks":       {"x.md", "---\nreads: mail\nlooks: up\n---\nx", `role x: line 3: looks "up": want memory, web or none`},
		"no prompt":   {"x.md", "---\nreads: mail\n---\n \n", "role x: line 3: the prompt is missing"},
		"long prompt": {"x.md", "---\nreads: mail\n---\n" + strings.Repeat("x ", 2000), "role x: line 4: the prompt has 3999 bytes; at most 1800 fit"},
		"many types":  {"x.md", "---\nreads: mail\ntypes: a,b,c,d,e,f,g,h,i,j,k,l,m\n---\nx", "role x: line 3: there are more than 12 types"},
	} {
		r, err := ReadRole(tt.name, []byte(tt.file))
		if err == nil || !strings.HasPrefix(err.Error(), tt.want) || strings.ContainsAny(err.Error(), "\n\x1b") || r.Name != "" {
			t.Errorf("%s: error %v, want %q", name, err, tt.want)
		}
	}
}

func FuzzReadRole(f *testing.F) {
	f.Add("x.md", "---\nreads: [mail]\ntypes:\n  a: hunches\nevery: 2h\n---\nLook.")
	f.Add("x.md", "---\n- \n: \n---")
	f.Fuzz(func(t *testing.T, name, file string) {
		r, err := ReadRole(name, []byte(file))
		if err != nil {
			if strings.ContainsAny(err.Error(), "\n\r\x1b") || len(err.Error()) > 400 {
				t.Errorf("error %q", err)
			}
			return
		}
		if !isRoleName(r.Name) || r.Prompt == "" || len(r.Prompt) > maxRolePrompt || len(r.Reads) == 0 || len(r.sortedTypes()) == 0 {
			t.Errorf("role is %+v", r)
		}
	})
}
