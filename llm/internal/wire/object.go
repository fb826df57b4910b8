package wire

import (
	"bytes"
	"encoding/json"
	"errors"
)

// An Object is a JSON object whose fields keep their order, which models follow
// when they fill a schema in.
type Object []Field

// A Field is a key and its JSON value.
type Field struct {
	Key   string
	Value json.RawMessage
}

// errNoObject is the error of JSON that is not an object.
var errNoObject = errors.New("not a JSON object")

// ParseObject reads an object. Of keys that occur twice the last one counts.
func ParseObject(raw []byte) (Object, error) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return nil, errNoObject
	}
	var o Object
	at := map[string]int{}
	for dec.More() {
		t, err := dec.Token()
		if err != nil {
			return nil, err
		}
		var v json.RawMessage
		if err := dec.Decode(&v); err != nil {
			return nil, err
		}
		key, _ := t.(string) // the decoder takes no other key
		if i, twice := at[key]; twice {
			o[i].Value = v
			continue
		}
		at[key] = len(o)
		o = append(o, Field{key, v})
	}
	if _, err := dec.Token(); err != nil {
		return nil, err
	}
	return o, nil
}

// Value returns the value of a key, or nil.
func (o Object) Value(key string) json.RawMessage {
	for _, f := range o {
		if f.Key == key {
			return f.Value
		}
	}
	return nil
}

// String returns the value of a key if it is a string, or "".
func (o Object) String(key string) string {
	var s string
	if json.Unmarshal(o.Value(key), &s) != nil {
		return ""
	}
	return s
}

// Set gives a key a value, at its place or at the end.
func (o *Object) Set(key string, value json.RawMessage) {
	for i, f := range *o {
		if f.Key == key {
			(*o)[i].Value = value
			return
		}
	}
	*o = append(*o, Field{key, value})
}

// MapObject returns a JSON object with what f makes of each value, and whether there is an
// object and f took all of it.
func MapObject(raw json.RawMessage, f func(json.RawMessage) (json.RawMessage, bool)) (json.RawMessage, bool) {
	o, err := ParseObject(raw)
	ok := err == nil
	for i := 0; ok && i < len(o); i++ {
		o[i].Value, ok = f(o[i].Value)
	}
	if !ok {
		return nil, false
	}
	text, err := o.MarshalJSON()
	return text, err == nil
}

// MapList is [MapObject] of a JSON list.
func MapList(raw json.RawMessage, f func(json.RawMessage) (json.RawMessage, bool)) (json.RawMessage, bool) {
	var list []json.RawMessage
	ok := json.Unmarshal(raw, &list) == nil
	for i := 0; ok && i < len(list); i++ {
		list[i], ok = f(list[i])
	}
	if !ok {
		return nil, false
	}
	text, err := json.Marshal(list)
	return text, err == nil
}

// MarshalJSON implements json.Marshaler.
func (o Object) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, f := range o {
		if i > 0 {
			b.WriteByte(',')
		}
		key, err := json.Marshal(f.Key)
		if err != nil {
			return nil, err
		}
		b.Write(key)
		b.WriteByte(':')
		b.Write(f.Value)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}
