package main

import (
	"context"
	"log/slog"
	"time"

	"ponder"
	"ponder/internal/app"
)

// inner returns what stands before a message of what is on the owner's mind, and the
// escalations in it. That something is amiss with it keeps nobody from talking.
func (c *conversation) inner(ctx context.Context, said string) (before []ponder.Event, raised []app.PendingEscalation) {
	if !c.talking.Config.Mind.Feeds() || c.talking.Extractive || c.talking.NoMemory {
		return nil, nil
	}
	c.noteTold(ctx)
	now := time.Now()
	err := c.mind.Read(ctx, c.store)
	if err == nil {
		before = c.mind.Background(said, c.id, true, now)
		raised, err = c.mind.Raise(ctx, c.store, c.thread(), now)
	}
	if err != nil {
		slog.Warn("the subconscious is not handed on", "error", err)
	}
	for _, e := range raised {
		before = append(before, e.Observation())
	}
	return before, raised
}

// noteTold notes that the log of the conversation has escalations. It comes once it is
// certain that the conversation stays; else the next one tells them.
func (c *conversation) noteTold(ctx context.Context) {
	for _, e := range c.told {
		if err := c.mind.Told(ctx, c.store, e); err != nil {
			slog.Warn("the subconscious may tell something twice", "error", err)
		}
	}
	c.told = nil
}
