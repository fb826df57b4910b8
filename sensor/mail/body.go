package mail

import (
	"cmp"
	"io"
	"strings"
	"time"

	"github.com/emersion/go-message"

	"ponder/sensor"
)

// Limits of message parts.
const (
	maxParts = 50
	maxDepth = 8
)

// A body collects the parts of a message.
type body struct {
	plain, html strings.Builder
	attached    []string
	due         time.Time // start of an invitation
	parts       int
}

// readableText returns the plain text, or else the text of the HTML part.
func (b *body) readableText() string {
	if plain := b.plain.String(); strings.TrimSpace(plain) != "" {
		return plain
	}
	return pageText(b.html.String())
}

// readPart reads a part and skips undecodable ones.
func (b *body) readPart(e *message.Entity, nest int) {
	if b.parts++; b.parts > maxParts || nest > maxDepth {
		return
	}
	kind, params, _ := e.Header.ContentType() // default: plain
	if kind = strings.ToLower(kind); strings.HasPrefix(kind, "multipart/") {
		b.readParts(e, nest)
		return
	}
	disposition, about, _ := e.Header.ContentDisposition() // default: inline
	name := cmp.Or(about["filename"], params["name"])
	switch {
	case kind == "text/calendar":
		b.due = invitationStart(partText(e, params["charset"]))
	case strings.EqualFold(disposition, "attachment"), name != "" && !strings.HasPrefix(kind, "text/"):
		if name = sensor.Line(decodeWords(name), maxFile); name != "" && len(b.attached) < maxFiles {
			b.attached = append(b.attached, name)
		}
	case kind == "text/html":
		b.html.WriteString(partText(e, params["charset"]))
	case kind == "text/plain", !strings.Contains(kind, "/"):
		b.plain.WriteString(partText(e, params["charset"]) + "\n")
	}
}

func (b *body) readParts(e *message.Entity, nest int) {
	parts := e.MultipartReader()
	for parts != nil && b.parts <= maxParts {
		part, err := parts.NextPart()
		if part == nil || err != nil && !message.IsUnknownCharset(err) && !message.IsUnknownEncoding(err) {
			return
		}
		b.readPart(part, nest+1)
	}
}

// partText returns the text of a part, even if it is truncated.
func partText(e *message.Entity, label string) string {
	b, _ := io.ReadAll(io.LimitReader(e.Body, maxBody)) // damaged parts return the readable start
	return decodeText(b, label)
}

// invitationStart returns the start in an invitation, if it is in UTC.
func invitationStart(ics string) time.Time {
	for line := range strings.Lines(ics) {
		name, value, ok := strings.Cut(strings.TrimSpace(line), ":")
		if ok && strings.EqualFold(name, "DTSTART") {
			t, _ := time.Parse("20060102T150405Z", value) // other formats give zero
			return t
		}
	}
	return time.Time{}
}
