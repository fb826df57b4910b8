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

// maxEntries are the names that a look reads at most.
const maxEntries = 100_000

// A snapshot is what is in the folders.
type snapshot struct {
	at         time.Time
	roots      []string
	missing    []string // roots that are not there
	unreadable []string // folders
	files      []file   // the newest MaxFiles, by path
	rest       map[string]bool
	total      int
	floor      int64 // the oldest time of a file, if some were left out
	partial    bool  // not all was read
}

// A file is one that is there.
type file struct {
	path  string
	size  int64
	mtime int64 // Unix nanoseconds
}

// scan reads what is in the folders, and has events told of them.
func scan(ctx context.Context, roots []string, o Options, ev *events) (*snapshot, error) {
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
			return s.visit(root, p, d, err, o, ev)
		})
		if err != nil && !errors.Is(err, fs.SkipAll) {
			return nil, err
		}
	}
	s.total = len(s.files)
	s.choose(o.MaxFiles)
	return s, nil
}

func (s *snapshot) visit(root, p string, d fs.DirEntry, err error, o Options, ev *events) error {
	switch {
	case err != nil:
		s.unreadable = append(s.unreadable, p)
		return nil //nolint:nilerr // it is noted
	case p != root && o.ignored(root, p):
		if d.IsDir() {
			return fs.SkipDir
		}
		return nil
	case len(s.files) >= maxEntries:
		s.partial = true
		return fs.SkipAll
	case d.IsDir():
		ev.watch(p) // before it is read
		return nil
	case !d.Type().IsRegular():
		return nil
	}
	if info, err := d.Info(); err == nil {
		s.files = append(s.files, file{path: p, size: info.Size(), mtime: info.ModTime().UnixNano()})
	}
	return nil
}

// choose leaves the newest files.
func (s *snapshot) choose(most int) {
	if len(s.files) > most {
		slices.SortStableFunc(s.files, func(a, b file) int {
			return cmp.Or(cmp.Compare(b.mtime, a.mtime), strings.Compare(a.path, b.path))
		})
		s.rest = map[string]bool{}
		for _, f := range s.files[most:] {
			s.rest[f.path] = true
		}
		s.files = s.files[:most:most]
		s.floor = s.files[most-1].mtime
	}
	slices.SortStableFunc(s.files, func(a, b file) int { return strings.Compare(a.path, b.path) })
}

// unknown reports whether it cannot be said if a file is there.
func (s *snapshot) unknown(p string) bool {
	for _, dir := range slices.Concat(s.missing, s.unreadable) {
		if under(p, dir) {
			return true
		}
	}
	if s.partial {
		_, err := os.Lstat(p)
		return !errors.Is(err, fs.ErrNotExist)
	}
	return false
}

// rootOf returns the folder that a file is below, or "".
func (s *snapshot) rootOf(p string) string {
	for _, root := range s.roots {
		if under(p, root) {
			return root
		}
	}
	return ""
}

// under reports whether a path is that of a folder or below it.
func under(p, dir string) bool {
	rest, ok := strings.CutPrefix(p, dir)
	return ok && (rest == "" || os.IsPathSeparator(rest[0]) || os.IsPathSeparator(dir[len(dir)-1]))
}

// ignored reports whether a file or folder is left out.
func (o Options) ignored(root, p string) bool {
	name := filepath.Base(p)
	if strings.HasPrefix(name, ".") || name == "node_modules" || name == "__pycache__" || working(name) {
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

// working reports whether a name is that of a file which an editor or a download is at
// work on.
func working(name string) bool {
	switch strings.ToLower(filepath.Ext(name)) {
	case ".swp", ".swo", ".swx", ".tmp", ".temp", ".part", ".partial", ".crdownload", ".bak":
		return true
	}
	return strings.HasSuffix(name, "~") || strings.HasPrefix(name, "~$") || name == "4913" ||
		strings.HasPrefix(name, "#") && strings.HasSuffix(name, "#")
}
