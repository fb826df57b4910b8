package web

import (
	"strings"
	"testing"
	"time"
)

func TestRules(t *testing.T) {
	type paths map[string]bool
	for name, c := range map[string]struct {
		file string
		want paths
	}{
		"empty":            {"", paths{"/": true, "/x": true}},
		"no group":         {"Disallow: /\n", paths{"/x": true}},
		"all":              {"User-agent: *\nDisallow: /\n", paths{"/": false, "/x": false}},
		"nothing":          {"User-agent: *\nDisallow:\n", paths{"/": true, "/x": true}},
		"others only":      {"User-agent: other\nDisallow: /\n", paths{"/x": true}},
		"us, not all":      {"User-agent: *\nDisallow: /\n\nUser-agent: Ponder\nDisallow: /a\n", paths{"/x": true, "/a": false}},
		"us, after others": {"User-agent: ponder\nDisallow: /a\nUser-agent: *\nDisallow: /b\n", paths{"/a": false, "/b": true}},
		"us, empty group":  {"User-agent: ponder\n\nUser-agent: *\nDisallow: /\n", paths{"/x": false}},
		"us, all allowed":  {"User-agent: ponder\nDisallow:\nUser-agent: *\nDisallow: /\n", paths{"/x": true}},
		"version":          {"User-agent: PONDER/2.1 (x)\nDisallow: /a\n", paths{"/a": false}},
		"beginning of us":  {"User-agent: pon\nDisallow: /\n", paths{"/x": true}},
		"more than us":     {"User-agent: ponderer\nDisallow: /\n", paths{"/x": true}},
		"groups merge":     {"User-agent: ponder\nDisallow: /a\nUser-agent: x\nDisallow: /x\nUser-agent: ponder\nDisallow: /b\n", paths{"/a": false, "/b": false, "/x": true}},
		"names share":      {"User-agent: x\nUser-agent: ponder\nDisallow: /a\n", paths{"/a": false}},
		"names share, all": {"User-agent: x\nUser-agent: *\nDisallow: /a\n", paths{"/a": false}},
		"sitemap between":  {"User-agent: x\nSitemap: https://e.example/\nUser-agent: ponder\nDisallow: /a\n", paths{"/a": false}},
		"longest wins":     {"User-agent: *\nDisallow: /\nAllow: /a\nDisallow: /a/b\n", paths{"/x": false, "/a": true, "/a/b": false, "/a/c": true}},
		"longest, allow":   {"User-agent: *\nAllow: /p\nDisallow: /\n", paths{"/page": true, "/x": false}},
		"as long, allow":   {"User-agent: *\nDisallow: /f\nAllow: /f\n", paths{"/f": true}},
		"as long, first":   {"User-agent: *\nAllow: /f\nDisallow: /f\n", paths{"/f": true}},
		"end":              {"User-agent: *\nDisallow: /a$\n", paths{"/a": false, "/ab": true, "/a?b": true}},
		"end of all":       {"User-agent: *\nAllow: /$\nDisallow: /\n", paths{"/": true, "/x": false}},
		"any":              {"User-agent: *\nDisallow: /a*b\n", paths{"/ab": false, "/axxb/c": false, "/a": true, "/x/ab": true}},
		"any, end":         {"User-agent: *\nDisallow: /*.php$\n", paths{"/a.php": false, "/a.php?x": true, "/a.php5": true, "/": true}},
		"any, twice":       {"User-agent: *\nDisallow: /*a*b$\n", paths{"/xaxb": false, "/ba": true, "/ab": false, "/abc": true, "/abab": false}},
		"only any":         {"User-agent: *\nDisallow: *\n", paths{"/x": false}},
		"query":            {"User-agent: *\nDisallow: /*?\n", paths{"/a": true, "/a?b": false}},
		"dots":             {"User-agent: *\nDisallow: /a.b\n", paths{"/a.b": false, "/axb": true}},
		"case":             {"uSER-aGENT: *\ndISALLOW: /A\n", paths{"/A": false, "/a": true}},
		"escapes":          {"User-agent: *\nDisallow: /a%3cd\nDisallow: /ü\nDisallow: /%7euser\n", paths{"/a%3Cd": false, "/%C3%BC": false, "/~user": false, "/%7Euser": false}},
		"escaped slash":    {"User-agent: *\nDisallow: /a%2fb\n", paths{"/a%2Fb": false, "/a/b": true}},
		"spaces":           {"  User-agent :  *  \n\tDisallow\t:\t/a\t# no\n", paths{"/a": false, "/b": true}},
		"lines of all":     {"User-agent: *\rDisallow: /a\r\nDisallow: /b\nDisallow: /c", paths{"/a": false, "/b": false, "/c": false}},
		"mark":             {"\ufeffUser-agent: *\nDisallow: /a\n", paths{"/a": false}},
		"nonsense":         {"User-agent: *\nhello\n: /\nDisallow /b\nCrawl-delay: soon\nDisallow: /a\n\x00\xff\n", paths{"/a": false, "/b": true}},
		"HTML":             {"<html><body>User-agent: *<br>Disallow: /</body></html>", paths{"/x": true}},
	} {
		t.Run(name, func(t *testing.T) {
			r := parseRules([]byte(c.file), "ponder")
			again := parseRules([]byte(relevantLines([]byte(c.file))), "ponder")
			for path, want := range c.want {
				if got := r.allowsPath(path); got != want {
					t.Errorf("%s: %v", path, got)
				}
				if got := again.allowsPath(path); got != want {
					t.Errorf("%s, noted: %v", path, got)
				}
			}
		})
	}
}

