package calendar

import (
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"ponder/internal/racetest"
	"ponder/sensor"
	"ponder/sensor/sensortest"
)

const vtimezone = `BEGIN:VTIMEZONE
TZID:Home Town
BEGIN:STANDARD
DTSTART:16011028T030000
RRULE:FREQ=YEARLY;BYDAY=-1SU;BYMONTH=10
TZOFFSETFROM:+0200
TZOFFSETTO:+0100
END:STANDARD
BEGIN:DAYLIGHT
DTSTART:16010325T020000
RRULE:FREQ=YEARLY;BYDAY=-1SU;BYMONTH=3
TZOFFSETFROM:+0100
TZOFFSETTO:+0200
END:DAYLIGHT
END:VTIMEZONE
`

// TestBetween lists the occurrences of a few days in UTC.
func TestBetween(t *testing.T) {
	tests := []struct{ name, from, calendar, want string }{
		{"as clocks go forward", "2026-03-28 00:00", eventText("a", "DTSTART;TZID=Europe/Berlin:20260101T090000|RRULE:FREQ=DAILY"), "28 08:00, 29 07:00, 30 07:00"},
		{"an hour that is skipped", "2026-03-28 00:00", eventText("a", "DTSTART;TZID=Europe/Berlin:20260101T023000|RRULE:FREQ=DAILY"), "28 01:30, 29 01:30, 30 00:30"},
		{"an hour that is there twice", "2026-10-24 00:00", eventText("a", "DTSTART;TZID=Europe/Berlin:20260101T023000|RRULE:FREQ=DAILY"), "24 00:30, 25 00:30, 26 01:30"},
		{"New York, while Berlin waits", "2026-03-07 00:00", eventText("a", "DTSTART;TZID=America/New_York:20260101T120000|RRULE:FREQ=DAILY"), "07 17:00, 08 16:00, 09 16:00"},
		{"a name of Windows", "2026-03-28 00:00", eventText("a", "DTSTART;TZID=W. Europe Standard Time:20260101T090000|RRULE:FREQ=DAILY"), "28 08:00, 29 07:00, 30 07:00"},
		{"a quoted name", "2026-03-28 00:00", eventText("a", `DTSTART;TZID="Pacific Standard Time":20260101T090000|RRULE:FREQ=DAILY`), "28 16:00, 29 16:00, 30 16:00"},
		{"a name with a path", "2026-03-28 00:00", eventText("a", "DTSTART;TZID=/mozilla.org/20050126_1/Europe/Berlin:20260101T090000|RRULE:FREQ=DAILY"), "28 08:00, 29 07:00, 30 07:00"},
		{"a zone of the calendar's own", "2026-03-28 00:00", vtimezone + eventText("a", "DTSTART;TZID=Home Town:20260101T090000|RRULE:FREQ=DAILY"), "28 08:00, 29 07:00, 30 07:00"},
		{"a zone nobody knows", "2026-03-28 00:00", eventText("a", "DTSTART;TZID=../../etc/passwd:20260101T090000|RRULE:FREQ=DAILY"), "28 08:00, 29 07:00, 30 07:00"},
		{"no zone", "2026-03-28 00:00", eventText("a", "DTSTART:20260328T090000"), "28 08:00"},
		{"UTC", "2026-03-28 00:00", eventText("a", "DTSTART:20260101T090000Z|RRULE:FREQ=DAILY"), "28 09:00, 29 09:00, 30 09:00"},
		{"a day", "2026-03-27 23:00", eventText("a", "DTSTART;VALUE=DATE:20260328"), "27 23:00"},
		{"days", "2026-03-28 12:00", eventText("a", "DTSTART;VALUE=DATE:20260101|RRULE:FREQ=DAILY|EXDATE;VALUE=DATE:20260330"), "28 23:00, 30 22:00"},
		{"a count", "2026-03-02 00:00", eventText("a", "DTSTART:20260301T090000Z|RRULE:FREQ=DAILY;COUNT=3"), "02 09:00, 03 09:00"},
		{"a count, one left out", "2026-03-01 00:00", eventText("a", "DTSTART:20260301T090000Z|RRULE:FREQ=DAILY;COUNT=3|EXDATE:20260302T090000Z"), "01 09:00, 03 09:00"},
		{"until", "2026-03-01 00:00", eventText("a", "DTSTART;TZID=Europe/Berlin:20260101T090000|RRULE:FREQ=DAILY;UNTIL=20260302T080000Z"), "01 08:00, 02 08:00"},
		{"weekdays", "2026-03-06 00:00", eventText("a", "DTSTART:20260101T090000Z|RRULE:FREQ=WEEKLY;BYDAY=MO,TU,WE,TH,FR"), "06 09:00"},
		{"the last Friday", "2026-03-26 00:00", eventText("a", "DTSTART:20250131T160000Z|RRULE:FREQ=MONTHLY;BYDAY=-1FR"), "27 16:00"},
		{"not the last Friday", "2026-03-19 00:00", eventText("a", "DTSTART:20250131T160000Z|RRULE:FREQ=MONTHLY;BYDAY=-1FR"), ""},
		{"more days", "2026-03-01 00:00", eventText("a", "DTSTART:20260301T090000Z|RDATE:20260302T100000Z,20260303T110000Z/PT1H"), "01 09:00, 02 10:00, 03 11:00"},
		{"all times of a day left out", "2026-03-01 00:00", eventText("a", "DTSTART:20260301T090000Z|RRULE:FREQ=HOURLY;INTERVAL=6|EXDATE;VALUE=DATE:20260302"), "01 09:00, 01 15:00, 01 21:00, 03 03:00, 03 09:00, 03 15:00, 03 21:00"},
		{"one is another", "2026-03-01 00:00", eventText("a", "DTSTART:20260301T090000Z|RRULE:FREQ=DAILY") + eventText("a", "RECURRENCE-ID:20260302T090000Z|DTSTART:20260302T140000Z"), "01 09:00, 02 14:00, 03 09:00"},
		{"one is far away", "2026-03-01 00:00", eventText("a", "DTSTART:20260301T090000Z|RRULE:FREQ=DAILY") + eventText("a", "RECURRENCE-ID:20260302T090000Z|DTSTART:20260502T140000Z"), "01 09:00, 03 09:00"},
		{"one comes from far away", "2026-03-01 00:00", eventText("a", "DTSTART:20260301T090000Z|RRULE:FREQ=WEEKLY") + eventText("a", "RECURRENCE-ID:20260308T090000Z|DTSTART:20260302T140000Z"), "01 09:00, 02 14:00"},
		{"its zone has another name", "2026-03-01 00:00", eventText("a", "DTSTART;TZID=Europe/Berlin:20260301T090000|RRULE:FREQ=DAILY") + eventText("a", "RECURRENCE-ID:20260302T080000Z|DTSTART:20260302T140000Z"), "01 08:00, 02 14:00, 03 08:00"},
		{"the later version", "2026-03-01 00:00", eventText("a", "SEQUENCE:2|DTSTART:20260302T090000Z") + eventText("a", "SEQUENCE:1|DTSTART:20260301T090000Z"), "02 09:00"},
		{"a broken one beside it", "2026-03-01 00:00", eventText("x", "DTSTART:nonsense") + "RUBBISH\n" + eventText("a", "DTSTART:20260302T090000Z"), "02 09:00"},
		{"folded lines, parameters in quotes", "2026-03-01 00:00", eventText("a", "DTSTART;X-A=\"a:b;c\";TZID=Europe/Be\n rlin:202603\n\t02T090000"), "02 08:00"},
		{"something nested", "2026-03-01 00:00", eventText("a", "BEGIN:VALARM|DTSTART:20260301T090000Z|END:VALARM|DTSTART:20260302T090000Z"), "02 09:00"},
		{"a second that never ends", "2026-03-02 00:00", eventText("a", "DTSTART:20260101T090000Z|RRULE:FREQ=SECONDLY;BYMONTH=2;BYMONTHDAY=30") + eventText("b", "DTSTART:20260302T090000Z"), "02 09:00"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			objects, err := parseCalendar([]byte(icsFile(tt.calendar)))
			if err != nil {
				t.Fatal(err)
			}
			from := parseDate(tt.from)
			var got []string
			for _, i := range newSchedule(objects, berlin, from).listInstances(from, from.Add(72*time.Hour)) {
				got = append(got, i.start.UTC().Format("02 15:04"))
			}
			if all := strings.Join(got, ", "); all != tt.want {
				t.Errorf("got  %s\nwant %s", all, tt.want)
			}
		})
	}
}

