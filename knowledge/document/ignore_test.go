package document

import (
	"path/filepath"
	"strings"
	"testing"
)

func TestRules(t *testing.T) {
	for _, c := range []struct {
		name, rules, path string
		dir, want         bool
	}{
		{name: "name anywhere", rules: "*.log", path: "a/b/c.log", want: true},
		{name: "other name", rules: "*.log", path: "a/b/c.txt"},
		{name: "anchored", rules: "/build", path: "build", want: true},
		{name: "anchored, deeper", rules: "/build", path: "a/build"},
		{name: "slash inside anchors", rules: "a/b", path: "c/a/b"},
		{name: "slash inside", rules: "a/b", path: "a/b", want: true},
		{name: "folder only, file", rules: "tmp/", path: "tmp"},
		{name: "folder only, folder", rules: "tmp/", path: "x/tmp", dir: true, want: true},
		{name: "two stars first", rules: "**/x/y", path: "a/b/x/y", want: true},
		{name: "two stars last", rules: "x/**", path: "x/a/b", want: true},
		{name: "two stars last, itself", rules: "x/**", path: "x", dir: true},
		{name: "two stars between", rules: "a/**/z", path: "a/z", want: true},
		{name: "two stars between, deep", rules: "a/**/z", path: "a/b/c/z", want: true},
		{name: "star is one part", rules: "/a/*", path: "a/b/c"},
		{name: "kept after", rules: "*.md\n!keep.md", path: "keep.md"},
		{name: "last decides", rules: "!keep.md\n*.md", path: "keep.md", want: true},
		{name: "comment", rules: "# *.md\n\n", path: "a.md"},
		{name: "escaped hash", rules: `\#a`, path: "#a", want: true},
		{name: "space at the end", rules: "a  ", path: "a", want: true},
		{name: "class", rules: "[ab].md", path: "b.md", want: true},
		{name: "bad pattern is no rule", rules: "[", path: "["},
		{name: "many stars", rules: strings.Repeat("**/a/", 15) + "b", path: strings.Repeat("a/", 40) + "c"},
		{name: "two stars twice", rules: "a/**/b/**/c", path: "a/x/b/b/y/c", want: true},
		{name: "question mark", rules: "?.md", path: "é.md", want: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := filepath.FromSlash("/root/folder")
			s := &ruleSet{dir: dir, rules: parseRules(c.rules)}
			if got := s.ignoresPath(filepath.Join(dir, filepath.FromSlash(c.path)), c.dir); got != c.want {
				t.Errorf("%q ignores %s: %v, want %v", c.rules, c.path, got, c.want)
			}
		})
	}
}

func FuzzRules(f *testing.F) {
	f.Add("a/**/b\n!c\n/d/", "a/x/b")
	f.Fuzz(func(t *testing.T, rules, path string) {
		path = strings.Trim(filepath.Clean("/"+path), "/")
		s := &ruleSet{dir: "/r", rules: parseRules(rules)}
		s.ignoresPath("/r/"+path, false)
	})
}
