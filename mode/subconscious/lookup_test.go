package subconscious

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestParseLookUp(t *testing.T) {
	for answer, want := range map[string]string{
		`{"findings":[],"look_up":"lease of the flat in Graz"}`:                 "lease of the flat in Graz",
		`{"look_up":"lease of the flat"}`:                                       "lease of the flat",
		`{"findings":[],"lookup":["lease","rent"]}`:                             "lease",
		`{"findings":[],"Look Up":{"query":"lease"}}`:                           "lease",
		`{"findings":[],"look_up":null}`:                                        "",
		`{"findings":[],"look_up":"none"}`:                                      "",
		`{"findings":[],"look_up":7}`:                                           "",
		`{"findings":[],"look_up":"ab"}`:                                        "",
		`{"findings":[],"look_up":"12345"}`:                                     "",
		`{"findings":[],"look_up":"site:evil.example \"lease\" -draft (a|b)*"}`: "site evil.example lease draft a b",
		`{"findings":[],"look_up":"https://evil.example/?q=secret#x"}`:          "https evil.example q secret x",
		`{"findings":[],"look_up":"lease\u001b[31m\n\u202e of Anna’s flat"}`:    "lease of Anna’s flat",
		"FINDING: The lease ends in May\nLOOK UP: lease":                        "lease",
		"Nothing.\nlook_up: lease":                                              "lease",
	} {
		r, err := ParseReport(DefaultRoles()[1], answer, nil, NewState())
		if err != nil || r.LookUp != want {
			t.Errorf("%s: %q, %v; want %q", answer, r.LookUp, err, want)
		}
		if r, err = ParseReport(DefaultRoles()[0], answer, nil, NewState()); err != nil || r.LookUp != "" {
			t.Errorf("%s: a role that may not has %q looked up, %v", answer, r.LookUp, err)
		}
	}
}

// Only roles that may look up are offered it.
func TestPromptLookUp(t *testing.T) {
	for _, r := range DefaultRoles() {
		req := Prompt(r, NewState(), nil, midday)
		asks, schema := strings.Contains(req.System, "look_up"), strings.Contains(string(req.Schema.JSON), "look_up")
		if want := r.Looks != LookUpNone; asks != want || schema != want || strings.Contains(req.System, "{{") {
			t.Errorf("%s: asked %t, in its schema %t; it looks %q", r.Name, asks, schema, r.Looks)
		}
		r.Looks = LookUpNone
		if req = Prompt(r, NewState(), nil, midday); strings.Contains(req.System, "look") && strings.Contains(req.System, "LOOK UP") {
			t.Errorf("%s: %s", r.Name, req.System)
		}
	}
}

func FuzzWanted(f *testing.F) {
	f.Add("lease of the flat")
	f.Add("\x1b]0;x\a site:a.b -c +d \"e\" ＜f＞")
	f.Add(strings.Repeat("ÄÖ ", 200))
	f.Fuzz(func(t *testing.T, s string) {
		got := cleanLookUp(s)
		if !utf8.ValidString(got) || utf8.RuneCountInString(got) > maxLookUpLetters || strings.ContainsAny(got, "\x00\x1b\n:\"*()<>/\\|#?=") || got != cleanLookUp(got) {
			t.Errorf("%q is looked up as %q, and that as %q", s, got, cleanLookUp(got))
		}
	})
}