// TestHostileCalendars checks that slow calendars are read within bounds.
func TestHostileCalendars(t *testing.T) {
	racetest.Skip(t, "one goroutine, which expands thousands of events")
	many := func(n int, part func(i int) string) string {
		var b strings.Builder
		for i := range n {
			b.WriteString(part(i))
		}
		return b.String()
	}
	for name, c := range map[string]string{
		"rules": many(2000, func(i int) string {
			return eventText(fmt.Sprint(i), "DTSTART:00010101T000000Z|RRULE:FREQ=SECONDLY;COUNT=999999999")
		}),
		"never": many(2000, func(i int) string {
			return eventText(fmt.Sprint(i), "DTSTART:20200101T000000Z|RRULE:FREQ=DAILY;BYMONTH=2;BYMONTHDAY=30;COUNT=9")
		}),
		"left out": many(20, func(i int) string {
			return eventText(fmt.Sprint(i), "DTSTART:20260302T000000Z|RRULE:FREQ=HOURLY"+strings.Repeat("|EXDATE:"+strings.Repeat("20260302T000000Z,", 900), 10))
		}),
		"deep":     strings.Repeat("BEGIN:VEVENT\n", 100_000) + strings.Repeat("END:VEVENT\n", 100_000),
		"one line": "SUMMARY;A=" + strings.Repeat("x", 4<<20) + "\n",
		"folds":    "SUMMARY:a\n" + strings.Repeat(" b\n", 1_000_000),
		"quotes": many(3000, func(i int) string {
			return eventText(fmt.Sprint(i), "DTSTART;"+strings.Repeat(`"`, 1000)+":20260302T000000Z")
		}),
		"zones": many(3000, func(i int) string {
			return strings.ReplaceAll(vtimezone, "Home Town", fmt.Sprint("Z", i)) + eventText(fmt.Sprint(i), fmt.Sprintf("DTSTART;TZID=Z%d:20260302T120000", i))
		}),
		"same time": many(3000, func(i int) string { return eventText(fmt.Sprint(i), "DTSTART:20260302T120000Z|DTEND:20260302T130000Z") }),
		"long names": many(300, func(i int) string {
			return eventText(strings.Repeat("\"<", 500)+fmt.Sprint(i), "SUMMARY:"+strings.Repeat("<&>", 500)+"\x1b[2J|DTSTART:20260302T120000Z")
		}),
	} {
		t.Run(name, func(t *testing.T) {
			d := newCalendarFile(t)
			d.write(c)
			s := d.openSensor()
			told, cursor, err := s.Look(t.Context(), sensortest.Start, nil)
			if err != nil || len(told) > sensor.MaxLook || len(cursor) > sensor.MaxCursor {
				t.Fatalf("%d observations, %d bytes of cursor, %v", len(told), len(cursor), err)
			}
			for range 9 { // until everything is reported
				if told, cursor, err = s.Look(t.Context(), sensortest.Start, cursor); err != nil || len(told) == 0 {
					break
				}
			}
			if len(told) > 0 || len(cursor) > sensor.MaxCursor {
				t.Errorf("%d observations, %d bytes of cursor, %v", len(told), len(cursor), err)
			}
		})
	}
}

