package limitio

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

func TestReader(t *testing.T) {
	for _, test := range []struct {
		text string
		left int64
		want string
		err  error
	}{
		{"", 0, "", nil},
		{"abc", 4, "abc", nil},
		{"abc", 3, "abc", nil},
		{"abcd", 3, "abc", ErrTooLarge},
		{"a", 0, "", ErrTooLarge},
	} {
		for name, wrap := range map[string]func(io.Reader) io.Reader{
			"whole": func(r io.Reader) io.Reader { return r }, "bytes": iotest.OneByteReader, "data with error": iotest.DataErrReader,
		} {
			got, err := io.ReadAll(&Reader{R: wrap(strings.NewReader(test.text)), Left: test.left})
			if string(got) != test.want || !errors.Is(err, test.err) {
				t.Errorf("%s: Reader of %q with %d: %q, %v", name, test.text, test.left, got, err)
			}
			got, err = ReadAll(wrap(strings.NewReader(test.text)), test.left)
			if string(got) != test.want || !errors.Is(err, test.err) {
				t.Errorf("%s: ReadAll of %q with %d: %q, %v", name, test.text, test.left, got, err)
			}
		}
	}
	body := ReadCloser(io.NopCloser(strings.NewReader("abcd")), 3, io.ErrShortBuffer)
	if got, err := io.ReadAll(body); string(got) != "abc" || !errors.Is(err, io.ErrShortBuffer) || body.Close() != nil {
		t.Errorf("ReadCloser: %q, %v", got, err)
	}
	if _, err := ReadAll(iotest.ErrReader(io.ErrClosedPipe), 3); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("the error of the source became %v", err)
	}
}

func TestWriter(t *testing.T) {
	w := Writer{Limit: 5}
	for _, text := range []string{"abc", "de"} {
		if n, err := fmt.Fprint(&w, text); n != len(text) || err != nil {
			t.Errorf("wrote %d, %v", n, err)
		}
	}
	if w.String() != "abcde" || w.Truncated() {
		t.Errorf("kept %q, truncated %v", w.String(), w.Truncated())
	}
	if n, err := fmt.Fprint(&w, "fg"); n != 2 || err != nil || w.String() != "abcde" || !w.Truncated() {
		t.Errorf("wrote %d, %v; kept %q, truncated %v", n, err, w.String(), w.Truncated())
	}
}
