package main

import (
	"context"
	"time"

	"ponder"
)

// A brief is what is known of a thread that is to be worked on.
type brief struct {
	info ponder.Info
	entry
	since time.Time // when it was looked at
}

// briefLife is how long a brief is as good as looking again.
const briefLife = time.Second

// start has a thread worked on that was looked at just now, so that it need not be looked
// at once more before a message is answered.
func (s *server) start(ctx context.Context, known brief) error {
	s.briefs.Store(known.info.ID, known)
	return s.place.Start(ctx, known.info.ID)
}

// briefed returns what is known of a thread that is worked on now.
func (s *server) briefed(ctx context.Context, id ponder.ThreadID) (brief, error) {
	if v, ok := s.briefs.LoadAndDelete(id); ok {
		if known := v.(brief); known.turn == s.books.turn.Load() && time.Since(known.since) < briefLife {
			return known, nil
		}
	}
	info, err := s.store.Thread(ctx, id)
	if err != nil || info.Kind == ponder.KindSubconscious {
		return brief{info: info}, err
	}
	e, err := s.books.entry(ctx, id)
	return brief{info: info, entry: e}, err
}
