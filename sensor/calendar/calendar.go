// Package calendar is the sensor of calendars: of an ICS file, of one at a URL, or of
// those on a CalDAV server. It tells of events and tasks of the next 72 hours.
//
// Its states are, of each time at which something happens: "upcoming" (within 72 hours),
// "tomorrow" (24), "soon" (2) or, of what takes a whole day, "today"; "moved" when it
// has another time than was told, and "cancelled" when it was or is there no more. Each
// is told once. Two events at the same time are a "conflict". The Subject is the UID and
// when it begins; Due is when it begins, or when a task is due.
//
// A day is one of the user's zone, and so is a time without a zone. Zones are read by
// their name (of IANA, or of Windows), or as the calendar defines them.
//
// What is in calendars was written by strangers: everyone can send an invitation. So it
// is read by a parser of ours that leaves out what it does not understand, and what
// recurs is looked for in bounded steps. It is fetched anew for each look, but for a URL
// whose file has not changed.
//
// The cursor is a [cursor]: what was told of each event that is still to come.
package calendar

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"sync"
	"time"

	"ponder"
	"ponder/internal/textkit"
	"ponder/sensor"
)

// Options say where the calendar is: one of File, URL and CalDAV.
type Options struct {
	Name string // of the sensor; "calendar" if empty

	File   string // ICS, or a folder of such files
	URL    string // of an ICS file; "webcal:" is "https:"
	CalDAV string // URL of a server, or of a calendar on one

	User     string // of CalDAV
	Password string // from the environment; it is in no error and no observation

	// Client makes requests. A client of net/http if nil, which reaches every address.
	Client Client

	Zone  *time.Location // the user's; that of the machine if nil
	Ahead time.Duration  // how far it looks: 72h if zero, at most 31 days
}

// A Client makes requests, such as an *http.Client does.
type Client interface {
	Do(*http.Request) (*http.Response, error)
}

// Bounds.
const (
	ahead     = 72 * time.Hour
	maxAhead  = 31 * 24 * time.Hour
	maxSeen   = 250 // times at which something happens in the window
	maxMissed = 10  // events that are looked for on a server in a look
)

// A source has a calendar.
type source interface {
	// read returns the objects of a calendar, at least those between two times.
	read(ctx context.Context, from, to time.Time) ([]*object, error)
	// lookup returns the objects of a UID. It is nil if read returned all there are.
	lookup(ctx context.Context, uid string) ([]*object, error)
	// where returns what a user can look at.
	where() string
	// whole reports whether read returns all there is.
	whole() bool
}

// New returns the sensor, or an error that says what is missing in the options.
func New(o Options) (sensor.Sensor, error) {
	if o.Zone == nil {
		o.Zone = time.Local
	}
	if o.Client == nil {
		o.Client = &http.Client{Timeout: sensor.Patience}
	}
	c := &calendar{zone: o.Zone, ahead: min(cmp.Or(o.Ahead, ahead), maxAhead), of: sensor.Hash(o.File + "\n" + o.URL + "\n" + o.CalDAV + "\n" + o.User)}
	given := 0
	for _, s := range []string{o.File, o.URL, o.CalDAV} {
		if s != "" {
			given++
		}
	}
	if given != 1 {
		return sensor.Sensor{}, errors.New("calendar: name one of a file, a url and a caldav server")
	}
	var err error
	switch {
	case o.File != "":
		c.source = &file{path: o.File}
	case o.URL != "":
		c.source, err = newPage(o)
	default:
		c.source, err = newServer(o)
	}
	if err != nil {
		return sensor.Sensor{}, err
	}
	return sensor.Sensor{Name: cmp.Or(o.Name, "calendar"), Look: c.look}, nil
}

// A calendar is what the sensor looks at.
type calendar struct {
	of     string
	zone   *time.Location
	ahead  time.Duration
	source source
	mu     sync.Mutex // of source, which may remember what it fetched
}

// A cursor says what was told.
type cursor struct {
	Of   string `json:"of"` // the hash of which calendar it is
	Told []told `json:"told"`
}

// A told is what was told of an event at one of its times, or of a conflict.
type told struct {
	UID   string `json:"u"`
	Of    int64  `json:"o,omitempty"` // which one of a series, in Unix seconds
	Start int64  `json:"s"`           // Unix seconds
	Stage stage  `json:"g,omitempty"` // the last that was told
	Gone  bool   `json:"x,omitempty"` // it was told that it is cancelled, or need not be
	Day   bool   `json:"d,omitempty"` // it takes whole days
	Task  bool   `json:"k,omitempty"`
	Title string `json:"t,omitempty"`
}

func (c *calendar) look(ctx context.Context, now time.Time, given json.RawMessage) ([]ponder.Observation, json.RawMessage, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, sensor.Patience)
	defer cancel()
	var cur cursor
	fresh := json.Unmarshal(given, &cur) != nil || cur.Of != c.of
	if fresh {
		cur = cursor{}
	}
	cur.Of = c.of
	now = now.In(c.zone)
	objects, err := c.source.read(ctx, now, now.Add(c.ahead))
	if err != nil {
		return nil, given, err
	}
	d := &desk{now: now, until: now.Add(c.ahead), zone: c.zone, where: sensor.Line(c.source.where(), sensor.MaxText)}
	d.load(cur.Told)
	if !c.source.whole() {
		more, unknown, err := c.missing(ctx, objects, d)
		if err != nil {
			return nil, given, err
		}
		objects = append(objects, more...)
		d.unknown = unknown
	}
	d.book = newBook(objects, c.zone, now)
	d.compare()
	if len(d.out) == 0 && !fresh {
		return nil, given, nil
	}
	cur.Told = d.kept()
	next, err := textkit.JSON(cur)
	return d.out, json.RawMessage(next), err
}

// missing asks the server for events that were told and are not between the times that
// were asked for: they may have been moved. Those that it could not ask for are unknown.
func (c *calendar) missing(ctx context.Context, objects []*object, d *desk) (more []*object, unknown map[string]bool, err error) {
	there := map[string]bool{}
	for _, o := range objects {
		there[uid(o, sensor.Line(o.text("SUMMARY"), maxTitle))] = true
	}
	unknown = map[string]bool{}
	asked := 0
	for _, t := range d.told {
		if there[t.UID] || t.conflict() || t.Gone || t.Start <= d.now.Unix() {
			continue
		}
		if there[t.UID] = true; asked == maxMissed || strings.Contains(t.UID, " #") {
			unknown[t.UID] = true
			continue
		}
		asked++
		found, err := c.source.lookup(ctx, t.UID)
		if err != nil {
			return nil, nil, err
		}
		more = append(more, found...)
	}
	return more, unknown, nil
}

// A cache keeps the objects of the last file, which mostly is that of the next look too.
type cache struct {
	sum     [sha256.Size]byte
	objects []*object
}

func (c *cache) parse(file []byte) ([]*object, error) {
	sum := sha256.Sum256(file)
	if c.objects != nil && sum == c.sum {
		return c.objects, nil
	}
	objects, err := parse(file)
	if err == nil {
		c.sum, c.objects = sum, objects
	}
	return objects, err
}
