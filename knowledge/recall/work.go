package recall

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"time"

	"ponder/knowledge/archive"
	"ponder/knowledge/document"
)

// Bounds on a transaction, to keep it short.
const (
	stepPassages = 600
	stepBytes    = 1 << 20
	stepFiles    = 64
	stepRemoved  = 200
)

// Files above largeFile are read one at a time, to save memory.
const largeFile = 16 << 20

// run reads and prepares on workers and writes on the caller's goroutine.
func (p *plan) run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	steps := make(chan *step, 2*runtime.GOMAXPROCS(0))
	errs := make(chan error, runtime.GOMAXPROCS(0))
	var wg sync.WaitGroup
	groups := p.groups()
	large := make(chan struct{}, 1)
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() { errs <- p.worker(ctx, groups, steps, large) })
	}
	go func() {
		wg.Wait()
		close(steps)
	}()
	defer func() { // stop all workers
		cancel()
		for range steps {
		}
	}()
	stop := p.l.merges(ctx)
	defer stop()
	for s := range steps {
		if err := p.commit(ctx, s); err != nil {
			return err
		}
	}
	for range cap(errs) {
		if err := <-errs; err != nil {
			return err
		}
	}
	if err := p.forgetGone(ctx); err != nil {
		return err
	}
	return p.named
}

func (p *plan) groups() <-chan []document.File {
	var all [][]document.File
	var group []document.File
	size := int64(0)
	for _, f := range p.list.Files {
		if len(group) > 0 && (len(group) == stepFiles || size+f.Size > stepBytes/2) {
			all = append(all, group)
			group, size = nil, 0
		}
		group, size = append(group, f), size+f.Size
	}
	if len(group) > 0 {
		all = append(all, group)
	}
	out := make(chan []document.File, len(all))
	for _, g := range all {
		out <- g
	}
	close(out)
	return out
}

