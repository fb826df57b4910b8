package app

import (
	"context"
	"errors"
	"time"

	"ponder/internal/textkit"
	"ponder/knowledge/document"
)

// CheckTime is how long it is tried to read documents, in which what reads PDFs may have
// to be made ready first.
const CheckTime = 20 * time.Second

// A DocumentCheck is what came of reading files.
type DocumentCheck struct {
	Read   int
	Unread []document.Skipped // of which nothing can be read
}

// CheckDocuments reads files for a while, until it has read enough of them.
func CheckDocuments(ctx context.Context, files []document.File, enough int) (t DocumentCheck) {
	since := time.Now()
	for _, f := range files {
		if t.Read >= enough || time.Since(since) >= CheckTime || ctx.Err() != nil {
			break
		}
		if err := checkDocument(f); err != nil {
			t.Unread = append(t.Unread, document.Skipped{Path: f.Path, Reason: textkit.OneLine(err.Error())})
			continue
		}
		t.Read++
	}
	return t
}

// checkDocument says why nothing can be read of a file.
func checkDocument(f document.File) error {
	raw, err := document.ReadFile(f.Path, f.Size)
	if err != nil {
		return err
	}
	why := errors.New("it has no text")
	for _, err := range document.Read(f.Path, raw, nil, f.Named) {
		if err == nil {
			return nil
		}
		why = err
	}
	return why
}
