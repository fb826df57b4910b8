package limitio

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"
)

func readBody(src io.Reader, size int64) (*Body, error) {
	var m *Memory
	return m.ReadBody(context.Background(), src, BodyLimit{Bytes: 8 << 20, Size: size})
}

func TestJSONShape(t *testing.T) {
	const n = 1 << 20
	long := func(unit string) string { return strings.Repeat(unit, n/len(unit)) }
	for name, test := range map[string]struct {
		text string
		err  error
	}{
		"empty":                  {"", nil},
		"a message":              {`{"messages":[{"role":"user","content":"[[[[ {\" ]"}]}`, nil},
		"a long text":            {`{"text":"` + long("a") + `"}`, nil},
		"structure in a text":    {`{"text":"` + long("[],") + `"}`, nil},
		"escaped quotes":         {`{"text":"` + long(`\"[`) + `"}`, nil},
		"base64":                 {`{"data":"` + long("iVBORw0K") + `"}`, nil},
		"a page with tags":       {`{"text":"` + long("<p>Twelve words of a page, and then the next part of it. </p>") + `"}`, nil},
		"as deep as allowed":     {strings.Repeat("[", maxDepth) + strings.Repeat("]", maxDepth), nil},
		"deep lists":             {strings.Repeat("[", maxDepth+1), ErrDeep},
		"deep objects":           {strings.Repeat(`{"a":`, maxDepth+1), ErrDeep},
		"endlessly deep":         {long("["), ErrDeep},
		"small lists":            {"[" + long("[],"), ErrDense},
		"small objects":          {"[" + long("{},"), ErrDense},
		"words":                  {"[" + long("null,"), ErrDense},
		"digits":                 {`{"messages":[` + long("1,"), ErrDense},
		"short texts":            {"[" + long(`"",`), ErrDense},
		"members":                {"{" + long(`"a":1,`), ErrDense},
		"only tags":              {`"` + long("<>&"), ErrDense},
		"not UTF-8":              {`"` + long("\xff") + long("\xff") + long("\xff") + `"`, ErrDense},
		"a long number":          {"[" + strings.Repeat("9", maxLiteral+1) + "]", ErrNumber},
		"a long word":            {strings.Repeat("x", maxLiteral+1), ErrNumber},
		"many values in a small": {"[" + strings.Repeat(`{"role":"user","content":"x"},`, 5000) + "0]", nil},
		"closed too often":       {long("]") + "[1]", nil},
	} {
		_, err := readBody(strings.NewReader(test.text), int64(len(test.text)))
		if !errors.Is(err, test.err) {
			t.Errorf("%s: %v, want %v", name, err, test.err)
		}
		if _, err := readBody(iotest.HalfReader(strings.NewReader(test.text)), -1); !errors.Is(err, test.err) {
			t.Errorf("%s in parts: %v, want %v", name, err, test.err)
		}
	}
}

// TestShapeParts checks that the estimate does not depend on how the text arrives.
func TestShapeParts(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		text := make([]byte, r.IntN(80))
		for i := range text {
			text[i] = `{}[],:"\ 1n<é`[r.IntN(14)]
		}
		var whole, parts jsonShape
		err := whole.scan(text)
		var errParts error
		for rest := text; len(rest) > 0 && errParts == nil; {
			n := 1 + r.IntN(len(rest))
			errParts = parts.scan(rest[:n])
			rest = rest[n:]
		}
		if whole != parts || !errors.Is(errParts, err) {
			t.Fatalf("%q: %+v %v, in parts %+v %v", text, whole, err, parts, errParts)
		}
	}
}

func TestTokenLists(t *testing.T) {
	text := `{"input":[[` + strings.Repeat("15339,", 100_000) + `1]]}`
	var m *Memory
	for numbers, want := range map[bool]error{true: nil, false: ErrDense} {
		_, err := m.ReadBody(t.Context(), strings.NewReader(text), BodyLimit{Bytes: 8 << 20, Size: -1, Numbers: numbers})
		if !errors.Is(err, want) {
			t.Errorf("numbers %v: %v", numbers, err)
		}
	}
}

func TestBodySize(t *testing.T) {
	for _, size := range []int{0, 1, 4095, 4096, 4097, firstPart - 1, firstPart, firstPart + 1, 1<<20 - 1, 1 << 20} {
		text := strings.Repeat(" ", size)
		for name, announced := range map[string]int64{"announced": int64(size), "not announced": -1} {
			b, err := readBody(iotest.DataErrReader(strings.NewReader(text)), announced)
			if err != nil || string(b.Bytes()) != text {
				t.Errorf("%d bytes, %s: %v", size, name, err)
			} else if got, err := io.ReadAll(b); err != nil || string(got) != text {
				t.Errorf("%d bytes, %s, read again: %v", size, name, err)
			}
		}
	}
	for _, announced := range []int64{-1, 9 << 20} {
		if _, err := readBody(strings.NewReader(strings.Repeat(" ", 8<<20+1)), announced); !errors.Is(err, ErrTooLarge) {
			t.Errorf("too large, announced as %d: %v", announced, err)
		}
	}
	if _, err := readBody(iotest.ErrReader(io.ErrClosedPipe), -1); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("the error of the source became %v", err)
	}
}

func TestMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const size = 4 << 20
		m := NewMemory(3*bodyFactor*size + firstPart)
		read := func() (*Body, error) {
			return m.ReadBody(t.Context(), strings.NewReader(strings.Repeat(" ", size)), BodyLimit{Bytes: size, Size: size})
		}
		var held []*Body
		for range 3 {
			b, err := read()
			if err != nil {
				t.Fatal(err)
			}
			held = append(held, b)
		}
		began := time.Now()
		if _, err := read(); !errors.Is(err, ErrBusy) || time.Since(began) != memoryWait {
			t.Errorf("a fourth: %v after %s", err, time.Since(began))
		}
		small, err := m.ReadBody(t.Context(), strings.NewReader("{}"), BodyLimit{Bytes: size, Size: 2})
		if err != nil {
			t.Errorf("a small one beside them: %v", err)
		}
		go func() {
			time.Sleep(time.Second)
			held[0].ReleaseDecoded()
			held[1].ReleaseDecoded()
		}()
		b, err := read()
		if err != nil || time.Since(began) != memoryWait+time.Second {
			t.Errorf("when there is room: %v", err)
		}
		for _, b := range append(held, b, small) {
			b.Release()
			b.Release()
			b.ReleaseDecoded()
		}
		if m.free != 3*bodyFactor*size+firstPart {
			t.Errorf("%d bytes are free at the end", m.free)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := m.acquire(t.Context(), m.limit); err != nil {
			t.Fatal(err)
		}
		if err := m.acquire(ctx, 1); !errors.Is(err, context.Canceled) {
			t.Errorf("a client that has left: %v", err)
		}
		began = time.Now()
		if err := m.acquire(t.Context(), m.limit+1); !errors.Is(err, ErrBusy) || time.Since(began) > 0 {
			t.Errorf("more than there will ever be: %v after %s", err, time.Since(began))
		}
	})
}
