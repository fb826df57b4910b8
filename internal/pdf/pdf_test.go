//go:build unix

package pdf

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// scriptPrinter returns a printer with a shell script as the browser. $out is the PDF to write, $page
// the address.
func scriptPrinter(t *testing.T, script string) *Printer {
	t.Helper()
	file := filepath.Join(t.TempDir(), "browser")
	text := "#!/bin/sh\nfor a; do case $a in --print-to-pdf=*) out=${a#--print-to-pdf=};; esac; page=$a; done\n" + script
	if err := os.WriteFile(file, []byte(text), 0o700); err != nil {
		t.Fatal(err)
	}
	return &Printer{file, make(chan struct{}, 1), make(chan struct{}, maxWaiting)}
}

func TestPrint(t *testing.T) {
	p := scriptPrinter(t, `printf '%%PDF-1.7 of ' > "$out"; cat "${page#file://}" >> "$out"`)
	got, err := p.Print(t.Context(), []byte("<p>Salt</p>"))
	if err != nil || string(got) != "%PDF-1.7 of <p>Salt</p>" {
		t.Fatalf("%s (%v)", got, err)
	}
	for name, script := range map[string]string{"a failure": "exit 3", "no file": "exit 0", "another file": `echo hello > "$out"`} {
		if got, err := scriptPrinter(t, script).Print(t.Context(), nil); err == nil {
			t.Errorf("%s: %s", name, got)
		}
	}
}

// TestPrintEnds checks that a browser that hangs ends with its request.
func TestPrintEnds(t *testing.T) {
	p := scriptPrinter(t, `: > "${page#file://}.started"; while :; do sleep 1; done`)
	ctx, cancel := context.WithCancelCause(t.Context())
	gone := errors.New("the reader has left")
	go func() {
		for {
			if found, _ := filepath.Glob(filepath.Join(os.TempDir(), "ponder-print-*", "report.html.started")); len(found) > 0 {
				break
			}
			time.Sleep(time.Millisecond)
		}
		cancel(gone)
	}()
	if _, err := p.Print(ctx, nil); !errors.Is(err, gone) {
		t.Errorf("got %v", err)
	}
}

func TestPrintQueue(t *testing.T) {
	p := scriptPrinter(t, "exit 0")
	p.turn <- struct{}{} // another print runs
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := p.Print(ctx, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("waiting: %v", err)
	}
	for range maxWaiting {
		p.waiting <- struct{}{}
	}
	if _, err := p.Print(t.Context(), nil); !errors.Is(err, ErrBusy) {
		t.Errorf("too many: %v", err)
	}
}

// TestBrowser prints with an installed browser. Nothing of the document reaches a network.
func TestBrowser(t *testing.T) {
	p := NewPrinter()
	if p == nil {
		t.Skip("no Chromium is installed: install chromium to print")
	}
	got, err := p.Print(t.Context(), []byte("<!DOCTYPE html><title>Sea</title><p>"+strings.Repeat("The sea is salt. ", 500)+`<img src="http://192.0.2.1/x.png">`))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.HasPrefix(got, []byte("%PDF-")) || len(got) < 5000 {
		t.Errorf("%d bytes: %.20q", len(got), got)
	}
}
