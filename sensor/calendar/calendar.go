// Package calendar implements the calendar sensor: events and tasks of the next 72 hours. It reads
// an ICS file, a folder of them, a URL, or the calendars of a CalDAV server.
//
// Each occurrence passes through the states "upcoming" (within 72 hours), "tomorrow" (24) and
// "soon" (2), or "today" for a whole day. A changed time gives "moved", a cancellation or deletion
// "cancelled", two events at the same time "conflict". The sensor reports each state once. The
// Subject is the UID and the start. Due is the start of an event, or the deadline of a task.
//
// Days and times without a zone are in the user's zone. Zones are IANA names, Windows names, or
// definitions in the calendar.
//
// Calendars are untrusted: anyone can send an invitation. The parser therefore skips unknown
// input, and the expansion of recurrences is bounded. Each look reads the source again; a URL is
// revalidated by ETag or date.
//
// The cursor is a [cursor]: the reported state of each future occurrence.
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

// Options name the calendar by exactly one of File, URL and CalDAV.
type Options struct {
	Name string // of the sensor; "calendar" if empty

	File   string // ICS, or a folder of such files
	URL    string // of an ICS file; "webcal:" means "https:"
	CalDAV string // URL of a server, or of a calendar on one

	User     string // of CalDAV
	Password string // absent from errors and observations

	// Client sends requests. The default, an http.Client, reaches every address.
	Client Client

	Zone  *time.Location // the user's; default time.Local
	Ahead time.Duration  // length of the window; default 72h, at most 31 days
}

// A Client sends requests, as *http.Client does.
type Client interface {
	Do(*http.Request) (*http.Response, error)
}

// Limits.
const (
	defaultAhead = 72 * time.Hour
	maxAhead     = 31 * 24 * time.Hour
	maxSeen      = 250 // occurrences in the window
	maxMissed    = 10  // events to look up on a server in one look
)

type source interface {
	// readObjects returns at least the objects between two times.
	readObjects(ctx context.Context, from, to time.Time) ([]*object, error)
	// lookupUID returns the objects of a UID. It returns nil if read is complete.
	lookupUID(ctx context.Context, uid string) ([]*object, error)
	// displayLocation returns the location to show to the user.
	displayLocation() string
	// isComplete reports whether read returns all objects.
	isComplete() bool
}

// New returns the sensor. It returns an error if the options are invalid.
func New(o Options) (sensor.Sensor, error) {
	if o.Zone == nil {
		o.Zone = time.Local
	}
	if o.Client == nil {
		o.Client = &http.Client{Timeout: sensor.LookTimeout}
	}
	c := &calendar{zone: o.Zone, ahead: min(cmp.Or(o.Ahead, defaultAhead), maxAhead), hash: sensor.Hash(o.File + "\n" + o.URL + "\n" + o.CalDAV + "\n" + o.User)}
	given := 0
	for _, s := range []string{o.File, o.URL, o.CalDAV} {
		if s != "" {
			given++
		}
	}
	if given != 1 {
		return sensor.Sensor{}, errors.New("calendar: set one of a file, a url and a caldav server")
	}
	var err error
	switch {
	case o.File != "":
		c.source = &localFile{path: o.File}
	case o.URL != "":
		c.source, err = newRemoteFile(o)
	default:
		c.source, err = newCaldavServer(o)
	}
	if err != nil {
		return sensor.Sensor{}, err
	}
	return sensor.Sensor{Name: cmp.Or(o.Name, "calendar"), Look: c.look}, nil
}

type calendar struct {
	hash   string
	zone   *time.Location
	ahead  time.Duration
	source source
	mu     sync.Mutex // guards source, which caches
}

// A cursor records the reported occurrences.
type cursor struct {
	Calendar string         `json:"of"` // hash that identifies the calendar
	Reported []reportRecord `json:"told"`
}

// A reportRecord records the last report of an occurrence or of a conflict.
type reportRecord struct {
	UID   string `json:"u"`
	Of    int64  `json:"o,omitempty"` // start in the series, Unix seconds
	Start int64  `json:"s"`           // Unix seconds
	Stage stage  `json:"g,omitempty"` // the last reported
	Gone  bool   `json:"x,omitempty"` // cancellation reported, or not to be reported
	Day   bool   `json:"d,omitempty"` // whole days
	Task  bool   `json:"k,omitempty"`
	Title string `json:"t,omitempty"`
}

func (c *calendar) look(ctx context.Context, now time.Time, given json.RawMessage) ([]ponder.Observation, json.RawMessage, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, sensor.LookTimeout)
	defer cancel()
	var cur cursor
	fresh := json.Unmarshal(given, &cur) != nil || cur.Calendar != c.hash
	if fresh {
		cur = cursor{}
	}
	cur.Calendar = c.hash
	now = now.In(c.zone)
	objects, err := c.source.readObjects(ctx, now, now.Add(c.ahead))
	if err != nil {
		return nil, given, err
	}
	d := &changeDetector{now: now, until: now.Add(c.ahead), zone: c.zone, location: sensor.Line(c.source.displayLocation(), sensor.MaxText)}
	d.loadRecords(cur.Reported)
	if !c.source.isComplete() {
		more, unknown, err := c.findMissing(ctx, objects, d)
		if err != nil {
			return nil, given, err
		}
		objects = append(objects, more...)
		d.unknown = unknown
	}
	d.schedule = newSchedule(objects, c.zone, now)
	d.compareAll()
	if len(d.observations) == 0 && !fresh {
		return nil, given, nil
	}
	cur.Reported = d.recordsToKeep()
	next, err := textkit.JSON(cur)
	return d.observations, json.RawMessage(next), err
}

// findMissing looks up reported events that read did not return, because their time may have
// changed. It returns as unknown the UIDs beyond the limit and those with a shortened UID.
func (c *calendar) findMissing(ctx context.Context, objects []*object, d *changeDetector) (more []*object, unknown map[string]bool, err error) {
	there := map[string]bool{}
	for _, o := range objects {
		there[objectUID(o, sensor.Line(o.unescapedText("SUMMARY"), maxTitle))] = true
	}
	unknown = map[string]bool{}
	asked := 0
	for _, t := range d.records {
		if there[t.UID] || t.isConflict() || t.Gone || t.Start <= d.now.Unix() {
			continue
		}
		if there[t.UID] = true; asked == maxMissed || strings.Contains(t.UID, " #") {
			unknown[t.UID] = true
			continue
		}
		asked++
		found, err := c.source.lookupUID(ctx, t.UID)
		if err != nil {
			return nil, nil, err
		}
		more = append(more, found...)
	}
	return more, unknown, nil
}

// A cache keeps the objects of the last file, which rarely changes between looks.
type cache struct {
	sum     [sha256.Size]byte
	objects []*object
}

func (c *cache) parseCached(file []byte) ([]*object, error) {
	sum := sha256.Sum256(file)
	if c.objects != nil && sum == c.sum {
		return c.objects, nil
	}
	objects, err := parseCalendar(file)
	if err == nil {
		c.sum, c.objects = sum, objects
	}
	return objects, err
}