func FuzzCalendar(f *testing.F) {
	f.Add(icsFile(eventText("a", "SUMMARY:S|DTSTART;TZID=Europe/Berlin:20260302T120000|RRULE:FREQ=DAILY;COUNT=3|EXDATE:20260303T110000Z")), 60)
	f.Add(icsFile(vtimezone, eventText("a", "DTSTART;TZID=Home Town:20260302T120000"), todoText("b", "DUE;VALUE=DATE:20260303")), 3000)
	f.Add(icsFile(eventText("a", "DTSTART:20260301T090000Z|RRULE:FREQ=YEARLY;BYWEEKNO=-1;BYSETPOS=-1")+eventText("a", "RECURRENCE-ID:20260302T090000Z|DTSTART:20260502T140000Z")), 0)
	f.Fuzz(func(t *testing.T, file string, minutes int) {
		objects, err := parseCalendar([]byte(file))
		if err != nil || !utf8.ValidString(file) && len(file) > 1<<16 {
			return
		}
		var kept []reportRecord
		now := sensortest.Start.In(berlin)
		for range 3 {
			d := &changeDetector{now: now, until: now.Add(defaultAhead), zone: berlin, location: "x"}
			d.loadRecords(kept)
			d.schedule = newSchedule(objects, berlin, now)
			d.compareAll()
			for _, o := range d.observations {
				if fault := sensortest.Violation(o); fault != "" {
					t.Fatalf("%s: %+v", fault, o)
				}
			}
			kept = d.recordsToKeep()
			now = now.Add(time.Duration(min(max(minutes, 0), 1e6)) * time.Minute)
		}
	})
}
