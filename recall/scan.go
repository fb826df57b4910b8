package recall

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// Options bound what is read. The zero value has good bounds.
type Options struct {
	MaxFile  int64 // most bytes of a file; 8 MiB if zero
	MaxTotal int64 // most bytes of all files; 256 MiB if zero
	MaxFiles int   // most files; 20,000 if zero

	Formats []Format // what can be read; [Formats] if nil

	// Progress is called now and then while files are read, from one goroutine
	// at a time.
	Progress func(Progress)
}

// Progress says how far reading has come.
type Progress struct {
	Files, OfFiles int
	Bytes, OfBytes int64
}

func (o Options) orDefault() Options {
	if o.MaxFile <= 0 {
		o.MaxFile = 8 << 20
	}
	if o.MaxTotal <= 0 {
		o.MaxTotal = 256 << 20
	}
	if o.MaxFiles <= 0 {
		o.MaxFiles = 20_000
	}
	if o.Formats == nil {
		o.Formats = Formats()
	}
	return o
}

// Bounds on a walk.
const (
	maxDepth   = 64      // of folders
	maxEntries = 500_000 // of folders and files looked at
	maxSkipped = 1000    // told one by one
)

// Skipped is a file or folder that was left out, and why.
type Skipped struct {
	Path   string `json:"path"`
	Reason string `json:"reason"`
}

// A File is a file worth reading, as a walk found it.
type File struct {
	Path  string
	Size  int64
	Named bool // the user named it, not a folder it is in

	mtime int64
	id    fileID
}

// A Listing is what [Scan] found, in the order of the paths and, in a folder, of
// the names.
type Listing struct {
	Files   []File
	Skipped []Skipped

	opts Options
}

// Scan walks paths, files and folders, and lists what is worth reading, without
// reading it. Hidden files, what .gitignore and .ignore name, and folders that
// only programs fill are left out silently; what is left out for another reason
// is in Skipped. A path that is missing, or is itself not readable, is an error
// of one line.
func Scan(ctx context.Context, paths []string, opts Options) (*Listing, error) {
	w := &walk{ctx: ctx, list: &Listing{opts: opts.orDefault()}, seen: map[fileID]bool{}}
	var named []string
	for _, p := range paths {
		abs, err := filepath.Abs(p)
		if err == nil {
			named = append(named, abs)
			abs, err = filepath.EvalSymlinks(abs)
			w.roots = append(w.roots, abs)
		}
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", p, reason(err))
		}
	}
	for i, p := range named {
		if err := w.root(p); err != nil {
			return nil, fmt.Errorf("read %s: %w", paths[i], err)
		}
	}
	return w.list, nil
}

// Key names the state of the files: it changes when one is added, removed,
// renamed or written to.
func (l *Listing) Key() string {
	h := sha256.New()
	for _, f := range l.Files {
		fmt.Fprintf(h, "%q %d %d %v\n", f.Path, f.Size, f.mtime, f.id)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// Bytes returns how much there is to read.
func (l *Listing) Bytes() int64 {
	var n int64
	for _, f := range l.Files {
		n += f.Size
	}
	return n
}

// Reasons why a path is not read.
var (
	errMissing = errors.New("no such file or folder")
	errDenied  = errors.New("permission denied")
	errLoop    = errors.New("a loop of links")
	errLeads   = errors.New("a link that leads out of the folder")
	errDeep    = errors.New("nested too deep")
	errFormat  = errors.New("not a format that can be read")
	errEmpty   = errors.New("it has no text")
)

// reason returns the plain words for an error of the system.
func reason(err error) error {
	var path *fs.PathError
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		return errMissing
	case errors.Is(err, fs.ErrPermission):
		return errDenied
	case errors.Is(err, syscall.ELOOP), strings.Contains(err.Error(), "too many links"):
		return errLoop
	case errors.As(err, &path):
		return path.Err
	}
	return err
}

// walk is the state of a Scan.
type walk struct {
	ctx     context.Context
	list    *Listing
	roots   []string // real paths, which links must not lead out of
	seen    map[fileID]bool
	unread  map[string]int // files of the root that have another format, by extension
	entries int
	bytes   int64
	full    bool
}

// root walks a path that the user named.
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

// counted returns how often what is, the most first: "12 .png, 3 .zip".
func counted(what map[string]int) string {
	names := slices.SortedFunc(maps.Keys(what), func(a, b string) int {
		if what[a] != what[b] {
			return what[b] - what[a]
		}
		return strings.Compare(a, b)
	})
	var parts []string
	for _, n := range names[:min(len(names), 8)] {
		parts = append(parts, fmt.Sprintf("%d %s", what[n], n))
	}
	if more := len(names) - len(parts); more > 0 {
		parts = append(parts, fmt.Sprintf("and %d other kinds", more))
	}
	return strings.Join(parts, ", ")
}

// dir walks a folder. Its errors are those of the walk, not of what is in it.
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

// entry looks at what is in a folder.
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

// resolve returns what an entry is, or what it leads to, and where, if it is a
// link. What is outside of the named paths is not looked at: a folder from
// elsewhere could hold a link to a secret.
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

// inside reports whether a path is root or below it. Both are clean.
func inside(path, root string) bool {
	sep := string(filepath.Separator)
	return path == root || strings.HasPrefix(path, strings.TrimSuffix(root, sep)+sep)
}

// file lists a file, or says why not.
func (w *walk) file(path string, info fs.FileInfo, named bool) error {
	o := w.list.opts
	if err := regular(info); err != nil {
		return err
	}
	id := idOf(path, info)
	switch {
	case w.seen[id]:
		return nil
	case info.Size() > o.MaxFile:
		return fmt.Errorf("%s: files over %s are not read", size(info.Size()), size(o.MaxFile))
	case formatOf(o.Formats, path, nil, named) == nil:
		return errFormat
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
	w.list.Files = append(w.list.Files, File{path, info.Size(), named, info.ModTime().UnixNano(), id})
	return nil
}

// fill ends a walk at a bound, and says so once.
func (w *walk) fill(path string, why error) {
	if !w.full {
		w.full = true
		w.list.Skipped = append(w.list.Skipped, Skipped{path, why.Error()})
	}
}

func (w *walk) skip(path string, why error) {
	w.list.Skipped = appendSkipped(w.list.Skipped, path, why)
}

// appendSkipped appends to a list that does not grow for ever.
func appendSkipped(list []Skipped, path string, why error) []Skipped {
	if len(list) >= maxSkipped {
		return list
	}
	return append(list, Skipped{path, why.Error()})
}

// regular refuses what is not a file with an end.
func regular(info fs.FileInfo) error {
	if info.Mode().IsRegular() {
		return nil
	}
	kinds := map[fs.FileMode]string{fs.ModeNamedPipe: "a pipe", fs.ModeSocket: "a socket", fs.ModeDevice: "a device", fs.ModeDir: "a folder"}
	for mode, name := range kinds {
		if info.Mode()&mode != 0 {
			return fmt.Errorf("%s, not a file", name)
		}
	}
	return errors.New("not a file")
}

// size returns a number of bytes as people read it.
func size(n int64) string {
	units := []string{"bytes", "KiB", "MiB", "GiB", "TiB"}
	f, u := float64(n), 0
	for f >= 1024 && u < len(units)-1 {
		f, u = f/1024, u+1
	}
	if u == 0 || f == float64(int64(f)) {
		return fmt.Sprintf("%.0f %s", f, units[u])
	}
	return fmt.Sprintf("%.1f %s", f, units[u])
}
