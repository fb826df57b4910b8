package document

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"runtime"
	"strings"
	"sync"
)

// Load reads paths, files and folders, into a collection: [Scan] and then
// [Listing.Load]. It is an error if a path that was named cannot be read, or if
// there is nothing to read at all.
func Load(ctx context.Context, paths []string, opts Options) (*Collection, []Skipped, error) {
	list, err := Scan(ctx, paths, opts)
	if err != nil {
		return nil, nil, err
	}
	c, skipped, err := list.Load(ctx)
	if err == nil && len(c.docs) == 0 {
		return nil, skipped, fmt.Errorf("read %s: %w", strings.Join(paths, ", "), ErrNothing)
	}
	return c, skipped, err
}

// ErrNothing says that paths have no file that can be read.
var ErrNothing = errors.New("there is no text in it that can be read")

// Load reads the files of the listing. A file that cannot be read, or one of
// several documents in it, is skipped, with the reason; it is an error if the
// user named the file and nothing of it can be read. What was skipped by the
// scan comes first. The same files give the same collection.
func (l *Listing) Load(ctx context.Context) (*Collection, []Skipped, error) {
	skipped := append([]Skipped(nil), l.Skipped...)
	build := newBuilder()
	hashes := map[string]string{}
	progress := Progress{OfFiles: len(l.Files), OfBytes: l.Bytes()}
	for i, r := range l.read(ctx) {
		f := l.Files[i]
		progress.Files++
		progress.Bytes += f.Size
		if l.opts.Progress != nil {
			l.opts.Progress(progress)
		}
		if len(r.docs) == 0 && f.Named && ctx.Err() == nil {
			return nil, nil, fmt.Errorf("read %s: %w", f.Path, r.reason())
		}
		if l.opts.Check {
			l.opts.Readings.keep(f, r)
		}
		for _, err := range r.errs {
			skipped = appendSkipped(skipped, f.Path, err)
		}
		for _, d := range r.docs {
			if first := hashes[d.Hash]; first != "" {
				skipped = appendSkipped(skipped, d.Source, fmt.Errorf("the same text as %s", first))
				continue
			}
			hashes[d.Hash] = d.Source
			build.add(d)
		}
	}
	if err := ctx.Err(); err != nil {
		return nil, nil, fmt.Errorf("read documents: %w", err)
	}
	return build.collection(), skipped, nil
}

// A reading is what came of a file.
type reading struct {
	docs []*Document
	errs []error // at most maxSkipped
}

// reason returns why nothing could be read.
func (r reading) reason() error {
	if len(r.errs) == 0 {
		return errEmpty
	}
	return r.errs[0]
}

// read yields what comes of each file, in order. It reads a few files ahead.
func (l *Listing) read(ctx context.Context) iter.Seq2[int, reading] {
	return func(yield func(int, reading) bool) {
		var wg sync.WaitGroup
		defer wg.Wait()
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		ahead := make([]chan reading, runtime.GOMAXPROCS(0))
		for w := range ahead {
			ahead[w] = make(chan reading, 4)
			wg.Go(func() {
				for i := w; i < len(l.Files); i += len(ahead) {
					select {
					case ahead[w] <- l.readFile(ctx, l.Files[i], 0):
					case <-ctx.Done():
						return
					}
				}
			})
		}
		for i := range l.Files {
			select {
			case r := <-ahead[i%len(ahead)]:
				if !yield(i, r) {
					return
				}
			case <-ctx.Done():
				return
			}
		}
	}
}

// readFile reads a file that is not kept. It stops after so many documents, unless enough
// is 0.
func (l *Listing) readFile(ctx context.Context, f File, enough int) reading {
	if err := ctx.Err(); err != nil {
		return reading{errs: []error{err}}
	}
	if r, ok := l.opts.Readings.take(f); ok {
		return r
	}
	raw, err := ReadFile(f.Path, f.most)
	if err != nil {
		return reading{errs: []error{err}}
	}
	var r reading
	for doc, err := range Read(f.Path, raw, l.opts.Formats, f.Named) {
		switch {
		case ctx.Err() != nil:
			return reading{errs: []error{ctx.Err()}}
		case err == nil:
			if r.docs = append(r.docs, doc); len(r.docs) == enough {
				return r
			}
		case len(r.errs) < maxSkipped:
			r.errs = append(r.errs, err)
		}
	}
	return r
}

// Check returns why nothing can be read of a file of the listing, or nil. It stops at the
// first document unless it can keep the file.
func (l *Listing) Check(ctx context.Context, f File) error {
	enough := 1
	if l.opts.Readings != nil {
		enough = 0
	}
	r := l.readFile(ctx, f, enough)
	if len(r.docs) == 0 {
		return r.reason()
	}
	l.opts.Readings.keep(f, r)
	return nil
}

// Readings keeps what was read of files for a check until [Listing.Load] takes it. It is
// safe for concurrent use. A nil one keeps nothing.
type Readings struct {
	mu     sync.Mutex
	byFile map[File]reading
}

func (k *Readings) keep(f File, r reading) {
	if k == nil {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.byFile == nil {
		k.byFile = make(map[File]reading)
	}
	k.byFile[f] = r
}

// take returns what is kept of a file as it is now, and forgets it.
func (k *Readings) take(f File) (reading, bool) {
	if k == nil {
		return reading{}, false
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	r, ok := k.byFile[f]
	delete(k.byFile, f)
	return r, ok
}
