// Package mail implements the mail sensor for an IMAP mailbox or a Maildir.
//
// It only reads. On a server it uses EXAMINE and BODY.PEEK, so that messages stay unread. In a
// Maildir it neither moves nor renames files. It reads the header and the first 16 KiB of each
// body.
//
// It reports each new message once, in state "new": the sender, the subject and the first
// sentences without quotations and signature. The Subject is the Message-ID, or else the location.
// The first look reports the last 24 hours; later looks report at most the last week.
//
// The cursor is a [cursor]: the position in each mailbox and recently reported messages, so that
// copies and renumbered messages are not reported again.
package mail

import (
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"net"
	"slices"
	"strings"
	"time"

	"ponder"
	"ponder/sensor"
)

// Options name a server or a folder.
type Options struct {
	Name string // of the sensor; "mail" if empty

	Server   string // IMAP server; default port 993, or 143 with StartTLS or Plain
	User     string
	Password string      // absent from errors and observations
	Folders  []string    // default INBOX, at most 20
	StartTLS bool        // encrypt after the greeting
	Plain    bool        // no encryption; only for this machine
	TLS      *tls.Config // default: system configuration

	// Dial connects to the server. The default is a net.Dialer.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)

	Maildir string // directory with cur and new

	Addresses []string // the user's; default User, if it is an address
	Important []string // addresses or domains ("@example.org") of important mail
}

// Limits of a look.
const (
	firstLook   = 24 * time.Hour     // range of the first look
	catchUp     = 7 * 24 * time.Hour // range of later looks
	maxFolders  = 20
	maxHead     = 64 << 10 // per header
	maxBody     = 16 << 10 // per body
	maxReported = 1000     // reported messages in the cursor
	hashLetters = 11       // of a reported message
)

// A mailSource reads at most [sensor.MaxLook] new messages and advances the cursor. It reports whether
// the cursor changed.
type mailSource interface {
	readNew(ctx context.Context, now time.Time, c *cursor) ([]rawMessage, bool, error)
}

type rawMessage struct {
	key     string // location, used without a Message-ID
	source  string // location for the user, used without a Message-ID
	folder  string // on the server
	date    time.Time
	flagged bool // by the user
	head    []byte
	body    []byte // start of the body
}

type cursor struct {
	Mailbox  string              `json:"of"`              // hash that identifies the mailbox
	Boxes    map[string]position `json:"boxes,omitempty"` // by folder
	Reported []string            `json:"told,omitempty"`  // two hashes per message, newest last
	Floor    int64               `json:"floor,omitempty"` // for a Maildir: Unix seconds; older messages are not reported
	Known    []string            `json:"known,omitempty"` // for a Maildir: hashes of read names
}

// New returns the sensor. It returns an error if the options are invalid.
func New(o Options) (sensor.Sensor, error) {
	o.Name = cmp.Or(o.Name, "mail")
	if len(o.Addresses) == 0 && strings.Contains(o.User, "@") {
		o.Addresses = []string{o.User}
	}
	m := &mailbox{rater: newImportanceRater(o.Addresses, o.Important)}
	switch {
	case o.Maildir != "" && o.Server != "":
		return sensor.Sensor{}, errors.New("mail: set a folder or a server, not both")
	case o.Maildir != "":
		m.hash, m.box = shortHash("maildir", o.Maildir), maildir{dir: o.Maildir}
	case o.Server != "":
		s, err := newServer(o)
		if err != nil {
			return sensor.Sensor{}, err
		}
		m.hash, m.box = shortHash("imap", s.address, o.User), s
	default:
		return sensor.Sensor{}, errors.New("mail: set a server, or a folder with cur and new")
	}
	return sensor.Sensor{Name: o.Name, Look: m.look}, nil
}

type mailbox struct {
	hash  string // identifies the mailbox
	box   mailSource
	rater importanceRater
}

func (m *mailbox) look(ctx context.Context, now time.Time, given json.RawMessage) ([]ponder.Observation, json.RawMessage, error) {
	var c cursor
	fresh := json.Unmarshal(given, &c) != nil || c.Mailbox != m.hash
	if fresh {
		c = cursor{Mailbox: m.hash}
	}
	found, moved, err := m.box.readNew(ctx, now, &c)
	if err != nil {
		return nil, given, err
	}
	slices.SortStableFunc(found, func(a, b rawMessage) int { return a.date.Compare(b.date) })
	var told []ponder.Observation
	for _, r := range found {
		if o, ok := m.observeMessage(&c, r); ok {
			if !o.Due.After(now) {
				o.Due = time.Time{}
			}
			told = append(told, o)
		}
	}
	if !moved && !fresh {
		return nil, given, nil
	}
	c.Reported = c.Reported[max(0, len(c.Reported)-maxReported):]
	next, err := json.Marshal(c)
	return told, next, err
}

// observeMessage returns the observation of a message unless it was reported.
func (m *mailbox) observeMessage(c *cursor, r rawMessage) (ponder.Observation, bool) {
	l := parseMail(r)
	name, source := r.key, r.source
	if l.id != "" {
		if name = l.id; r.folder != "" {
			source = "imap:" + r.folder + "/<" + l.id + ">"
		}
	}
	subject, self := shortHash(name), shortHash(l.id, l.from, l.subject, l.date, l.text)
	if c.hasHash(self, hashLetters) {
		return ponder.Observation{}, false
	}
	if c.hasHash(subject, 0) { // another message with the same Message-ID
		name += " #" + self
	}
	c.Reported = append(c.Reported, subject+self)
	return ponder.Observation{
		Content: l.formatSummary(), Subject: sensor.Subject(name), State: "new", Level: m.rater.messageLevel(l, r.flagged),
		Due: l.findDeadline(r.date), Source: sensor.Line(source, sensor.MaxText), Untrusted: true,
	}, true
}

// hasHash reports whether the cursor has a hash at an offset of its entries.
func (c *cursor) hasHash(hash string, at int) bool {
	return slices.ContainsFunc(c.Reported, func(t string) bool {
		return len(t) == 2*hashLetters && t[at:at+hashLetters] == hash
	})
}

// earliestTime returns the earliest time to report: floor (Unix seconds) or the last week.
func earliestTime(now time.Time, floor int64) time.Time {
	if t := time.Unix(floor, 0); t.After(now.Add(-catchUp)) {
		return t
	}
	return now.Add(-catchUp)
}
