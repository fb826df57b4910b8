package ponder

import (
	"bytes"
	"encoding/json"
	"errors"
	"maps"
	"slices"
)

// Fields of data that no body has: see docs/log-format.md.
const (
	erasedField  = "erased"
	foreignField = "foreign"

	erasedData = `{"erased":true}` // the whole data of an erased event
)

var errNoObject = errors.New("cannot store fields in data, which is not an object")

// appendExtra adds Extra and Erased to the JSON object at the end of the buffer.
func (e *EventEncoder) appendExtra(ev Event) error {
	last := len(e.buf.b) - 1
	if e.buf.b[last] != '}' {
		return errNoObject
	}
	e.buf.b = e.buf.b[:last]
	names := slices.Sorted(maps.Keys(ev.Extra))
	for _, name := range names {
		if name == foreignField {
			return errors.New("cannot store a field named foreign")
		}
		if err := e.appendField(name, ev.Extra[name]); err != nil {
			return err
		}
	}
	if ev.Erased {
		if err := e.appendField(erasedField, true); err != nil {
			return err
		}
	}
	if len(names) > 0 {
		if err := e.appendField(foreignField, names); err != nil {
			return err
		}
	}
	e.AppendByte('}')
	return nil
}

func (e *EventEncoder) appendField(name string, v any) error {
	if e.buf.b[len(e.buf.b)-1] != '{' {
		e.AppendByte(',')
	}
	if err := e.appendValue(name); err != nil {
		return err
	}
	e.AppendByte(':')
	return e.appendValue(v)
}

// takeExtra sets Erased and Extra from data, and returns data without them. It decodes only
// data that contains the name of such a field, because nearly all data has none.
func (ev *Event) takeExtra(data json.RawMessage) (json.RawMessage, error) {
	if !bytes.Contains(data, []byte(`"`+erasedField+`"`)) && !bytes.Contains(data, []byte(`"`+foreignField+`"`)) {
		return data, nil
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(data, &fields); err != nil {
		return data, nil //nolint:nilerr // decoding the body returns a better error
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
	var e EventEncoder
	err := e.appendValue(fields)
	return e.Bytes(), err
}
