package vector

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"math/bits"
	"slices"
)

type Source interface {
	// TextsAfter returns the texts of the next n passages, in order; none is the end.
	TextsAfter(ctx context.Context, passage int64, n int) ([]Text, error)
}

// A Text has a positive passage number.
type Text struct {
	Passage int64
	Text    string
}

const fillBatch = 64

// Fill embeds passages without a vector of e's model and removes vectors of missing
// passages. At the end it drops all other models, which stay searchable until then.
// Each batch is one short transaction; after a failure the next Fill continues.
// Passages may change meanwhile.
//
// After [ErrText], Fill retries the batch one by one, skips failing texts, and returns
// ErrText at the end. If the length changes, it makes all vectors again.
//
// Concurrent Fills repeat work; with different models, they undo each other's.
// Progress, if not nil, gets the number of vectors after each batch.
func (v *Vectors) Fill(ctx context.Context, e Embedder, src Source, progress func(done int)) error {
	f := &filler{Vectors: v, e: e, src: src, unembeddable: map[int64]bool{}}
	if err := f.fillAll(ctx, progress); err != nil {
		return fmt.Errorf("embed passages with %s: %w", e.Model, err)
	}
	return nil
}

type filler struct {
	*Vectors
	e            Embedder
	src          Source
	unembeddable map[int64]bool // texts that cannot be embedded
	restarted    bool
	textErr      error
}

func (f *filler) fillAll(ctx context.Context, progress func(done int)) error {
	if f.e.Model == "" || f.e.Embed == nil {
		return errors.New("no embedding model")
	}
	if f.e.Batch <= 0 {
		f.e.Batch = fillBatch
	}
	if err := f.sweepDropped(ctx); err != nil {
		return err
	}
	for through := false; !through; {
		if err := ctx.Err(); err != nil {
			return err
		}
		var err error
		if through, err = f.fillNext(ctx); err != nil {
			return err
		}
		m, err := f.readModel(ctx, f.e.Model)
		if err != nil {
			return err
		}
		if progress != nil {
			progress(int(m.vectors))
		}
	}
	if err := f.finishModel(ctx); err != nil {
		return err
	}
	if n := len(f.unembeddable); n > 0 {
		return fmt.Errorf("embed %d texts: %w", n, f.textErr)
	}
	return nil
}

// fillNext advances only if nothing was missing, so it sees concurrent changes. It reports
// the end.
func (f *filler) fillNext(ctx context.Context) (through bool, err error) {
	m, err := f.readModel(ctx, f.e.Model)
	if err != nil {
		return false, err
	}
	have, known, err := f.storedPassages(ctx, m) // first, so these passages have or had texts
	if err != nil {
		return false, err
	}
	texts, err := f.src.TextsAfter(ctx, m.filled, f.e.Batch)
	if err != nil {
		return false, err
	}
	through = len(texts) == 0
	upTo := known
	if n := len(texts); n > 0 {
		upTo = min(known, texts[n-1].Passage)
		texts = slices.DeleteFunc(texts, func(t Text) bool { return t.Passage > upTo })
	}
	missing := f.missingTexts(texts, have)
	switch gone := staleVectors(texts, have, upTo); {
	case len(gone) > 0:
		return false, f.db.Tx(ctx, func(tx *sql.Tx) error { return f.Remove(ctx, tx, gone...) })
	case len(missing) > 0:
		return false, f.embedTexts(ctx, missing)
	case through:
		return true, nil
	}
	return false, f.advanceMark(ctx, m, upTo)
}

// advanceMark advances the mark, unless it moved meanwhile.
func (f *filler) advanceMark(ctx context.Context, m modelRow, upTo int64) error {
	return f.db.Tx(ctx, func(tx *sql.Tx) error {
		if m.num == 0 {
			if _, err := f.lockModel(ctx, tx, f.e.Model, 0); err != nil {
				return err
			}
		}
		update := `UPDATE vector_model SET filled = ? WHERE name = ? AND state = 0 AND filled = ?`
		_, err := tx.ExecContext(ctx, f.db.Bind(update), upTo, f.e.Model, m.filled)
		return err
	})
}

