// Package transcript reads and writes threads as JSON Lines: a header, then one event per line,
// oldest first. docs/log-format.md describes the formats.
//
// [Write] writes our own format. [Read] restores the same events, and also reads other programs'
// lines, which have no seq; foreign.go converts them. No field is lost: fields.go compares each
// line with its event and keeps differences in the event's data. So Write after Read returns every
// field.
//
// Input is untrusted: its size is limited, and Read returns all or nothing. The package does I/O
// only on the given streams.
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

// Limits of a file.
const (
	MaxBytes  = 256 << 20
	MaxLine   = 32 << 20
	MaxEvents = 500_000 // including filled gaps
)

// maxPreserved limits the preserved unknown fields of a file.
const maxPreserved = 4_000_000

// A Transcript is a thread read from a file.
type Transcript struct {
	// Thread is the header. Its ID is empty if the file has no valid one; Created is zero if
	// unknown.
	Thread ponder.Thread

	// Events have consecutive seqs from 1 and Thread's ID. Event IDs and times that the file lacks
	// are empty.
	Events []ponder.Event

	// Foreign reports a file of another program.
	Foreign bool

	// Filled is the number of events that fill gaps.
	Filled int
}

// A LineError is an error in a line, counted from 1.
type LineError struct {
	Line int
	Err  error
}

func (e *LineError) Error() string { return fmt.Sprintf("line %d: %v", e.Line, e.Err) }

// Unwrap returns the cause.
func (e *LineError) Unwrap() error { return e.Err }

// Write writes a thread in our own format. It omits internal events unless internal is set. It
// stops at an error of events.
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
