package transcript

import (
	"bytes"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strconv"
)

// Names in data with a special meaning, which no other field may use.
const (
	foreignField = "foreign"
	dataField    = "data"
)

// lostFields returns the fields of a line that its stored event or header does not preserve, at
// the top or in data, by the names under which data can keep them.
func lostFields(fields map[string]json.RawMessage, stored []byte) map[string]json.RawMessage {
	var top, data map[string]json.RawMessage
	if json.Unmarshal(stored, &top) != nil {
		return fields
	}
	if js, ok := top[dataField]; ok && json.Unmarshal(js, &data) != nil {
		data = nil
	}
	extra := make(map[string]json.RawMessage)
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		var own map[string]json.RawMessage // of data
		if name == dataField && json.Unmarshal(fields[name], &own) == nil && own != nil {
			for _, name := range slices.Sorted(maps.Keys(own)) {
				if !isSame(own[name], data[name]) {
					keepField(extra, data, name, own[name])
				}
			}
			continue
		}
		if !isSame(fields[name], top[name]) && !isSame(fields[name], data[name]) {
			keepField(extra, data, name, fields[name])
		}
	}
	return extra
}

// keepField adds a field under its name, prefixed with _ while the name is taken.
func keepField(extra, data map[string]json.RawMessage, name string, value json.RawMessage) {
	for {
		_, here := extra[name]
		_, there := data[name]
		if !here && !there && name != foreignField {
			extra[name] = value
			return
		}
		name = "_" + name
	}
}

// isSame reports whether b is the JSON value a without loss.
func isSame(a, b json.RawMessage) bool {
	switch {
	case b == nil:
		return false
	case bytes.Equal(a, b):
		return true
	case hasLoneSurrogate(a):
		return false
	}
	x, err := decodeJSON(a)
	y, errb := decodeJSON(b)
	return errors.Join(err, errb) == nil && isEqual(x, y)
}

func decodeJSON(js json.RawMessage) (v any, err error) {
	dec := json.NewDecoder(bytes.NewReader(js))
	dec.UseNumber()
	return v, dec.Decode(&v)
}

func isEqual(x, y any) bool {
	switch x := x.(type) {
	case map[string]any:
		y, ok := y.(map[string]any)
		return ok && maps.EqualFunc(x, y, isEqual)
	case []any:
		y, ok := y.([]any)
		return ok && slices.EqualFunc(x, y, isEqual)
	case json.Number:
		y, ok := y.(json.Number)
		return ok && (x == y || isSameNumber(string(x), string(y)))
	}
	return x == y
}

// exactDigits is the number of digits that a float64 preserves.
const exactDigits = 15

// isSameNumber compares two spellings of a number. It returns false for more digits than a float64
// preserves.
func isSameNumber(x, y string) bool {
	a, errA := strconv.ParseFloat(x, 64)
	b, errB := strconv.ParseFloat(y, 64)
	return errA == nil && errB == nil && a == b && len(x) <= exactDigits && len(y) <= exactDigits
}

// hasLoneSurrogate reports whether JSON contains half of a surrogate pair, which decoding loses.
func hasLoneSurrogate(js []byte) bool {
	for i := 0; i+1 < len(js); i++ {
		if js[i] != '\\' {
			continue
		}
		if js[i+1] != 'u' {
			i++
			continue
		}
		switch r := escapedRune(js, i); {
		case 0xdc00 <= r && r < 0xe000:
			return true
		case 0xd800 <= r && r < 0xdc00:
			if low := escapedRune(js, i+6); low < 0xdc00 || low >= 0xe000 {
				return true
			}
			i += 6
		}
		i += 5
	}
	return false
}

// escapedRune returns the number in an escape \uXXXX, or 0.
func escapedRune(js []byte, at int) uint64 {
	if at+6 > len(js) || js[at] != '\\' || js[at+1] != 'u' {
		return 0
	}
	n, err := strconv.ParseUint(string(js[at+2:at+6]), 16, 32)
	if err != nil {
		return 0
	}
	return n
}
