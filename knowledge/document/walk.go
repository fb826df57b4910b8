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

	"ponder/internal/fileio"
)

type walk struct {
	ctx          context.Context
	list         *FileList
	roots        []string // real paths; links must stay inside
	seen         map[fileID]bool
	unreadCounts map[string]int // files of other formats below the root, by extension
	entries      int
	bytes        int64
	full         bool
}

func (w *walk) walkRoot(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return skipReason(err)
	}
	if !info.IsDir() {
		return w.addFile(path, info, true)
	}
	if _, err := os.ReadDir(path); err != nil {
		return skipReason(err)
	}
	w.unreadCounts = map[string]int{}
	err = w.walkDir(path, info, nil, 0)
	if len(w.unreadCounts) > 0 {
		w.skipPath(path, fmt.Errorf("unsupported format: %s", formatCounts(w.unreadCounts)))
	}
	return err
}

// walkDir walks a folder. Its error ends the walk; errors of entries become skips.
func (w *walk) walkDir(path string, info fs.FileInfo, rules *ruleSet, depth int) error {
	if id := idOf(path, info); w.seen[id] {
		return nil
	} else {
		w.seen[id] = true
	}
	if depth > maxDepth {
		w.skipPath(path, errDeep)
		return nil
	}
	entries, err := os.ReadDir(path) // sorted by name
	if err != nil {
		w.skipPath(path, skipReason(err))
		return nil
	}
	has := func(name string) bool {
		_, ok := slices.BinarySearchFunc(entries, name, func(e fs.DirEntry, n string) int { return strings.Compare(e.Name(), n) })
		return ok
	}
	rules = rules.enterDir(path, has)
	for _, e := range entries {
		if err := w.ctx.Err(); err != nil {
			return err
		}
		if w.full || strings.HasPrefix(e.Name(), ".") {
			continue
		}
		if err := w.walkEntry(filepath.Join(path, e.Name()), e, rules, has, depth); err != nil {
			return err
		}
	}
	return nil
}

func (w *walk) walkEntry(path string, e fs.DirEntry, rules *ruleSet, has func(string) bool, depth int) error {
	if w.entries++; w.entries > maxEntries {
		w.stopAtLimit(path, fmt.Errorf("more than %d files and folders: the rest is skipped", maxEntries))
		return nil
	}
	if rules.ignoresPath(path, e.IsDir()) {
		return nil
	}
	path, info, err := w.resolveLink(path, e)
	if err != nil {
		w.skipPath(path, skipReason(err))
		return nil
	}
	if !info.IsDir() {
		switch err := w.addFile(path, info, false); {
		case errors.Is(err, errFormat):
			w.unreadCounts[extension(path)]++
		case err != nil:
			w.skipPath(path, err)
		}
		return nil
	}
	if isGenerated(path, has) {
		return nil
	}
	return w.walkDir(path, info, rules, depth+1)
}

// resolveLink follows a link. It refuses targets outside the named paths: a foreign folder
// could link to a secret.
func (w *walk) resolveLink(path string, e fs.DirEntry) (string, fs.FileInfo, error) {
	if e.Type()&fs.ModeSymlink == 0 {
		info, err := e.Info()
		return path, info, err
	}
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return path, nil, err
	}
	for _, root := range w.roots {
		if isInside(real, root) {
			info, err := os.Stat(real)
			return real, info, err
		}
	}
	return path, nil, errOutsideLink
}

func isInside(path, root string) bool {
	sep := string(filepath.Separator)
	return path == root || strings.HasPrefix(path, strings.TrimSuffix(root, sep)+sep)
}

