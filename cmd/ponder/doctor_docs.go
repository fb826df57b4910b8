package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"ponder/knowledge/document"
)

// tryDocsTime is how long it is tried to read documents, in which what reads PDFs may have
// to be made ready first.
const tryDocsTime = 20 * time.Second

// maxUnread is how many documents that cannot be read the doctor names.
const maxUnread = 5

// docsFinding says whether documents can be read.
func docsFinding(ctx context.Context, docs []string) finding {
	if len(docs) == 0 {
		return finding{"documents", fine, "Markdown, text, HTML, PDF, DOCX, EPUB, XLSX, CSV, JSON, mail and source code can be read; --docs here tries a path"}
	}
	_, listing, err := findDocs(ctx, "--docs", docs)
	if err != nil {
		return finding{"documents", broken, err.Error()}
	}
	trial := tryDocs(ctx, listing.Files, len(listing.Files))
	tried, unread := trial.read+len(trial.unread), trial.unread
	says := fmt.Sprintf("%s to read, %s", counted(len(listing.Files), "file", "files"), size(listing.Bytes()))
	if tried < len(listing.Files) {
		says += fmt.Sprintf("; tried, in %s: %s of them", tryDocsTime, number(tried))
	}
	if n := len(listing.Skipped); n > 0 {
		says += fmt.Sprintf("; %d left out%s", n, skipped(listing.Skipped))
	}
	if len(unread) == 0 {
		return finding{"documents", fine, says}
	}
	state, how := lacking, fmt.Sprintf("%s of them cannot be read", number(len(unread)))
	if len(unread) == len(listing.Files) {
		state, how = broken, "none of them can be read"
	}
	var why []string
	for _, u := range unread[:min(len(unread), maxUnread)] {
		why = append(why, nearPath(u.Path)+": "+u.Reason)
	}
	if more := len(unread) - maxUnread; more > 0 {
		why = append(why, "and "+number(more)+" more")
	}
	return finding{"documents", state, fmt.Sprintf("%s; %s (%s)", says, how, strings.Join(why, "; "))}
}

// A docsTrial is what came of reading files.
type docsTrial struct {
	read   int
	unread []document.Skipped // of which nothing can be read
}

// tryDocs reads files for a while, until it has read enough of them.
func tryDocs(ctx context.Context, files []document.File, enough int) (t docsTrial) {
	since := time.Now()
	for _, f := range files {
		if t.read >= enough || time.Since(since) >= tryDocsTime || ctx.Err() != nil {
			break
		}
		if err := tryDoc(f); err != nil {
			t.unread = append(t.unread, document.Skipped{Path: f.Path, Reason: oneLine(err.Error())})
			continue
		}
		t.read++
	}
	return t
}

// tryDoc says why nothing can be read of a file.
func tryDoc(f document.File) error {
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
