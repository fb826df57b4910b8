package wire

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"ponder/llm"
)

func readEvents(r io.Reader) (got []string, err error) {
	for ev, err := range Events(r) {
		if err != nil {
			return got, err
		}
		got = append(got, ev.Name+"|"+string(ev.Data))
	}
	return got, nil
}

func TestEvents(t *testing.T) {
	tests := []struct {
		name, in string
		want     []string
	}{
		{"nothing", "", nil},
		{"one", "data: a\n\n", []string{"|a"}},
		{"crlf", "data: a\r\n\r\ndata: b\r\n\r\n", []string{"|a", "|b"}},
		{"cr", "data: a\r\rdata: b\r\r", []string{"|a", "|b"}},
		{"mixed ends", "event: x\rdata: a\r\n\ndata: b\n\r\n", []string{"x|a", "|b"}},
		{"byte order mark", "\xef\xbb\xbfdata: a\n\n", []string{"|a"}},
		{"mark only at the start", "data: a\n\n\xef\xbb\xbfdata: b\n\n", []string{"|a"}},
		{"many lines", "data: a\ndata:b\ndata: \ndata:  c\n\n", []string{"|a\nb\n\n c"}},
		{"no blank line at the end", "data: a\n\ndata: b", []string{"|a", "|b"}},
		{"no blank line but a line end", "data: a\n\ndata: b\n", []string{"|a", "|b"}},
		{"comments", ": OPENROUTER PROCESSING\n\n:\n\n: ping\ndata: a\n: pong\n\n", []string{"|a"}},
		{"empty data", "data:\n\ndata: \n\ndata\n\ndata: a\n\n", []string{"|a"}},
		{"event without data", "event: ping\n\ndata: a\n\n", []string{"|a"}},
		{"error without data", "event: error\n\n", []string{"error|"}},
		{"error field", "error: {\"message\":\"x\"}\n\n", []string{`error|{"message":"x"}`}},
		{"names", "event: a\ndata: 1\n\nevent: a\ndata: 2\n\nevent: b\ndata: 3\n\ndata: 4\n\n", []string{"a|1", "a|2", "b|3", "|4"}},
		{"other fields", "id: 1\nretry: 5\nfoo: bar\nfoo\ndata: a\n\n", []string{"|a"}},
		{"bare object", "{\"error\":{\n \"message\": \"x\"\n}}\n", []string{"|{\"error\":{\n \"message\": \"x\"\n}}"}},
		{"blank lines", "\n\n\ndata: a\n\n\n\n", []string{"|a"}},
		{"colon in data", "data: a: b\n\n", []string{"|a: b"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for how, r := range map[string]io.Reader{
				"whole":     strings.NewReader(tt.in),
				"bytes":     iotest.OneByteReader(strings.NewReader(tt.in)),
				"data, eof": iotest.DataErrReader(strings.NewReader(tt.in)),
			} {
				got, err := readEvents(r)
				if err != nil {
					t.Errorf("%s: %v", how, err)
				}
				if diff := cmp.Diff(tt.want, got); diff != "" {
					t.Errorf("%s (-want +got):\n%s", how, diff)
				}
			}
		})
	}
}

func TestEventsLongLine(t *testing.T) {
	long := bytes.Repeat([]byte("x"), 10<<20)
	in := io.MultiReader(strings.NewReader("data: "), bytes.NewReader(long), strings.NewReader("\n\ndata: b\n\n"))
	n := 0
	for ev, err := range Events(in) {
		if err != nil {
			t.Fatal(err)
		}
		if n == 0 && !bytes.Equal(ev.Data, long) {
			t.Errorf("first event has %d bytes, want %d", len(ev.Data), len(long))
		}
		n++
	}
	if n != 2 {
		t.Errorf("got %d events, want 2", n)
	}
}

func TestEventsTooLong(t *testing.T) {
	for name, unit := range map[string]string{"line": "x", "event": "\ndata: " + strings.Repeat("y", 1000)} {
		t.Run(name, func(t *testing.T) {
			_, err := readEvents(io.MultiReader(strings.NewReader("data: "), &endlessReader{unit: unit}))
			if llm.ClassOf(err) != llm.Malformed {
				t.Errorf("got %v, want a malformed answer", err)
			}
		})
	}
}

type endlessReader struct {
	unit string
	at   int
}

func (e *endlessReader) Read(p []byte) (int, error) {
	n := 0
	for n < len(p) {
		c := copy(p[n:], e.unit[e.at:])
		n += c
		e.at = (e.at + c) % len(e.unit)
	}
	return n, nil
}

func TestEventsReaderFails(t *testing.T) {
	broken := errors.New("broken")
	got, err := readEvents(io.MultiReader(strings.NewReader("data: a\n\ndata: b\n"), iotest.ErrReader(broken)))
	if !errors.Is(err, broken) {
		t.Errorf("got error %v, want %v", err, broken)
	}
	if diff := cmp.Diff([]string{"|a"}, got); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}

func TestEventsBreak(t *testing.T) {
	for range Events(strings.NewReader("data: a\n\ndata: b\n\n")) {
		break
	}
}

func TestLines(t *testing.T) {
	var got []string
	for line, err := range Lines(iotest.HalfReader(strings.NewReader("{\"a\":1}\r\n\n  \n{\"b\":2}\n{\"c\":3}"))) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, string(line))
	}
	if diff := cmp.Diff([]string{`{"a":1}`, `{"b":2}`, `{"c":3}`}, got); diff != "" {
		t.Errorf("lines (-want +got):\n%s", diff)
	}
}

type pieceReader struct {
	r   io.Reader
	rnd *rand.Rand
}

func (p pieceReader) Read(b []byte) (int, error) {
	return p.r.Read(b[:min(len(b), 1+p.rnd.IntN(7))])
}

func FuzzEvents(f *testing.F) {
	f.Add("event: x\ndata: a\r\n\r\ndata: b\r\rerror: c\n\n: d\n\n{\"e\":1}", uint64(1))
	f.Fuzz(func(t *testing.T, in string, seed uint64) {
		whole, err := readEvents(strings.NewReader(in))
		if err != nil {
			t.Fatal(err)
		}
		cut, err := readEvents(pieceReader{strings.NewReader(in), rand.New(rand.NewPCG(seed, 0))})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(whole, cut); diff != "" {
			t.Errorf("in pieces it reads differently (-whole +pieces):\n%s", diff)
		}
	})
}

func BenchmarkEvents(b *testing.B) {
	stream := strings.Repeat("data: {\"id\":\"x\",\"choices\":[{\"delta\":{\"content\":\"word \"}}]}\n\n", 200)
	b.SetBytes(int64(len(stream)))
	b.ReportAllocs()
	for b.Loop() {
		for _, err := range Events(strings.NewReader(stream)) {
			if err != nil {
				b.Fatal(err)
			}
		}
	}
}
