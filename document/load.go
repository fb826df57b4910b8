package document

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
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

// Load reads the files of the listing. A file that cannot be read is skipped,
// with the reason; it is an error if the user named it. What was skipped by the
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
		switch {
		case r.err != nil && f.Named && ctx.Err() == nil:
			return nil, nil, fmt.Errorf("read %s: %w", f.Path, r.err)
		case r.err != nil:
			skipped = appendSkipped(skipped, f.Path, r.err)
		case hashes[r.doc.Hash] != "":
			skipped = appendSkipped(skipped, f.Path, fmt.Errorf("the same text as %s", hashes[r.doc.Hash]))
		default:
			hashes[r.doc.Hash] = f.Path
			build.add(r.doc)
		}
	}
	if err := ctx.Err(); err != nil {
		return nil, nil, fmt.Errorf("read documents: %w", err)
	}
	return build.collection(), skipped, nil
}

// A reading is what came of a file.
type reading struct {
	doc *Document
	err error
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
					case ahead[w] <- l.readFile(ctx, l.Files[i]):
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

func (l *Listing) readFile(ctx context.Context, f File) reading {
	if err := ctx.Err(); err != nil {
		return reading{err: err}
	}
	raw, err := readBytes(f.Path, l.opts.MaxFile)
	if err != nil {
		return reading{err: err}
	}
	doc, err := NewFileDocument(f.Path, raw, l.opts.Formats, f.Named)
	return reading{doc, err}
}

// NewFileDocument returns the document that the bytes of a file are: the same as
// [Load] makes of it, so that a quote can be checked against the file later. It
// tries formats, or [Formats] if that is nil; named says that the user named the
// file, so that it is looked into if nothing else says what it is.
func NewFileDocument(path string, raw []byte, formats []Format, named bool) (*Document, error) {
	if formats == nil {
		formats = Formats()
	}
	format := formatOf(formats, path, raw, named)
	if format == nil {
		return nil, errFormat
	}
	if !format.Binary {
		text, err := decode(raw)
		if err != nil {
			return nil, err
		}
		raw = []byte(text)
	}
	c, err := format.Extract(raw)
	if err != nil {
		return nil, err
	}
	base := filepath.Base(path)
	doc := NewDocument(path, strings.TrimSuffix(base, filepath.Ext(base)), c)
	if doc.Text == "" {
		return nil, errEmpty
	}
	return doc, nil
}

// readBytes reads a file that is no longer than most.
func readBytes(path string, most int64) ([]byte, error) {
	f, info, err := open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	buf := bytes.NewBuffer(make([]byte, 0, min(info.Size(), most)+bytes.MinRead))
	if _, err := buf.ReadFrom(io.LimitReader(f, most+1)); err != nil {
		return nil, reason(err)
	}
	if int64(buf.Len()) > most {
		return nil, fmt.Errorf("it grew: files over %s are not read", size(most))
	}
	return buf.Bytes(), nil
}

// open opens a file, and nothing that is not one, whatever it was when it was
// listed.
func open(path string) (*os.File, fs.FileInfo, error) {
	f, err := openRaw(path)
	if err != nil {
		return nil, nil, reason(err)
	}
	info, err := f.Stat()
	if err == nil {
		err = regular(info)
	}
	if err != nil {
		f.Close()
		return nil, nil, reason(err)
	}
	return f, info, nil
}
