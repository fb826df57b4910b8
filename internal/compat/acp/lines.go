package acp

import (
	"bytes"
	"encoding/json"
	"io"
	"sync"
	"time"

	"ponder/internal/compat"
)

const (
	maxLine     = 8 << 20         // bytes of a message
	lastAnswers = 3 * time.Second // for answers after the client closes its end
)

// newLines passes valid JSON-RPC messages on. It delays the end until requests are answered.
func newLines(in io.Reader, out *syncWriter) *compat.LineReader {
	return compat.NewLineReader(in, maxLine, out.passLine, func() { out.awaitAnswers(lastAnswers) })
}

// passLine returns a message, and answers other lines with an error.
func (w *syncWriter) passLine(line []byte, fault *compat.LineFault) ([]byte, error) {
	var m message
	if fault == nil {
		m, fault = parseMessage(line)
	}
	if fault != nil {
		return nil, w.writeFault(m.ID, fault)
	}
	if m.isCall() {
		w.noteRequest()
	}
	return line, nil
}

type message struct {
	ID     json.RawMessage `json:"id"`
	Method *string         `json:"method"`
	Result json.RawMessage `json:"result"`
	Error  json.RawMessage `json:"error"`
}

func (m message) isCall() bool { return m.Method != nil && len(m.ID) > 0 }

// parseMessage parses a JSON object.
func parseMessage(line []byte) (m message, fault *compat.LineFault) {
	if json.Unmarshal(line, &m) != nil || !isID(m.ID) {
		return message{}, &compat.LineFault{Code: compat.InvalidRequest, Message: "the line is not a JSON-RPC 2.0 message"}
	}
	if m.Method == nil && (len(m.ID) == 0 || m.Result == nil && m.Error == nil) {
		return m, &compat.LineFault{Code: compat.InvalidRequest, Message: "the message has no method"}
	}
	return m, nil
}

const maxID = 256 // bytes

// isID reports whether an id is absent, a number, a string or null.
func isID(id json.RawMessage) bool {
	if len(id) == 0 {
		return true
	}
	return len(id) <= maxID && (id[0] == '"' || id[0] == '-' || '0' <= id[0] && id[0] <= '9' || string(id) == "null")
}

// A syncWriter serializes lines and counts the requests without an answer.
type syncWriter struct {
	mu       sync.Mutex
	out      io.Writer
	err      error
	open     int
	answered chan struct{} // closed by the next answer
	after    []afterAnswer
}

// An afterAnswer runs after the answer that contains mark.
type afterAnswer struct {
	mark []byte
	do   func()
}

func newSyncWriter(out io.Writer) *syncWriter {
	return &syncWriter{out: out, answered: make(chan struct{})}
}

// Write writes one message of the SDK.
func (w *syncWriter) Write(b []byte) (int, error) {
	w.mu.Lock()
	if w.err != nil {
		w.mu.Unlock()
		return 0, w.err
	}
	n, err := w.out.Write(b)
	w.err = err
	var m message
	var due []func()
	if json.Unmarshal(b, &m) == nil && m.Method == nil || err != nil {
		w.open = max(0, w.open-1)
		if err != nil {
			w.open = 0
		}
		close(w.answered)
		w.answered = make(chan struct{})
		kept := w.after[:0]
		for _, a := range w.after {
			if bytes.Contains(b, a.mark) {
				due = append(due, a.do)
			} else {
				kept = append(kept, a)
			}
		}
		w.after = kept
	}
	w.mu.Unlock()
	for _, do := range due {
		go do() // the SDK holds its lock
	}
	return n, err
}

// runAfter calls do after the answer that contains mark.
func (w *syncWriter) runAfter(mark string, do func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.after = append(w.after, afterAnswer{[]byte(mark), do})
}

func (w *syncWriter) writeFault(id json.RawMessage, fault *compat.LineFault) error {
	if len(id) == 0 {
		id = json.RawMessage("null")
	}
	js, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": id, "error": fault})
	if err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	_, err = w.out.Write(append(js, '\n'))
	return err
}

func (w *syncWriter) noteRequest() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.open++
}

// awaitAnswers waits until all requests are answered, at most limit.
func (w *syncWriter) awaitAnswers(limit time.Duration) {
	late := time.NewTimer(limit)
	defer late.Stop()
	for {
		w.mu.Lock()
		n, next := w.open, w.answered
		w.mu.Unlock()
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
