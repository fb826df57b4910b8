package files

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// maxEntries limits the file names per look.
const maxEntries = 100_000

type snapshot struct {
	at         time.Time
	roots      []string
	missing    []string // roots that do not exist
	unreadable []string // folders
	files      []file   // the newest MaxFiles, by path
	omitted    map[string]bool
	total      int
	floor      int64 // oldest time, if files were omitted
	partial    bool  // not everything was read
}

type file struct {
	path  string
	size  int64
	mtime int64 // Unix nanoseconds
}

// scanRoots reads the folders and registers them with ev.
func scanRoots(ctx context.Context, roots []string, o Options, ev *fsEvents) (*snapshot, error) {
	s := &snapshot{roots: roots}
	for _, root := range roots {
		if _, err := os.Stat(root); err != nil {
			s.missing = append(s.missing, root)
			continue
		}
		err := filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			return s.visitEntry(root, p, d, err, o, ev)
		})
		if err != nil && !errors.Is(err, fs.SkipAll) {
			return nil, err
		}
	}
	s.total = len(s.files)
	s.keepNewest(o.MaxFiles)
	return s, nil
}

func (s *snapshot) visitEntry(root, p string, d fs.DirEntry, err error, o Options, ev *fsEvents) error {
	switch {
	case err != nil:
		s.unreadable = append(s.unreadable, p)
		return nil //nolint:nilerr // recorded above
	case p != root && o.isIgnored(root, p):
		if d.IsDir() {
			return fs.SkipDir
		}
		return nil
	case len(s.files) >= maxEntries:
		s.partial = true
		return fs.SkipAll
	case d.IsDir():
		ev.watchFolder(p) // before reading, so that no change is lost
		return nil
	case !d.Type().IsRegular():
		return nil
	}
	if info, err := d.Info(); err == nil {
		s.files = append(s.files, file{path: p, size: info.Size(), mtime: info.ModTime().UnixNano()})
	}
	return nil
}

func (s *snapshot) keepNewest(max int) {
	if len(s.files) > max {
		slices.SortStableFunc(s.files, func(a, b file) int {
			return cmp.Or(cmp.Compare(b.mtime, a.mtime), strings.Compare(a.path, b.path))
		})
		s.omitted = map[string]bool{}
		for _, f := range s.files[max:] {
			s.omitted[f.path] = true
		}
		s.files = s.files[:max:max]
		s.floor = s.files[max-1].mtime
	}
	slices.SortStableFunc(s.files, func(a, b file) int { return strings.Compare(a.path, b.path) })
}

func (s *snapshot) isUnknown(p string) bool {
	for _, dir := range slices.Concat(s.missing, s.unreadable) {
		if isUnder(p, dir) {
			return true
		}
	}
	if s.partial {
		_, err := os.Lstat(p)
		return !errors.Is(err, fs.ErrNotExist)
	}
	return false
}

// rootOf returns the root of a file, or "".
func (s *snapshot) rootOf(p string) string {
	for _, root := range s.roots {
		if isUnder(p, root) {
			return root
		}
	}
	return ""
}

// isUnder reports whether a path is dir or below it.
func isUnder(p, dir string) bool {
	rest, ok := strings.CutPrefix(p, dir)
	return ok && (rest == "" || os.IsPathSeparator(rest[0]) || os.IsPathSeparator(dir[len(dir)-1]))
}

// isIgnored reports whether to skip a file or folder.
func (o Options) isIgnored(root, p string) bool {
	name := filepath.Base(p)
	if strings.HasPrefix(name, ".") || name == "node_modules" || name == "__pycache__" || isTemporary(name) {
		return true
	}
	rel, err := filepath.Rel(root, p)
	rel = filepath.ToSlash(rel)
	for _, pattern := range o.Ignore {
		byName, _ := path.Match(pattern, name)
		byPath, _ := path.Match(strings.TrimSuffix(pattern, "/"), rel)
		if byName || err == nil && byPath {
			return true
		}
	}
	return false
}

// isTemporary reports whether the name belongs to a temporary file of an editor or download.
func isTemporary(name string) bool {
	switch strings.ToLower(filepath.Ext(name)) {
	case ".swp", ".swo", ".swx", ".tmp", ".temp", ".part", ".partial", ".crdownload", ".bak":
		return true
	}
	return strings.HasSuffix(name, "~") || strings.HasPrefix(name, "~$") || name == "4913" ||
		strings.HasPrefix(name, "#") && strings.HasSuffix(name, "#")
}
