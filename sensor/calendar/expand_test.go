package calendar

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/teambition/rrule-go"

	"ponder/internal/racetest"
)

// parseDate parses a wall time.
func parseDate(s string) time.Time {
	t, err := time.Parse("2006-01-02 15:04", s)
	if err != nil {
		panic(err)
	}
	return t
}

func TestExpand(t *testing.T) {
	tests := []struct{ rule, start, from, want string }{ // the window has 40 days
		{"FREQ=DAILY;COUNT=3", "2026-03-01 09:00", "2026-03-01 00:00", "03-01 09:00, 03-02 09:00, 03-03 09:00"},
		{"FREQ=DAILY;COUNT=1000", "2023-07-01 09:00", "2026-03-26 00:00", "03-26 09:00"},
		{"FREQ=DAILY;UNTIL=20260303T090000Z", "2020-01-01 09:00", "2026-03-01 12:00", "03-02 09:00, 03-03 09:00"},
		{"FREQ=DAILY;UNTIL=20260303", "2020-01-01 09:00", "2026-03-01 12:00", "03-02 09:00, 03-03 09:00"},
		{"FREQ=DAILY;UNTIL=20100101", "2020-01-01 09:00", "2026-03-01 12:00", ""},
		{"FREQ=WEEKLY;BYDAY=MO,WE;UNTIL=20260312", "2026-01-05 10:00", "2026-03-01 00:00", "03-02 10:00, 03-04 10:00, 03-09 10:00, 03-11 10:00"},
		{"FREQ=WEEKLY;INTERVAL=2;WKST=SU;BYDAY=TU,SU", "1997-08-05 09:00", "1997-08-05 00:00", "08-05 09:00, 08-17 09:00, 08-19 09:00, 08-31 09:00, 09-02 09:00"},
		{"FREQ=WEEKLY;INTERVAL=2;WKST=MO;BYDAY=TU,SU;COUNT=4", "1997-08-05 09:00", "1997-08-05 00:00", "08-05 09:00, 08-10 09:00, 08-19 09:00, 08-24 09:00"},
		{"FREQ=MONTHLY;BYDAY=-1FR", "2020-01-31 16:00", "2026-03-01 00:00", "03-27 16:00"},
		{"FREQ=MONTHLY;BYDAY=MO,TU,WE,TH,FR;BYSETPOS=-1", "2020-01-31 16:00", "2026-05-01 00:00", "05-29 16:00"},
		{"FREQ=MONTHLY;BYMONTHDAY=31", "2025-01-31 16:00", "2026-02-01 00:00", ""},
		{"FREQ=MONTHLY;BYMONTHDAY=-1", "2025-01-31 16:00", "2026-02-01 00:00", "02-28 16:00"},
		{"FREQ=YEARLY", "1984-03-10 00:00", "2026-03-01 00:00", "03-10 00:00"},
		{"FREQ=YEARLY", "1984-02-29 00:00", "2026-02-10 00:00", ""},
		{"FREQ=YEARLY;BYMONTH=11;BYDAY=1TU", "2000-11-07 08:00", "2026-10-20 00:00", "11-03 08:00"},
		{"FREQ=YEARLY;BYWEEKNO=20;BYDAY=MO", "1997-05-12 09:00", "1998-05-01 00:00", "05-11 09:00"},
		{"FREQ=YEARLY;BYYEARDAY=-1", "1997-12-31 09:00", "2026-12-01 00:00", "12-31 09:00"},
		{"FREQ=HOURLY;INTERVAL=8;COUNT=4", "2026-03-01 07:30", "2026-03-01 00:00", "03-01 07:30, 03-01 15:30, 03-01 23:30, 03-02 07:30"},
		{"FREQ=MINUTELY;INTERVAL=20;BYHOUR=9;BYMONTHDAY=3", "2026-01-01 00:00", "2026-03-01 00:00", "03-03 09:00, 03-03 09:20, 03-03 09:40, 04-03 09:00, 04-03 09:20, 04-03 09:40"},
		{"FREQ=DAILY;BYHOUR=9,17;BYMINUTE=0,30;COUNT=5", "2026-03-01 09:00", "2026-03-01 00:00", "03-01 09:00, 03-01 09:30, 03-01 17:00, 03-01 17:30, 03-02 09:00"},
	}
	for _, tt := range tests {
		r, err := parseRule(tt.rule, time.UTC)
		if err != nil {
			t.Errorf("%s: %v", tt.rule, err)
			continue
		}
		steps := maxAllSteps
		from := parseDate(tt.from)
		found, ok := expandRule(r, parseDate(tt.start), from, from.AddDate(0, 0, 40), &steps)
		var got []string
		for _, f := range found {
			got = append(got, f.Format("01-02 15:04"))
		}
		if all := strings.Join(got, ", "); !ok || !strings.HasPrefix(all, tt.want) || tt.want == "" && all != "" || strings.Contains(tt.rule, "COUNT") && !strings.Contains(tt.rule, "1000") && all != tt.want {
			t.Errorf("%s: got %s, %v; want %s", tt.rule, all, ok, tt.want)
		}
	}
}

func TestBadRules(t *testing.T) {
	for _, s := range []string{
		"", "FREQ", "FREQ=NEVER", "FREQ=DAILY;INTERVAL=0", "FREQ=DAILY;INTERVAL=-1", "FREQ=DAILY;COUNT=x", "FREQ=DAILY;BYDAY=XX", "FREQ=DAILY;BYDAY=99MO",
		"FREQ=YEARLY;BYMONTH=13", "FREQ=YEARLY;BYMONTHDAY=0", "FREQ=DAILY;UNTIL=soon", "FREQ=DAILY;BYHOUR=24", "FREQ=DAILY;INTERVAL=99999999999999999999", "FREQ=DAILY;BYSETPOS=1000",
	} {
		if r, err := parseRule(s, time.UTC); err == nil {
			t.Errorf("%q: got %+v", s, r)
		}
	}
}

