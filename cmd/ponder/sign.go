package main

import (
	"context"
	"strings"
	"sync"

	"ponder/internal/app"

	"ponder"
)

// A sign is something that comes of a conversation: an event, or a piece of what is
// being written.
type sign struct {
	event *ponder.Event
	key   string // of the call that writes
	piece string
	err   error // nothing more comes
}

// signs sends what comes after an event, until ctx is done. Pieces come before the
// events that have them whole.
func (c *conversation) signs(ctx context.Context, after ponder.Seq) <-chan sign {
	events, lost := pump(ctx, c.store, c.id, after)
	out := make(chan sign)
	send := func(s sign) bool {
		select {
		case out <- s:
			return true
		case <-ctx.Done():
			return false
		}
	}
	flush := func() bool {
		for _, s := range c.pieces.take() {
			if !send(s) {
				return false
			}
		}
		return true
	}
	go func() {
		for {
			select {
			case <-c.pieces.bell:
				if !flush() {
					return
				}
			case ev := <-events:
				if !flush() || !send(sign{event: &ev}) {
					return
				}
			case err := <-lost:
				send(sign{err: err})
				return
			case <-ctx.Done():
				return
			}
		}
	}()
	return out
}

// pieces are what models write in turns, until they are taken. add is safe for
// concurrent use and does not wait.
type pieces struct {
	bell chan struct{}

	mu   sync.Mutex
	list []sign
}

func (p *pieces) add(d ponder.Delta) {
	if d.Text == "" || !strings.HasPrefix(d.Key, app.TurnKey) {
		return
	}
	p.mu.Lock()
	if n := len(p.list); n > 0 && p.list[n-1].key == d.Key {
		p.list[n-1].piece += d.Text
	} else {
		p.list = append(p.list, sign{key: d.Key, piece: d.Text})
	}
	p.mu.Unlock()
	select {
	case p.bell <- struct{}{}:
	default:
	}
}

func (p *pieces) take() []sign {
	p.mu.Lock()
	defer p.mu.Unlock()
	list := p.list
	p.list = nil
	return list
}
