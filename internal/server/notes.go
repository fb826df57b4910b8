package server

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"ponder/internal/app"
)

const maxNotes = 64 << 10 // bytes

// ModelNotes returns the lines of /readyz about models, and whether some get no calls. It sends
// its token, so the server must have proved its identity. It returns nothing if the server
// refuses the token.
func (s LocalServer) ModelNotes(ctx context.Context) (lines []string, degraded bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, probeTime)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.LocalURL()+"/readyz", nil)
	if err != nil {
		return nil, false, err
	}
	if token := s.Token(); token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := (&http.Client{Transport: Direct}).Do(req)
	if err != nil {
		return nil, false, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxNotes))
	if err != nil {
		return nil, false, err
	}
	switch resp.StatusCode {
	case http.StatusOK:
	case http.StatusUnauthorized, http.StatusForbidden:
		return nil, false, nil
	default:
		return nil, false, fmt.Errorf("the server is not ready (%d)", resp.StatusCode)
	}
	head, rest, _ := strings.Cut(strings.TrimSpace(string(text)), "\n")
	return strings.FieldsFunc(rest, func(r rune) bool { return r == '\n' }), head != "ok", nil
}

// WaitNotes returns the lines about calls that wait.
func (s LocalServer) WaitNotes(ctx context.Context) []string {
	lines, _, err := s.ModelNotes(ctx)
	if err != nil {
		return nil
	}
	return slices.DeleteFunc(lines, func(line string) bool {
		return !strings.Contains(line, app.WaitWords[0]) && !strings.Contains(line, app.WaitWords[1])
	})
}

// A WaitWatch has the current notes of a server about calls that wait. The zero value has none. It
// is safe for concurrent use.
type WaitWatch struct{ notes atomic.Pointer[[]string] }

const watchInterval = time.Second

// Follow reads the notes of s until ctx is done.
func (w *WaitWatch) Follow(ctx context.Context, s LocalServer) {
	tick := time.NewTicker(watchInterval)
	defer tick.Stop()
	for ctx.Err() == nil {
		notes := s.WaitNotes(ctx)
		w.notes.Store(&notes)
		select {
		case <-tick.C:
		case <-ctx.Done():
		}
	}
}

// Notes returns the notes of the followed server, or those of this process.
func (w *WaitWatch) Notes(here func() []string) []string {
	if notes := w.notes.Load(); notes != nil {
		return *notes
	}
	return here()
}
