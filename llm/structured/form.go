// Package structured reads models' structured answers. A [Form] describes an answer by a
// struct and its fields' labels in text. It reads JSON, also with slips or within text,
// and labelled lines. [Paragraphs] reads prose and lists.
//
// Other formats are prose; docs/design/structured.md has the evidence.
package structured

import (
	"encoding/json"
	"errors"
	"reflect"
	"strconv"
	"strings"
	"unicode"

	"ponder/internal/textkit"
	"ponder/llm"
)

// A Form reads answers as a T: a struct of texts, numbers, booleans, lists of texts, and
// lists of such structs. A pointer distinguishes a missing value from zero. The tag
// "labels" has more names of a field, separated by commas. The tag "scale" is the end of
// a number's scale, by default 1. The tag "head" marks a listed struct's head, by default
// the first field; a text instead of the struct sets it.
type Form[T any] struct {
	schema *llm.Schema
	*form
}

type form struct {
	record
	labels map[string]place
}

type record struct {
	members []*member
	head    *member
}

type member struct {
	name          string
	names         []string // as returned by [labelKey]
	kind          kind
	scale         float64
	optional      bool
	elementRecord *record // of a list of records
	field         []int
}

type kind int

const (
	textKind kind = iota
	numberKind
	integerKind
	boolKind
	listKind
	recordsKind
)

// A place is a label's target: a member, a list of records, or a record's member.
type place struct{ list, member *member }

// New returns the form of a schema's answers. It panics if T has unsupported fields.
func New[T any](schema *llm.Schema) *Form[T] {
	f := &form{record: describeRecord(reflect.TypeFor[T]()), labels: make(map[string]place)}
	for _, m := range f.members {
		if m.kind != recordsKind {
			f.addLabels(m, place{member: m})
			continue
		}
		for _, inner := range m.elementRecord.members {
			f.addLabels(inner, place{m, inner})
		}
		f.addLabels(m, place{list: m})
	}
	return &Form[T]{schema, f}
}

// addLabels skips taken labels.
func (f *form) addLabels(m *member, p place) {
	for _, name := range m.names {
		if _, taken := f.labels[name]; !taken {
			f.labels[name] = p
		}
	}
}

func describeRecord(t reflect.Type) (r record) {
	for _, field := range reflect.VisibleFields(t) {
		if field.Anonymous {
			continue
		}
		name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		m := &member{name: name, names: []string{labelKey(name)}, optional: strings.Contains(options, "omitempty"), scale: 1, field: field.Index}
		if labels := field.Tag.Get("labels"); labels != "" {
			for label := range strings.SplitSeq(labels, ",") {
				m.names = append(m.names, labelKey(label))
			}
		}
		if scale, err := strconv.ParseFloat(field.Tag.Get("scale"), 64); err == nil {
			m.scale = scale
		}
		is := field.Type
		if is.Kind() == reflect.Pointer {
			is = is.Elem()
		}
		switch {
		case is.Kind() == reflect.String:
		case is.Kind() == reflect.Float64:
			m.kind = numberKind
		case is.Kind() == reflect.Int:
			m.kind = integerKind
		case is.Kind() == reflect.Bool:
			m.kind = boolKind
		case is.Kind() == reflect.Slice && is.Elem().Kind() == reflect.String:
			m.kind = listKind
		case is.Kind() == reflect.Slice && is.Elem().Kind() == reflect.Struct:
			of := describeRecord(is.Elem())
			m.kind, m.elementRecord = recordsKind, &of
		default:
			panic("structured: " + t.String() + "." + field.Name + " has an unsupported type")
		}
		r.members = append(r.members, m)
		if _, ok := field.Tag.Lookup("head"); ok {
			r.head = m
		}
	}
	if r.head == nil {
		r.head = r.members[0]
	}
	return r
}

const maxName = 60

func labelKey(name string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsLetter(r) {
			return -1
		}
		return unicode.ToLower(r)
	}, textkit.Prefix(name, maxName))
}

// Read returns the answer in text, and reports whether text has any part of it. It checks
// no values.
func (f *Form[T]) Read(text string) (v T, ok bool) {
	var exact T
	if strings.HasPrefix(text, "{") && f.readExact(text, reflect.ValueOf(&exact).Elem()) {
		return exact, true
	}
	text = llm.FinalText(text)
	tree := f.readJSON(text)
	isJSON := IsJSON(TrimFence(text))
	if v, ok = f.decodeMembers(tree.members); ok && !isEmpty(tree.members) && (isJSON || f.isWhole(reflect.ValueOf(v))) {
		return v, true
	}
	if !isJSON || isEmpty(tree.members) {
		if v, ok := f.decodeMembers(f.readLines(text)); ok {
			return v, true
		}
	}
	return v, ok && 2*tree.size > len(text)
}

// Fault returns the fault of the JSON, or else why, for [llm.Reask].
func (f *Form[T]) Fault(text, why string) error {
	if _, err := llm.Decode[json.RawMessage](text, f.schema); err != nil {
		return err
	}
	return errors.New(why)
}

func (f *Form[T]) decodeMembers(members map[string]any) (v T, ok bool) {
	js, err := json.Marshal(members)
	if len(members) == 0 || err != nil {
		return v, false
	}
	var t T
	if json.Unmarshal(js, &t) != nil {
		return v, false
	}
	return t, true
}

// isWhole reports whether v has all required members.
func (r *record) isWhole(v reflect.Value) bool {
	for _, m := range r.members {
		field := v.FieldByIndex(m.field)
		switch {
		case m.optional:
		case field.Kind() == reflect.String && strings.TrimSpace(field.String()) == "",
			field.Kind() == reflect.Pointer && field.IsNil(), field.Kind() == reflect.Slice && field.IsNil():
			return false
		}
		if m.kind == recordsKind {
			for i := range field.Len() {
				if !m.elementRecord.isWhole(field.Index(i)) {
					return false
				}
			}
		}
	}
	return true
}

func isEmpty(members map[string]any) bool {
	for _, v := range members {
		if list, ok := v.([]any); !ok || len(list) > 0 {
			return false
		}
	}
	return true
}
