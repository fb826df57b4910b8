package compat

import (
	"bytes"
	"encoding/json"
)

// A Mould is JSON of which only some texts change, such as that of the chunks of a stream:
// the rest of it is made once.
type Mould struct{ parts [][]byte }

// Gap stands in a value where a Mould has a text that changes.
const Gap = "\x00"

// NewMould returns the mould of a value.
func NewMould(of any) Mould {
	js, err := json.Marshal(of)
	if err != nil { // which what was read from JSON cannot be
		return Mould{}
	}
	return Mould{bytes.Split(js, []byte(`"\u0000"`))}
}

// Append appends the value with texts in its gaps, as [json.Marshal] writes it. A gap too
// many stays what it is: a client may have named something so.
func (m Mould) Append(b []byte, texts ...string) []byte {
	for i, part := range m.parts {
		switch {
		case i > len(texts):
			b = appendText(b, Gap)
		case i > 0:
			b = appendText(b, texts[i-1])
		}
		b = append(b, part...)
	}
	return b
}

// appendText appends a text as [json.Marshal] writes it.
func appendText(b []byte, text string) []byte {
	for i := range len(text) {
		switch c := text[i]; {
		case c < ' ', c > '~', c == '"', c == '\\', c == '<', c == '>', c == '&':
			js, err := json.Marshal(text)
			if err != nil { // which a text cannot be
				return b
			}
			return append(b, js...)
		}
	}
	return append(append(append(b, '"'), text...), '"')
}

// Without returns the mould without a prefix of its JSON, which has no gap.
func (m Mould) Without(prefix string) Mould {
	if len(m.parts) == 0 {
		return m
	}
	return Mould{append([][]byte{bytes.TrimPrefix(m.parts[0], []byte(prefix))}, m.parts[1:]...)}
}
