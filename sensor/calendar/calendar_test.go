package calendar

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ponder/internal/racetest"
	"ponder/sensor"
	"ponder/sensor/sensortest"
)

func icsFile(parts ...string) string {
	return strings.ReplaceAll("BEGIN:VCALENDAR\nVERSION:2.0\n"+strings.Join(parts, "")+"END:VCALENDAR\n", "\n", "\r\n")
}

// eventText returns an event; "|" separates its lines.
func eventText(uid, lines string) string {
	return "BEGIN:VEVENT\nUID:" + uid + "\n" + strings.ReplaceAll(lines, "|", "\n") + "\nEND:VEVENT\n"
}

func todoText(uid, lines string) string {
	return strings.ReplaceAll(eventText(uid, lines), "VEVENT", "VTODO")
}

// berlin is the user's zone.
var berlin = mustZone("Europe/Berlin")

func mustZone(name string) *time.Location {
	l, err := time.LoadLocation(name)
	if err != nil {
		panic(err)
	}
	return l
}

type calendarFile struct {
	t    *testing.T
	path string
}

func newCalendarFile(t *testing.T) *calendarFile {
	return &calendarFile{t: t, path: filepath.Join(t.TempDir(), "home.ics")}
}

func (d *calendarFile) write(parts ...string) {
	d.t.Helper()
	if err := os.WriteFile(d.path, []byte(icsFile(parts...)), 0o600); err != nil {
		d.t.Fatal(err)
	}
}

func (d *calendarFile) openSensor() sensor.Sensor {
	s, err := New(Options{File: d.path, Zone: berlin})
	if err != nil {
		d.t.Fatal(err)
	}
	return s
}

// TestStates starts on Monday, 2 March 2026, at 10:00 in Berlin.
func TestStates(t *testing.T) {
	racetest.Skip(t, "one goroutine, which expands thousands of events")
	d := newCalendarFile(t)
	a := eventText("a", "SUMMARY:Review|DTSTART;TZID=Europe/Berlin:20260304T150000|DURATION:PT1H")
	moved := eventText("a", "SUMMARY:Review|SEQUENCE:1|DTSTART;TZID=Europe/Berlin:20260304T160000|DURATION:PT1H")
	later := eventText("a", "SUMMARY:Review|SEQUENCE:2|DTSTART;TZID=Europe/Berlin:20260401T160000|DURATION:PT1H")
	week := eventText("b", "SUMMARY:Standup|DTSTART:20260101T080000Z|RRULE:FREQ=DAILY;UNTIL=20260304T235959Z|EXDATE:20260303T080000Z")
	d.write(a)
	sensortest.Run(t, d.openSensor,
		sensortest.Step{Name: "first look", Reports: []string{"upcoming a 2026-03-04T14:00:00Z"}},
		sensortest.Step{Name: "time passes", Pass: 5 * time.Hour, Reports: []string{}},
		sensortest.Step{Name: "a day before", Pass: 24*time.Hour + 30*time.Minute, Reports: []string{"tomorrow a 2026-03-04T14:00:00Z"}},
		sensortest.Step{Name: "moved", Do: func() { d.write(moved) }, Reports: []string{"moved a 2026-03-04T15:00:00Z"}},
		sensortest.Step{Name: "another", Do: func() { d.write(moved, week) }, Reports: []string{"tomorrow b 2026-03-04T08:00:00Z"}},
		sensortest.Step{Name: "two hours before", Pass: 23 * time.Hour, Reports: []string{"soon a 2026-03-04T15:00:00Z"}},
		sensortest.Step{Name: "moved out of the window", Do: func() { d.write(later) }, Reports: []string{"moved a 2026-04-01T14:00:00Z"}},
		sensortest.Step{Name: "much later", Pass: 27*24*time.Hour + time.Hour, Reports: []string{"tomorrow a 2026-04-01T14:00:00Z"}},
		sensortest.Step{Name: "cancelled", Do: func() { d.write(strings.Replace(later, "SUMMARY", "STATUS:CANCELLED\nSUMMARY", 1)) }, Reports: []string{"cancelled a 2026-04-01T14:00:00Z"}},
		sensortest.Step{Name: "after all", Do: func() { d.write(later) }, Reports: []string{"tomorrow a 2026-04-01T14:00:00Z"}},
		sensortest.Step{Name: "deleted", Do: func() { d.write(eventText("x", "DTSTART:20200101T000000Z")) }, Reports: []string{"cancelled a 2026-04-01T14:00:00Z"}},
		sensortest.Step{Name: "many", Do: func() {
			var all []string
			for i := range 120 {
				all = append(all, eventText(fmt.Sprint("many", i), fmt.Sprintf("SUMMARY:M|DTSTART:20260401T%02d%02d00Z|DTEND:20260401T235000Z", 8+i/60, i%60)))
			}
			d.write(all...)
		}},
	)
}

