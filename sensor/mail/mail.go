// Package mail is the sensor of mail: of a mailbox on an IMAP server, or of a Maildir.
//
// It only reads. A mailbox is opened by EXAMINE and its messages by BODY.PEEK, so that
// nothing is ever marked as read; of a Maildir, files are opened for reading and neither
// moved nor renamed. Of a message it reads the header and the first 16 KiB that follow.
//
// Each new message is told once, in the state "new": who wrote it, its subject, and its
// first sentences without what is quoted in it and the signature. Its Subject is its
// Message-ID, or where it is if it has none. The first look tells of the last 24 hours;
// later ones of what came since, but of nothing older than a week.
//
// The cursor is a [cursor]: how far each mailbox was read, and which messages of late
// were told, so that a message that is in two mailboxes, or that has another number
// since the server renumbered them, is not told again.
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

// Options say where mail is: on a server or in a folder.
type Options struct {
	Name string // of the sensor; "mail" if empty

	Server   string      // an IMAP server, with a port if it is not 993 (143 with StartTLS or Plain)
	User     string      //
	Password string      // from the environment; it is in no error and no observation
	Folders  []string    // of the mailbox; INBOX if none, at most 20
	StartTLS bool        // encrypt after the greeting
	Plain    bool        // do not encrypt: on this machine only
	TLS      *tls.Config // nil: that of the system

	// Dial connects to the server. A net.Dialer's if nil.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)

	Maildir string // a folder with cur and new

	Addresses []string // the user's own; User if it is one and there are no others
	Important []string // addresses whose mail matters, or domains: "@example.org"
}

// Bounds of a look.
const (
	firstLook   = 24 * time.Hour     // how far the first look goes back
	catchUp     = 7 * 24 * time.Hour // how far any goes back
	maxFolders  = 20
	maxHead     = 64 << 10 // bytes of a header
	maxBody     = 16 << 10 // bytes of what follows it
	maxTold     = 1000     // messages that are remembered
	hashLetters = 11       // of a message that is remembered
)

// A box reads the messages that came since a cursor, at most [sensor.MaxLook] of them,
// and moves the cursor on. It reports whether it has moved.
type box interface {
	read(ctx context.Context, now time.Time, c *cursor) ([]raw, bool, error)
}

// A raw is a message as it was found.
type raw struct {
	key     string // where it is, if it has no Message-ID
	source  string // where a user can look, if it has none
	folder  string // of the server
	date    time.Time
	flagged bool // by the user
	head    []byte
	body    []byte // the beginning
}

// A cursor says what was read.
type cursor struct {
	Of    string              `json:"of"`              // the hash of which mail it is
	Boxes map[string]position `json:"boxes,omitempty"` // by folder of the server
	Told  []string            `json:"told,omitempty"`  // two hashes of each message, the newest last
	Floor int64               `json:"floor,omitempty"` // of a Maildir, Unix seconds: what is older is not told
	Known []string            `json:"known,omitempty"` // of a Maildir: hashes of names that were read
}

// New returns the sensor, or an error that says what is missing in the options.
func New(o Options) (sensor.Sensor, error) {
	o.Name = cmp.Or(o.Name, "mail")
	if len(o.Addresses) == 0 && strings.Contains(o.User, "@") {
		o.Addresses = []string{o.User}
	}
	m := &mailbox{judge: newJudge(o.Addresses, o.Important)}
	switch {
	case o.Maildir != "" && o.Server != "":
		return sensor.Sensor{}, errors.New("mail: name a folder or a server, not both")
	case o.Maildir != "":
		m.of, m.box = hash("maildir", o.Maildir), maildir{dir: o.Maildir}
	case o.Server != "":
		s, err := newServer(o)
		if err != nil {
			return sensor.Sensor{}, err
		}
		m.of, m.box = hash("imap", s.address, o.User), s
	default:
		return sensor.Sensor{}, errors.New("mail: name a server, or a folder with cur and new")
	}
	return sensor.Sensor{Name: o.Name, Look: m.look}, nil
}

// A mailbox is what the sensor looks at.
type mailbox struct {
	of    string // which mail it is
	box   box
	judge judge
}

func (m *mailbox) look(ctx context.Context, now time.Time, given json.RawMessage) ([]ponder.Observation, json.RawMessage, error) {
	var c cursor
	fresh := json.Unmarshal(given, &c) != nil || c.Of != m.of
	if fresh {
		c = cursor{Of: m.of}
	}
	found, moved, err := m.box.read(ctx, now, &c)
	if err != nil {
		return nil, given, err
	}
	slices.SortStableFunc(found, func(a, b raw) int { return a.date.Compare(b.date) })
	var told []ponder.Observation
	for _, r := range found {
		if o, ok := m.observe(&c, r); ok {
			if !o.Due.After(now) {
				o.Due = time.Time{}
			}
			told = append(told, o)
		}
	}
	if !moved && !fresh {
		return nil, given, nil
	}
	c.Told = c.Told[max(0, len(c.Told)-maxTold):]
	next, err := json.Marshal(c)
	return told, next, err
}

// observe returns what is told of a message, unless it was told already.
func (m *mailbox) observe(c *cursor, r raw) (ponder.Observation, bool) {
	l := read(r)
	name, source := r.key, r.source
	if l.id != "" {
		if name = l.id; r.folder != "" {
			source = "imap:" + r.folder + "/<" + l.id + ">"
		}
	}
	subject, self := hash(name), hash(l.id, l.from, l.subject, l.date, l.text)
	if c.told(self, hashLetters) {
		return ponder.Observation{}, false
	}
	if c.told(subject, 0) { // another message with the same Message-ID
		name += " #" + self
	}
	c.Told = append(c.Told, subject+self)
	return ponder.Observation{
		Content: l.says(), Subject: sensor.Subject(name), State: "new", Level: m.judge.level(l, r.flagged),
		Due: l.deadline(r.date), Source: sensor.Line(source, sensor.MaxText), Untrusted: true,
	}, true
}

// told reports whether a hash is at a place in an entry of what was told.
func (c *cursor) told(hash string, at int) bool {
	return slices.ContainsFunc(c.Told, func(t string) bool {
		return len(t) == 2*hashLetters && t[at:at+hashLetters] == hash
	})
}

// since returns the time before which nothing is told, if the first look did not go
// further back than floor (Unix seconds).
func since(now time.Time, floor int64) time.Time {
	if t := time.Unix(floor, 0); t.After(now.Add(-catchUp)) {
		return t
	}
	return now.Add(-catchUp)
}
