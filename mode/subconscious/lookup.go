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

// A Want is something that a role wants looked up: a role has no tools, so that is done
// between ticks. It is answered by observations of the sensor [LookUpSensor] of the role
// whose subject is Text.
type Want struct {
	Role string    `json:"role"`
	Text string    `json:"text"` // letters, digits and blanks, and little else
	Tick int       `json:"tick"`
	At   time.Time `json:"at"`
}

// An Asked is what was wanted, by a role and words.
type Asked struct {
	Key string    `json:"key"`
	At  time.Time `json:"at"`
}

// LookUpKind is the kind of the sensors of what was looked up.
const LookUpKind = "lookup"

// LookUpSensor returns the sensor of what was looked up for a role. No other is shown it.
func LookUpSensor(role string) string { return LookUpKind + ":" + role }

// States of what was looked up. What was not found lets no role look again.
const (
	LookedFound   = "found"
	LookedNothing = "nothing"
)

// Looks says where the wants of a role are looked up.
type Looks string

// Where that may be.
const (
	LooksNone   Looks = "" // nowhere: it may want nothing
	LooksMemory Looks = "memory"
	LooksWeb    Looks = "web"
)

// Bounds of wants.
const (
	leastWanted = 3   // letters
	mostWanted  = 120 // letters
	maxWanted   = 8
	mostAsked   = 200
	wantedAgain = time.Hour      // that a role may want nothing else
	askedAgain  = 24 * time.Hour // that it may not want the same
)

// isLookUp reports whether a sensor is one of what was looked up. That is no news of the
// world: it neither reinforces anything nor brings back what was settled.
func isLookUp(sensor string) bool { return sensorKind(sensor) == LookUpKind }

// wantedText returns a text as it may be looked up, or "" if it may not: words, without
// whatever a search would take for more than that.
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

// askedKey returns what is the same for the same words of a role.
func askedKey(role, words string) string {
	stems := stemsOf(words)
	slices.Sort(stems)
	h := fnv.New64a()
	h.Write([]byte(role + "\x00" + cmp.Or(strings.Join(stems, " "), strings.ToLower(words))))
	return strconv.FormatUint(h.Sum64(), 36)
}

// want keeps what a role wants looked up: one thing in an hour, the same once in a day,
// and nothing if strangers may have led it to that, or if nothing led to it but what was
// looked up before, or hints that came of hints.
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

// recalled reports whether all that is new to a role in this tick was looked up for it.
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

// boundWanted returns wants within their bounds.
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