// TestHostileRules checks that endless and empty rules stay within their budget.
func TestHostileRules(t *testing.T) {
	for _, s := range []string{
		"FREQ=SECONDLY", "FREQ=SECONDLY;COUNT=1000000000", "FREQ=SECONDLY;BYMONTH=2;BYMONTHDAY=30", "FREQ=MINUTELY;BYSECOND=59;BYMONTH=2;BYMONTHDAY=30",
		"FREQ=DAILY;BYMONTH=2;BYMONTHDAY=30;COUNT=5", "FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=30;COUNT=5", "FREQ=YEARLY;INTERVAL=100000;BYMONTH=2;BYMONTHDAY=30",
		"FREQ=SECONDLY;INTERVAL=100000;COUNT=1000000000", "FREQ=WEEKLY;COUNT=1000000000", "FREQ=SECONDLY;BYHOUR=3;BYMINUTE=7;BYSECOND=8;COUNT=100000",
		"FREQ=YEARLY;BYDAY=MO,TU,WE,TH,FR,SA,SU;BYHOUR=" + numberList(24) + ";BYMINUTE=" + numberList(60) + ";BYSECOND=" + numberList(60) + ";BYSETPOS=-1",
		"FREQ=YEARLY;BYDAY=MO,TU,WE,TH,FR,SA,SU;BYHOUR=" + numberList(24) + ";BYMINUTE=" + numberList(60) + ";BYSETPOS=-1;COUNT=100",
	} {
		r, err := parseRule(s, time.UTC)
		if err != nil {
			t.Errorf("%s: %v", s, err)
			continue
		}
		for _, start := range []string{"0001-01-01 00:00", "2026-03-01 00:00"} {
			steps := maxAllSteps
			found, _ := expandRule(r, parseDate(start), parseDate("2026-03-02 00:00"), parseDate("2026-03-05 00:00"), &steps)
			if used := maxAllSteps - steps; len(found) > maxInstances || used > maxSteps+2*maxTimes*366 {
				t.Errorf("%s from %s: %d found in %d steps", s, start, len(found), used)
			}
		}
	}
}

func numberList(n int) string {
	var out []string
	for i := range n {
		out = append(out, fmt.Sprint(i))
	}
	return strings.Join(out, ",")
}

// TestExpandAsOthers compares random rules with another implementation.
func TestExpandAsOthers(t *testing.T) {
	racetest.Skip(t, "one goroutine, which expands thousands of events")
	rnd := rand.New(rand.NewPCG(7, 11))
	pick := func(from ...string) string { return from[rnd.IntN(len(from))] }
	checked := 0
	for range 250 {
		f := pick("YEARLY", "MONTHLY", "WEEKLY", "DAILY", "HOURLY", "MINUTELY")
		s := "FREQ=" + f + ";INTERVAL=" + pick("1", "1", "2", "3", "7")
		s += pick("", "", ";COUNT="+fmt.Sprint(1+rnd.IntN(300)), ";UNTIL=20260320T120000Z")
		s += pick("", "", ";BYMONTH=3", ";BYMONTH=2,3,11") + pick("", "", "", ";BYMONTHDAY=1,15,-1", ";BYMONTHDAY=13")
		if f == "YEARLY" || f == "MONTHLY" {
			s += pick("", ";BYDAY=-1FR", ";BYDAY=1MO,3WE", ";BYDAY=FR", ";BYDAY=MO,TU,WE,TH,FR;BYSETPOS=-1,1")
		} else {
			s += pick("", "", ";BYDAY=MO,WE", ";BYDAY=SU;WKST=SU")
		}
		if f == "YEARLY" {
			s += pick("", "", ";BYWEEKNO=10,53,-1", ";BYYEARDAY=60,-1,100")
		}
		if f == "HOURLY" || f == "MINUTELY" { // an hourly rule without a match would take hours there
			s = "FREQ=" + f + ";INTERVAL=" + pick("1", "3", "8", "50") + pick("", ";COUNT=900") + pick("", ";BYDAY=MO,WE")
		} else {
			s += pick("", "", ";BYHOUR=9,17", ";BYHOUR=8;BYMINUTE=0,45")
		}
		start := parseDate("2020-01-01 09:00").AddDate(rnd.IntN(7), rnd.IntN(12), rnd.IntN(31)).Add(time.Duration(rnd.IntN(48)) * 30 * time.Minute)
		if f == "HOURLY" || f == "MINUTELY" {
			start = parseDate("2026-02-20 09:00").AddDate(0, 0, rnd.IntN(20))
		}
		from := parseDate("2026-03-01 00:00").Add(time.Duration(rnd.IntN(40*24)) * time.Hour)
		to := from.Add(72 * time.Hour)

		theirs, err := rrule.StrToRRule("DTSTART:" + start.Format("20060102T150405Z") + "\nRRULE:" + s)
		if err != nil {
			t.Fatalf("%s: %v", s, err)
		}
		want := theirs.Between(from, to, true)
		r, err := parseRule(s, time.UTC)
		if err != nil {
			t.Fatalf("%s: %v", s, err)
		}
		steps := maxAllSteps
		got, ok := expandRule(r, start, from, to, &steps)
		if !ok || len(got) == maxInstances {
			continue
		}
		if checked++; !slices.EqualFunc(got, want, time.Time.Equal) {
			t.Fatalf("%s from %v in %v:\ngot  %v\nwant %v", s, start, from, got, want)
		}
	}
	if checked < 180 {
		t.Errorf("only %d rules were checked", checked)
	}
}
