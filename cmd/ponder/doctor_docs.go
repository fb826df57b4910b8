package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"ponder/document"
)

// tryDocsTime is how long the doctor tries to read documents, in which what reads PDFs may
// have to be made ready first.
const tryDocsTime = 20 * time.Second

// maxUnread is how many documents that cannot be read the doctor names.
const maxUnread = 5

// docsFinding says whether documents can be read.
func docsFinding(ctx context.Context, docs []string) finding {
	if len(docs) == 0 {
		return finding{"documents", fine, "Markdown, text, HTML, PDF, DOCX, EPUB, XLSX, CSV, JSON, mail and source code can be read; --docs here tries a path"}
	}
	paths, err := checkDocs(ctx, "--docs", docs)
	if err != nil {
		return finding{"documents", broken, err.Error()}
	}
	listing, err := document.Scan(ctx, paths, document.Options{})
	if err != nil {
		return finding{"documents", broken, err.Error()}
	}
	tried, unread := tryDocs(ctx, listing.Files)
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

// tryDocs reads files for a while. It returns how many it has tried, and those of which
// nothing can be read.
func tryDocs(ctx context.Context, files []document.File) (tried int, unread []document.Skipped) {
	for since := time.Now(); tried < len(files) && time.Since(since) < tryDocsTime && ctx.Err() == nil; tried++ {
		f := files[tried]
		if err := tryDoc(f); err != nil {
			unread = append(unread, document.Skipped{Path: f.Path, Reason: oneLine(err.Error())})
		}
	}
	return tried, unread
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
