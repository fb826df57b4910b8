package client

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"
)

// readMessages returns the messages of a stream as text, and its final error.
func readMessages(r io.Reader) (list []string, last *eventReader, err error) {
	in := newEventReader(r)
	for {
		m, err := in.nextMessage()
		if err != nil {
			return list, in, err
		}
		list = append(list, fmt.Sprintf("%s|%s|%s", m.id, m.name, m.data))
	}
}

func TestEventStreams(t *testing.T) {
	for _, tt := range []struct {
		name, stream string
		want         []string
	}{
		{"nothing", "", nil},
		{"an event", "id: 7\ndata: {}\n\n", []string{"7|message|{}"}},
		{"with a name", "event: gap\ndata: x\n\n", []string{"|gap|x"}},
		{"a name is for one event", "event: gap\ndata: x\n\ndata: y\n\n", []string{"|gap|x", "|message|y"}},
		{"an id stays", "id: 7\ndata: x\n\ndata: y\n\n", []string{"7|message|x", "7|message|y"}},
		{"an id alone", "id: 8\n\ndata: y\n\n", []string{"8|message|y"}},
		{"an empty id", "id: 7\ndata: x\n\nid\ndata: y\n\n", []string{"7|message|x", "|message|y"}},
		{"an id with a zero byte", "id: 7\x00\ndata: x\n\n", []string{"|message|x"}},
		{"lines", "data: a\ndata:b\ndata\ndata:  c\n\n", []string{"|message|a\nb\n\n c"}},
		{"empty data", "data\n\ndata:\n\n", []string{"|message|", "|message|"}},
		{"a name without data", "event: gap\n\ndata: x\n\n", []string{"|message|x"}},
		{"comments", ": stream-open\nretry: 1500\n\n: keep-alive\n\n:\ndata: x\n:y\n\n", []string{"|message|x"}},
		{"CRLF", "id: 7\r\ndata: a\r\ndata: b\r\n\r\n", []string{"7|message|a\nb"}},
		{"CR", "id: 7\rdata: a\r\rdata: b\r\r", []string{"7|message|a", "7|message|b"}},
		{"mixed", "data: a\r\n\ndata: b\n\r\ndata: c\r\r\n", []string{"|message|a", "|message|b", "|message|c"}},
		{"unknown fields", "foo: bar\ndata x: y\nDATA: z\ndata: x\n\n", []string{"|message|x"}},
		{"a mark of the byte order", "\ufeffdata: x\n\n\ufeffdata: y\n\n", []string{"|message|x"}},
		{"broken off in an event", "data: x\n\nid: 9\ndata: y\n", []string{"|message|x"}},
		{"broken off in a line", "data: x\n\ndata: y", []string{"|message|x"}},
		{"a colon in the data", "data: a: b\n\n", []string{"|message|a: b"}},
	} {
		for how, reader := range map[string]io.Reader{
			"at once": strings.NewReader(tt.stream), "byte by byte": iotest.OneByteReader(strings.NewReader(tt.stream)),
			"with the end": iotest.DataErrReader(strings.NewReader(tt.stream)),
		} {
			t.Run(tt.name+" "+how, func(t *testing.T) {
				got, _, err := readMessages(reader)
				if !slices.Equal(got, tt.want) || !errors.Is(err, io.EOF) {
					t.Errorf("%q, %v; want %q", got, err, tt.want)
				}
			})
		}
	}
}

func TestRetryField(t *testing.T) {
	for text, want := range map[string]time.Duration{"1500": 1500 * time.Millisecond, "0": 0, "-1": 0, "1.5": 0, "x": 0, "99999999999999": 0} {
		if _, r, _ := readMessages(strings.NewReader("retry: " + text + "\n\n")); r.retry != want {
			t.Errorf("retry: %s is %v", text, r.retry)
		}
	}
}

// A CR ends a line at once, without waiting for an LF.
func TestCRDoesNotWait(t *testing.T) {
	r, w := io.Pipe()
	in := newEventReader(r)
	go w.Write([]byte("data: x\r\r"))
	if m, err := in.nextMessage(); err != nil || string(m.data) != "x" {
		t.Fatal(m, err)
	}
	go func() {
		w.Write([]byte("\ndata: y\r\n\r\n"))
		w.Close()
	}()
	if m, err := in.nextMessage(); err != nil || string(m.data) != "y" {
		t.Fatal(m, err)
	}
}

func TestEventStreamsAreBounded(t *testing.T) {
	endless := func(text string) io.Reader { return &repeatReader{text: text} }
	for _, text := range []string{"data: x", "data: " + strings.Repeat("x", 1<<20) + "\n", "id", "\x00"} {
		if _, _, err := readMessages(endless(text)); !errors.Is(err, errLong) {
			t.Errorf("%.10q without end: %v", text, err)
		}
	}
	if list, _, err := readMessages(io.LimitReader(endless(": x\n\n"), 1<<20)); len(list) != 0 || !errors.Is(err, io.EOF) {
		t.Errorf("comments: %q, %v", list, err)
	}
}

// A repeatReader reader repeats a text without end.
type repeatReader struct {
	text string
	at   int
}

func (r *repeatReader) Read(p []byte) (n int, err error) {
	for n < len(p) {
		c := copy(p[n:], r.text[r.at:])
		n, r.at = n+c, (r.at+c)%len(r.text)
	}
	return n, nil
}

// A pieceReader reader returns random pieces of a text.
type pieceReader struct {
	text string
	rng  *rand.Rand
}

func (p *pieceReader) Read(b []byte) (int, error) {
	if p.text == "" {
		return 0, io.EOF
	}
	n := copy(b, p.text[:min(len(p.text), 1+p.rng.IntN(9))])
	p.text = p.text[n:]
	return n, nil
}

// The messages do not depend on how the stream is cut, and encoding them restores them.
func FuzzEventStream(f *testing.F) {
	f.Add("id: 1\r\nevent: a\rdata: b\n\n: c\ndata: d\r\n\r\n", uint64(1))
	f.Add("\ufeffdata\n\rdata:\n\n", uint64(2))
	f.Fuzz(func(t *testing.T, stream string, seed uint64) {
		whole, _, err := readMessages(strings.NewReader(stream))
		cut, _, _ := readMessages(&pieceReader{stream, rand.New(rand.NewPCG(seed, 1))})
		if !slices.Equal(whole, cut) || !errors.Is(err, io.EOF) {
			t.Errorf("at once %q, in pieces %q", whole, cut)
		}
		unix, _, _ := readMessages(strings.NewReader(strings.ReplaceAll(strings.ReplaceAll(stream, "\r\n", "\n"), "\r", "\n")))
		if !slices.Equal(whole, unix) {
			t.Errorf("with CR %q, with LF alone %q", whole, unix)
		}
	})
}
