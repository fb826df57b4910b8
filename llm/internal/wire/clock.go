package wire

import (
	"net/http"
	"time"
)

// lingerTime is how long what follows the terminal signal of an answer may take.
const lingerTime = 10 * time.Second

// A clock ends a call if what has to come does not, though something else does, such as
// comments. All methods of a nil one do nothing. It is used by one goroutine.
type clock struct{ timer *time.Timer }

// clockOf returns the clock of an answer. Of a stream of events it runs until the first has
// come; of what has no comments, each byte is a part of the answer.
func clockOf(resp *http.Response) *clock {
	k, ok := resp.Body.(*call)
	if !ok {
		return nil
	}
	first := orElse(k.client.HeaderTimeout, defaultHeader)
	k.clock = &clock{time.AfterFunc(first, func() { k.cancel(errSilence(first)) })}
	if !IsType(resp, "text/event-stream") {
		k.clock.stop()
	}
	return k.clock
}

// piece notes that a piece has come. Over says that the answer is complete, and more that
// the clock of what follows begins anew.
func (c *clock) piece(over, more bool) {
	switch {
	case c == nil:
	case !over:
		c.timer.Stop()
	case more:
		c.timer.Reset(lingerTime)
	}
}

func (c *clock) stop() {
	if c != nil {
		c.timer.Stop()
	}
}
