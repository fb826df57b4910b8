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

// run reads and prepares on workers and writes on the caller's goroutine.
func (p *plan) run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	steps := make(chan *step, 2*runtime.GOMAXPROCS(0))
	errs := make(chan error, runtime.GOMAXPROCS(0))
	var wg sync.WaitGroup
	groups := p.groupFiles()
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() { errs <- p.runWorker(ctx, groups, steps) })
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
	stop := p.l.mergeInBackground(ctx)
	defer stop()
	for s := range steps {
		if err := p.commitStep(ctx, s); err != nil {
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
	return p.namedError
}

func (p *plan) groupFiles() <-chan []document.File {
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

func (p *plan) runWorker(ctx context.Context, groups <-chan []document.File, steps chan<- *step) error {
	emit := func(s *step) error {
		select {
		case steps <- s:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	for g := range groups {
		size := int64(0)
		for _, f := range g {
			size += f.Size
		}
		release, err := document.Acquire(ctx, size)
		if err != nil {
			return err
		}
		err = p.prepareFiles(ctx, g, p.knownFiles, emit)
		release()
		if err != nil {
			return err
		}
	}
	return nil
}

func (p *plan) prepareFiles(ctx context.Context, files []document.File, known map[string]file, emit func(*step) error) error {
	m := &ingester{p: p, emit: emit, step: &step{}}
	for _, f := range files {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := m.addFile(ctx, f, known[f.Path]); err != nil {
			return err
		}
	}
	return m.flush()
}

type ingester struct {
	p    *plan
	emit func(*step) error
	step *step
}

func (m *ingester) flush() error {
	if m.step.isEmpty() {
		return nil
	}
	s := m.step
	m.step = &step{}
	s.prepareBatch(m.p.l)
	return m.emit(s)
}

func (m *ingester) addFile(ctx context.Context, f document.File, known file) error {
	options := m.p.o.mergeOptions(known)
	settings := options.settingsHash()
	if known.looksSame(f, settings) {
		m.step.countUnchanged(f, known)
		return nil
	}
	raw, err := document.ReadFile(f.Path, f.Size+1<<20)
	if err != nil { // keep its items
		m.step.addSkipped(f, f.Path, err)
		m.step.countFile(f)
		return nil
	}
	sum := sha256.Sum256(raw)
	now := file{path: f.Path, size: f.Size, mtime: m.stableTime(f), hash: hex.EncodeToString(sum[:]), settings: settings, state: fileDone,
		userNamed: f.Named || known.userNamed, options: options.encodeJSON()}
	if now.change, err = m.p.l.numbers.takeNumber(ctx); err != nil {
		return err
	}
	if known.isCurrent(now.hash, settings, f.Named) {
		now.state, now.reason, now.original, now.skippedParts = known.state, known.reason, known.original, known.skippedParts
		m.step.countUnchanged(f, known)
		if now.size != known.size || now.mtime != known.mtime || now.userNamed != known.userNamed {
			m.step.files = append(m.step.files, fileWrite{now, known.change})
		}
		return nil
	}
	return m.addChanged(ctx, f, raw, now, known, options)
}

// stableTime returns the file's time, or 0 if it is recent: file clocks are coarse, so a
// later write could have the same time.
func (m *ingester) stableTime(f document.File) int64 {
	if t := f.ModTime(); t.Before(m.p.startedAt.Add(-2 * time.Second)) {
		return t.UnixNano()
	}
	return 0
}

func (m *ingester) addChanged(ctx context.Context, f document.File, raw []byte, now, known file, options fileOptions) error {
	l, change := m.p.l, known.change
	old := map[string]storedItem{}
	if change != 0 {
		var err error
		if old, err = l.fileItems(ctx, f.Path); err != nil {
			return err
		}
	}
	if l.archive != nil {
		packed := archive.Pack(archive.Original{Source: f.Path, Bytes: raw, Type: mediaType(f.Path), Fetched: m.p.startedAt})
		m.step.originals = append(m.step.originals, packed)
		now.original = packed.Hash
	}
	if known.original != "" && known.original != now.original {
		m.step.recordEarlier(storedItem{path: f.Path}, known.original)
	}
	seen := map[string]bool{}
	var bad error
	for e, err := range fileEntries(source{f.Path, now.userNamed, m.p.o.Formats, f.ModTime().UTC()}, raw, options.baseItem(f)) {
		if err != nil {
			if now.skippedParts++; now.skippedParts == 1 {
				bad, now.reason = err, err.Error()
			}
			m.step.addSkipped(f, partPath(f.Path, e), err)
			continue
		}
		if e.deriveFields(l.owner); seen[e.item.Part] {
			continue
		}
		seen[e.item.Part] = true
		before, had := old[e.item.Part]
		delete(old, e.item.Part)
		if had && before.sum == e.sum {
			continue
		}
		if had && before.hash != e.item.Hash {
			m.step.recordEarlier(before, known.original)
		}
		if err := m.addEntry(ctx, e, before); err != nil {
			return err
		}
		if m.step.isFull() {
			if err := m.emitPart(ctx, &now, &change); err != nil {
				return err
			}
		}
	}
	if len(seen) == 0 && bad != nil {
		now.state, now.skippedParts = fileBad, 0
		if now.original != "" { // keep nothing of unreadable files
			m.step.originals, now.original = m.step.originals[:len(m.step.originals)-1], ""
		}
	}
	return m.finishFile(ctx, f, now, known, change, old)
}

// emitPart emits the entries of an unfinished file. Each part gets its own change number,
// so that other processes see whether they have all.
func (m *ingester) emitPart(ctx context.Context, now *file, change *int64) error {
	part := *now
	part.state = filePart
	m.step.files = append(m.step.files, fileWrite{part, *change})
	*change = now.change
	if err := m.flush(); err != nil {
		return err
	}
	next, err := m.p.l.numbers.takeNumber(ctx)
	now.change = next
	return err
}

func (m *ingester) addEntry(ctx context.Context, e *entry, before storedItem) error {
	n, err := m.p.l.numbers.takeNumber(ctx)
	if err != nil {
		return err
	}
	e.setNumber(n)
	e.item.ID, e.item.Added = before.id, fromMicros(before.added)
	if before.id == "" {
		e.item.ID, e.item.Added = newID(m.p.startedAt), m.p.startedAt
	} else {
		m.step.removed = append(m.step.removed, before)
	}
	m.step.addEntry(e)
	return nil
}

func (m *ingester) finishFile(ctx context.Context, f document.File, now, known file, change int64, old map[string]storedItem) error {
	for _, s := range old {
		m.step.addRemoved(s)
		m.step.recordEarlier(s, known.original)
		if m.step.isFull() {
			if err := m.emitPart(ctx, &now, &change); err != nil {
				return err
			}
		}
	}
	m.step.finishFile(f, now, change, known.change != 0)
	if m.step.isFull() {
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
var errChanged = errors.New("another process changed it")

// commitStep writes a step. It examines files again that another process took.
func (p *plan) commitStep(ctx context.Context, s *step) error {
	err := p.l.writeStep(ctx, s)
	if errors.Is(err, errChanged) {
		return p.retryStep(ctx, s)
	}
	if err != nil {
		return err
	}
	p.reportStep(s)
	return nil
}

// maxAttempts limits attempts at files that other processes take too.
const maxAttempts = 10

func (p *plan) retryStep(ctx context.Context, s *step) error {
	p.reportStep(&step{examined: s.examined, bytes: s.bytes, skipped: s.skipped, namedError: s.namedError})
	var files []document.File
	for _, w := range s.files {
		if f, ok := p.findListed(w.path); ok {
			files = append(files, f)
		}
	}
	emit := func(s *step) error {
		s.examined, s.bytes, s.unchanged, s.skipped = 0, 0, 0, nil
		err := p.l.writeStep(ctx, s)
		if err == nil {
			p.reportStep(s)
		}
		return err
	}
	for try := 1; ; try++ {
		known := map[string]file{}
		for _, f := range files {
			k, err := p.l.loadFile(ctx, f.Path)
			if err != nil {
				return err
			}
			known[f.Path] = k
		}
		err := p.prepareFiles(ctx, files, known, emit)
		if err == nil || !errors.Is(err, errChanged) {
			return err
		}
		if try == maxAttempts {
			return fmt.Errorf("remember %s and others: %w", files[0].Path, err)
		}
	}
}

func (p *plan) findListed(path string) (document.File, bool) {
	for _, f := range p.list.Files {
		if f.Path == path {
			return f, true
		}
	}
	return document.File{}, false
}

func (p *plan) forgetGone(ctx context.Context) error {
	m := &ingester{p: p, step: &step{}, emit: func(s *step) error {
		err := p.l.writeStep(ctx, s)
		if errors.Is(err, errChanged) {
			return nil // back again, or gone already
		}
		if err == nil {
			p.reportStep(s)
		}
		return err
	}}
	for _, f := range p.vanishedFiles() {
		if err := m.forgetFile(ctx, f); err != nil {
			return err
		}
	}
	return m.flush()
}

// forgetFile removes a file's items and keeps its originals.
func (m *ingester) forgetFile(ctx context.Context, f file) error {
	l, change := m.p.l, f.change
	old, err := l.fileItems(ctx, f.path)
	if err != nil {
		return err
	}
	if f.change, err = l.numbers.takeNumber(ctx); err != nil {
		return err
	}
	m.step.recordEarlier(storedItem{path: f.path}, f.original)
	for _, s := range old {
		m.step.addRemoved(s)
		m.step.recordEarlier(s, f.original)
		if m.step.isFull() {
			if err := m.emitPart(ctx, &f, &change); err != nil {
				return err
			}
		}
	}
	m.step.vanished = append(m.step.vanished, fileWrite{f, change})
	if m.step.isFull() {
		return m.flush()
	}
	return nil
}
