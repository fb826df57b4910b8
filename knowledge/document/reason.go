package document

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"syscall"
)

// Reasons why a path is not read.
var (
	errMissing = errors.New("no such file or folder")
	errDenied  = errors.New("permission denied")
	errLoop    = errors.New("a loop of links")
	errLeads   = errors.New("a link that leads out of the folder")
	errDeep    = errors.New("nested too deep")
	errFormat  = errors.New("not a format that can be read")
	errEmpty   = errors.New("it has no text")
	errMailbox = errors.New("not a mailbox")
	errTooMuch = errors.New("it has more text than is read of a file")
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
