package mcp

import (
	"io"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// lastAnswers is how long a client that sends no more is still answered.
const lastAnswers = 3 * time.Second

// Calls are the requests of a stream that are not answered yet. What a client asked before
// it closed its end is answered: its end is held back until then.
type calls struct {
	patience time.Duration

	mu       sync.Mutex
	open     map[jsonrpc.ID]bool
	answered chan struct{} // closed with the next answer
}

func newCalls() *calls {
	return &calls{patience: lastAnswers, open: make(map[jsonrpc.ID]bool), answered: make(chan struct{})}
}

// asked notes a message of the client.
func (c *calls) asked(m jsonrpc.Message) {
	r, ok := m.(*jsonrpc.Request)
	if !ok || !r.IsCall() || r.Method == "subscriptions/listen" { // which is answered last of all
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.open[r.ID] = true
}

// settle waits until all is answered, or for as long as there is patience.
func (c *calls) settle() {
	late := time.NewTimer(c.patience)
	defer late.Stop()
	for {
		c.mu.Lock()
		n, next := len(c.open), c.answered
		c.mu.Unlock()
		if n == 0 {
			return
		}
		select {
		case <-next:
		case <-late.C:
			return
		}
	}
}

// An answering writer notes what is answered. It is written to a message at a time.
type answering struct {
	io.WriteCloser
	calls *calls
}

func (a answering) Write(b []byte) (int, error) {
	n, err := a.WriteCloser.Write(b)
	m, wrong := jsonrpc.DecodeMessage(b)
	r, ok := m.(*jsonrpc.Response)
	a.calls.mu.Lock()
	defer a.calls.mu.Unlock()
	switch {
	case err != nil: // nobody reads any more
		clear(a.calls.open)
	case wrong == nil && ok:
		delete(a.calls.open, r.ID)
	default:
		return n, err
	}
	close(a.calls.answered)
	a.calls.answered = make(chan struct{})
	return n, err
}