func (w *walk) addFile(path string, info fs.FileInfo, named bool) error {
	o := w.list.opts
	if err := fileio.CheckRegular(info); err != nil {
		return err
	}
	id := idOf(path, info)
	most := int64(0)
	if format := w.fileFormat(path, info.Size(), named); format != nil {
		most = o.maxFileBytes(format)
	}
	switch {
	case w.seen[id]:
		return nil
	case most == 0:
		return errFormat
	case info.Size() > most:
		return fmt.Errorf("%s: larger than the limit of %s", formatSize(info.Size()), formatSize(most))
	}
	if len(w.list.Files) >= o.MaxFiles {
		w.stopAtLimit(path, fmt.Errorf("more than %d files: the rest is skipped", o.MaxFiles))
		return nil
	}
	if w.bytes+info.Size() > o.MaxTotal {
		w.stopAtLimit(path, fmt.Errorf("more than %s in all: the rest is skipped", formatSize(o.MaxTotal)))
		return nil
	}
	w.seen[id] = true
	w.bytes += info.Size()
	w.list.Files = append(w.list.Files, File{path, info.Size(), named, info.ModTime().UnixNano(), id, most})
	return nil
}

// fileFormat returns the format of a file by name, or nil. It reads the start of long
// files only.
func (w *walk) fileFormat(path string, length int64, named bool) *Format {
	var begin []byte
	if length > maxText {
		begin = readPrefix(path)
	}
	return findFormat(w.list.opts.Formats, path, begin, named)
}

func (w *walk) stopAtLimit(path string, why error) {
	if !w.full {
		w.full = true
		w.list.Skipped = append(w.list.Skipped, SkippedFile{path, why.Error()})
	}
}

func (w *walk) skipPath(path string, why error) {
	w.list.Skipped = appendSkipped(w.list.Skipped, path, why)
}

func appendSkipped(list []SkippedFile, path string, why error) []SkippedFile {
	if len(list) >= maxSkipped {
		return list
	}
	return append(list, SkippedFile{path, why.Error()})
}

const (
	maxRules     = 2000
	maxRuleBytes = 1 << 18
)

var ignoreFiles = []string{".gitignore", ".ignore"}

// generatedDirs are generated folders, if one of the named siblings exists; "" needs
// none.
var generatedDirs = map[string][]string{
	"node_modules": {""}, "bower_components": {""}, "__pycache__": {""}, "site-packages": {""}, "__MACOSX": {""},
	"$RECYCLE.BIN": {""}, "System Volume Information": {""}, "lost+found": {""},
	"vendor": {"go.mod", "composer.json", "Gemfile"},
	"target": {"Cargo.toml", "pom.xml"},
	"Pods":   {"Podfile"},
}

var generatedMarks = []string{"CACHEDIR.TAG", "pyvenv.cfg"}

type rule struct {
	parts []string // of the pattern, by folder; "**" matches any number
	keep  bool     // negated with "!"
	dir   bool     // matches folders only
}

type ruleSet struct {
	parent *ruleSet
	dir    string
	rules  []rule
}

// enterDir returns the rules in dir, whose entries has reports.
func (s *ruleSet) enterDir(dir string, has func(name string) bool) *ruleSet {
	var rules []rule
	for _, name := range ignoreFiles {
		if has(name) {
			rules = append(rules, readRules(filepath.Join(dir, name))...)
		}
	}
	if rules == nil {
		return s
	}
	return &ruleSet{parent: s, dir: dir, rules: rules}
}

// ignoresPath reports whether the rules exclude a path. The last matching rule decides;
// rules of subfolders come later.
func (s *ruleSet) ignoresPath(p string, dir bool) bool {
	for ; s != nil; s = s.parent {
		rel, err := filepath.Rel(s.dir, p)
		if err != nil {
			continue
		}
		parts := strings.Split(filepath.ToSlash(rel), "/")
		for i := len(s.rules) - 1; i >= 0; i-- {
			if r := s.rules[i]; (dir || !r.dir) && matchPattern(r.parts, parts) {
				return !r.keep
			}
		}
	}
	return false
}

func readRules(name string) []rule {
	f, _, err := openRegular(name)
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

// matchPattern reports whether a pattern matches a path, both in parts. It backtracks only to
// the last "**", so its time is bounded.
func matchPattern(pattern, parts []string) bool {
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

func isGenerated(dir string, has func(name string) bool) bool {
	for _, witness := range generatedDirs[filepath.Base(dir)] {
		if witness == "" || has(witness) {
			return true
		}
	}
	for _, mark := range generatedMarks {
		if _, err := os.Lstat(filepath.Join(dir, mark)); err == nil {
			return true
		}
	}
	return false
}
