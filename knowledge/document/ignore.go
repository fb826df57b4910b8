package document

import (
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// Bounds on a file of rules.
const (
	maxRules     = 2000
	maxRuleBytes = 1 << 18
)

// ignoreFiles hold rules of what not to read, in the form of git.
var ignoreFiles = []string{".gitignore", ".ignore"}

// machineDirs hold what no one wrote, if something that says so stands beside
// them; "" needs no witness.
var machineDirs = map[string][]string{
	"node_modules": {""}, "bower_components": {""}, "__pycache__": {""}, "site-packages": {""}, "__MACOSX": {""},
	"$RECYCLE.BIN": {""}, "System Volume Information": {""}, "lost+found": {""},
	"vendor": {"go.mod", "composer.json", "Gemfile"},
	"target": {"Cargo.toml", "pom.xml"},
	"Pods":   {"Podfile"},
}

// machineMarks stand in a folder that no one wrote.
var machineMarks = []string{"CACHEDIR.TAG", "pyvenv.cfg"}

// A rule is a line of an ignore file.
type rule struct {
	parts []string // of the pattern, by folder; "**" is any number of them
	keep  bool     // the line began with "!"
	dir   bool     // it is for folders only
}

// A ruleSet is the rules of a folder and of those above it.
type ruleSet struct {
	up    *ruleSet
	dir   string
	rules []rule
}

// below returns the rules that hold in dir, which has entries of these names.
func (s *ruleSet) below(dir string, has func(name string) bool) *ruleSet {
	var rules []rule
	for _, name := range ignoreFiles {
		if has(name) {
			rules = append(rules, readRules(filepath.Join(dir, name))...)
		}
	}
	if rules == nil {
		return s
	}
	return &ruleSet{up: s, dir: dir, rules: rules}
}

// ignores reports whether a path is not to be read. The last rule that matches
// decides, and a folder's rules come after those of the folders above it.
func (s *ruleSet) ignores(p string, dir bool) bool {
	for ; s != nil; s = s.up {
		rel, err := filepath.Rel(s.dir, p)
		if err != nil {
			continue
		}
		parts := strings.Split(filepath.ToSlash(rel), "/")
		for i := len(s.rules) - 1; i >= 0; i-- {
			if r := s.rules[i]; (dir || !r.dir) && match(r.parts, parts) {
				return !r.keep
			}
		}
	}
	return false
}

// readRules returns the rules of a file; what is unreadable has none.
func readRules(name string) []rule {
	f, _, err := open(name)
	if err != nil {
		return nil
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxRuleBytes))
	if err != nil {
		return nil
	}
	return parseRules(string(text))
}

// parseRules returns the rules of the text of an ignore file.
func parseRules(text string) []rule {
	var rules []rule
	for line := range strings.Lines(text) {
		if r, ok := parseRule(strings.TrimRight(line, "\r\n")); ok && len(rules) < maxRules {
			rules = append(rules, r)
		}
	}
	return rules
}

func parseRule(line string) (rule, bool) {
	if !strings.HasSuffix(line, `\ `) {
		line = strings.TrimRight(line, " \t")
	}
	if line == "" || line[0] == '#' {
		return rule{}, false
	}
	var r rule
	line, r.keep = strings.CutPrefix(line, "!")
	line, r.dir = strings.CutSuffix(line, "/")
	anchored := strings.Contains(line, "/")
	r.parts = strings.Split(strings.TrimPrefix(line, "/"), "/")
	if !anchored {
		r.parts = append([]string{"**"}, r.parts...)
	}
	for _, p := range r.parts {
		if _, err := path.Match(p, ""); err != nil {
			return rule{}, false
		}
	}
	return r, line != "" && len(r.parts) <= 32
}

// match reports whether a pattern is for a path. Both are in parts. It goes back
// to the last "**" only, so that no pattern is slow.
func match(pattern, parts []string) bool {
	i, j, star, from := 0, 0, -1, 0
	for j < len(parts) {
		switch {
		case i < len(pattern) && pattern[i] == "**":
			star, from = i, j
			i++
		case i < len(pattern) && matchPart(pattern[i], parts[j]):
			i++
			j++
		case star >= 0:
			from++
			i, j = star+1, from
		default:
			return false
		}
	}
	return i == len(pattern)
}

func matchPart(pattern, part string) bool {
	ok, err := path.Match(pattern, part)
	return ok && err == nil
}

// machineMade reports whether a folder, beside entries that has knows, holds
// what no one wrote.
func machineMade(dir string, has func(name string) bool) bool {
	for _, witness := range machineDirs[filepath.Base(dir)] {
		if witness == "" || has(witness) {
			return true
		}
	}
	for _, mark := range machineMarks {
		if _, err := os.Lstat(filepath.Join(dir, mark)); err == nil {
			return true
		}
	}
	return false
}
