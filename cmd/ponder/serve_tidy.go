package main

import (
	"context"
	"fmt"
	"time"

	"ponder"
)

// tidyThreads forgets what is kept of threads that are gone, such as those that a command
// has removed, or whose deletion came before what was kept of them. Nothing is forgotten
// that was kept after a time: its thread may be about to begin. What they have cost today
// counts to their tokens still.
func (s *server) tidyThreads(ctx context.Context, before time.Time) error {
	gone, err := s.books.gone(ctx, before)
	if err != nil {
		return err
	}
	for id, token := range gone {
		spent, err := s.spentToday(ctx, id)
		if err != nil {
			return err
		}
		if err := s.books.remove(ctx, id, token, spent, time.Now()); err != nil {
			return err
		}
	}
	return nil
}

// mostGone is how many threads are forgotten at once.
const mostGone = 200

// gone returns threads that something was kept of before a time, and that are not there,
// with their tokens.
func (b *books) gone(ctx context.Context, before time.Time) (map[ponder.ThreadID]string, error) {
	rows, err := b.db.Read.QueryContext(ctx, b.db.Bind(`SELECT thread, token FROM serve_thread WHERE since < ?
		AND NOT EXISTS (SELECT 1 FROM ponder_thread WHERE ponder_thread.id = serve_thread.thread AND ponder_thread.removed = 0) LIMIT ?`), before.Unix(), mostGone)
	if err != nil {
		return nil, fmt.Errorf("look for what is kept of threads that are gone: %w", err)
	}
	defer rows.Close()
	list := make(map[ponder.ThreadID]string)
	for rows.Next() {
		var id ponder.ThreadID
		var token string
		if err := rows.Scan(&id, &token); err != nil {
			return nil, err
		}
		list[id] = token
	}
	return list, rows.Err()
}
