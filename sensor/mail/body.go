package mail

import (
	"cmp"
	"io"
	"strings"
	"time"

	"github.com/emersion/go-message"

	"ponder/sensor"
)

// Bounds of a message's parts.
const (
	maxParts = 50
	maxNest  = 8
)

// A body gathers what the parts of a message say.
type body struct {
	plain, html strings.Builder
	attached    []string
	due         time.Time // of an invitation
	parts       int
}

// text returns what is written in plain letters, or what a page says if there is
// nothing else.
func (b *body) text() string {
	if plain := b.plain.String(); strings.TrimSpace(plain) != "" {
		return plain
	}
	return pageText(b.html.String())
}

// entity reads a part. What cannot be decoded is left out.
func (b *body) entity(e *message.Entity, nest int) {
	if b.parts++; b.parts > maxParts || nest > maxNest {
		return
	}
	kind, params, _ := e.Header.ContentType() // none: plain
	if kind = strings.ToLower(kind); strings.HasPrefix(kind, "multipart/") {
		b.each(e, nest)
		return
	}
	disposition, about, _ := e.Header.ContentDisposition() // none: shown
	name := cmp.Or(about["filename"], params["name"])
	switch {
	case kind == "text/calendar":
		b.due = invitation(content(e, params["charset"]))
	case strings.EqualFold(disposition, "attachment"), name != "" && !strings.HasPrefix(kind, "text/"):
		if name = sensor.Line(words(name), maxFile); name != "" && len(b.attached) < maxFiles {
			b.attached = append(b.attached, name)
		}
	case kind == "text/html":
		b.html.WriteString(content(e, params["charset"]))
	case kind == "text/plain", !strings.Contains(kind, "/"):
		b.plain.WriteString(content(e, params["charset"]) + "\n")
	}
}

// each reads the parts of a part.
func (b *body) each(e *message.Entity, nest int) {
	parts := e.MultipartReader()
	for parts != nil && b.parts <= maxParts {
		part, err := parts.NextPart()
		if part == nil || err != nil && !message.IsUnknownCharset(err) && !message.IsUnknownEncoding(err) {
			return
		}
		b.entity(part, nest+1)
	}
}

// content returns the text of a part, or what there is of it if it is cut off.
func content(e *message.Entity, label string) string {
	b, _ := io.ReadAll(io.LimitReader(e.Body, maxBody)) // damaged: what there is
	return decode(b, label)
}

// invitation returns when what is in an invitation begins, if it says so in UTC.
func invitation(ics string) time.Time {
	for line := range strings.Lines(ics) {
		name, value, ok := strings.Cut(strings.TrimSpace(line), ":")
		if ok && strings.EqualFold(name, "DTSTART") {
			t, _ := time.Parse("20060102T150405Z", value) // another form: not known
			return t
		}
	}
	return time.Time{}
}
