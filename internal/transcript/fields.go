package transcript

import (
	"bytes"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strconv"
)

// The names in data that say what else is in it, which no other field can have.
const (
	listed = "foreign"
	dataOf = "data"
)

// lost returns the fields of a line that an event or a header, as it is
// stored, does not have as they were, neither at the top nor in its data, by the
// names under which they can be kept there.
func lost(fields map[string]json.RawMessage, stored []byte) map[string]json.RawMessage {
	var top, data map[string]json.RawMessage
	if json.Unmarshal(stored, &top) != nil {
		return fields
	}
	if js, ok := top[dataOf]; ok && json.Unmarshal(js, &data) != nil {
		data = nil
	}
	extra := make(map[string]json.RawMessage)
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		var own map[string]json.RawMessage // of data, which is ours or is put into it
		if name == dataOf && json.Unmarshal(fields[name], &own) == nil && own != nil {
			for _, name := range slices.Sorted(maps.Keys(own)) {
				if !same(own[name], data[name]) {
					keep(extra, data, name, own[name])
				}
			}
			continue
		}
		if !same(fields[name], top[name]) && !same(fields[name], data[name]) {
			keep(extra, data, name, fields[name])
		}
	}
	return extra
}

// keep keeps a field under its name, or one that begins with _ if the name is
// taken.
func keep(extra, data map[string]json.RawMessage, name string, value json.RawMessage) {
	for {
		_, here := extra[name]
		_, there := data[name]
		if !here && !there && name != listed {
			extra[name] = value
			return
		}
		name = "_" + name
	}
}

// same reports whether two texts are the same JSON value, and nothing of the
// first was lost.
func same(a, b json.RawMessage) bool {
	switch {
	case b == nil:
		return false
	case bytes.Equal(a, b):
		return true
	case hasLone(a):
		return false
	}
	x, err := decode(a)
	y, errb := decode(b)
	return errors.Join(err, errb) == nil && equal(x, y)
}

func decode(js json.RawMessage) (v any, err error) {
	dec := json.NewDecoder(bytes.NewReader(js))
	dec.UseNumber()
	return v, dec.Decode(&v)
}

func equal(x, y any) bool {
	switch x := x.(type) {
	case map[string]any:
		y, ok := y.(map[string]any)
		return ok && maps.EqualFunc(x, y, equal)
	case []any:
		y, ok := y.([]any)
		return ok && slices.EqualFunc(x, y, equal)
	case json.Number:
		y, ok := y.(json.Number)
		return ok && (x == y || sameNumber(string(x), string(y)))
	}
	return x == y
}

// exact is how many digits a float64 keeps of any number.
const exact = 15

// sameNumber compares numbers that are written in two ways. Of those with more
// digits than a float64 keeps, it does not say that they are the same.
func sameNumber(x, y string) bool {
	a, errA := strconv.ParseFloat(x, 64)
	b, errB := strconv.ParseFloat(y, 64)
	return errA == nil && errB == nil && a == b && len(x) <= exact && len(y) <= exact
}

// hasLone reports whether a text has half of a pair of surrogates, which is lost
// when it is decoded.
func hasLone(js []byte) bool {
	for i := 0; i+1 < len(js); i++ {
		if js[i] != '\\' {
			continue
		}
		if js[i+1] != 'u' {
			i++
			continue
		}
		switch r := hex(js, i); {
		case 0xdc00 <= r && r < 0xe000:
			return true
		case 0xd800 <= r && r < 0xdc00:
			if low := hex(js, i+6); low < 0xdc00 || low >= 0xe000 {
				return true
			}
			i += 6
		}
		i += 5
	}
	return false
}

// hex returns the number of an escape \uXXXX, or 0 if there is none.
func hex(js []byte, at int) uint64 {
	if at+6 > len(js) || js[at] != '\\' || js[at+1] != 'u' {
		return 0
	}
	n, err := strconv.ParseUint(string(js[at+2:at+6]), 16, 32)
	if err != nil {
		return 0
	}
	return n
}