func (p *plan) worker(ctx context.Context, groups <-chan []document.File, steps chan<- *step, large chan struct{}) error {
	emit := func(s *step) error {
		select {
		case steps <- s:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	for g := range groups {
		if g[0].Size > largeFile {
			select {
			case large <- struct{}{}:
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		err := p.prepare(ctx, g, p.known, emit)
		if g[0].Size > largeFile {
			<-large
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (p *plan) prepare(ctx context.Context, files []document.File, known map[string]file, emit func(*step) error) error {
	m := &maker{p: p, emit: emit, step: &step{}}
	for _, f := range files {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := m.file(ctx, f, known[f.Path]); err != nil {
			return err
		}
	}
	return m.flush()
}

type maker struct {
	p    *plan
	emit func(*step) error
	step *step
}

func (m *maker) flush() error {
	if m.step.empty() {
		return nil
	}
	s := m.step
	m.step = &step{}
	s.prepare(m.p.l)
	return m.emit(s)
}

func (m *maker) file(ctx context.Context, f document.File, known file) error {
	options := m.p.o.choose(known)
	settings := options.settings()
	if known.looksSame(f, settings) {
		m.step.pass(f, known)
		return nil
	}
	raw, err := document.ReadFile(f.Path, f.Size+1<<20)
	if err != nil { // keep its items
		m.step.skip(f, f.Path, err)
		m.step.passed(f)
		return nil
	}
	sum := sha256.Sum256(raw)
	now := file{path: f.Path, size: f.Size, mtime: m.mtime(f), hash: hex.EncodeToString(sum[:]), settings: settings, state: fileDone,
		named: f.Named || known.named, options: options.json()}
	if now.change, err = m.p.l.numbers.take(ctx); err != nil {
		return err
	}
	if known.reads(now.hash, settings, f.Named) {
		now.state, now.reason, now.original, now.left = known.state, known.reason, known.original, known.left
		m.step.pass(f, known)
		if now.size != known.size || now.mtime != known.mtime || now.named != known.named {
			m.step.files = append(m.step.files, write{now, known.change})
		}
		return nil
	}
	return m.changed(ctx, f, raw, now, known, options)
}

// mtime returns the file's time, or 0 if it is recent: file clocks are coarse, so a
// later write could have the same time.
func (m *maker) mtime(f document.File) int64 {
	if t := f.ModTime(); t.Before(m.p.began.Add(-2 * time.Second)) {
		return t.UnixNano()
	}
	return 0
}

func (m *maker) changed(ctx context.Context, f document.File, raw []byte, now, known file, options chosen) error {
	l, change := m.p.l, known.change
	old := map[string]stored{}
	if change != 0 {
		var err error
		if old, err = l.parts(ctx, f.Path); err != nil {
			return err
		}
	}
	if l.archive != nil {
		packed := archive.Pack(archive.Original{Source: f.Path, Bytes: raw, Type: typeOf(f.Path), Fetched: m.p.began})
		m.step.originals = append(m.step.originals, packed)
		now.original = packed.Hash
	}
	if known.original != "" && known.original != now.original {
		m.step.was(stored{path: f.Path}, known.original)
	}
	seen := map[string]bool{}
	var bad error
	for e, err := range entries(source{f.Path, now.named, m.p.o.Formats, f.ModTime().UTC()}, raw, options.base(f)) {
		if err != nil {
			if now.left++; now.left == 1 {
				bad, now.reason = err, err.Error()
			}
			m.step.skip(f, partPath(f.Path, e), err)
			continue
		}
		if e.complete(l.owner); seen[e.item.Part] {
			continue
		}
		seen[e.item.Part] = true
		before, had := old[e.item.Part]
		delete(old, e.item.Part)
		if had && before.sum == e.sum {
			continue
		}
		if had && before.hash != e.item.Hash {
			m.step.was(before, known.original)
		}
		if err := m.add(ctx, e, before); err != nil {
			return err
		}
		if m.step.full() {
			if err := m.partly(ctx, &now, &change); err != nil {
				return err
			}
		}
	}
	if len(seen) == 0 && bad != nil {
		now.state, now.left = fileBad, 0
		if now.original != "" { // keep nothing of unreadable files
			m.step.originals, now.original = m.step.originals[:len(m.step.originals)-1], ""
		}
	}
	return m.rest(ctx, f, now, known, change, old)
}

// partly emits the entries of an unfinished file. Each part gets its own change number,
// so that other processes see whether they have all.
func (m *maker) partly(ctx context.Context, now *file, change *int64) error {
	part := *now
	part.state = filePart
	m.step.files = append(m.step.files, write{part, *change})
	*change = now.change
	if err := m.flush(); err != nil {
		return err
	}
	next, err := m.p.l.numbers.take(ctx)
	now.change = next
	return err
}

func (m *maker) add(ctx context.Context, e *entry, before stored) error {
	n, err := m.p.l.numbers.take(ctx)
	if err != nil {
		return err
	}
	e.number(n)
	e.item.ID, e.item.Added = before.id, fromMicros(before.added)
	if before.id == "" {
		e.item.ID, e.item.Added = newID(m.p.began), m.p.began
	} else {
		m.step.removed = append(m.step.removed, before)
	}
	m.step.add(e)
	return nil
}

func (m *maker) rest(ctx context.Context, f document.File, now, known file, change int64, old map[string]stored) error {
	for _, s := range old {
		m.step.forget(s)
		m.step.was(s, known.original)
		if m.step.full() {
			if err := m.partly(ctx, &now, &change); err != nil {
				return err
			}
		}
	}
	m.step.done(f, now, change, known.change != 0)
	if m.step.full() {
		return m.flush()
	}
	return nil
}

func partPath(path string, e *entry) string {
	if e != nil && e.item.Part != "" {
		return path + "#" + e.item.Part
	}
	return path
}

// errChanged reports that another process took the file.
var errChanged = errors.New("taken by another process meanwhile")

// commit writes a step. It examines files again that another process took.
func (p *plan) commit(ctx context.Context, s *step) error {
	err := p.l.write(ctx, s)
	if errors.Is(err, errChanged) {
		return p.again(ctx, s)
	}
	if err != nil {
		return err
	}
	p.count(s)
	return nil
}

// tries limits attempts at files that other processes take too.
const tries = 10

func (p *plan) again(ctx context.Context, s *step) error {
	p.count(&step{looked: s.looked, bytes: s.bytes, skipped: s.skipped, named: s.named})
	var files []document.File
	for _, w := range s.files {
		if f, ok := p.listed(w.path); ok {
			files = append(files, f)
		}
	}
	emit := func(s *step) error {
		s.looked, s.bytes, s.unchanged, s.skipped = 0, 0, 0, nil
		err := p.l.write(ctx, s)
		if err == nil {
			p.count(s)
		}
		return err
	}
	for try := 1; ; try++ {
		known := map[string]file{}
		for _, f := range files {
			k, err := p.l.file(ctx, f.Path)
			if err != nil {
				return err
			}
			known[f.Path] = k
		}
		err := p.prepare(ctx, files, known, emit)
		if err == nil || !errors.Is(err, errChanged) {
			return err
		}
		if try == tries {
			return fmt.Errorf("%s and others: %w", files[0].Path, err)
		}
	}
}

func (p *plan) listed(path string) (document.File, bool) {
	for _, f := range p.list.Files {
		if f.Path == path {
			return f, true
		}
	}
	return document.File{}, false
}

func (p *plan) forgetGone(ctx context.Context) error {
	m := &maker{p: p, step: &step{}, emit: func(s *step) error {
		err := p.l.write(ctx, s)
		if errors.Is(err, errChanged) {
			return nil // back again, or gone already
		}
		if err == nil {
			p.count(s)
		}
		return err
	}}
	for _, f := range p.gone() {
		if err := m.gone(ctx, f); err != nil {
			return err
		}
	}
	return m.flush()
}

// gone removes a file's items and keeps its originals.
func (m *maker) gone(ctx context.Context, f file) error {
	l, change := m.p.l, f.change
	old, err := l.parts(ctx, f.path)
	if err != nil {
		return err
	}
	if f.change, err = l.numbers.take(ctx); err != nil {
		return err
	}
	m.step.was(stored{path: f.path}, f.original)
	for _, s := range old {
		m.step.forget(s)
		m.step.was(s, f.original)
		if m.step.full() {
			if err := m.partly(ctx, &f, &change); err != nil {
				return err
			}
		}
	}
	m.step.gone = append(m.step.gone, write{f, change})
	if m.step.full() {
		return m.flush()
	}
	return nil
}