func TestCrawlDelay(t *testing.T) {
	for file, want := range map[string]time.Duration{
		"User-agent: *\nCrawl-delay: 2.5\n":                                         2500 * time.Millisecond,
		"User-agent: *\nCrawl-delay: -1\n":                                          0,
		"User-agent: *\nCrawl-delay: NaN\n":                                         0,
		"User-agent: *\nCrawl-delay: Inf\n":                                         maxRetryAfter,
		"User-agent: *\nCrawl-delay: 1e300\n":                                       maxRetryAfter,
		"User-agent: *\nCrawl-delay: 9\nUser-agent: ponder\nCrawl-delay: 1\n":       time.Second,
		"User-agent: *\nCrawl-delay: 9\nUser-agent: ponder\nDisallow: /x\nFoo: 1\n": 0,
	} {
		if got := parseRules([]byte(file), "ponder").delay; got != want {
			t.Errorf("%q: %v, not %v", file, got, want)
		}
	}
}

func TestAgentToken(t *testing.T) {
	for agent, want := range map[string]string{"Ponder/1.0": "ponder", " A-b_C d": "a-b_c", "": "", "*": "", "1x": ""} {
		if got := agentToken(agent); got != want {
			t.Errorf("%q: %q", agent, got)
		}
	}
}

// TestHostileRules has rules that are slow for naive matchers.
func TestHostileRules(t *testing.T) {
	many := "User-agent: *\n" + strings.Repeat("Disallow: /*a*b\n", maxRobots/16)
	r := parseRules([]byte(many), "ponder")
	if len(r.list) > maxRules {
		t.Errorf("%d rules", len(r.list))
	}
	path := "/" + strings.Repeat("a", 2000)
	if !r.allowsPath(path) {
		t.Error("a path that no rule matches is not allowed")
	}
	stars := parseRules([]byte("User-agent: *\nDisallow: /"+strings.Repeat("a*", 1000)+"b\n"), "ponder")
	if !stars.allowsPath("/" + strings.Repeat("a", 8000)) {
		t.Error("a path that no rule matches is not allowed")
	}
}

func FuzzRules(f *testing.F) {
	f.Add([]byte("User-agent: *\nDisallow: /a*b$\nAllow: /%C3%BC\nCrawl-delay: 3\n"), "/a/b?c")
	f.Add([]byte("\ufeffuser-agent:ponder\r\rdisallow:*$*\nallow:$"), "/%")
	f.Fuzz(func(t *testing.T, file []byte, path string) {
		r := parseRules(file, "ponder")
		if r.delay < 0 || r.delay > maxRetryAfter || len(r.list) > maxRules {
			t.Fatalf("%d rules, a delay of %v", len(r.list), r.delay)
		}
		noted := relevantLines(file)
		if again := parseRules([]byte(noted), "ponder"); len(noted) <= maxRobots && again.allowsPath(path) != r.allowsPath(path) {
			t.Fatalf("%q means something else when it is noted as %q", file, noted)
		}
	})
}
