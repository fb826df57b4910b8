package transcript

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"

	"ponder"
)

// Read reads a thread. It returns a [LineError] for the first invalid line, and then no thread.
func Read(r io.Reader) (Transcript, error) {
	lines, err := splitLines(r)
	if err != nil {
		return Transcript{}, err
	}
	if len(lines) == 0 {
		return Transcript{}, errors.New("the file is empty")
	}
	head := lines[0]
	fields, err := head.parseFields()
	if err != nil {
		return Transcript{}, head.wrap(err)
	}
	rd := &reader{header: fields}
	if rd.Thread, rd.original, err = parseHeader(fields); err != nil {
		return Transcript{}, head.wrap(err)
	}
	for i, l := range lines[1:] {
		if i == 0 {
			rd.Foreign = !hasSeq(l)
			rd.keepForeignHeader()
		}
		add := rd.addOwn
		if rd.Foreign {
			add = rd.addForeign
		}
		if err := add(l); err != nil {
			return Transcript{}, l.wrap(err)
		}
	}
	return rd.finishTranscript()
}

// maxLines limits the lines of a file, including blank ones.
const maxLines = 4 * MaxEvents

type line struct {
	num int // from 1
	js  []byte
}

func (l line) wrap(err error) error { return &LineError{l.num, err} }

// splitLines returns the non-blank lines of a file.
func splitLines(r io.Reader) (lines []line, err error) {
	in := bufio.NewReaderSize(io.LimitReader(r, MaxBytes+1), 64<<10)
	total := 0
	for num := 1; ; num++ {
		js, err := readLine(in)
		if total += len(js); total > MaxBytes {
			return nil, fmt.Errorf("longer than %d MiB", MaxBytes>>20)
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, &LineError{num, err}
		}
		if num == 1 {
			js = bytes.TrimPrefix(js, []byte("\ufeff"))
		}
		if js = bytes.TrimSpace(js); len(js) > 0 {
			lines = append(lines, line{num, js})
		}
		if len(lines) > MaxEvents+1 || num > maxLines {
			return nil, fmt.Errorf("more than %d events", MaxEvents)
		}
		if err != nil {
			return lines, nil //nolint:nilerr // end of file
		}
	}
}

// readLine returns a line in newly allocated memory.
func readLine(in *bufio.Reader) (js []byte, err error) {
	for {
		part, err := in.ReadSlice('\n')
		if js = append(js, part...); len(js) > MaxLine {
			return nil, fmt.Errorf("longer than %d MiB", MaxLine>>20)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return js, err
		}
	}
}

func (l line) parseFields() (map[string]json.RawMessage, error) {
	if !utf8.Valid(l.js) {
		return nil, errors.New("not valid UTF-8")
	}
	var fields map[string]json.RawMessage
	err := json.Unmarshal(l.js, &fields)
	switch {
	case !json.Valid(l.js):
		return nil, fmt.Errorf("not JSON: %w", err)
	case err != nil || fields == nil:
		return nil, errors.New("not a JSON object")
	}
	return fields, nil
}

// hasSeq reports whether a line is an event with a seq, as in our own form.
func hasSeq(l line) bool {
	var ev struct {
		Seq ponder.Seq `json:"seq"`
	}
	return json.Unmarshal(l.js, &ev) == nil && ev.Seq > 0
}

// parseHeader parses the header. It returns the thread and its ID in the file.
func parseHeader(fields map[string]json.RawMessage) (t ponder.Thread, id string, err error) {
	if _, isEvent := fields["event_id"]; isEvent {
		return t, "", errors.New("event before the header with thread_id and kind")
	}
	id, ok := jsonText(fields["thread_id"])
	if !ok || id == "" {
		return t, "", errors.New("not a header: thread_id is missing")
	}
	if isID(id) {
		t.ID = ponder.ThreadID(id)
	}
	kind, _ := jsonText(fields["kind"])
	switch t.Kind = ponder.Kind(kind); t.Kind {
	case ponder.KindConversation, ponder.KindSession, ponder.KindResearch, ponder.KindSubconscious:
	default:
		t.Kind = ponder.KindConversation
	}
	t.Title, _ = jsonText(fields["title"])
	t.Owner, _ = jsonText(fields["owner"])
	t.Model, _ = jsonText(fields["model"])
	created, _ := jsonText(fields["created_at"])
	t.Created, _ = parseTime(created)
	return t, id, nil
}

// maxID limits a thread ID in bytes.
const maxID = 128

// isID reports whether an ID is valid for a thread here.
func isID(id string) bool {
	for _, c := range []byte(id) {
		if !('a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || bytes.IndexByte([]byte("-_.:"), c) >= 0) {
			return false
		}
	}
	return id != "" && len(id) <= maxID
}
