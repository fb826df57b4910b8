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

// Lines hand on what a client sends over a stream, a message a line, and answer what is
// none themselves: a wrong line is no reason to end the connection. It is for one reader.
type lines struct {
	io.Closer
	in    *bufio.Reader
	reply io.Writer
	calls *calls
	most  int    // bytes of a line
	rest  []byte // of a line that is handed on
}

func newLines(in io.ReadCloser, reply io.Writer, most int) *lines {
	return &lines{Closer: in, in: bufio.NewReader(in), reply: reply, calls: newCalls(), most: most}
}

// Read implements [io.Reader]. The end comes once what was read before it is answered.
func (l *lines) Read(b []byte) (int, error) {
	for len(l.rest) == 0 {
		line, long, err := l.line()
		if err != nil {
			l.calls.settle()
			return 0, err
		}
		m, why := message(line, long)
		if why != nil {
			if err := l.refuse(line, why); err != nil {
				return 0, err
			}
		} else if len(line) > 0 {
			l.calls.asked(m)
			l.rest = append(line, '\n')
		}
	}
	n := copy(b, l.rest)
	l.rest = l.rest[n:]
	return n, nil
}

// line returns the next line, trimmed, or that it was too long. The last one may lack its
// end.
func (l *lines) line() (line []byte, long bool, err error) {
	for {
		part, err := l.in.ReadSlice('\n')
		if long = long || len(line)+len(part) > l.most; long {
			line = nil
		} else {
			line = append(line, part...)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
		case err != nil && (len(line) == 0 && !long || !errors.Is(err, io.EOF)):
			return nil, false, err
		default:
			return bytes.TrimSpace(line), long, nil
		}
	}
}

// message returns the message that a line is, or why it is none. An empty line is neither.
func message(line []byte, long bool) (jsonrpc.Message, *jsonrpc.Error) {
	switch {
	case long:
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: "the message is too long"}
	case len(line) == 0:
		return nil, nil
	case !json.Valid(line):
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeParseError, Message: "this is not JSON: one message is wanted, in one line"}
	case line[0] != '{':
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: "one JSON-RPC message is wanted in each line"}
	}
	m, err := jsonrpc.DecodeMessage(line)
	if err != nil {
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: "this is no JSON-RPC 2.0 message"}
	}
	return m, nil
}

// refuse answers a line that is no message.
func (l *lines) refuse(line []byte, why *jsonrpc.Error) error {
	var asked struct {
		ID any `json:"id"`
	}
	_ = json.Unmarshal(line, &asked) // an id that cannot be read is null
	switch asked.ID.(type) {
	case string, float64:
	default:
		asked.ID = nil
	}
	js, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": asked.ID, "error": why})
	if err == nil {
		_, err = l.reply.Write(append(js, '\n'))
	}
	return err
}

// A shared writer is written to by several, a message at a time.
type shared struct {
	io.WriteCloser
	mu sync.Mutex
}

func (s *shared) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.WriteCloser.Write(b)
}

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
