package calendar

import (
	"bytes"
	"context"
	"encoding/xml"
	"errors"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"ponder/internal/limitio"
	"ponder/internal/netaddr"

	"github.com/emersion/go-webdav/caldav"
)

// Limits and status of a CalDAV server.
const (
	maxCalendars = 20
	statusMulti  = 207
)

// A caldavServer reads calendars over CalDAV. It discovers them once and queries them at each look
// for the window and a margin. It decodes the responses itself, so that one broken event does not
// hide the others.
type caldavServer struct {
	client    *authClient
	base      *url.URL
	calendars []string // paths; nil before discovery
}

func newCaldavServer(o Options) (*caldavServer, error) {
	u, err := parseAddress(o.CalDAV)
	if err != nil {
		return nil, err
	}
	if u.User != nil {
		return nil, errors.New("calendar: the address contains a password; put it into the variable named by password_env")
	}
	if o.Password != "" && u.Scheme != "https" && !netaddr.IsLoopback(u.Hostname()) {
		return nil, errors.New("calendar: a password needs an https:// address")
	}
	return &caldavServer{client: &authClient{client: o.Client, host: u.Host, user: o.User, password: o.Password}, base: u}, nil
}

// An authClient sends the credentials to one host only and limits the size of responses.
type authClient struct {
	client         Client
	host           string
	user, password string
}

func (l *authClient) Do(req *http.Request) (*http.Response, error) {
	if req.URL.Host != l.host {
		return nil, errors.New("the server refers to another host")
	}
	if l.user != "" || l.password != "" {
		req.SetBasicAuth(l.user, l.password)
	}
	resp, err := l.client.Do(req)
	if err == nil {
		resp.Body = limitio.ReadCloser(resp.Body, maxFile, errTooLarge)
	}
	return resp, err
}

func (s *caldavServer) displayLocation() string { return s.base.Scheme + "://" + s.base.Host + "/" }
func (s *caldavServer) isComplete() bool        { return false }

func (s *caldavServer) readObjects(ctx context.Context, from, to time.Time) ([]*object, error) {
	if s.calendars == nil {
		found, err := s.discoverCalendars(ctx)
		if err != nil {
			return nil, s.wrapError(err)
		}
		s.calendars = found
	}
	return s.queryCalendars(ctx, calendarQuery("VEVENT", timeRange(from.Add(-36*time.Hour), to.Add(36*time.Hour))), calendarQuery("VTODO", ""))
}

func (s *caldavServer) lookupUID(ctx context.Context, uid string) ([]*object, error) {
	var escaped strings.Builder
	if err := xml.EscapeText(&escaped, []byte(uid)); err != nil {
		return nil, err
	}
	match := `<C:prop-filter name="UID"><C:text-match collation="i;octet">` + escaped.String() + `</C:text-match></C:prop-filter>`
	return s.queryCalendars(ctx, calendarQuery("VEVENT", match))
}

func (s *caldavServer) wrapError(err error) error {
	err = withoutURL("read the calendars at "+s.base.Host, err)
	if p := s.client.password; p != "" && strings.Contains(err.Error(), p) {
		return errors.New("read the calendars at " + s.base.Host + ": the server answers with an error")
	}
	return err
}

// discoverCalendars returns the path of the given calendar, or the paths of all calendars of the user.
func (s *caldavServer) discoverCalendars(ctx context.Context) ([]string, error) {
	c, err := caldav.NewClient(s.client, s.base.String())
	if err != nil {
		return nil, err
	}
	principal, err := c.FindCurrentUserPrincipal(ctx)
	if err != nil {
		return s.tryBase(ctx, err)
	}
	home, err := c.FindCalendarHomeSet(ctx, principal)
	if err != nil {
		return s.tryBase(ctx, err)
	}
	found, err := c.FindCalendars(ctx, home)
	if err != nil {
		return s.tryBase(ctx, err)
	}
	var paths []string
	for _, f := range found {
		if strings.Trim(f.Path, "/") == strings.Trim(s.base.Path, "/") {
			return []string{f.Path}, nil
		}
		if kinds := f.SupportedComponentSet; len(kinds) == 0 || slices.Contains(kinds, "VEVENT") || slices.Contains(kinds, "VTODO") {
			paths = append(paths, f.Path)
		}
	}
	if len(paths) == 0 {
		return nil, errors.New("no calendars found; give the address of one")
	}
	return paths[:min(len(paths), maxCalendars)], nil
}

