package mcp

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// lines reads one message a line, and answers invalid lines without ending the connection. It is for one
// reader.
type lines struct {
	io.Closer
	in      *bufio.Reader
	reply   io.Writer
	calls   *calls
	ids     exactIDs
	maxLine int    // bytes of a line
	rest    []byte // unread part of a line
}

func newLines(in io.ReadCloser, reply io.Writer, most int) *lines {
	return &lines{Closer: in, in: bufio.NewReader(in), reply: reply, calls: newCalls(), ids: newExactIDs(), maxLine: most}
}

// Read implements [io.Reader]. It delays io.EOF until requests are answered.
func (l *lines) Read(b []byte) (int, error) {
	for len(l.rest) == 0 {
		line, long, err := l.readLine()
		if err != nil {
			l.calls.awaitAnswers()
			return 0, err
		}
		line = l.ids.encode(line)
		m, why := parseMessage(line, long)
		if why != nil {
			if err := l.rejectLine(line, why); err != nil {
				return 0, err
			}
		} else if len(line) > 0 {
			l.calls.noteRequest(m)
			l.rest = append(line, '\n')
		}
	}
	n := copy(b, l.rest)
	l.rest = l.rest[n:]
	return n, nil
}

// readLine returns the next line, trimmed, or that it was too long. The last line may lack a newline.
func (l *lines) readLine() (line []byte, long bool, err error) {
	for {
		part, err := l.in.ReadSlice('\n')
		if long = long || len(line)+len(part) > l.maxLine; long {
			line = nil
		} else {
			line = append(line, part...)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
		case err != nil && (len(line) == 0 && !long || !errors.Is(err, io.EOF)):
			return nil, false, err
		default:
			return bytes.TrimSpace(bytes.TrimPrefix(line, byteOrderMark)), long, nil
		}
	}
}

// parseMessage parses a line. An empty line gives neither message nor error.
func parseMessage(line []byte, long bool) (jsonrpc.Message, *jsonrpc.Error) {
	switch {
	case long:
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: "the message is too long"}
	case len(line) == 0:
		return nil, nil
	case !json.Valid(line):
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeParseError, Message: "the line is not JSON; send one message per line"}
	case line[0] != '{':
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: "the line is not a JSON object; send one JSON-RPC message per line"}
	}
	m, err := jsonrpc.DecodeMessage(line)
	if err != nil {
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: "the line is not a JSON-RPC 2.0 message"}
	}
	return m, nil
}

func (l *lines) rejectLine(line []byte, why *jsonrpc.Error) error {
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
