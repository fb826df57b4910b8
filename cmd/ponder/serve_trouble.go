package main

import (
	"context"

	"ponder"
)

// workTold works on a thread, and tells those who look on if nothing can be written.
func (s *server) workTold(ctx context.Context, id ponder.ThreadID) error {
	err := s.work(ctx, id)
	s.hub.Trouble(id, err)
	return err
}
