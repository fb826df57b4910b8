package document

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

type walk struct {
	ctx     context.Context
	list    *Listing
	roots   []string // real paths; links must stay inside
	seen    map[fileID]bool
	unread  map[string]int // files of other formats below the root, by extension
	entries int
	bytes   int64
	full    bool
}

func (w *walk) root(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return reason(err)
	}
	if !info.IsDir() {
		return w.file(path, info, true)
	}
	if _, err := os.ReadDir(path); err != nil {
		return reason(err)
	}
	w.unread = map[string]int{}
	err = w.dir(path, info, nil, 0)
	if len(w.unread) > 0 {
		w.skip(path, fmt.Errorf("not a format that can be read: %s", counted(w.unread)))
	}
	return err
}

// dir walks a folder. Its error ends the walk; errors of entries become skips.
func (w *walk) dir(path string, info fs.FileInfo, rules *ruleSet, depth int) error {
	if id := idOf(path, info); w.seen[id] {
		return nil
	} else {
		w.seen[id] = true
	}
	if depth > maxDepth {
		w.skip(path, errDeep)
		return nil
	}
	entries, err := os.ReadDir(path) // sorted by name
	if err != nil {
		w.skip(path, reason(err))
		return nil
	}
	has := func(name string) bool {
		_, ok := slices.BinarySearchFunc(entries, name, func(e fs.DirEntry, n string) int { return strings.Compare(e.Name(), n) })
		return ok
	}
	rules = rules.below(path, has)
	for _, e := range entries {
		if err := w.ctx.Err(); err != nil {
			return err
		}
		if w.full || strings.HasPrefix(e.Name(), ".") {
			continue
		}
		if err := w.entry(filepath.Join(path, e.Name()), e, rules, has, depth); err != nil {
			return err
		}
	}
	return nil
}

func (w *walk) entry(path string, e fs.DirEntry, rules *ruleSet, has func(string) bool, depth int) error {
	if w.entries++; w.entries > maxEntries {
		w.fill(path, fmt.Errorf("more than %d files and folders: the rest is left out", maxEntries))
		return nil
	}
	if rules.ignores(path, e.IsDir()) {
		return nil
	}
	path, info, err := w.resolve(path, e)
	if err != nil {
		w.skip(path, reason(err))
		return nil
	}
	if !info.IsDir() {
		switch err := w.file(path, info, false); {
		case errors.Is(err, errFormat):
			w.unread[extension(path)]++
		case err != nil:
			w.skip(path, err)
		}
		return nil
	}
	if machineMade(path, has) {
		return nil
	}
	return w.dir(path, info, rules, depth+1)
}

// resolve follows a link. It refuses targets outside the named paths: a foreign folder
// could link to a secret.
func (w *walk) resolve(path string, e fs.DirEntry) (string, fs.FileInfo, error) {
	if e.Type()&fs.ModeSymlink == 0 {
		info, err := e.Info()
		return path, info, err
	}
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return path, nil, err
	}
	for _, root := range w.roots {
		if inside(real, root) {
			info, err := os.Stat(real)
			return real, info, err
		}
	}
	return path, nil, errLeads
}

func inside(path, root string) bool {
	sep := string(filepath.Separator)
	return path == root || strings.HasPrefix(path, strings.TrimSuffix(root, sep)+sep)
}

func (w *walk) file(path string, info fs.FileInfo, named bool) error {
	o := w.list.opts
	if err := regular(info); err != nil {
		return err
	}
	id := idOf(path, info)
	most := int64(0)
	if format := w.format(path, info.Size(), named); format != nil {
		most = o.most(format)
	}
	switch {
	case w.seen[id]:
		return nil
	case most == 0:
		return errFormat
	case info.Size() > most:
		return fmt.Errorf("%s: files over %s are not read", size(info.Size()), size(most))
	}
	if len(w.list.Files) >= o.MaxFiles {
		w.fill(path, fmt.Errorf("more than %d files: the rest is left out", o.MaxFiles))
		return nil
	}
	if w.bytes+info.Size() > o.MaxTotal {
		w.fill(path, fmt.Errorf("more than %s in all: the rest is left out", size(o.MaxTotal)))
		return nil
	}
	w.seen[id] = true
	w.bytes += info.Size()
	w.list.Files = append(w.list.Files, File{path, info.Size(), named, info.ModTime().UnixNano(), id, most})
	return nil
}

// format returns the format of a file by name, or nil. It reads the start of long
// files only.
func (w *walk) format(path string, length int64, named bool) *Format {
	var begin []byte
	if length > maxText {
		begin = head(path)
	}
	return formatOf(w.list.opts.Formats, path, begin, named)
}

func (w *walk) fill(path string, why error) {
	if !w.full {
		w.full = true
		w.list.Skipped = append(w.list.Skipped, Skipped{path, why.Error()})
	}
}

func (w *walk) skip(path string, why error) {
	w.list.Skipped = appendSkipped(w.list.Skipped, path, why)
}

func appendSkipped(list []Skipped, path string, why error) []Skipped {
	if len(list) >= maxSkipped {
		return list
	}
	return append(list, Skipped{path, why.Error()})
}

const (
	maxRules     = 2000
	maxRuleBytes = 1 << 18
)

var ignoreFiles = []string{".gitignore", ".ignore"}

// machineDirs are generated folders, if one of the named siblings exists; "" needs
// none.
var machineDirs = map[string][]string{
	"node_modules": {""}, "bower_components": {""}, "__pycache__": {""}, "site-packages": {""}, "__MACOSX": {""},
	"$RECYCLE.BIN": {""}, "System Volume Information": {""}, "lost+found": {""},
	"vendor": {"go.mod", "composer.json", "Gemfile"},
	"target": {"Cargo.toml", "pom.xml"},
	"Pods":   {"Podfile"},
}

var machineMarks = []string{"CACHEDIR.TAG", "pyvenv.cfg"}

type rule struct {
	parts []string // of the pattern, by folder; "**" matches any number
	keep  bool     // negated with "!"
	dir   bool     // matches folders only
}

type ruleSet struct {
	up    *ruleSet
	dir   string
	rules []rule
}

// below returns the rules in dir, whose entries has reports.
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

// ignores reports whether the rules exclude a path. The last matching rule decides;
// rules of subfolders come later.
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

// match reports whether a pattern matches a path, both in parts. It backtracks only to
// the last "**", so its time is bounded.
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
