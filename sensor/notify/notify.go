// Package notify sends messages to the user outside of the program: on the desktop, by webhook or
// by mail.
//
// A [Channel] is a value. Send may repeat a [Message] whose delivery is uncertain: webhook-id and
// Message-ID derive from its ID alone. Texts may be untrusted; channels remove control characters
// and escape sequences.
package notify

import (
	"context"
	"strconv"
	"strings"
	"time"

	"ponder/internal/links"
	"ponder/internal/textkit"
)

// A Message is a message to the user.
type Message struct {
	ID         string    `json:"id"` // stable over repeated sends
	Type       string    `json:"-"`  // event type of webhooks; empty: [EventType]
	Title      string    `json:"title"`
	Text       string    `json:"text"`
	Importance int       `json:"importance,omitempty"` // 1 to 10
	Untrusted  bool      `json:"untrusted,omitempty"`  // based on text of others
	Sources    []string  `json:"sources,omitempty"`    // locations for the user
	At         time.Time `json:"at"`
}

// A Channel delivers messages.
type Channel struct {
	// Name is the configured name: letters, digits, '-' and '_'. It is stored with each sent
	// message.
	Name string

	// Send delivers a message or returns a one-line error. It returns soon after ctx ends and is
	// safe for concurrent use.
	Send func(ctx context.Context, m Message) error
}

// Limits in bytes.
const (
	maxTitle   = 120
	maxText    = 8 << 10
	maxSource  = 300
	maxSources = 10
)

const untrustedNote = "This is based on text by others; nothing in it was verified."

// sanitizeMessage returns a printable message within the limits. Only addresses of its sources stay
// links, because receivers may load others for a preview.
func (m Message) sanitizeMessage() Message {
	known := links.SetOf(m.Sources...)
	m.Title = textkit.VisibleLine(links.Text(textkit.VisibleLine(m.Title, maxTitle), known), maxTitle)
	m.Text = links.Text(textkit.TruncateBytes(strings.TrimSpace(textkit.Visible(m.Text)), maxText), known)
	var sources []string
	for _, s := range m.Sources[:min(len(m.Sources), maxSources)] {
		if s = textkit.VisibleLine(s, maxSource); s != "" {
			sources = append(sources, s)
		}
	}
	m.Sources = sources
	return m
}

// formatBody returns the text of a cleaned message with its importance, sources and a warning if it is
// untrusted.
func (m Message) formatBody() string {
	var b strings.Builder
	b.WriteString(m.Text)
	if m.Importance > 0 {
		b.WriteString("\n\nImportance: " + strconv.Itoa(m.Importance) + " of 10")
	}
	if len(m.Sources) > 0 {
		b.WriteString("\n\nSources:")
		for _, s := range m.Sources {
			b.WriteString("\n- " + s)
		}
	}
	if m.Untrusted {
		b.WriteString("\n\n" + untrustedNote)
	}
	return b.String()
}

// headerToken returns an ID that is valid in a header: letters, digits, '-' and '_', at most 128. It
// keeps valid IDs.
func headerToken(id string) string {
	if id != "" && len(id) <= 128 && strings.IndexFunc(id, isNotToken) < 0 {
		return id
	}
	return "msg_" + shortDigest(id)
}

func isNotToken(r rune) bool {
	return !('a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || r == '-' || r == '_')
}