func TestSeries(t *testing.T) {
	d := newCalendarFile(t)
	series := func(lines string) string { return eventText("s", "SUMMARY:Standup|"+lines) }
	base := "DTSTART;TZID=Europe/Berlin:20260101T093000|DURATION:PT15M|RRULE:FREQ=DAILY"
	d.write(series(base))
	sensortest.Run(t, d.openSensor,
		sensortest.Step{Name: "first look", Reports: []string{"tomorrow s 2026-03-03T08:30:00Z", "upcoming s 2026-03-04T08:30:00Z", "upcoming s 2026-03-05T08:30:00Z"}},
		sensortest.Step{Name: "one left out", Do: func() { d.write(series(base + "|EXDATE;TZID=Europe/Berlin:20260304T093000")) }, Reports: []string{"cancelled s 2026-03-04T08:30:00Z"}},
		sensortest.Step{Name: "one moved", Do: func() {
			d.write(series(base+"|EXDATE;TZID=Europe/Berlin:20260304T093000"),
				eventText("s", "SUMMARY:Standup|RECURRENCE-ID;TZID=Europe/Berlin:20260305T093000|DTSTART;TZID=Europe/Berlin:20260320T110000"))
		}, Reports: []string{"moved s 2026-03-20T10:00:00Z"}},
		sensortest.Step{Name: "all half an hour later", Do: func() {
			d.write(series(strings.ReplaceAll(base, "093000", "100000")),
				eventText("s", "SUMMARY:Standup|RECURRENCE-ID;TZID=Europe/Berlin:20260305T093000|DTSTART;TZID=Europe/Berlin:20260320T110000"))
		}, Reports: []string{"moved s 2026-03-03T09:00:00Z", "soon s 2026-03-02T09:00:00Z", "upcoming s 2026-03-04T09:00:00Z", "upcoming s 2026-03-05T09:00:00Z"}},
		sensortest.Step{Name: "broken for a while", Do: func() { d.write(series("DTSTART:soon")) }, Reports: []string{}},
	)
}

func TestDaysAndTasks(t *testing.T) {
	d := newCalendarFile(t)
	d.write(
		eventText("today", "SUMMARY:Fair|DTSTART;VALUE=DATE:20260302"),
		eventText("day", "SUMMARY:Holiday|DTSTART;VALUE=DATE:20260304"),
		eventText("past", "SUMMARY:Past|DTSTART;VALUE=DATE:20260301|DTEND;VALUE=DATE:20260309"),
		todoText("task", "SUMMARY:Tax|DUE;TZID=Europe/Berlin:20260303T120000"),
		todoText("done", "SUMMARY:Done|DUE;TZID=Europe/Berlin:20260303T120000|STATUS:COMPLETED"),
		todoText("open", "SUMMARY:Some day"),
	)
	sensortest.Run(t, d.openSensor,
		sensortest.Step{Name: "first look", Reports: []string{"today today 2026-03-02", "upcoming day 2026-03-04", "upcoming task 2026-03-03T11:00:00Z"}},
		sensortest.Step{Name: "the day before", Pass: 14 * time.Hour, Reports: []string{"tomorrow day 2026-03-04", "tomorrow task 2026-03-03T11:00:00Z"}},
		sensortest.Step{Name: "the task is done", Do: func() {
			d.write(eventText("day", "SUMMARY:Holiday|DTSTART;VALUE=DATE:20260304"), todoText("task", "SUMMARY:Tax|DUE;TZID=Europe/Berlin:20260303T120000|COMPLETED:20260302T000000Z"))
		}, Pass: 11 * time.Hour, Reports: []string{}},
		sensortest.Step{Name: "the day", Pass: 13 * time.Hour, Reports: []string{"today day 2026-03-04"}},
	)
}