// tryBase returns the given address if it responds as a calendar. Otherwise it returns err, the
// error of discovery.
func (s *caldavServer) tryBase(ctx context.Context, err error) ([]string, error) {
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if _, failed := s.requestReport(ctx, s.base.Path, calendarQuery("VEVENT", timeRange(time.Unix(0, 0), time.Unix(3600, 0)))); failed != nil {
		var code statusError
		if errors.As(failed, &code) {
			return nil, statusMessage(int(code))
		}
		return nil, err
	}
	return []string{s.base.Path}, nil
}

// calendarQuery returns a calendar-query for objects of a kind.
func calendarQuery(kind, which string) string {
	return `<?xml version="1.0" encoding="utf-8"?><C:calendar-query xmlns:D="DAV:" xmlns:C="urn:ietf:params:xml:ns:caldav">` +
		`<D:prop><C:calendar-data/></D:prop><C:filter><C:comp-filter name="VCALENDAR"><C:comp-filter name="` + kind + `">` + which +
		`</C:comp-filter></C:comp-filter></C:filter></C:calendar-query>`
}

func timeRange(from, to time.Time) string {
	const form = "20060102T150405Z"
	return `<C:time-range start="` + from.UTC().Format(form) + `" end="` + to.UTC().Format(form) + `"/>`
}

// queryCalendars sends each question to every calendar. A calendar must accept the first question; it may
// reject others as unsupported.
func (s *caldavServer) queryCalendars(ctx context.Context, questions ...string) (all []*object, err error) {
	for _, path := range s.calendars {
		for n, q := range questions {
			objects, err := s.requestReport(ctx, path, q)
			var code statusError
			if n > 0 && errors.As(err, &code) && code != http.StatusUnauthorized && code < 500 {
				continue
			}
			if errors.As(err, &code) {
				err = statusMessage(int(code))
			}
			if err != nil {
				return nil, s.wrapError(err)
			}
			if all = append(all, objects...); len(all) > maxObjects {
				return nil, s.wrapError(errTooLarge)
			}
		}
	}
	return all, nil
}

// A statusError is a status other than 207.
type statusError int

func (e statusError) Error() string { return statusMessage(int(e)).Error() }

// A multistatus is the response to a REPORT (RFC 4791).
type multistatus struct {
	Responses []struct {
		Found []struct {
			Prop struct {
				Data string `xml:"urn:ietf:params:xml:ns:caldav calendar-data"`
			} `xml:"DAV: prop"`
		} `xml:"DAV: propstat"`
	} `xml:"DAV: response"`
}

func (s *caldavServer) requestReport(ctx context.Context, path, question string) ([]*object, error) {
	u := *s.base
	u.Path, u.RawPath, u.RawQuery = path, "", ""
	req, err := http.NewRequestWithContext(ctx, "REPORT", u.String(), strings.NewReader(question))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/xml; charset=utf-8")
	req.Header.Set("Depth", "1")
	resp, err := s.client.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != statusMulti {
		return nil, statusError(resp.StatusCode)
	}
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, err
	}
	var found multistatus
	if err := xml.NewDecoder(bytes.NewReader(b)).Decode(&found); err != nil {
		return nil, errors.New("the answer is not from a CalDAV server; check the address")
	}
	var all []*object
	for _, r := range found.Responses {
		for _, f := range r.Found {
			objects, err := parseCalendar([]byte(f.Prop.Data))
			if err != nil && f.Prop.Data != "" {
				objects = []*object{brokenEvent(f.Prop.Data)}
			}
			all = append(all, objects...)
		}
	}
	return all, nil
}

var uidLine = regexp.MustCompile(`(?m)^UID:([^\r\n]{1,500})`)

// brokenEvent returns an event with only its UID, so that the sensor does not report an unreadable
// event as deleted.
func brokenEvent(data string) *object {
	o := &object{kind: "VEVENT"}
	if m := uidLine.FindStringSubmatch(data); m != nil {
		o.props = []prop{{name: "UID", value: m[1]}}
	}
	return o
}
