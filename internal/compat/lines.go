package compat

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
)

// A LineFault is the JSON-RPC error for a line that is no message.
type LineFault struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

// Codes of JSON-RPC.
const (
	ParseError     = -32700
	InvalidRequest = -32600
)

// A LineReader passes JSON-RPC messages on, one a line. Wrong lines never end the connection. It is
// for one reader.
type LineReader struct {
	in      *bufio.Reader
	maxLine int
	rest    []byte // unread part of a line

	// pass returns a line as the reader shall see it, or nothing. A fault tells that the line is no
	// JSON object.
	pass func(line []byte, fault *LineFault) ([]byte, error)

	end func() // blocks before the end
}

// NewLineReader returns a reader of lines of at most maxLine bytes.
func NewLineReader(in io.Reader, maxLine int, pass func(line []byte, fault *LineFault) ([]byte, error), end func()) *LineReader {
	return &LineReader{in: bufio.NewReaderSize(in, 64<<10), maxLine: maxLine, pass: pass, end: end}
}

// Read implements [io.Reader].
func (l *LineReader) Read(b []byte) (int, error) {
	for len(l.rest) == 0 {
		line, long, err := l.readLine()
		if err != nil {
			l.end()
			return 0, err
		}
		fault := checkLine(line, long)
		if len(line) == 0 && fault == nil {
			continue
		}
		if line, err = l.pass(line, fault); err != nil {
			return 0, err
		}
		if len(line) > 0 {
			l.rest = append(line, '\n')
		}
	}
	n := copy(b, l.rest)
	l.rest = l.rest[n:]
	return n, nil
}

// readLine returns the next line without white space around it, or that it was too long. The last
// line may lack a newline.
func (l *LineReader) readLine() (line []byte, long bool, err error) {
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

var byteOrderMark = []byte("\xef\xbb\xbf")

func checkLine(line []byte, long bool) *LineFault {
	switch {
	case long:
		return &LineFault{InvalidRequest, "the message is too long"}
	case len(line) == 0:
	case !json.Valid(line):
		return &LineFault{ParseError, "the line is not JSON; send one message per line"}
	case line[0] != '{':
		return &LineFault{InvalidRequest, "the line is not a JSON object; send one JSON-RPC message per line"}
	}
	return nil
}
