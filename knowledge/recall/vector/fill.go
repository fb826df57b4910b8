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

// A Source has the texts of passages.
type Source interface {
	// After returns the texts of up to n passages whose numbers are greater than
	// passage, in their order. None means that there are no more.
	After(ctx context.Context, passage int64, n int) ([]Text, error)
}

// A Text is the text of a passage. Numbers of passages are greater than 0.
type Text struct {
	Passage int64
	Text    string
}

// fillBatch is how many texts are embedded at once, where the embedder does not
// say.
const fillBatch = 64

// Fill embeds the passages of a source that have no vector of e's model yet, and
// removes vectors of passages that are gone. When it is through, it drops the
// vectors of all other models; until then they are there to be searched. Each
// batch is kept in a short transaction of its own, so that an error, a crash or
// the end of ctx loses one batch at most, and the next Fill goes on from there;
// called again later, it sees to the passages that came since. Passages may come
// and go meanwhile.
//
// If e's error is [ErrText], the texts of the batch are tried one by one; those
// that fail are left out, and Fill returns ErrText when it is through. If the
// model's vectors have another length than those that are there, it is another
// model of that name, and all are made anew.
//
// Two processes that fill one database at the same time do some work twice; with
// different models each undoes what the other did.
//
// Progress, if not nil, is told after each batch how many vectors there are.
func (v *Vectors) Fill(ctx context.Context, e Embedder, src Source, progress func(done int)) error {
	f := &filler{Vectors: v, e: e, src: src, refused: map[int64]bool{}}
	if err := f.fill(ctx, progress); err != nil {
		return fmt.Errorf("embed passages with %s: %w", e.Model, err)
	}
	return nil
}

type filler struct {
	*Vectors
	e       Embedder
	src     Source
	refused map[int64]bool // passages whose texts cannot be embedded
	renewed bool           // vectors of another length were dropped
	why     error          // of the last that was refused
}

func (f *filler) fill(ctx context.Context, progress func(done int)) error {
	if f.e.Model == "" || f.e.Embed == nil {
		return errors.New("no model is set")
	}
	if f.e.Batch <= 0 {
		f.e.Batch = fillBatch
	}
	if err := f.sweep(ctx); err != nil {
		return err
	}
	for through := false; !through; {
		if err := ctx.Err(); err != nil {
			return err
		}
		var err error
		if through, err = f.step(ctx); err != nil {
			return err
		}
		m, err := f.model(ctx, f.e.Model)
		if err != nil {
			return err
		}
		if progress != nil {
			progress(int(m.vectors))
		}
	}
	if err := f.finish(ctx); err != nil {
		return err
	}
	if n := len(f.refused); n > 0 {
		return fmt.Errorf("%d texts: %w", n, f.why)
	}
	return nil
}

// step looks at the next passages and does what is missing. It goes past them
// when it finds that nothing is, so that what changes while it works is seen the
// next time. It reports whether there are no more.
func (f *filler) step(ctx context.Context) (through bool, err error) {
	m, err := f.model(ctx, f.e.Model)
	if err != nil {
		return false, err
	}
	have, known, err := f.having(ctx, m) // before the texts: who has a vector then has a text, or had
	if err != nil {
		return false, err
	}
	texts, err := f.src.After(ctx, m.filled, f.e.Batch)
	if err != nil {
		return false, err
	}
	through = len(texts) == 0
	upTo := known
	if n := len(texts); n > 0 {
		upTo = min(known, texts[n-1].Passage)
		texts = slices.DeleteFunc(texts, func(t Text) bool { return t.Passage > upTo })
	}
	missing := f.missing(texts, have)
	switch gone := goneOf(texts, have, upTo); {
	case len(gone) > 0:
		return false, f.db.Tx(ctx, func(tx *sql.Tx) error { return f.Remove(ctx, tx, gone...) })
	case len(missing) > 0:
		return false, f.embed(ctx, missing)
	case through:
		return true, nil
	}
	return false, f.pass(ctx, m, upTo)
}

