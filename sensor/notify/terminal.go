package notify

import (
	"context"
	"fmt"
	"io"
	"sync"
)

// Terminal returns the channel "terminal", which writes a line with a bell.
func Terminal(w io.Writer) Channel {
	var mu sync.Mutex
	return Channel{Name: "terminal", Send: func(ctx context.Context, m Message) error {
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("write to the terminal: %w", err)
		}
		mu.Lock()
		defer mu.Unlock()
		if _, err := io.WriteString(w, "\a"+m.cleaned().line()+"\n"); err != nil {
			return fmt.Errorf("write to the terminal: %w", err)
		}
		return nil
	}}
}
