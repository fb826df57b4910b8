// Package folders bounds the folders of a server that its callers may choose as sources. A path is
// allowed if it is a root or below one after all links are followed.
package folders

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// ErrOutside reports a path outside all roots. Its text is the same for a missing path.
var ErrOutside = errors.New("this folder is not allowed or does not exist")

// maxEntries bounds the entries of a folder that List reads.
const maxEntries = 5000

// Roots are absolute folders.
type Roots []string

// NewRoots returns the existing folders among paths, with links followed.
func NewRoots(paths []string) (roots Roots) {
	for _, path := range paths {
		real, err := realFolder(path)
		if err == nil && !slices.Contains(roots, real) {
			roots = append(roots, real)
		}
	}
	return roots
}

func realFolder(path string) (string, error) {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return "", err
	}
	if real, err = filepath.Abs(real); err != nil {
		return "", err
	}
	info, err := os.Stat(real)
	if err == nil && !info.IsDir() {
		err = fs.ErrInvalid
	}
	return real, err
}

// Resolve returns an allowed folder with links followed, or ErrOutside.
func (r Roots) Resolve(path string) (string, error) {
	if !filepath.IsAbs(path) {
		return "", ErrOutside
	}
	real, err := realFolder(path)
	if err != nil || !slices.ContainsFunc(r, func(root string) bool { return isBelow(root, real) }) {
		return "", ErrOutside
	}
	return real, nil
}

// isBelow reports whether path is root or below it.
func isBelow(root, path string) bool {
	rel, err := filepath.Rel(root, path)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
}

// A Folder is an allowed folder.
type Folder struct {
	Path     string `json:"path"`
	Name     string `json:"name"`
	Readable bool   `json:"readable"`
}

// A Content is the content of an allowed folder.
type Content struct {
	Path    string // resolved; empty for the roots
	Parent  string // empty if it is not allowed
	Folders []Folder
	Files   int // without hidden ones
	Partial bool
}

// List returns the folders in an allowed folder, or the roots for "". It leaves out hidden folders.
func (r Roots) List(path string) (l Content, err error) {
	l.Folders = []Folder{}
	if path == "" {
		for _, root := range r {
			l.Folders = append(l.Folders, newFolder(root, root))
		}
		return l, nil
	}
	if l.Path, err = r.Resolve(path); err != nil {
		return l, err
	}
	if parent, err := r.Resolve(filepath.Dir(l.Path)); err == nil && parent != l.Path {
		l.Parent = parent
	}
	entries, err := readFolder(l.Path, maxEntries)
	if err != nil {
		return l, fmt.Errorf("read the folder: %w", errors.Unwrap(err))
	}
	l.Partial = len(entries) == maxEntries
	for _, e := range entries {
		switch {
		case strings.HasPrefix(e.Name(), "."):
		case e.Type().IsRegular():
			l.Files++
		case e.IsDir() || e.Type()&fs.ModeSymlink != 0:
			if real, err := r.Resolve(filepath.Join(l.Path, e.Name())); err == nil {
				l.Folders = append(l.Folders, newFolder(real, e.Name()))
			}
		}
	}
	slices.SortFunc(l.Folders, func(a, b Folder) int { return strings.Compare(strings.ToLower(a.Name), strings.ToLower(b.Name)) })
	return l, nil
}

// readFolder returns at most n entries.
func readFolder(path string, n int) ([]fs.DirEntry, error) {
	f, err := os.DirFS(path).Open(".")
	if err != nil {
		return nil, err
	}
	defer f.Close()
	dir, ok := f.(fs.ReadDirFile)
	if !ok {
		return nil, fs.ErrInvalid
	}
	entries, err := dir.ReadDir(n)
	if errors.Is(err, io.EOF) { // an empty folder
		err = nil
	}
	return entries, err
}

func newFolder(path, name string) Folder {
	_, err := readFolder(path, 1)
	return Folder{path, name, err == nil}
}
