package mcp

import (
	"encoding/json"
	"io"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"ponder/internal/compat"
)

// lines passes one message a line on, and answers invalid lines without ending the connection. It delays io.EOF until
// requests are answered.
type lines struct {
	*compat.LineReader
	io.Closer
	reply io.Writer
	calls *calls
	ids   exactIDs
}

func newLines(in io.ReadCloser, reply io.Writer, most int) *lines {
	l := &lines{Closer: in, reply: reply, calls: newCalls(), ids: newExactIDs()}
	l.LineReader = compat.NewLineReader(in, most, l.passLine, l.calls.awaitAnswers)
	return l
}

func (l *lines) passLine(line []byte, fault *compat.LineFault) ([]byte, error) {
	line = l.ids.encode(line)
	if fault == nil {
		m, err := jsonrpc.DecodeMessage(line)
		if err == nil {
			l.calls.noteRequest(m)
			return line, nil
		}
		fault = &compat.LineFault{Code: compat.InvalidRequest, Message: "the line is not a JSON-RPC 2.0 message"}
	}
	return nil, l.rejectLine(line, fault)
}

func (l *lines) rejectLine(line []byte, why *compat.LineFault) error {
	var asked struct {
		ID any `json:"id"`
	}
	_ = json.Unmarshal(line, &asked) // an unreadable id becomes null
	switch asked.ID = l.ids.decodeID(asked.ID); asked.ID.(type) {
	case string, float64, json.Number:
	default:
		asked.ID = nil
	}
	js, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": asked.ID, "error": why})
	if err == nil {
		_, err = l.reply.Write(append(js, '\n'))
	}
	return err
}

// A syncWriter writer serializes messages.
type syncWriter struct {
	io.WriteCloser
	mu sync.Mutex
}

func (s *syncWriter) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.WriteCloser.Write(b)
}

// lastAnswers bounds the wait for answers after the client closes its end.
const lastAnswers = 3 * time.Second

// calls tracks unanswered requests, so that a closed input still gets its answers.
type calls struct {
	timeout time.Duration

	mu       sync.Mutex
	open     map[jsonrpc.ID]bool
	answered chan struct{} // closed by the next answer
}

func newCalls() *calls {
	return &calls{timeout: lastAnswers, open: make(map[jsonrpc.ID]bool), answered: make(chan struct{})}
}

func (c *calls) noteRequest(m jsonrpc.Message) {
	r, ok := m.(*jsonrpc.Request)
	if !ok || !r.IsCall() || r.Method == "subscriptions/listen" { // a subscription ends only with the stream
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.open[r.ID] = true
}

// awaitAnswers waits for the answers, at most c.patience.
func (c *calls) awaitAnswers() {
	late := time.NewTimer(c.timeout)
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

// answerTracker removes answered requests. It is for one writer.
type answerTracker struct {
	io.WriteCloser
	calls *calls
	ids   exactIDs
}

func (a answerTracker) Write(b []byte) (int, error) {
	n := len(b)
	_, err := a.WriteCloser.Write(a.ids.decode(b))
	m, wrong := jsonrpc.DecodeMessage(b)
	r, ok := m.(*jsonrpc.Response)
	a.calls.mu.Lock()
	defer a.calls.mu.Unlock()
	switch {
	case err != nil: // disconnected
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
