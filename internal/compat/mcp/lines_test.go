package mcp

import (
	"encoding/json"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

type nothingToClose struct{ io.Reader }

func (nothingToClose) Close() error { return nil }

// readLines returns the forwarded messages and the error answers.
func readLines(t *testing.T, in io.Reader) (on, answers string) {
	t.Helper()
	var reply strings.Builder
	l := newLines(nothingToClose{in}, &reply, 200)
	l.calls.timeout = 0 // no answers come
	b, err := io.ReadAll(l)
	if err != nil {
		t.Fatal(err)
	}
	return string(b), reply.String()
}

func TestLines(t *testing.T) {
	const good = `{"jsonrpc":"2.0","id":1,"method":"ping"}`
	long := strings.Repeat("x", 10_000)
	for _, tt := range []struct{ line, answer string }{
		{good, ""}, {"  " + good + "\r", ""}, {"", ""}, {"\r", ""},
		{"nonsense", `"code":-32700`}, {`{"jsonrpc":"2.0"`, `"code":-32700`}, {long, `too long`}, {"\x00\xff", `"code":-32700`},
		{`[]`, `-32600`}, {`[` + good + `]`, `-32600`}, {`"text"`, `-32600`}, {`null`, `-32600`},
		{`{}`, `-32600`}, {`{"id":7,"method":"ping"}`, `"id":7`}, {`{"jsonrpc":"1.0","id":"a","method":"ping"}`, `"id":"a"`}, {`{"id":{},"method":5}`, `"id":null`},
	} {
		for _, last := range []bool{false, true} {
			text := tt.line
			if !last {
				text += "\n" + good + "\n"
			}
			on, answer := readLines(t, iotest.OneByteReader(strings.NewReader(text)))
			if !strings.Contains(answer, tt.answer) || (answer == "") != (tt.answer == "") || len(answer) > 300 {
				t.Errorf("%.50q is answered %q", tt.line, answer)
			}
			want := 1
			if last {
				want = 0
			}
			if tt.answer == "" && strings.TrimSpace(tt.line) != "" {
				want++
			}
			if got := strings.Count(on, good+"\n"); got != want || len(on) != want*(len(good)+1) {
				t.Errorf("of %.50q, %q is handed on", tt.line, on)
			}
		}
	}
}

func FuzzLines(f *testing.F) {
	f.Add([]byte("{}\n{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n[1"))
	f.Fuzz(func(t *testing.T, text []byte) {
		on, answers := readLines(t, strings.NewReader(string(text)))
		for _, line := range strings.SplitAfter(on+answers, "\n") {
			if line != "" && !json.Valid([]byte(line)) {
				t.Errorf("%q is no message", line)
			}
		}
	})
}
