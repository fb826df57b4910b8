package subconscious

import (
	"cmp"
	"hash/fnv"
	"ponder/internal/textkit"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Want is a look-up that a role requests. Roles have no tools, so the look-up runs between ticks.
// Its results are observations of the role's [LookUpSensor] with the subject Text.
type Want struct {
	Role string    `json:"role"`
	Text string    `json:"text"`
	Tick int       `json:"tick"`
	At   time.Time `json:"at"`
}

// Asked records a request, by role and words.
type Asked struct {
	Key string    `json:"key"`
	At  time.Time `json:"at"`
}

// LookUpKind is the sensor kind of look-up results.
const LookUpKind = "lookup"

// LookUpSensor returns the sensor of a role's look-up results, which only that role sees.
func LookUpSensor(role string) string { return LookUpKind + ":" + role }

// States of look-up results. An empty result does not make a role look again.
const (
	LookedFound   = "found"
	LookedNothing = "nothing"
)

// Looks says where a role's requests are looked up.
type Looks string

const (
	LooksNone   Looks = ""
	LooksMemory Looks = "memory"
	LooksWeb    Looks = "web"
)

const (
	leastWanted = 3   // letters
	mostWanted  = 120 // letters
	maxWanted   = 8
	mostAsked   = 200
	wantedAgain = time.Hour      // minimum time between requests of a role
	askedAgain  = 24 * time.Hour // minimum time between equal requests
)

// isLookUp reports whether a sensor returns look-up results. They are not news: they reinforce
// nothing and revive no settled topic.
func isLookUp(sensor string) bool { return sensorKind(sensor) == LookUpKind }

// wantedText returns s without search syntax, or "" if it is no valid request.
func wantedText(s string) string {
	s = strings.Map(func(r rune) rune {
		if unicode.In(r, unicode.L, unicode.M, unicode.N) || strings.ContainsRune(" .,'’&+-", r) {
			return r
		}
		return ' '
	}, textkit.VisibleLine(s, 8*mostWanted))
	list := strings.Fields(s)
	for i, w := range list {
		list[i] = strings.Trim(w, ".,'’&+-")
	}
	list = slices.DeleteFunc(list, func(w string) bool { return w == "" })
	for utf8.RuneCountInString(strings.Join(list, " ")) > mostWanted {
		list = list[:len(list)-1]
	}
	s = strings.Join(list, " ")
	letters := 0
	for _, r := range s {
		if unicode.IsLetter(r) {
			letters++
		}
	}
	if letters < leastWanted || !tells(s) {
		return ""
	}
	return s
}

func askedKey(role, words string) string {
	stems := stemsOf(words)
	slices.Sort(stems)
	h := fnv.New64a()
	h.Write([]byte(role + "\x00" + cmp.Or(strings.Join(stems, " "), strings.ToLower(words))))
	return strconv.FormatUint(h.Sum64(), 36)
}

// want stores a role's look-up request: one an hour, an equal one once a day. It refuses requests
// possibly caused by untrusted text, earlier look-ups alone, or chained hints.
func (m *merge) want(r Report, led bool) {
	a := &m.state.Aside
	drop(&a.Wanted, func(w Want) bool { return m.now.Sub(w.At) >= wantedAgain })
	drop(&a.Asked, func(o Asked) bool { return m.now.Sub(o.At) >= askedAgain })
	words := wantedText(r.LookUp)
	if words == "" || led || r.Untrusted || r.Unaided || m.by[r.Role].Looks == LooksNone || len(a.Wanted) >= maxWanted {
		return
	}
	key := askedKey(r.Role, words)
	if slices.ContainsFunc(a.Wanted, func(w Want) bool { return w.Role == r.Role }) || slices.ContainsFunc(a.Asked, func(o Asked) bool { return o.Key == key }) {
		return
	}
	a.Wanted = append(a.Wanted, Want{Role: r.Role, Text: words, Tick: within(m.in.Tick, 0, maxNumber), At: m.now})
	a.Asked = last(append(a.Asked, Asked{Key: key, At: m.now}), mostAsked)
}

// recalled reports whether all that is new to a role in this tick is look-up results.
func (m *merge) recalled(role string) bool {
	read, given, any := m.state.Aside.Read[role], m.in.Given[role], false
	for _, o := range m.in.Seen {
		switch {
		case o.Seq <= read || o.Seq > given || !m.by[role].Sees(o.Observation):
		case isLookUp(o.Sensor):
			any = true
		default:
			return false
		}
	}
	return any
}

func (a Aside) boundWanted(out *Aside) {
	for _, w := range last(a.Wanted, maxWanted) {
		if w.Text = wantedText(w.Text); w.Text != "" && isName(w.Role) {
			w.Tick, w.At = within(w.Tick, 0, maxNumber), plain(w.At)
			out.Wanted = append(out.Wanted, w)
		}
	}
	for _, o := range last(a.Asked, mostAsked) {
		if isName(o.Key) {
			o.At = plain(o.At)
			out.Asked = append(out.Asked, o)
		}
	}
}
