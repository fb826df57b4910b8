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

// LookUpRequest is a look-up that a role requests. Roles have no tools, so the look-up runs between ticks.
// Its results are observations of the role's [LookUpSensor] with the subject Text.
type LookUpRequest struct {
	Role string    `json:"role"`
	Text string    `json:"text"`
	Tick int       `json:"tick"`
	At   time.Time `json:"at"`
}

// LookUpRecord records a request, by role and words.
type LookUpRecord struct {
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

// LookUpSource says where a role's requests are looked up.
type LookUpSource string

const (
	LookUpNone   LookUpSource = ""
	LookUpMemory LookUpSource = "memory"
	LookUpWeb    LookUpSource = "web"
)

const (
	minLookUpLetters  = 3   // letters
	maxLookUpLetters  = 120 // letters
	maxLookUpRequests = 8
	maxLookUpRecords  = 200
	lookUpInterval    = time.Hour      // minimum time between requests of a role
	repeatInterval    = 24 * time.Hour // minimum time between equal requests
)

// isLookUp reports whether a sensor returns look-up results. They are not news: they reinforce
// nothing and revive no settled topic.
func isLookUp(sensor string) bool { return sensorKind(sensor) == LookUpKind }

// cleanLookUp returns s without search syntax, or "" if it is no valid request.
func cleanLookUp(s string) string {
	s = strings.Map(func(r rune) rune {
		if unicode.In(r, unicode.L, unicode.M, unicode.N) || strings.ContainsRune(" .,'’&+-", r) {
			return r
		}
		return ' '
	}, textkit.VisibleLine(s, 8*maxLookUpLetters))
	list := strings.Fields(s)
	for i, w := range list {
		list[i] = strings.Trim(w, ".,'’&+-")
	}
	list = slices.DeleteFunc(list, func(w string) bool { return w == "" })
	for utf8.RuneCountInString(strings.Join(list, " ")) > maxLookUpLetters {
		list = list[:len(list)-1]
	}
	s = strings.Join(list, " ")
	letters := 0
	for _, r := range s {
		if unicode.IsLetter(r) {
			letters++
		}
	}
	if letters < minLookUpLetters || !hasContent(s) {
		return ""
	}
	return s
}

func lookUpKey(role, words string) string {
	stems := stemsOf(words)
	slices.Sort(stems)
	h := fnv.New64a()
	h.Write([]byte(role + "\x00" + cmp.Or(strings.Join(stems, " "), strings.ToLower(words))))
	return strconv.FormatUint(h.Sum64(), 36)
}

// addLookUp stores a role's look-up request: one an hour, an equal one once a day. It refuses requests
// possibly caused by untrusted text, earlier look-ups alone, or chained hints.
func (m *merge) addLookUp(r Report, led bool) {
	a := &m.state.Internal
	dropWhere(&a.LookUpRequests, func(w LookUpRequest) bool { return m.now.Sub(w.At) >= lookUpInterval })
	dropWhere(&a.LookUpRecords, func(o LookUpRecord) bool { return m.now.Sub(o.At) >= repeatInterval })
	words := cleanLookUp(r.LookUp)
	if words == "" || led || r.Untrusted || r.WithoutModel || m.rolesByName[r.Role].Looks == LookUpNone || len(a.LookUpRequests) >= maxLookUpRequests {
		return
	}
	key := lookUpKey(r.Role, words)
	if slices.ContainsFunc(a.LookUpRequests, func(w LookUpRequest) bool { return w.Role == r.Role }) || slices.ContainsFunc(a.LookUpRecords, func(o LookUpRecord) bool { return o.Key == key }) {
		return
	}
	a.LookUpRequests = append(a.LookUpRequests, LookUpRequest{Role: r.Role, Text: words, Tick: clamp(m.in.Tick, 0, maxNumber), At: m.now})
	a.LookUpRecords = lastN(append(a.LookUpRecords, LookUpRecord{Key: key, At: m.now}), maxLookUpRecords)
}

// readsOnlyLookUps reports whether all that is new to a role in this tick is look-up results.
func (m *merge) readsOnlyLookUps(role string) bool {
	read, given, any := m.state.Internal.Read[role], m.in.Given[role], false
	for _, o := range m.in.Seen {
		switch {
		case o.Seq <= read || o.Seq > given || !m.rolesByName[role].Sees(o.Observation):
		case isLookUp(o.Sensor):
			any = true
		default:
			return false
		}
	}
	return any
}

func (a Internal) clampLookUps(out *Internal) {
	for _, w := range lastN(a.LookUpRequests, maxLookUpRequests) {
		if w.Text = cleanLookUp(w.Text); w.Text != "" && isName(w.Role) {
			w.Tick, w.At = clamp(w.Tick, 0, maxNumber), storableTime(w.At)
			out.LookUpRequests = append(out.LookUpRequests, w)
		}
	}
	for _, o := range lastN(a.LookUpRecords, maxLookUpRecords) {
		if isName(o.Key) {
			o.At = storableTime(o.At)
			out.LookUpRecords = append(out.LookUpRecords, o)
		}
	}
}
