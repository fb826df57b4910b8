package index

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"

	"ponder/internal/textkit/lexical"
)

// Text returns a document's text, or ErrNone.
func (x *Index) Text(ctx context.Context, doc int64) (string, error) {
	list, err := x.Passages(ctx, doc)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	for _, p := range list {
		b.WriteString(p.Text)
	}
	return b.String(), nil
}

// Passages returns the passages of a document in order, numbered from [Index.PassageRange].
func (x *Index) Passages(ctx context.Context, doc int64) ([]Passage, error) {
	first, n, err := x.passageRange(ctx, x.db.Read, doc)
	if err != nil {
		return nil, fmt.Errorf("read document %d: %w", doc, err)
	}
	out := make([]Passage, 0, n)
	for e, err := range x.queryEntries(ctx, x.db.Read, first, first+int64(n), n) {
		if err != nil {
			return nil, fmt.Errorf("read document %d: %w", doc, err)
		}
		out = append(out, e.Passage)
	}
	if len(out) < n { // removed meanwhile
		return nil, fmt.Errorf("read document %d: %w", doc, ErrNone)
	}
	return out, nil
}

// PassageRange returns the number of a document's first passage, and the number of passages,
// which are numbered in sequence. Passages keep their numbers, which are never reused.
func (x *Index) PassageRange(ctx context.Context, doc int64) (num int64, n int, err error) {
	if num, n, err = x.passageRange(ctx, x.db.Read, doc); err != nil {
		return 0, 0, fmt.Errorf("find document %d: %w", doc, err)
	}
	return num, n, nil
}

func (x *Index) passageRange(ctx context.Context, q queryer, doc int64) (first int64, n int, err error) {
	err = q.QueryRowContext(ctx, x.db.Bind(`SELECT first, passages FROM index_doc WHERE id = ?`), doc).Scan(&first, &n)
	if errors.Is(err, sql.ErrNoRows) {
		err = ErrNone
	}
	return first, n, err
}

// Passage returns a passage and its document, or ErrNone.
func (x *Index) Passage(ctx context.Context, num int64) (Passage, int64, error) {
	for e, err := range x.queryEntries(ctx, x.db.Read, num, num+1, 1) {
		if err != nil {
			return Passage{}, 0, fmt.Errorf("read passage %d: %w", num, err)
		}
		return e.Passage, e.Doc, nil
	}
	return Passage{}, 0, fmt.Errorf("read passage %d: %w", num, ErrNone)
}

type Entry struct {
	Num, Doc int64
	Passage
}

// EntriesAfter returns the first n passages with greater numbers than num, in order.
func (x *Index) EntriesAfter(ctx context.Context, num int64, n int) ([]Entry, error) {
	var out []Entry
	for e, err := range x.queryEntries(ctx, x.db.Read, num+1, maxNumber, n) {
		if err != nil {
			return nil, fmt.Errorf("read passages after %d: %w", num, err)
		}
		out = append(out, e)
	}
	return out, nil
}

const maxNumber = 1<<63 - 1

const maxAtOnce = 200

// Entries returns passages by number, without unknown ones.
func (x *Index) Entries(ctx context.Context, nums ...int64) (map[int64]Entry, error) {
	out := make(map[int64]Entry, len(nums))
	for part := range slices.Chunk(nums, maxAtOnce) {
		args := make([]any, len(part))
		for i, n := range part {
			args[i] = n
		}
		query := `SELECT ` + entryColumns + ` FROM index_passage WHERE num IN (?` + strings.Repeat(`, ?`, len(part)-1) + `)`
		rows, err := x.statements.Query(ctx, x.db.Read, x.db.Bind(query), args...)
		if err != nil {
			return nil, fmt.Errorf("read passages: %w", err)
		}
		for e, err := range scanEntries(rows) {
			if err != nil {
				return nil, fmt.Errorf("read passages: %w", err)
			}
			out[e.Num] = e
		}
	}
	return out, nil
}

func (x *Index) queryEntries(ctx context.Context, q queryer, from, to int64, n int) iter.Seq2[Entry, error] {
	const query = `SELECT ` + entryColumns + ` FROM index_passage WHERE num >= ? AND num < ? ORDER BY num LIMIT ?`
	return func(yield func(Entry, error) bool) {
		rows, err := q.QueryContext(ctx, x.db.Bind(query), from, to, n)
		if err != nil {
			yield(Entry{}, err)
			return
		}
		scanEntries(rows)(yield)
	}
}

const entryColumns = `num, doc, start_at, end_at, page, heading, speaker, body`

// scanEntries reads rows of entryColumns and closes them.
func scanEntries(rows *sql.Rows) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		defer rows.Close()
		for rows.Next() {
			var e Entry
			if err := rows.Scan(&e.Num, &e.Doc, &e.Start, &e.End, &e.Page, &e.Heading, &e.Speaker, &e.Text); err != nil {
				yield(Entry{}, err)
				return
			}
			if !yield(e, nil) {
				return
			}
		}
		if err := rows.Err(); err != nil {
			yield(Entry{}, err)
		}
	}
}

// readDoc reads the analyzer's input for a document and its language, or if num > 0 for one
// passage.
func (x *Index) readDoc(ctx context.Context, q queryer, id, num int64) (*Doc, lexical.Language, error) {
	d := Doc{ID: id}
	var lang, names string
	var first int64
	var n int
	err := q.QueryRowContext(ctx, x.db.Bind(`SELECT first, passages, language, title, names FROM index_doc WHERE id = ?`), id).
		Scan(&first, &n, &lang, &d.Title, &names)
	if errors.Is(err, sql.ErrNoRows) {
		err = ErrNone
	}
	if err != nil {
		return nil, "", err
	}
	if names != "" {
		d.Names = strings.Split(names, "\n")
	}
	if num > 0 {
		first, n = num, 1
	}
	for e, err := range x.queryEntries(ctx, q, first, first+int64(n), n) {
		if err != nil {
			return nil, "", err
		}
		d.Passages = append(d.Passages, e.Passage)
	}
	return &d, lexical.Language(lang), nil
}