func (f *filler) finishModel(ctx context.Context) error {
	m, err := f.readModel(ctx, f.e.Model)
	if err != nil {
		return err
	}
	if m.vectors == 0 && len(f.unembeddable) > 0 {
		return nil
	}
	if m.num != 0 && !m.whole {
		err = f.db.Exec(ctx, `UPDATE vector_model SET whole = 1 WHERE num = ?`, m.num)
	}
	if err != nil {
		return err
	}
	names, err := f.modelNames(ctx, f.db.Read)
	for i := 0; i < len(names) && err == nil; i++ {
		if names[i] != f.e.Model {
			err = f.Drop(ctx, names[i])
		}
	}
	return err
}

func (f *filler) embedTexts(ctx context.Context, texts []Text) error {
	plain := make([]string, len(texts))
	for i, t := range texts {
		plain[i] = t.Text
	}
	vectors, err := f.e.Embed(ctx, plain)
	switch {
	case errors.Is(err, ErrText) && len(texts) == 1:
		f.unembeddable[texts[0].Passage], f.textErr = true, err
		return f.checkModel(ctx)
	case errors.Is(err, ErrText):
		return f.embedEach(ctx, texts)
	case err != nil:
		return err
	case len(vectors) != len(texts):
		return fmt.Errorf("got %d vectors for %d texts", len(vectors), len(texts))
	}
	return f.storeVectors(ctx, texts, vectors)
}

func (f *filler) embedEach(ctx context.Context, texts []Text) error {
	for i := range texts {
		if err := f.embedTexts(ctx, texts[i:i+1]); err != nil {
			return err
		}
	}
	return nil
}

const maxRefused = 16

// checkModel returns the refusal if the model seems to cause it.
func (f *filler) checkModel(ctx context.Context) error {
	if len(f.unembeddable) < maxRefused {
		return nil
	}
	m, err := f.readModel(ctx, f.e.Model)
	if err == nil && m.vectors == 0 {
		err = f.textErr
	}
	return err
}

func (f *filler) storeVectors(ctx context.Context, texts []Text, vectors [][]float32) error {
	passages := make([]int64, len(texts))
	for i, t := range texts {
		passages[i] = t.Passage
	}
	err := f.db.Tx(ctx, func(tx *sql.Tx) error { return f.Put(ctx, tx, f.e.Model, passages, vectors) })
	if errors.Is(err, ErrLength) && !f.restarted {
		f.restarted = true
		return f.Drop(ctx, f.e.Model) // the next step starts over
	}
	return err
}

const fillBlocks = 64

// storedPassages returns passages with vectors after the mark, completely up to known.
func (f *filler) storedPassages(ctx context.Context, m modelRow) (have map[int64]bool, known int64, err error) {
	from, _ := splitPassage(m.filled)
	query := `SELECT block, present FROM vector_block WHERE model = ? AND block >= ? AND present <> 0 ORDER BY block LIMIT ?`
	rows, err := f.db.Read.QueryContext(ctx, f.db.Bind(query), m.num, from, fillBlocks)
	if err != nil {
		return nil, 0, err
	}
	defer rows.Close()
	have = map[int64]bool{}
	n, num, present := 0, int64(0), int64(0)
	for ; rows.Next(); n++ {
		if err := rows.Scan(&num, &present); err != nil {
			return nil, 0, err
		}
		for rest := uint64(present); rest != 0; rest &= rest - 1 {
			if p := num<<blockBits | int64(bits.TrailingZeros64(rest)); p > m.filled {
				have[p] = true
			}
		}
	}
	if n < fillBlocks {
		return have, math.MaxInt64, rows.Err()
	}
	return have, num<<blockBits | (blockSize - 1), rows.Err()
}

func (f *filler) missingTexts(texts []Text, have map[int64]bool) (out []Text) {
	for _, t := range texts {
		if !have[t.Passage] && !f.unembeddable[t.Passage] {
			out = append(out, t)
		}
	}
	return out
}

// staleVectors returns passages with a vector but no text.
func staleVectors(texts []Text, have map[int64]bool, upTo int64) (gone []int64) {
	there := map[int64]bool{}
	for _, t := range texts {
		there[t.Passage] = true
	}
	for _, p := range sortedKeys(have) {
		if p <= upTo && !there[p] {
			gone = append(gone, p)
		}
	}
	return gone
}
