package guard

import (
	"errors"
	"iter"
	"slices"
	"strings"
	"testing"
)

func TestCall(t *testing.T) {
	var list []int
	for name, c := range map[string]struct {
		parse func() (int, error)
		want  string
	}{
		"index":     {func() (int, error) { return list[3], nil }, "the parser failed: runtime error: index out of range [3] with length 0"},
		"value":     {func() (int, error) { panic("bad\x1b[2J\ninput") }, "the parser failed: bad input"},
		"nil value": {func() (int, error) { panic(nil) }, "the parser failed: panic called with nil argument"},
	} {
		t.Run(name, func(t *testing.T) {
			n, err := Call(c.parse)
			var panicked *PanicError
			if n != 0 || !errors.As(err, &panicked) || err.Error() != c.want || len(panicked.Stack) == 0 {
				t.Errorf("got %d, %q, want %q", n, err, c.want)
			}
		})
	}
	if n, err := Call(func() (int, error) { return 1, errors.ErrUnsupported }); n != 1 || !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("without a panic: %d, %v", n, err)
	}
	if _, err := Call(func() (int, error) { panic(strings.Repeat("x", 1000)) }); len(err.Error()) > maxValue+50 {
		t.Errorf("error of %d bytes", len(err.Error()))
	}
}

// numbers yields 1 and 2 and panics.
func numbers(yield func(int, error) bool) {
	if yield(1, nil) && yield(2, nil) {
		panic("oh no")
	}
	panic("stopped")
}

func TestSeq(t *testing.T) {
	var got []int
	var last error
	for n, err := range Seq(numbers) {
		got, last = append(got, n), err
	}
	if !slices.Equal(got, []int{1, 2, 0}) || last == nil || last.Error() != "the parser failed: oh no" {
		t.Errorf("got %v, %v", got, last)
	}
	for n := range Seq(numbers) { // the parser panics after the end of the loop
		if n == 1 {
			break
		}
	}
}

func TestSeqBody(t *testing.T) {
	defer func() {
		if p := recover(); p != "body" {
			t.Errorf("recovered %v, want the panic of the loop body", p)
		}
	}()
	for range Seq(iter.Seq2[int, error](numbers)) {
		panic("body")
	}
}