// pass marks the passages up to one as seen to, unless another has moved the
// mark, or there is none because all texts so far were refused.
func (f *filler) pass(ctx context.Context, m modelRow, upTo int64) error {
	return f.db.Tx(ctx, func(tx *sql.Tx) error {
		if m.num == 0 {
			if _, err := f.change(ctx, tx, f.e.Model, 0); err != nil {
				return err
			}
		}
		update := `UPDATE vector_model SET filled = ? WHERE name = ? AND state = 0 AND filled = ?`
		_, err := tx.ExecContext(ctx, f.db.Bind(update), upTo, f.e.Model, m.filled)
		return err
	})
}

// finish marks the model as whole and drops the others.
func (f *filler) finish(ctx context.Context) error {
	m, err := f.model(ctx, f.e.Model)
	if err != nil {
		return err
	}
	if m.vectors == 0 && len(f.refused) > 0 {
		return nil
	}
	if m.num != 0 && !m.whole {
		err = f.db.Exec(ctx, `UPDATE vector_model SET whole = 1 WHERE num = ?`, m.num)
	}
	if err != nil {
		return err
	}
	names, err := f.names(ctx, f.db.Read)
	for i := 0; i < len(names) && err == nil; i++ {
		if names[i] != f.e.Model {
			err = f.Drop(ctx, names[i])
		}
	}
	return err
}

// embed makes the vectors of texts and keeps them.
func (f *filler) embed(ctx context.Context, texts []Text) error {
	plain := make([]string, len(texts))
	for i, t := range texts {
		plain[i] = t.Text
	}
	vectors, err := f.e.Embed(ctx, plain)
	switch {
	case errors.Is(err, ErrText) && len(texts) == 1:
		f.refused[texts[0].Passage], f.why = true, err
		return f.checkModel(ctx)
	case errors.Is(err, ErrText):
		return f.embedEach(ctx, texts)
	case err != nil:
		return err
	case len(vectors) != len(texts):
		return fmt.Errorf("%d vectors for %d texts", len(vectors), len(texts))
	}
	return f.keep(ctx, texts, vectors)
}

func (f *filler) embedEach(ctx context.Context, texts []Text) error {
	for i := range texts {
		if err := f.embed(ctx, texts[i:i+1]); err != nil {
			return err
		}
	}
	return nil
}

// mostRefused is how many texts a model may refuse before it has made a vector.
const mostRefused = 16

// checkModel returns an error if it is not the texts that are wrong, it seems,
// but the model.
func (f *filler) checkModel(ctx context.Context) error {
	if len(f.refused) < mostRefused {
		return nil
	}
	m, err := f.model(ctx, f.e.Model)
	if err == nil && m.vectors == 0 {
		err = f.why
	}
	return err
}

func (f *filler) keep(ctx context.Context, texts []Text, vectors [][]float32) error {
	passages := make([]int64, len(texts))
	for i, t := range texts {
		passages[i] = t.Passage
	}
	err := f.db.Tx(ctx, func(tx *sql.Tx) error { return f.Put(ctx, tx, f.e.Model, passages, vectors) })
	if errors.Is(err, ErrLength) && !f.renewed {
		f.renewed = true
		return f.Drop(ctx, f.e.Model) // the next step begins again
	}
	return err
}

// fillBlocks is how many blocks a step looks at.
const fillBlocks = 64

// having returns the passages after those that are seen to which have a vector,
// of which it knows up to some passage.
func (f *filler) having(ctx context.Context, m modelRow) (have map[int64]bool, known int64, err error) {
	from, _ := blockOf(m.filled)
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

// missing returns the texts that are to be embedded.
func (f *filler) missing(texts []Text, have map[int64]bool) (out []Text) {
	for _, t := range texts {
		if !have[t.Passage] && !f.refused[t.Passage] {
			out = append(out, t)
		}
	}
	return out
}

// goneOf returns the passages up to one that have a vector but no text.
func goneOf(texts []Text, have map[int64]bool, upTo int64) (gone []int64) {
	there := map[int64]bool{}
	for _, t := range texts {
		there[t.Passage] = true
	}
	for _, p := range sorted(have) {
		if p <= upTo && !there[p] {
			gone = append(gone, p)
		}
	}
	return gone
}
