package engine

import (
	"encoding/json"
	"strconv"
	"strings"
)

// An actionKind is the kind of an action.
type actionKind byte

// The kinds of actions that have a key.
const (
	kindCall  actionKind = 'c'
	kindTool  actionKind = 't'
	kindSpawn actionKind = 's'
	kindWrite actionKind = 'w'
)

// finishedKeys is the set of keys of finished actions, with their kinds, by stem. Keys that
// end in "-" and a number that counts up from 0 or 1, optionally followed by "~" and a
// suffix, take constant space.
type finishedKeys map[string]*stemKeys

// stemKeys are the finished keys with one stem.
type stemKeys struct {
	Kind  actionKind   `json:"k"`
	UpTo  int          `json:"n,omitempty"` // 1 to this
	Apart map[int]bool `json:"a,omitempty"` // further numbers, also 0, and -1 for no number
}

// splitKey returns the stem and the number of a key, or -1 if it has none. The suffix from
// '~' belongs to the stem.
func splitKey(key string) (stem string, n int) {
	base, again, _ := strings.Cut(key, "~")
	if i := strings.LastIndexByte(base, '-'); i >= 0 {
		num := base[i+1:]
		if n, err := strconv.Atoi(num); err == nil && n >= 0 && strconv.Itoa(n) == num {
			return base[:i+1] + "~" + again, n
		}
	}
	return key, -1
}

func (s finishedKeys) contains(key string) bool {
	stem, n := splitKey(key)
	d := s[stem]
	return d != nil && (0 < n && n <= d.UpTo || d.Apart[n])
}

// conflicts reports whether keys with the stem of key have another kind.
func (s finishedKeys) conflicts(key string, kind actionKind) bool {
	stem, _ := splitKey(key)
	d := s[stem]
	return d != nil && d.Kind != kind
}

func (s finishedKeys) add(key string, kind actionKind) {
	stem, n := splitKey(key)
	d := s[stem]
	if d == nil {
		d = &stemKeys{Kind: kind}
		s[stem] = d
	}
	if n != d.UpTo+1 {
		if d.Apart == nil {
			d.Apart = make(map[int]bool)
		}
		if n < 1 || n > d.UpTo {
			d.Apart[n] = true
		}
		return
	}
	for d.UpTo = n; d.Apart[d.UpTo+1]; d.UpTo++ {
		delete(d.Apart, d.UpTo+1)
	}
}

// validKey reports whether a key has the form that [ponder.Action] requires.
func validKey(key string) bool {
	if key == "" || len(key) > 64 {
		return false
	}
	for _, c := range []byte(key) {
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', strings.IndexByte("-_.:~", c) >= 0:
		default:
			return false
		}
	}
	return true
}

// MarshalJSON implements [json.Marshaler]. A kind is a letter.
func (k actionKind) MarshalJSON() ([]byte, error) { return json.Marshal(string(rune(k))) }

// UnmarshalJSON implements [json.Unmarshaler].
func (k *actionKind) UnmarshalJSON(js []byte) error {
	var s string
	if err := json.Unmarshal(js, &s); err != nil {
		return err
	}
	if s != "" {
		*k = actionKind(s[0])
	}
	return nil
}
