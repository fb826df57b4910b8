package recall

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	"ponder/knowledge/recall/index"
	"ponder/knowledge/recall/vector"
)

// tendEvery is how often is looked for what other processes left to do.
const tendEvery = 30 * time.Second

// Tend does in the background what makes search fast and good, and can wait: it
// merges the index and makes vectors. It works in small steps, and returns when
// ctx ends. If something fails it goes on with the next round and returns the last
// error.
func (l *Library) Tend(ctx context.Context) error {
	var last error
	for {
		if err := l.Settle(ctx, nil); err != nil && ctx.Err() == nil {
			last = err
		}
		select {
		case <-ctx.Done():
			return last
		case <-l.grown:
		case <-time.After(tendEvery):
		}
	}
}

// Settle does what there is to tend now, and returns when it is done. Progress,
// if set, is told how many passages have vectors.
func (l *Library) Settle(ctx context.Context, progress func(vectors int)) error {
	if err := l.merge(ctx); err != nil {
		return fmt.Errorf("tend library: %w", err)
	}
	if l.embedder.Embed == nil {
		return nil
	}
	err := l.vectors.Fill(ctx, l.embedder, texts{l}, progress)
	if err != nil && !errors.Is(err, vector.ErrText) {
		return fmt.Errorf("tend library: %w", err)
	}
	return nil
}

// SettleFor is [Library.Settle] for a while: what is not done then is done the next
// time, and done is false. Progress, if set, is told how many of all passages have
// vectors. The error is that of ctx only if ctx itself has ended.
func (l *Library) SettleFor(ctx context.Context, d time.Duration, progress func(vectors, of int)) (done bool, err error) {
	of := 0
	if progress != nil {
		err := l.db.Read.QueryRowContext(ctx, l.db.Bind(`SELECT COALESCE(sum(passages), 0) FROM recall_item`)).Scan(&of)
		if err != nil {
			return false, fmt.Errorf("tend library: %w", err)
		}
	}
	within, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	err = l.Settle(within, func(vectors int) {
		if progress != nil {
			progress(min(vectors, of), of)
		}
	})
	if err != nil && ctx.Err() == nil && within.Err() != nil {
		return false, nil
	}
	return err == nil, err
}

// merge merges the index until nothing is left to merge. One goroutine does.
func (l *Library) merge(ctx context.Context) error {
	if !l.tending.TryLock() {
		return nil
	}
	defer l.tending.Unlock()
	for {
		more, err := l.index.Merge(ctx)
		if err != nil || !more {
			return err
		}
	}
}

// merges merges beside an ingestion, until stop is called; an error is left to
// the next time.
func (l *Library) merges(ctx context.Context) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-ctx.Done():
				return
			case <-l.grown:
				if l.merge(ctx) != nil {
					return
				}
			}
		}
	}()
	return func() {
		cancel()
		<-done
		l.noteGrowth()
	}
}

// removeIndexed removes documents from the index, with their vectors.
func (l *Library) removeIndexed(ctx context.Context, tx *sql.Tx, nums []int64) error {
	var passages []int64
	for _, doc := range nums {
		first, n, err := l.index.First(ctx, doc)
		if errors.Is(err, index.ErrNone) {
			continue
		}
		if err != nil {
			return err
		}
		for i := range n {
			passages = append(passages, first+int64(i))
		}
	}
	if err := l.vectors.Remove(ctx, tx, passages...); err != nil {
		return err
	}
	return l.index.Remove(ctx, tx, nums...)
}

// texts has what is to be embedded.
type texts struct{ l *Library }

// After implements [vector.Source].
func (t texts) After(ctx context.Context, passage int64, n int) ([]vector.Text, error) {
	entries, err := t.l.index.After(ctx, passage, n)
	if err != nil {
		return nil, err
	}
	out := make([]vector.Text, len(entries))
	for i, e := range entries {
		out[i] = vector.Text{Passage: e.Num, Text: embedded(e)}
	}
	return out, nil
}

// embedded returns a passage as it is embedded: with the headings it stands under
// and who speaks, without which it may not be understood.
func embedded(e index.Entry) string {
	text := e.Text
	if e.Speaker != "" && !strings.HasPrefix(text, e.Speaker) {
		text = e.Speaker + ": " + text
	}
	if e.Heading != "" {
		text = e.Heading + "\n" + text
	}
	return text
}
