package main

import (
	"testing"
)

// Wrapping keeps a command in one line, so that it can be copied.
func TestWrap(t *testing.T) {
	const command = "  ponder session export thr_01M8583DDZ8ZTS7X3VQ87NQK3W --db /a/b.db -o report.html"
	got := wrapLines("one two three four five six seven\n"+command, 20)
	if want := "one two three four\nfive six seven\n" + command; got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
