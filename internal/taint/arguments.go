package taint

import (
	"bytes"
	"encoding/json"
	"io"
	"strings"
)

// ArgumentText returns all keys and scalar values of arguments, and whether they could be read.
func ArgumentText(args json.RawMessage) (text string, ok bool) {
	if !json.Valid(args) {
		return "", false
	}
	var b strings.Builder
	d := json.NewDecoder(bytes.NewReader(args))
	d.UseNumber()
	depth, key := []bool{}, false // for each open value: is it an object?
	for {
		t, err := d.Token()
		if err == io.EOF {
			return b.String(), true
		}
		if err != nil {
			return "", false
		}
		inObject := len(depth) > 0 && depth[len(depth)-1]
		switch v := t.(type) {
		case json.Delim:
			if v == '{' || v == '[' {
				depth, key = append(depth, v == '{'), v == '{'
				continue
			}
			depth = depth[:len(depth)-1]
			key = len(depth) > 0 && depth[len(depth)-1]
			continue
		case string:
			if inObject && key {
				key = false
				continue
			}
			b.WriteString(v + "\n")
		case json.Number:
			b.WriteString(v.String() + "\n")
		}
		key = inObject
	}
}

// Compact returns arguments in the form in which logs store them. A question shows this form, and
// the approved call sends it.
func Compact(args json.RawMessage) json.RawMessage {
	var b bytes.Buffer
	if json.Compact(&b, args) != nil {
		return args
	}
	return b.Bytes()
}
