package recall

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"ponder/internal/textkit"
	"ponder/knowledge/archive"
	"ponder/knowledge/document"
	"ponder/knowledge/recall/index"
)

type step struct {
	entries   []*entry
	batch     index.Batch
	removed   []storedItem
	earlier   []earlierText // stays in the archive
	originals []archive.PackedItem
	dropped   []string
	files     []fileWrite
	vanished  []fileWrite

	// For the report.
	examined                  int
	bytes                     int64
	unchanged, added, changed int
	forgotten, passages, size int
	skipped                   []document.SkippedFile
	namedError                error
}

// A fileWrite is the new state of a file; its stored change must equal was.
type fileWrite struct {
	file
	oldChange int64
}

func (s *step) isEmpty() bool {
	return len(s.entries)+len(s.removed)+len(s.originals)+len(s.dropped)+len(s.files)+len(s.vanished)+s.examined+len(s.skipped) == 0
}

func (s *step) isFull() bool {
	return s.passages >= stepPassages || s.size >= stepBytes || len(s.removed) >= stepRemoved || len(s.vanished) >= stepRemoved || len(s.files) >= stepFiles
}

func (s *step) addEntry(e *entry) {
	s.entries = append(s.entries, e)
	s.passages += e.item.Passages
	s.size += e.item.Size
}

func (s *step) addRemoved(o storedItem) {
	s.removed = append(s.removed, o)
	s.forgotten++
}

func (s *step) countFile(f document.File) {
	s.examined++
	s.bytes += f.Size
}

// countUnchanged counts an unchanged file.
func (s *step) countUnchanged(f document.File, known file) {
	s.countFile(f)
	if known.state == fileBad {
		s.addSkipped(f, f.Path, errors.New(known.reason))
		return
	}
	s.unchanged++
	if known.skippedParts > 0 {
		why := fmt.Sprintf("%d parts of it were skipped: %s", known.skippedParts, known.reason)
		s.skipped = append(s.skipped, document.SkippedFile{Path: f.Path, Reason: textkit.Prefix(why, maxField)})
	}
}

// recordEarlier records that an original's text leaves the index.
func (s *step) recordEarlier(o storedItem, original string) {
	if original != "" {
		s.earlier = append(s.earlier, earlierText{o.path, o.part, o.kind, o.hash, original})
	}
}

func (s *step) addSkipped(f document.File, path string, why error) {
	s.skipped = append(s.skipped, document.SkippedFile{Path: path, Reason: textkit.Prefix(why.Error(), maxField)})
	if f.Named && s.namedError == nil && path == f.Path {
		s.namedError = fmt.Errorf("%s: %w", path, why)
	}
}

func (s *step) finishFile(f document.File, now file, was int64, known bool) {
	s.countFile(f)
	s.files = append(s.files, fileWrite{now, was})
	switch {
	case now.state == fileBad:
	case !known:
		s.added++
	default:
		s.changed++
	}
}

// prepareBatch does the slow work before the transaction.
func (s *step) prepareBatch(l *Library) {
	if len(s.entries) == 0 {
		return
	}
	docs := make([]index.Doc, len(s.entries))
	for i, e := range s.entries {
		docs[i] = e.index
		e.index, e.doc, e.turns = index.Doc{}, nil, nil
	}
	s.batch = l.index.Prepare(docs)
}

// writeStep writes a step in one transaction. It returns errChanged if another process
// changed a file.
func (l *Library) writeStep(ctx context.Context, s *step) error {
	if len(s.entries)+len(s.removed)+len(s.earlier)+len(s.originals)+len(s.dropped)+len(s.files)+len(s.vanished) == 0 {
		return nil
	}
	err := l.db.Tx(ctx, func(t *sql.Tx) error {
		tx := newPreparedTx(t)
		defer tx.close()
		for _, w := range append(s.files[:len(s.files):len(s.files)], s.vanished...) {
			if err := l.checkUnchanged(ctx, tx, w); err != nil {
				return err
			}
		}
		if err := l.removeStored(ctx, tx, s.removed); err != nil {
			return err
		}
		if err := l.addAll(ctx, tx, s); err != nil {
			return err
		}
		return l.writeFiles(ctx, tx, s)
	})
	if err == nil && len(s.entries)+len(s.removed) > 0 {
		l.noteGrowth()
	}
	return err
}

