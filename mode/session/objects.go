package session

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"ponder/internal/textkit"
	"ponder/llm"
)

// Bounds on where in JSON things are looked for.
const (
	maxNested  = 6
	maxRecords = 4 * maxThoughts
)

// An object is a JSON object, in its order.
type object []member

// A member is one of an object.
type member struct {
	label string // what its name means, or the name's words
	name  string
	value any // an object, or as package json has it
}

// A parser looks for the records of a form in JSON: objects, or texts, that have or
// are under a label, its head.
type parser struct {
	labels
	head   string
	beside []string // what goes with it, and tells what is a record though it has another name
	loose  bool     // records may have other names than those of the form, and be under none
	list   []object
}

// looseNames are what a text may be called in a record that is known to be one.
var looseNames = []string{"text", "content", "statement", "description"}

// objects returns the records in the JSON in text, and whether there is a list for them,
// though it may be empty.
func objects(text string, p parser) (list []object, ok bool) {
	values, err := llm.RepairAll(text)
	if err != nil {
		return nil, false
	}
	for _, js := range values {
		ok = p.walk(decoded(js, p.labels), false, 0) || ok
	}
	return p.list, ok
}

// decoded returns a JSON value with its members in order; nil if it is none.
func decoded(js []byte, all labels) any {
	d := json.NewDecoder(bytes.NewReader(js))
	v, err := decode(d, all)
	if err != nil {
		return nil
	}
	return v
}

func decode(d *json.Decoder, all labels) (any, error) {
	t, err := d.Token()
	if err != nil {
		return nil, err
	}
	switch t {
	case json.Delim('{'):
		var o object
		for d.More() {
			key, err := d.Token()
			if err != nil {
				return nil, err
			}
			v, err := decode(d, all)
			if err != nil {
				return nil, err
			}
			m := member{name: key.(string), value: v}
			if m.label, _ = all.of(textkit.TruncateBytes(m.name, maxHead)); m.label == "" {
				m.label = headOf(textkit.TruncateBytes(m.name, maxHead))
			}
			o = append(o, m)
		}
		_, err = d.Token()
		return o, err
	case json.Delim('['):
		list := []any{}
		for d.More() {
			v, err := decode(d, all)
			if err != nil {
				return nil, err
			}
			list = append(list, v)
		}
		_, err = d.Token()
		return list, err
	}
	return t, nil
}

// inner returns what a text has in it that is JSON, or the value as it is.
func inner(v any, all labels) any {
	s, ok := v.(string)
	if s = strings.TrimSpace(s); !ok || !looksLikeJSON(s) {
		return v
	}
	if js, err := llm.Repair(s); err == nil {
		return decoded(js, all)
	}
	return v
}

// walk looks for records in a value, which may be under the head, and reports whether
// that is a list for them.
func (p *parser) walk(v any, named bool, depth int) (ok bool) {
	if depth > maxNested || len(p.list) >= maxRecords {
		return false
	}
	switch v := inner(v, p.labels).(type) {
	case []any:
		for _, e := range v {
			ok = p.walk(e, named, depth+1) || ok
		}
		return ok || named || p.loose && len(v) == 0
	case string:
		// Outside of a named list it may be a citation, as in [e3].
		if named || p.loose && depth > 0 && strings.Contains(v, " ") {
			p.list = append(p.list, object{{label: p.head, value: v}})
			return true
		}
	case object:
		return p.object(v, named, depth)
	case nil:
		return named
	}
	return false
}

// object looks for records in an object: it is one, has them under the head, or is
// around what has them.
func (p *parser) object(o object, named bool, depth int) (ok bool) {
	if p.isRecord(o, named) {
		p.list = append(p.list, o)
		return true
	}
	under := false
	for _, m := range o {
		under = under || m.label == p.head
	}
	for _, m := range o {
		if _, text := m.value.(string); under && m.label == p.head || !under && (!text || looksLikeJSON(m.value.(string))) {
			ok = p.walk(m.value, under || named, depth+1) || ok
		}
	}
	return ok
}

// isRecord reports whether an object is a record: it has the text of one, or of another
// name, and what goes with it.
func (p *parser) isRecord(o object, named bool) bool {
	if s, ok := o.get(p.head).(string); ok && !looksLikeJSON(strings.TrimSpace(s)) {
		return true
	}
	return o.text(looseNames...) != "" && (named || p.loose || slices.ContainsFunc(p.beside, o.has))
}

// get returns the value of the last member of this label, or nil.
func (o object) get(label string) any {
	for _, m := range slices.Backward(o) {
		if m.label == label {
			return m.value
		}
	}
	return nil
}

// text returns the first member of these labels that is a text, or a list that begins
// with one.
func (o object) text(labels ...string) string {
	for _, label := range labels {
		v := o.get(label)
		if list, ok := v.([]any); ok && len(list) > 0 {
			v = list[0]
		}
		if s, ok := v.(string); ok && strings.TrimSpace(s) != "" {
			return s
		}
	}
	return ""
}

// has reports whether there is a member of this label that is more than null.
func (o object) has(label string) bool { return o.get(label) != nil }

// numeric reads a member as a number: by exact what is a number, by worded what is a text;
// an object such as {"value": 0.8} is that of its first member.
func numeric[N any](v any, exact func(float64) N, worded func(string) N) N {
	switch v := v.(type) {
	case float64:
		return exact(v)
	case string:
		return worded(v)
	case object:
		if len(v) > 0 {
			if _, deeper := v[0].value.(object); !deeper {
				return numeric(v[0].value, exact, worded)
			}
		}
	}
	return worded("")
}

// share returns a member as a number from 0 to 1.
func (o object) share(label string) float64 { return numeric(o.get(label), scaled, share) }

// priority returns a member as a number from 1 to 10.
func (o object) priority(label string) int { return numeric(o.get(label), ranked, priority) }

// texts returns a member as a list of texts.
func (o object) texts(label string) (list []string) {
	switch v := o.get(label).(type) {
	case string:
		return splitItems(v)
	case []any:
		for _, e := range v {
			if text := joinedText(e, ": "); text != "" {
				list = append(list, text)
			}
		}
	}
	return list
}

// joinedText returns the texts in a value, with something between.
func joinedText(v any, between string) string {
	var list []string
	switch v := v.(type) {
	case string:
		return v
	case float64:
		js, _ := json.Marshal(v) // a number can be marshalled
		return string(js)
	case []any:
		for _, e := range v {
			if _, deeper := e.([]any); !deeper {
				list = append(list, joinedText(e, between))
			}
		}
	case object:
		for _, m := range v {
			if s, ok := m.value.(string); ok {
				list = append(list, s)
			}
		}
	}
	return strings.Join(slices.DeleteFunc(list, func(s string) bool { return strings.TrimSpace(s) == "" }), between)
}
