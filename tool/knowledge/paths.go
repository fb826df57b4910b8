package knowledge

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
)

// allowedPaths returns the paths to search, clean and without duplicates.
func (s *searcher) allowedPaths(paths []string) ([]string, error) {
	if len(paths) == 0 {
		paths = s.opts.Roots
	}
	switch {
	case len(paths) == 0:
		return nil, errors.New("paths is empty: name the files or folders to search")
	case len(paths) > maxPaths:
		return nil, fmt.Errorf("%d paths: at most %d can be searched at once", len(paths), maxPaths)
	}
	var out []string
	seen := map[string]bool{}
	for _, p := range paths {
		p = filepath.Clean(p)
		if !filepath.IsAbs(p) {
			return nil, fmt.Errorf("path %q is not absolute", p)
		}
		if !s.inRoots(p) {
			return nil, fmt.Errorf("path %q may not be searched", p)
		}
		if !seen[p] {
			seen[p] = true
			out = append(out, p)
		}
	}
	return out, nil
}

// inRoots reports whether a path is within a root, following links. Without roots it
// returns true.
func (s *searcher) inRoots(path string) bool {
	if len(s.opts.Roots) == 0 {
		return true
	}
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		real = path
	}
	for _, root := range s.opts.Roots {
		if r, err := filepath.EvalSymlinks(root); err == nil {
			root = r
		}
		if rel, err := filepath.Rel(root, real); err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator)) {
			return true
		}
	}
	return false
}
