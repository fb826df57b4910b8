package document

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path/filepath"
	"time"
)

// Options bound what is read. The zero value has good bounds.
type Options struct {
	MaxFile  int64 // most bytes of a file; if zero, what its format allows
	MaxTotal int64 // most bytes of all files; 256 MiB if zero
	MaxFiles int   // most files; 20,000 if zero

	Formats []Format // what can be read; [Formats] if nil

	// Readings keeps what was read for a check, for listings with the same Formats. If nil,
	// a file that was checked is read again.
	Readings *Readings
	Check    bool // the load is a check, and Readings keeps what it reads

	// Progress, if set, is called after each file, on the goroutine of the caller.
	Progress func(Progress)
}

// Progress says how far reading has come.
type Progress struct {
	Files, OfFiles int
	Bytes, OfBytes int64
}

func (o Options) orDefault() Options {
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
	most  int64 // bytes that are read of it
}

// ModTime returns when the file was written last, as the walk found it.
func (f File) ModTime() time.Time { return time.Unix(0, f.mtime) }

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
