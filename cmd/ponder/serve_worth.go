package main

import (
	"context"
	"sync"
	"time"

	"ponder/mode/session"
)

// Worths are what claims of sessions of the owners are worth. They are safe for
// concurrent use.
type worths struct {
	mu   sync.Mutex
	list map[string]reckoned
}

type reckoned struct {
	session.Calibration
	at time.Time
}

// worthLife is how long they are kept until they are found anew.
const worthLife = time.Minute

// calibrated returns what claims of an owner are worth.
func (s *server) calibrated(ctx context.Context, who string) session.Calibration {
	s.worths.mu.Lock()
	defer s.worths.mu.Unlock()
	w, ok := s.worths.list[who]
	if !ok || time.Since(w.at) > worthLife {
		w = reckoned{s.as(who).calibration(ctx, s.store), time.Now()}
		if ctx.Err() == nil {
			s.worths.list[who] = w
		}
	}
	return w.Calibration
}
