// Package pdf prints HTML documents with a browser of the Chromium family.
//
// The browser runs without a window and without network, as one process group in a temporary folder. It
// has a limit of time and, on Linux, of memory. The document must be trusted or contain no scripts.
package pdf

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"ponder/internal/fileio"
	"ponder/internal/process"
)

// Limits of a print.
const (
	printTime  = 60 * time.Second
	maxMemory  = 2 << 30 // bytes of all processes of the browser
	maxPDF     = 64 << 20
	memoryTick = 200 * time.Millisecond
)

// Errors of a print.
var (
	ErrBusy   = errors.New("too many documents are being printed")
	ErrMemory = errors.New("the document needs too much memory")
)

// names are the programs of the browsers, best first.
var names = []string{"chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome", "headless_shell"}

// maxWaiting bounds the prints that wait for another.
const maxWaiting = 4

// A Printer prints one document at a time. It is safe for concurrent use.
type Printer struct {
	program string
	turn    chan struct{} // one element while a document is printed
	waiting chan struct{}
}

// NewPrinter returns a printer with the first installed browser, or nil.
func NewPrinter() *Printer {
	for _, name := range names {
		if program, err := exec.LookPath(name); err == nil {
			return &Printer{program, make(chan struct{}, 1), make(chan struct{}, maxWaiting)}
		}
	}
	return nil
}

// Print returns the PDF of an HTML document.
func (p *Printer) Print(ctx context.Context, html []byte) ([]byte, error) {
	select {
	case p.waiting <- struct{}{}:
		defer func() { <-p.waiting }()
	default:
		return nil, ErrBusy
	}
	select {
	case p.turn <- struct{}{}:
		defer func() { <-p.turn }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	dir, err := fileio.MakeTempDir("", "ponder-print-*")
	if err != nil {
		return nil, fmt.Errorf("print: %w", err)
	}
	defer os.RemoveAll(dir)
	page, out := filepath.Join(dir, "report.html"), filepath.Join(dir, "report.pdf")
	if err := fileio.WritePrivate(page, html); err != nil {
		return nil, fmt.Errorf("print: %w", err)
	}
	if err := p.runBrowser(ctx, dir, page, out); err != nil {
		return nil, fmt.Errorf("print with %s: %w", filepath.Base(p.program), err)
	}
	text, err := fileio.ReadFile(out, maxPDF)
	if err != nil || !bytes.HasPrefix(text, []byte("%PDF-")) {
		return nil, fmt.Errorf("print with %s: the browser wrote no PDF", filepath.Base(p.program))
	}
	return text, nil
}

// runBrowser prints a page to a file.
func (p *Printer) runBrowser(ctx context.Context, dir, page, out string) error {
	address := url.URL{Scheme: "file", Path: filepath.ToSlash(page)}
	args := []string{
		p.program, "--headless=new", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--disable-extensions", "--disable-background-networking", "--disable-sync",
		"--disable-component-update", "--disable-default-apps", "--proxy-server=127.0.0.1:9", "--host-resolver-rules=MAP * ~NOTFOUND",
		"--user-data-dir=" + filepath.Join(dir, "profile"), "--no-pdf-header-footer", "--print-to-pdf=" + out,
	}
	if os.Geteuid() == 0 { // its sandbox refuses root
		args = append(args, "--no-sandbox")
	}
	limited, cancel := context.WithTimeoutCause(ctx, printTime, process.ErrTimeout)
	defer cancel()
	var says bytes.Buffer
	cmd := process.Spec{Command: append(args, address.String()), Dir: dir, Stderr: &says}.Cmd(limited)
	cmd.Env = append(cmd.Env, "HOME="+dir, "XDG_CONFIG_HOME="+dir, "XDG_CACHE_HOME="+dir)
	cmd.WaitDelay = time.Second
	cmd.Cancel = func() error { return process.Kill(cmd) }
	if err := process.Start(cmd); err != nil {
		return err
	}
	tooBig := watchMemory(limited, cmd, maxMemory, memoryTick)
	err := cmd.Wait()
	_ = process.Kill(cmd) // remaining group
	switch {
	case tooBig.Load():
		return ErrMemory
	case limited.Err() != nil:
		return context.Cause(limited)
	case errors.Is(err, exec.ErrWaitDelay):
		return nil
	}
	return err
}
