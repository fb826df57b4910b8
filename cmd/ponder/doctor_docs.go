package main

import (
	"context"
	"fmt"
	"strings"

	"ponder/internal/textkit"

	"ponder/internal/app"
)

// maxUnread is how many documents that cannot be read the doctor names.
const maxUnread = 5

// docsFinding says whether documents can be read.
func docsFinding(ctx context.Context, docs []string) finding {
	if len(docs) == 0 {
		return finding{"documents", fine, "Markdown, text, HTML, PDF, DOCX, EPUB, XLSX, CSV, JSON, mail and source code can be read; --docs here tries a path"}
	}
	_, listing, err := app.FindDocs(ctx, "docs", docs)
	if err != nil {
		return finding{"documents", broken, err.Error()}
	}
	trial := app.CheckDocuments(ctx, listing.Files, len(listing.Files))
	tried, unread := trial.Read+len(trial.Unread), trial.Unread
	says := fmt.Sprintf("%s to read, %s", textkit.Count(len(listing.Files), "file", "files"), textkit.Bytes(listing.Bytes()))
	if tried < len(listing.Files) {
		says += fmt.Sprintf("; tried, in %s: %s of them", app.CheckTime, textkit.Number(tried))
	}
	if n := len(listing.Skipped); n > 0 {
		says += fmt.Sprintf("; %d left out%s", n, app.Skipped(listing.Skipped))
	}
	if len(unread) == 0 {
		return finding{"documents", fine, says}
	}
	state, how := lacking, fmt.Sprintf("%s of them cannot be read", textkit.Number(len(unread)))
	if len(unread) == len(listing.Files) {
		state, how = broken, "none of them can be read"
	}
	var why []string
	for _, u := range unread[:min(len(unread), maxUnread)] {
		why = append(why, nearPath(u.Path)+": "+u.Reason)
	}
	if more := len(unread) - maxUnread; more > 0 {
		why = append(why, "and "+textkit.Number(more)+" more")
	}
	return finding{"documents", state, fmt.Sprintf("%s; %s (%s)", says, how, strings.Join(why, "; "))}
}
