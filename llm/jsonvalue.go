package llm

import (
	"bytes"
	"encoding/json"
	"errors"
	"strconv"
)

// ParseValue parses a JSON value as json.Unmarshal does. A number that no float64 can hold, as
// grammars of servers allow, becomes nil and spoils nothing else.
func ParseValue(js []byte) (v any, err error) {
	err = json.Unmarshal(js, &v)
	if mistyped := (*json.UnmarshalTypeError)(nil); !errors.As(err, &mistyped) {
		return v, err
	}
	d := json.NewDecoder(bytes.NewReader(js))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		return nil, err
	}
	return toFloats(v), nil
}

// toFloats replaces the numbers in v, in place, by float64 or nil.
func toFloats(v any) any {
	switch v := v.(type) {
	case json.Number:
		if x, err := strconv.ParseFloat(v.String(), 64); err == nil {
			return x
		}
		return nil
	case []any:
		for i := range v {
			v[i] = toFloats(v[i])
		}
	case map[string]any:
		for k := range v {
			v[k] = toFloats(v[k])
		}
	}
	return v
}
