package calendar

import (
	"cmp"
	"encoding/binary"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/teambition/rrule-go"
)

// A zoneResolver resolves names of time zones.
type zoneResolver struct {
	user    *time.Location
	now     time.Time
	defined map[string]*object // definitions in the calendar, by name
	found   map[string]*time.Location
	steps   *int
}

const maxZones = 200 // of a calendar

var zoneName = regexp.MustCompile(`^[A-Za-z]{2,20}(?:[A-Za-z0-9_+-]{0,30})(?:/[A-Za-z0-9_+-]{1,30}){0,2}$`)

// lookupZone returns the zone with an IANA name, a Windows name or a definition in the calendar.
// Otherwise it returns the user's zone.
func (z *zoneResolver) lookupZone(name string) *time.Location {
	if name == "" {
		return z.user
	}
	if l := z.found[name]; l != nil {
		return l
	}
	l := z.resolveName(name)
	if len(z.found) < maxZones {
		z.found[name] = l
	}
	return l
}

func (z *zoneResolver) resolveName(name string) *time.Location {
	own := z.defined[name]
	names := []string{name, windowsZones[strings.ToLower(name)]}
	if own != nil {
		names = append(names, own.unescapedText("X-LIC-LOCATION"))
	} else if parts := strings.Split(name, "/"); len(parts) > 2 { // "/mozilla.org/20050126_1/Europe/Berlin"
		names = append(names, strings.Join(parts[len(parts)-2:], "/"))
	}
	for _, n := range names {
		if n != "Local" && zoneName.MatchString(n) {
			if l, err := time.LoadLocation(n); err == nil {
				return l
			}
		}
	}
	if own != nil {
		if l := z.buildZone(own); l != nil {
			return l
		}
	}
	return z.user
}

type onset struct {
	unix     int64
	from, to int // offsets in seconds
}

// horizon limits the computed onsets around now.
const horizon = 2 * 366 * 24 * time.Hour

func (z *zoneResolver) buildZone(def *object) *time.Location {
	var onsets []onset
	last := onset{unix: -1 << 62}
	for _, o := range def.children {
		start, _, err := parseWall(firstValue(o, "DTSTART"))
		from, ok1 := parseOffset(firstValue(o, "TZOFFSETFROM"))
		to, ok2 := parseOffset(firstValue(o, "TZOFFSETTO"))
		if err != nil || !ok1 || !ok2 || len(onsets) > 100 {
			continue
		}
		if u := start.Unix(); u > last.unix && u < z.now.Unix() {
			last = onset{u, from, to}
		}
		for _, wall := range z.onsetTimes(o, start) {
			onsets = append(onsets, onset{wall.Unix() - int64(from), from, to})
		}
	}
	if len(onsets) == 0 && last.unix == -1<<62 {
		return nil
	}
	slices.SortStableFunc(onsets, func(a, b onset) int { return cmp.Compare(a.unix, b.unix) })
	first := last.to
	if len(onsets) > 0 {
		first = onsets[0].from
	}
	l, err := time.LoadLocationFromTZData("calendar", encodeTZif(first, onsets))
	if err != nil {
		return nil
	}
	return l
}

// onsetTimes returns the wall times within the horizon at which an observance starts.
func (z *zoneResolver) onsetTimes(o *object, start time.Time) (walls []time.Time) {
	from, to := z.now.Add(-horizon), z.now.Add(horizon)
	if _, recurs := o.firstProp("RRULE"); !recurs && !start.Before(from) && start.Before(to) {
		walls = append(walls, start)
	}
	for _, p := range o.props {
		switch p.name {
		case "RRULE":
			if r, err := parseRule(p.value, time.UTC); err == nil && r.Freq <= rrule.DAILY {
				more, _ := expandRule(r, start, from, to, z.steps) // partial results suffice
				walls = append(walls, more[:min(len(more), 20)]...)
			}
		case "RDATE":
			if t, _, err := parseWall(p.value); err == nil && !t.Before(from) && t.Before(to) {
				walls = append(walls, t)
			}
		}
	}
	return walls
}

func firstValue(o *object, name string) string {
	p, _ := o.firstProp(name) // none: empty
	return strings.TrimSpace(p.value)
}

// parseOffset parses "+0100" or "-043000" into seconds.
func parseOffset(s string) (int, bool) {
	if len(s) != 5 && len(s) != 7 || s[0] != '+' && s[0] != '-' {
		return 0, false
	}
	n, err := strconv.Atoi(s[1:])
	if len(s) == 5 {
		n *= 100
	}
	seconds := n/10000*3600 + n/100%100*60 + n%100
	if s[0] == '-' {
		seconds = -seconds
	}
	return seconds, err == nil && seconds > -20*3600 && seconds < 20*3600
}

// encodeTZif encodes a zone in the format of RFC 8536, version 2.
func encodeTZif(first int, onsets []onset) []byte {
	header := func(b []byte, times, types int) []byte {
		b = append(b, "TZif2"...)
		b = append(b, make([]byte, 15)...)
		for _, n := range []int{0, 0, 0, times, types, 2} { // UTC, standard, leap, times, types, letters
			b = binary.BigEndian.AppendUint32(b, uint32(n))
		}
		return b
	}
	b := header(nil, 0, 1)
	b = append(b, 0, 0, 0, 0, 0, 0, 'X', 0) // version 1: UTC
	b = header(b, len(onsets), len(onsets)+1)
	for _, o := range onsets {
		b = binary.BigEndian.AppendUint64(b, uint64(o.unix))
	}
	for i := range onsets {
		b = append(b, byte(i+1))
	}
	for i := -1; i < len(onsets); i++ {
		seconds := first
		if i >= 0 {
			seconds = onsets[i].to
		}
		b = append(binary.BigEndian.AppendUint32(b, uint32(int32(seconds))), 0, 0)
	}
	return append(b, "X\x00\n\n"...)
}

// wallToTime converts a wall time. A skipped time uses the offset before the change; of two times the
// first counts (RFC 5545).
func wallToTime(wall time.Time, zone *time.Location) time.Time {
	for _, day := range []int{-1, 1} {
		_, off := wall.AddDate(0, 0, day).In(zone).Zone()
		if t := wall.Add(-time.Duration(off) * time.Second).In(zone); wallOf(t).Equal(wall) {
			return t
		}
	}
	_, off := wall.AddDate(0, 0, -1).In(zone).Zone()
	return wall.Add(-time.Duration(off) * time.Second).In(zone)
}