func (l *Library) checkUnchanged(ctx context.Context, tx *preparedTx, w fileWrite) error {
	change, err := tx.queryNumber(ctx, l.db.Bind(`SELECT change FROM recall_file WHERE owner = ? AND path = ?`), l.owner, w.path)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return err
	}
	if change != w.oldChange {
		return errChanged
	}
	return nil
}

func (l *Library) addAll(ctx context.Context, tx *preparedTx, s *step) error {
	for _, o := range s.originals {
		if err := l.archive.Add(ctx, tx.Tx, o); err != nil {
			return err
		}
	}
	for _, e := range s.entries {
		if err := l.insertItem(ctx, tx, e); err != nil {
			return err
		}
	}
	if len(s.entries) == 0 {
		return nil
	}
	return l.index.AddBatch(ctx, tx.Tx, s.batch)
}

func (l *Library) writeFiles(ctx context.Context, tx *preparedTx, s *step) error {
	for _, w := range s.files {
		if err := l.putFile(ctx, tx, w.file); err != nil {
			return err
		}
	}
	for _, w := range s.vanished {
		if err := tx.exec(ctx, l.db.Bind(`DELETE FROM recall_file WHERE owner = ? AND path = ?`), l.owner, w.path); err != nil {
			return err
		}
	}
	if err := l.putEarlier(ctx, tx, s.earlier); err != nil {
		return err
	}
	for _, source := range s.dropped {
		if err := l.dropEarlier(ctx, tx, source); err != nil {
			return err
		}
	}
	return nil
}

// dropOriginal removes an original without references.
func (l *Library) dropOriginal(ctx context.Context, tx *preparedTx, c archivedOriginal) error {
	uses, err := tx.queryNumber(ctx, l.db.Bind(`SELECT (SELECT count(*) FROM recall_file WHERE path = ? AND original = ?) +
		(SELECT count(*) FROM recall_item WHERE source = ? AND original = ?) +
		(SELECT count(*) FROM recall_earlier WHERE source = ? AND original = ?)`), c.source, c.hash, c.source, c.hash, c.source, c.hash)
	if err != nil || uses > 0 || l.archive == nil {
		return err
	}
	return l.archive.Remove(ctx, tx.Tx, c.source, c.hash)
}

func (l *Library) removeStored(ctx context.Context, tx *preparedTx, list []storedItem) error {
	if len(list) == 0 {
		return nil
	}
	nums := make([]int64, len(list))
	for i, s := range list {
		nums[i] = s.num
		if err := tx.exec(ctx, l.db.Bind(`DELETE FROM recall_item WHERE num = ?`), s.num); err != nil {
			return err
		}
	}
	for _, s := range list {
		if s.original == "" {
			continue
		}
		if err := l.dropOriginal(ctx, tx, archivedOriginal{s.source, s.original}); err != nil {
			return err
		}
	}
	return l.removeIndexed(ctx, tx.Tx, nums)
}

func (p *plan) reportStep(s *step) {
	r := &p.report
	r.Added, r.Changed, r.Unchanged, r.Removed = r.Added+s.added, r.Changed+s.changed, r.Unchanged+s.unchanged, r.Removed+len(s.vanished)
	r.Items, r.Passages, r.Forgotten = r.Items+len(s.entries), r.Passages+s.passages, r.Forgotten+s.forgotten
	r.Skipped = append(r.Skipped, s.skipped[:min(len(s.skipped), max(0, maxSkipped-len(r.Skipped)))]...)
	if p.namedError == nil {
		p.namedError = s.namedError
	}
	g := &p.progress
	g.Files, g.Bytes, g.Items, g.Passages = g.Files+s.examined, g.Bytes+s.bytes, r.Items, r.Passages
	if p.o.Progress != nil {
		p.o.Progress(*g)
	}
}
