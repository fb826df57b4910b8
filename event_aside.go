package ponder

import (
	"bytes"
	"encoding/json"
	"errors"
	"maps"
	"slices"
)

// What data has beside the fields of a body: see docs/log-format.md.
const (
	erasedField  = "erased"
	foreignField = "foreign"

	erasedData = `{"erased":true}` // of an event that has no more
)

var errNoObject = errors.New("data is no object, so nothing can be kept in it")

// aside adds to the data of an event, if there is any, what its body does not
// know of.
func (w *jsonWriter) aside(ev Event, hasData bool) {
	if w.err != nil {
		return
	}
	last := len(w.b) - 1
	switch {
	case !hasData:
		w.name("data")
		w.b = append(w.b, '{')
	case w.b[last] != '}':
		w.err = errNoObject
		return
	default:
		w.b = w.b[:last]
	}
	names := slices.Sorted(maps.Keys(ev.Extra))
	for _, name := range names {
		if name == foreignField {
			w.err = errors.New("no field can be kept under the name foreign")
			return
		}
		w.key(name)
		w.value(ev.Extra[name])
	}
	w.flag(erasedField, ev.Erased)
	if len(names) > 0 {
		w.key(foreignField)
		w.value(names)
	}
	w.b = append(w.b, '}')
}

// key begins a field whose name may be anything.
func (w *jsonWriter) key(name string) {
	if w.b[len(w.b)-1] != '{' {
		w.b = append(w.b, ',')
	}
	w.b = append(appendText(w.b, name), ':')
}

// takeAside sets what data has beside the fields of a body, and returns the rest.
// Nearly all data has nothing, which is told by looking at its bytes.
func (ev *Event) takeAside(data json.RawMessage) (json.RawMessage, error) {
	if !bytes.Contains(data, []byte(`"`+erasedField+`"`)) && !bytes.Contains(data, []byte(`"`+foreignField+`"`)) {
		return data, nil
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(data, &fields); err != nil {
		return data, nil //nolint:nilerr // the body says what is wrong with it
	}
	var names []string
	if list, ok := fields[foreignField]; ok {
		if err := json.Unmarshal(list, &names); err != nil {
			return nil, err
		}
		delete(fields, foreignField)
	}
	for _, name := range names {
		value, ok := fields[name]
		if !ok || name == foreignField {
			continue
		}
		if ev.Extra == nil {
			ev.Extra = make(map[string]json.RawMessage)
		}
		ev.Extra[name] = value
		delete(fields, name)
	}
	ev.Erased = string(fields[erasedField]) == "true"
	if delete(fields, erasedField); len(fields) == 0 {
		return nil, nil
	}
	var w jsonWriter
	w.value(fields)
	return w.b, w.err
}
