package vector

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
)

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
