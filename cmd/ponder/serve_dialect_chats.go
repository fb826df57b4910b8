package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"ponder"
)

// Bounds of the conversations that are found by what was said in them.
const (
	chatLife  = 90 * 24 * time.Hour // after which one is not found any more
	mostChats = 200_000             // digests that are kept, of all owners
)

// FindChat implements [service.ChatFinder].
func (s *server) FindChat(ctx context.Context, owner, digest string) (ponder.ThreadID, error) {
	return s.books.chat(ctx, owner, digest)
}

// NoteChat implements [service.ChatFinder].
func (s *server) NoteChat(ctx context.Context, owner, digest string, id ponder.ThreadID, patient bool) error {
	return s.books.noteChat(ctx, owner, digest, id, patient, time.Now())
}

// chat returns the conversation that was noted under a digest last, or "".
func (b *books) chat(ctx context.Context, owner, digest string) (id ponder.ThreadID, err error) {
	err = b.known.First(ctx, b.db.Read, []any{&id}, b.db.Bind(`SELECT thread FROM serve_chat WHERE owner = ? AND digest = ?`), owner, digest)
	if errors.Is(err, sql.ErrNoRows) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("look for a conversation: %w", err)
	}
	return id, nil
}

// noteChat has a conversation found under a digest. It does not wait for the disk: what is
// said in it, or answered, is not there without the notes of before.
func (b *books) noteChat(ctx context.Context, owner, digest string, id ponder.ThreadID, patient bool, now time.Time) error {
	return b.db.Pass(ctx, patient, `INSERT INTO serve_chat (owner, digest, thread, noted) VALUES (?, ?, ?, ?)
		ON CONFLICT (owner, digest) DO UPDATE SET thread = excluded.thread, noted = excluded.noted`, owner, digest, string(id), now.UnixMilli())
}

// tidyChats forgets what was noted long ago, and the oldest of what is too much.
func (b *books) tidyChats(ctx context.Context, now time.Time, most int) error {
	return b.db.Tx(ctx, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, b.db.Bind(`DELETE FROM serve_chat WHERE noted < ?`), now.Add(-chatLife).UnixMilli())
		if err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, b.db.Bind(`DELETE FROM serve_chat WHERE noted <= (SELECT noted FROM serve_chat ORDER BY noted DESC LIMIT 1 OFFSET ?)`), most)
		return err
	})
}

// tidyAll forgets what is old.
func (b *books) tidyAll(ctx context.Context, now time.Time) error {
	return errors.Join(b.tidy(ctx, now), b.tidyOnces(ctx, now), b.tidyChats(ctx, now, mostChats))
}

// spend adds to what a token has cost on a day beside threads that are there. It is a turn
// of the day: who has counted what is left before counts again.
func (b *books) spend(ctx context.Context, tx *sql.Tx, token string, cost ponder.Money, now time.Time) error {
	_, err := tx.ExecContext(ctx, b.db.Bind(`INSERT INTO serve_day (token, day, begun, micro_usd) VALUES (?, ?, 0, ?)
		ON CONFLICT (token, day) DO UPDATE SET micro_usd = serve_day.micro_usd + excluded.micro_usd, turn = serve_day.turn + 1`),
		token, now.Format(time.DateOnly), int64(cost))
	return err
}
