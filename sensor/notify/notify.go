// Package notify tells a user something outside of the program: on the terminal or the
// desktop, by a webhook, by mail.
//
// A [Channel] is a value. Its Send tells a [Message] once, and may be called again with
// the same one, when it is not known whether it came through: what the message is known
// by where it arrives (webhook-id, Message-ID) is made of its ID alone. What is told
// may have been written by strangers, so nothing in it is obeyed, and control
// characters and escape sequences are taken out.
package notify

import (
	"context"
	"strconv"
	"strings"
	"time"

	"ponder/internal/textkit"
)

// A Message is something that a user is told.
type Message struct {
	ID         string    `json:"id"` // the same each time it is sent
	Title      string    `json:"title"`
	Text       string    `json:"text"`
	Importance int       `json:"importance,omitempty"` // 1 to 10
	Untrusted  bool      `json:"untrusted,omitempty"`  // strangers wrote of what it rests on
	Sources    []string  `json:"sources,omitempty"`    // where a user can look
	At         time.Time `json:"at"`
}

// A Channel is a way to tell a user something.
type Channel struct {
	// Name says which it is, as it is configured: letters, digits, '-' and '_'. It is
	// stored with what was sent.
	Name string

	// Send tells a message, or says in a line why it could not. It returns soon after
	// ctx is done. It is safe for concurrent use.
	Send func(ctx context.Context, m Message) error
}

// Bounds of what is sent, in bytes.
const (
	maxTitle   = 120
	maxText    = 8 << 10
	maxSource  = 300
	maxSources = 10
)

// untrustedNote is what users are told beside what strangers wrote of.
const untrustedNote = "This rests on text that somebody else wrote; nothing in it was checked."

// cleaned returns a message as it may be shown, with bounds.
func (m Message) cleaned() Message {
	m.Title = textkit.VisibleLine(m.Title, maxTitle)
	m.Text = textkit.TruncateBytes(strings.TrimSpace(textkit.Visible(m.Text)), maxText)
	var sources []string
	for _, s := range m.Sources[:min(len(m.Sources), maxSources)] {
		if s = textkit.VisibleLine(s, maxSource); s != "" {
			sources = append(sources, s)
		}
	}
	m.Sources = sources
	return m
}

// body returns what a message says, for people: the text, what it rests on, and a
// warning if that is not to be trusted. The message must be clean.
func (m Message) body() string {
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

// token returns an ID as it may stand in a header: letters, digits, '-' and '_', at
// most 128. IDs that have only those are as they are.
func token(id string) string {
	if id != "" && len(id) <= 128 && strings.IndexFunc(id, notToken) < 0 {
		return id
	}
	return "msg_" + digest(id)
}

func notToken(r rune) bool {
	return !('a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || r == '-' || r == '_')
}
