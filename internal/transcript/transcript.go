// Package transcript reads and writes threads as files of JSON Lines: a header,
// then one event a line, oldest first. docs/log-format.md describes both forms.
//
// [Write] writes ours. [Read] reads it back to the same events, and reads the
// lines of another program, whose events have no seq: foreign.go makes events of
// ours of them. Whichever it is, no field of a file is lost: fields.go compares
// each line with the event that it became, and keeps in the data of that what is
// not the same there. So Write after Read gives every field back.
//
// What is read is foreign: its size is bounded, and it is read as a whole or not
// at all. The package does no I/O but on the streams it is given.
package transcript

import (
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"strings"

	"ponder/internal/textkit"

	"ponder"
)

// Bounds on a file.
const (
	MaxBytes  = 256 << 20
	MaxLine   = 32 << 20
	MaxEvents = 500_000 // those that fill gaps included
)

// maxKept is how many fields may be kept in all that our events have no place for.
const maxKept = 4_000_000

// A Transcript is a thread as a file has it.
type Transcript struct {
	// Thread is its header. Its ID is empty if the file has none that a thread
	// here can have; its Created is zero if nothing in the file says when.
	Thread ponder.Thread

	// Events have their seqs, from 1 without a gap, and Thread's ID. Those that
	// the file has no id or time for have none.
	Events []ponder.Event

	// Foreign says that it is another program's.
	Foreign bool

	// Filled is how many events stand for those that the file has left out.
	Filled int
}

// A LineError says which line of a file is wrong, counted from 1.
type LineError struct {
	Line int
	Err  error
}

func (e *LineError) Error() string { return fmt.Sprintf("line %d: %v", e.Line, e.Err) }

// Unwrap returns what is wrong.
func (e *LineError) Unwrap() error { return e.Err }

// Write writes a thread in our form. Internal events are left out unless internal
// is set. An error of events ends it.
func Write(w io.Writer, thread ponder.Thread, events iter.Seq2[ponder.Event, error], internal bool) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(thread); err != nil {
		return err
	}
	for ev, err := range events {
		if err != nil {
			return err
		}
		if ev.Internal && !internal {
			continue
		}
		if err := enc.Encode(ev); err != nil {
			return err
		}
	}
	return nil
}

// Gist returns the content of an event as one line.
func Gist(ev ponder.Event) string {
	var flat struct {
		Content    string          `json:"content"`
		ToolName   string          `json:"tool_name"`
		ToolArgs   json.RawMessage `json:"tool_args"`
		ToolResult string          `json:"tool_result"`
		Reason     string          `json:"reason"`
		Model      string          `json:"model"`
		Data       struct {
			Error  string `json:"error"`
			Status string `json:"status"`
			Do     string `json:"do"`
			Role   string `json:"model_role"`
		} `json:"data"`
	}
	js, err := json.Marshal(ev)
	if err != nil {
		return err.Error()
	}
	if err := json.Unmarshal(js, &flat); err != nil { // data of another shape
		return textkit.OneLine(flat.Content)
	}
	if ev.Erased {
		return "(erased)"
	}
	parts := []string{flat.Data.Status, flat.Data.Do, flat.Data.Role, flat.Model, flat.ToolName, string(flat.ToolArgs), flat.Reason, flat.Data.Error,
		flat.Content, flat.ToolResult}
	var said []string
	for _, p := range parts {
		if p != "" {
			said = append(said, p)
		}
	}
	return textkit.OneLine(strings.Join(said, " · "))
}
