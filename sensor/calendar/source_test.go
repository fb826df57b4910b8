package calendar

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/emersion/go-ical"
	"github.com/emersion/go-webdav/caldav"

	"ponder/sensor"
	"ponder/sensor/sensortest"
)

func TestPage(t *testing.T) {
	body, asked, unchanged := icsFile(eventText("a", "SUMMARY:S|DTSTART:20260304T100000Z")), 0, 0
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked++
		tag := fmt.Sprintf(`"%d"`, len(body))
		if r.Header.Get("If-None-Match") == tag {
			unchanged++
			w.WriteHeader(http.StatusNotModified)
			return
		}
		w.Header().Set("ETag", tag)
		_, _ = fmt.Fprint(w, body)
	}))
	defer web.Close()
	open := func() sensor.Sensor {
		s, err := New(Options{URL: web.URL + "/s3cret-token/home.ics", Zone: berlin})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	sensortest.Run(t, open,
		sensortest.Step{Name: "first", Reports: []string{"upcoming a 2026-03-04T10:00:00Z"}},
		sensortest.Step{Name: "moved", Do: func() { body = icsFile(eventText("a", "SUMMARY:S|DTSTART:20260304T110000Z")) + "\r\n" }, Reports: []string{"moved a 2026-03-04T11:00:00Z"}},
	)
	s := open()
	asked, unchanged = 0, 0
	var cursor []byte
	for range 5 {
		told, next, err := s.Look(t.Context(), sensortest.Start, cursor)
		if err != nil || len(told) > 0 && strings.Contains(told[0].Source, "s3cret") {
			t.Fatal(told, err)
		}
		cursor = next
	}
	if asked != 5 || unchanged != 4 {
		t.Errorf("asked %d times, unchanged %d times", asked, unchanged)
	}
	for _, b := range []string{"<html>", strings.Repeat("x", maxFile+5)} {
		body = b
		if _, _, err := s.Look(t.Context(), sensortest.Start, cursor); err == nil || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%.20s: %v", b, err)
		}
	}
	web.Close()
	if _, _, err := s.Look(t.Context(), sensortest.Start, cursor); err == nil || strings.Contains(err.Error(), "s3cret") {
		t.Errorf("no server: %v", err)
	}
}

// A backend is a CalDAV server with one calendar.
type backend struct {
	caldav.Backend // unused methods
	files          map[string]string
}

func (*backend) CurrentUserPrincipal(context.Context) (string, error) { return "/ann/", nil }
func (*backend) CalendarHomeSetPath(context.Context) (string, error)  { return "/ann/calendars/", nil }

func (*backend) ListCalendars(context.Context) ([]caldav.Calendar, error) {
	return []caldav.Calendar{{Path: "/ann/calendars/home/", Name: "Home", SupportedComponentSet: []string{"VEVENT", "VTODO"}}}, nil
}

func (b *backend) GetCalendar(_ context.Context, path string) (*caldav.Calendar, error) {
	return &caldav.Calendar{Path: path, SupportedComponentSet: []string{"VEVENT", "VTODO"}}, nil
}

func (b *backend) QueryCalendarObjects(_ context.Context, path string, query *caldav.CalendarQuery) ([]caldav.CalendarObject, error) {
	var all []caldav.CalendarObject
	for name, file := range b.files {
		cal, err := ical.NewDecoder(strings.NewReader(file)).Decode()
		if err != nil {
			return nil, err
		}
		all = append(all, caldav.CalendarObject{Path: path + name, Data: cal})
	}
	return caldav.Filter(query, all)
}

const davPassword = "c0rrect"

func davServer(t *testing.T) (*backend, *httptest.Server) {
	t.Helper()
	b := &backend{files: map[string]string{}}
	h := &caldav.Handler{Backend: b}
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if user, password, _ := r.BasicAuth(); user != "ann" || password != davPassword {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		if r.Method != "PROPFIND" && r.Method != "REPORT" && r.Method != http.MethodOptions {
			t.Errorf("the server was asked to %s", r.Method)
		}
		h.ServeHTTP(w, r)
	}))
	t.Cleanup(web.Close)
	return b, web
}