func TestConflicts(t *testing.T) {
	d := newCalendarFile(t)
	d.write(
		eventText("a", "SUMMARY:A|DTSTART:20260304T100000Z|DTEND:20260304T110000Z"),
		eventText("b", "SUMMARY:B|DTSTART:20260304T103000Z|DTEND:20260304T120000Z"),
		eventText("c", "SUMMARY:C|DTSTART:20260304T120000Z|DTEND:20260304T130000Z"),
		eventText("free", "SUMMARY:Free|TRANSP:TRANSPARENT|DTSTART:20260304T100000Z|DTEND:20260304T130000Z"),
		eventText("day", "SUMMARY:Day|DTSTART;VALUE=DATE:20260304"),
	)
	told, cursor, err := d.openSensor().Look(t.Context(), sensortest.Start, nil)
	if err != nil {
		t.Fatal(err)
	}
	last := told[len(told)-1]
	want := `Two events are at the same time: "A" on Wed 4 Mar 2026 11:00 CET until 12:00, and "B" at 11:30 until 13:00.`
	if len(told) != 6 || last.State != "conflict" || last.Content != want || last.Subject != "conflict of a and b 2026-03-04T10:30:00Z" {
		t.Errorf("told %d, the last %+v", len(told), last)
	}
	if told, _, _ = d.openSensor().Look(t.Context(), sensortest.Start.Add(time.Hour), cursor); len(told) != 0 {
		t.Errorf("told again: %+v", told)
	}
}

func TestObservation(t *testing.T) {
	d := newCalendarFile(t)
	d.write(eventText("a", `SUMMARY:Board\, with "all"|DTSTART:20260302T103000Z|DTEND:20260302T113000Z|LOCATION:Room 1|ORGANIZER;CN="Bob; Miller":mailto:bob@example.com`))
	told, _, err := d.openSensor().Look(t.Context(), sensortest.Start, nil)
	if err != nil || len(told) != 1 {
		t.Fatal(told, err)
	}
	o := told[0]
	if want := `The event "Board, with 'all'" is on Mon 2 Mar 2026 11:30 CET until 12:30, at Room 1, invited by Bob; Miller.`; o.Content != want {
		t.Errorf("got %s\nwant %s", o.Content, want)
	}
	if o.State != "soon" || o.Level != 7 || !o.Untrusted || !o.Due.Equal(parseDate("2026-03-02 10:30")) || o.Source != d.path {
		t.Errorf("got %+v", o)
	}
}

func TestEmptiedCalendar(t *testing.T) {
	d := newCalendarFile(t)
	var all []string
	for i := range 5 {
		all = append(all, eventText(fmt.Sprint("e", i), fmt.Sprintf("SUMMARY:E|DTSTART:20260304T1%d0000Z", i)))
	}
	d.write(all...)
	sensortest.Run(t, d.openSensor,
		sensortest.Step{Name: "five"},
		sensortest.Step{Name: "none", Do: func() { d.write() }, Reports: []string{"emptied calendar " + d.path}},
		sensortest.Step{Name: "back", Do: func() { d.write(all[0]) }, Reports: []string{"upcoming e0 2026-03-04T10:00:00Z"}},
	)
}

func TestFolder(t *testing.T) {
	dir := t.TempDir()
	for i := range 3 {
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprint(i, ".ics")), []byte(icsFile(eventText(fmt.Sprint(i), "SUMMARY:E|DTSTART:20260304T100000Z"))), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s, err := New(Options{File: dir, Zone: berlin})
	if err != nil {
		t.Fatal(err)
	}
	if told, _, err := s.Look(t.Context(), sensortest.Start, nil); err != nil || len(told) != 3 {
		t.Errorf("told %+v, %v", told, err)
	}
}

func TestFaults(t *testing.T) {
	dir := t.TempDir()
	for name, content := range map[string]string{"page.ics": "<html>", "cut.ics": icsFile(eventText("a", "DTSTART:20260304T100000Z"))[:60], "large.ics": strings.Repeat("x", maxFile+1), "empty.ics": ""} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		s, err := New(Options{File: path})
		if err != nil {
			t.Fatal(err)
		}
		given := json.RawMessage(`{"x":1}`)
		told, next, err := s.Look(t.Context(), sensortest.Start, given)
		if err == nil || strings.Contains(err.Error(), "\n") || len(told) > 0 || string(next) != string(given) {
			t.Errorf("%s: told %+v, %v", name, told, err)
		}
	}
	for _, o := range []Options{{}, {File: "a", URL: "https://x"}, {URL: "ftp://x/y"}, {URL: "x"}, {CalDAV: "http://dav.example.org/", Password: "p"}, {CalDAV: "https://u:p@dav.example.org/"}} {
		if _, err := New(o); err == nil {
			t.Errorf("%+v: no error", o)
		}
	}
}
