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
	removed   []stored
	earlier   []earlier // stays in the archive
	originals []archive.Packed
	dropped   []string
	files     []write
	gone      []write

	// For the report.
	looked                    int
	bytes                     int64
	unchanged, added, changed int
	forgotten, passages, size int
	skipped                   []document.Skipped
	named                     error
}

// A write is the new state of a file; its stored change must equal was.
type write struct {
	file
	was int64
}

func (s *step) empty() bool {
	return len(s.entries)+len(s.removed)+len(s.originals)+len(s.dropped)+len(s.files)+len(s.gone)+s.looked+len(s.skipped) == 0
}

func (s *step) full() bool {
	return s.passages >= stepPassages || s.size >= stepBytes || len(s.removed) >= stepRemoved || len(s.gone) >= stepRemoved || len(s.files) >= stepFiles
}

func (s *step) add(e *entry) {
	s.entries = append(s.entries, e)
	s.passages += e.item.Passages
	s.size += e.item.Size
}

func (s *step) forget(o stored) {
	s.removed = append(s.removed, o)
	s.forgotten++
}

func (s *step) passed(f document.File) {
	s.looked++
	s.bytes += f.Size
}

// pass counts an unchanged file.
func (s *step) pass(f document.File, known file) {
	s.passed(f)
	if known.state == fileBad {
		s.skip(f, f.Path, errors.New(known.reason))
		return
	}
	s.unchanged++
	if known.left > 0 {
		why := fmt.Sprintf("%d parts of it are left out: %s", known.left, known.reason)
		s.skipped = append(s.skipped, document.Skipped{Path: f.Path, Reason: textkit.Prefix(why, maxField)})
	}
}

// was records that an original's text leaves the index.
func (s *step) was(o stored, original string) {
	if original != "" {
		s.earlier = append(s.earlier, earlier{o.path, o.part, o.kind, o.hash, original})
	}
}

func (s *step) skip(f document.File, path string, why error) {
	s.skipped = append(s.skipped, document.Skipped{Path: path, Reason: textkit.Prefix(why.Error(), maxField)})
	if f.Named && s.named == nil && path == f.Path {
		s.named = fmt.Errorf("%s: %w", path, why)
	}
}

func (s *step) done(f document.File, now file, was int64, known bool) {
	s.passed(f)
	s.files = append(s.files, write{now, was})
	switch {
	case now.state == fileBad:
	case !known:
		s.added++
	default:
		s.changed++
	}
}

// prepare does the slow work before the transaction.
func (s *step) prepare(l *Library) {
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

// write writes a step in one transaction. It returns errChanged if another process
// changed a file.
func (l *Library) write(ctx context.Context, s *step) error {
	if len(s.entries)+len(s.removed)+len(s.earlier)+len(s.originals)+len(s.dropped)+len(s.files)+len(s.gone) == 0 {
		return nil
	}
	err := l.db.Tx(ctx, func(t *sql.Tx) error {
		tx := prepare(t)
		defer tx.close()
		for _, w := range append(s.files[:len(s.files):len(s.files)], s.gone...) {
			if err := l.unchanged(ctx, tx, w); err != nil {
				return err
			}
		}
		if err := l.remove(ctx, tx, s.removed); err != nil {
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

func (l *Library) unchanged(ctx context.Context, tx *prepared, w write) error {
	change, err := tx.number(ctx, l.db.Bind(`SELECT change FROM recall_file WHERE owner = ? AND path = ?`), l.owner, w.path)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return err
	}
	if change != w.was {
		return errChanged
	}
	return nil
}

func (l *Library) addAll(ctx context.Context, tx *prepared, s *step) error {
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

func (l *Library) writeFiles(ctx context.Context, tx *prepared, s *step) error {
	for _, w := range s.files {
		if err := l.putFile(ctx, tx, w.file); err != nil {
			return err
		}
	}
	for _, w := range s.gone {
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

// drop removes an original without references.
func (l *Library) drop(ctx context.Context, tx *prepared, c copied) error {
	uses, err := tx.number(ctx, l.db.Bind(`SELECT (SELECT count(*) FROM recall_file WHERE path = ? AND original = ?) +
		(SELECT count(*) FROM recall_item WHERE source = ? AND original = ?) +
		(SELECT count(*) FROM recall_earlier WHERE source = ? AND original = ?)`), c.source, c.hash, c.source, c.hash, c.source, c.hash)
	if err != nil || uses > 0 || l.archive == nil {
		return err
	}
	return l.archive.Remove(ctx, tx.Tx, c.source, c.hash)
}

func (l *Library) remove(ctx context.Context, tx *prepared, list []stored) error {
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
		if err := l.drop(ctx, tx, copied{s.source, s.original}); err != nil {
			return err
		}
	}
	return l.removeIndexed(ctx, tx.Tx, nums)
}

func (p *plan) count(s *step) {
	r := &p.report
	r.Added, r.Changed, r.Unchanged, r.Removed = r.Added+s.added, r.Changed+s.changed, r.Unchanged+s.unchanged, r.Removed+len(s.gone)
	r.Items, r.Passages, r.Forgotten = r.Items+len(s.entries), r.Passages+s.passages, r.Forgotten+s.forgotten
	r.Skipped = append(r.Skipped, s.skipped[:min(len(s.skipped), max(0, maxSkipped-len(r.Skipped)))]...)
	if p.named == nil {
		p.named = s.named
	}
	g := &p.progress
	g.Files, g.Bytes, g.Items, g.Passages = g.Files+s.looked, g.Bytes+s.bytes, r.Items, r.Passages
	if p.o.Progress != nil {
		p.o.Progress(*g)
	}
}