func TestCalDAV(t *testing.T) {
	b, web := davServer(t)
	put := func(name string, parts ...string) {
		b.files[name] = strings.Replace(icsFile(parts...), "VERSION:2.0\r\n", "VERSION:2.0\r\nPRODID:-//x//x\r\n", 1)
	}
	event := func(start string) string {
		return eventText("a", "SUMMARY:S|DTSTAMP:20260101T000000Z|DTSTART:"+start+"|DURATION:PT1H")
	}
	put("a.ics", event("20260304T100000Z"))
	put("far.ics", eventText("far", "SUMMARY:Far|DTSTAMP:20260101T000000Z|DTSTART:20260704T100000Z|DURATION:PT1H"))
	for _, path := range []string{"/", "/ann/calendars/home/"} {
		open := func() sensor.Sensor {
			s, err := New(Options{CalDAV: web.URL + path, User: "ann", Password: davPassword, Zone: berlin})
			if err != nil {
				t.Fatal(err)
			}
			return s
		}
		sensortest.Run(t, open,
			sensortest.Step{Name: "first", Reports: []string{"upcoming a 2026-03-04T10:00:00Z"}},
			sensortest.Step{Name: "moved", Do: func() { put("a.ics", event("20260304T120000Z")) }, Reports: []string{"moved a 2026-03-04T12:00:00Z"}},
			sensortest.Step{Name: "moved far away", Do: func() { put("a.ics", event("20260504T120000Z")) }, Reports: []string{"moved a 2026-05-04T12:00:00Z"}},
			sensortest.Step{Name: "a series", Do: func() {
				put("s.ics", eventText("s", "SUMMARY:W|DTSTAMP:20260101T000000Z|DTSTART:20260101T093000Z|DURATION:PT1H|RRULE:FREQ=WEEKLY;BYDAY=WE"))
			}, Reports: []string{"upcoming s 2026-03-04T09:30:00Z"}},
			sensortest.Step{Name: "a task", Pass: time.Hour, Do: func() { put("t.ics", todoText("t", "SUMMARY:T|DTSTAMP:20260101T000000Z|DUE:20260304T150000Z")) }, Reports: []string{"upcoming t 2026-03-04T15:00:00Z"}},
			sensortest.Step{Name: "deleted", Do: func() { delete(b.files, "s.ics"); delete(b.files, "a.ics") }},
		)
		delete(b.files, "t.ics")
		put("a.ics", event("20260304T100000Z"))
	}
}

func TestCalDAVPassword(t *testing.T) {
	_, web := davServer(t)
	s, err := New(Options{CalDAV: web.URL + "/", User: "ann", Password: "wr0ng"})
	if err != nil {
		t.Fatal(err)
	}
	_, _, err = s.Look(t.Context(), sensortest.Start, nil)
	if err == nil || !strings.Contains(err.Error(), "password_env") || strings.Contains(err.Error(), "wr0ng") || strings.Contains(err.Error(), "\n") {
		t.Errorf("got %v", err)
	}
}

// TestServerFaults checks that a look ends when a server hangs, and survives hostile responses.
func TestServerFaults(t *testing.T) {
	asked := make(chan struct{}, 10)
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/hang") {
			_, _ = io.Copy(io.Discard, r.Body)
			asked <- struct{}{}
			<-r.Context().Done()
			return
		}
		w.WriteHeader(statusMulti)
		_, _ = fmt.Fprint(w, `<a>`+strings.Repeat("<b>", 100_000)+"\x1b[2J"+davPassword)
	}))
	defer web.Close()
	for _, o := range []Options{{CalDAV: web.URL + "/hang"}, {URL: web.URL + "/hang"}} {
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			<-asked
			cancel()
		}()
		s, err := New(o)
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err = s.Look(ctx, sensortest.Start, nil); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
	}
	s, err := New(Options{CalDAV: web.URL + "/x/", User: "ann", Password: davPassword})
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err = s.Look(t.Context(), sensortest.Start, nil); err == nil || len(err.Error()) > 400 || strings.ContainsAny(err.Error(), "\n\x1b") || strings.Contains(err.Error(), davPassword) {
		t.Errorf("got %v", err)
	}
}

// TestBroken checks that an unreadable event is not reported as deleted.
func TestBroken(t *testing.T) {
	o := brokenEvent("BEGIN:VCALENDAR\r\nBEGIN:VEVENT\r\nUID:a\r\nDTSTART:20260304T1")
	if b := newSchedule([]*object{o}, berlin, sensortest.Start); !b.broken["a"] || len(b.series) != 0 {
		t.Errorf("got %+v", b)
	}
}
