package mimic

import (
	"bytes"
	"cmp"
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

const (
	maxDepth     = 24
	fullDepth    = 8       // depth from which optional properties are omitted
	maxItems     = 200     // from a schema
	maxLength    = 4000    // from a schema
	maxValue     = 1 << 20 // bytes from which optional properties are omitted
	maxListBytes = 8 << 20 // bytes from which lists are empty
	maxTerse     = 3       // required parts only
)

// Fill returns a JSON value of a schema, with properties in its order.
func (w *Writer) Fill(schema json.RawMessage) []byte { return w.fillWithin(schema, 0) }

// fillWithin is Fill for at most most bytes, if possible. Zero means no limit.
func (w *Writer) fillWithin(schema json.RawMessage, maxBytes int) []byte {
	root, err := compileSchema(schema)
	if err != nil {
		return []byte("{}")
	}
	for terse := 0; ; terse++ {
		f := filler{w: w, root: root, terse: terse}
		f.writeValue(root, "", 0)
		if maxBytes <= 0 || len(f.buf) <= maxBytes || terse == maxTerse {
			return f.buf
		}
	}
}

// Input returns a tool input with the prompt's texts and numbers.
func (w *Writer) Input(schema json.RawMessage) []byte {
	if len(schema) == 0 {
		return []byte("{}")
	}
	root, err := compileSchema(schema)
	if err != nil {
		return []byte("{}")
	}
	f := filler{w: w, root: root, literal: true, numbers: findNumbers(promptWindow(w.prompt.Text))}
	f.writeValue(root, "", 0)
	return f.buf
}

type filler struct {
	w       *Writer
	root    *schema
	buf     []byte
	terse   int      // 0..tersest
	literal bool     // use the prompt's words
	numbers []string // unused
}

func (f *filler) writeValue(s *schema, name string, depth int) {
	if s = f.resolveSchema(s); s == nil || depth > maxDepth {
		f.buf = append(f.buf, "null"...)
		return
	}
	switch {
	case s.Const != nil:
		f.writeRaw(s.Const)
	case len(s.Enum) > 0:
		f.writeRaw(pickRandom(f.w, s.Enum))
	default:
		f.writeTyped(s, s.valueType(depth > fullDepth), name, depth)
	}
}

func (f *filler) writeTyped(s *schema, kind, name string, depth int) {
	switch kind {
	case "object":
		f.writeObject(s, depth)
	case "array":
		f.writeArray(s, name, depth)
	case "integer", "number":
		f.writeNumber(s, kind, name)
	case "boolean":
		f.buf = strconv.AppendBool(f.buf, f.w.rng.IntN(2) == 0)
	case "null":
		f.buf = append(f.buf, "null"...)
	default:
		f.writeString(f.fillText(s, name))
	}
}

func (f *filler) writeRaw(v json.RawMessage) {
	var b bytes.Buffer
	if json.Compact(&b, v) != nil {
		b.WriteString("null")
	}
	f.buf = append(f.buf, b.Bytes()...)
}

func (f *filler) writeObject(s *schema, depth int) {
	f.buf = append(f.buf, '{')
	first := true
	for _, p := range s.Properties {
		must := slices.Contains(s.Required, p.name)
		if !must && (depth > fullDepth || f.terse > 1 || len(f.buf) > maxValue || f.w.rng.IntN(5) == 0) {
			continue
		}
		if !first {
			f.buf = append(f.buf, ',')
		}
		first = false
		f.writeString(p.name)
		f.buf = append(f.buf, ':')
		f.writeValue(p.schema, p.name, depth+1)
	}
	f.buf = append(f.buf, '}')
}

func (f *filler) writeArray(s *schema, name string, depth int) {
	lo, hi := itemCount(s.MinItems, 3), itemCount(s.MaxItems, 5)
	if s.MinItems == nil && s.MaxItems != nil {
		lo = min(3, hi)
	}
	hi = max(hi, lo)
	if hi > 5 && lo < 3 {
		lo, hi = 3, 5
	} else if hi > lo+5 {
		hi = lo + 2
	}
	if isReference(name) {
		f.writeReferences(s, lo)
		return
	}
	if f.terse > 0 {
		lo, hi = itemCount(s.MinItems, 1), max(1, itemCount(s.MinItems, 1))
	}
	if f.terse == maxTerse {
		lo, hi = itemCount(s.MinItems, 0), itemCount(s.MinItems, 0)
	}
	if depth > fullDepth || len(f.buf) > maxValue {
		lo, hi = itemCount(s.MinItems, 0), itemCount(s.MinItems, 0)
	}
	if len(f.buf) > maxListBytes {
		lo, hi = 0, 0
	}
	f.buf = append(f.buf, '[')
	var seen []string
	for i := range f.w.randomBetween(lo, hi) {
		before := len(f.buf)
		if i > 0 {
			f.buf = append(f.buf, ',')
		}
		from := len(f.buf)
		f.writeValue(s.Items, trimPlural(name), depth+1)
		if s.UniqueItems {
			if item := string(f.buf[from:]); slices.Contains(seen, item) {
				f.buf = f.buf[:before]
			} else {
				seen = append(seen, item)
			}
		}
	}
	f.buf = append(f.buf, ']')
}

// writeReferences appends an array of passage labels.
func (f *filler) writeReferences(s *schema, lo int) {
	items := f.resolveSchema(s.Items)
	integer := items != nil && (items.valueType(false) == "integer" || items.valueType(false) == "number")
	n := 0
	if s.MinItems != nil {
		n = lo
	}
	if have := len(f.w.passages); have > 0 {
		n = max(n, 1+f.w.rng.IntN(min(3, have)))
	}
	var labels []string
	for range n {
		label := "1"
		if len(f.w.passages) > 0 {
			label = f.w.passages[f.w.rng.IntN(len(f.w.passages))].label
		}
		label = strings.Trim(f.w.citePassage(label), "[]")
		if integer {
			label = strings.TrimLeft(label, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-_ ")
			label = "0" + label
			k, _ := strconv.Atoi(label)
			label = strconv.Itoa(k)
		} else {
			label = strconv.Quote(label)
		}
		if !slices.Contains(labels, label) {
			labels = append(labels, label)
		}
	}
	f.buf = append(f.buf, '[')
	f.buf = append(f.buf, strings.Join(labels, ",")...)
	f.buf = append(f.buf, ']')
}

func (f *filler) writeNumber(s *schema, kind, name string) {
	lo, hi := defaultRange(kind, name)
	bounded := s.lowerBound() != nil || s.upperBound() != nil
	if f.literal && !bounded && len(f.numbers) > 0 {
		n := f.numbers[0]
		f.numbers = f.numbers[1:]
		if kind == "number" || !strings.Contains(n, ".") {
			f.buf = append(f.buf, n...)
			return
		}
	}
	lo, hi = s.clampRange(lo, hi)
	f.buf = s.appendNumber(f.buf, f.w, kind, lo, hi)
}

const maxSpan = 1e6

// clampRange applies bounds to a default range.
func (s *schema) clampRange(lo, hi float64) (float64, float64) {
	lower, upper := s.lowerBound(), s.upperBound()
	switch {
	case lower != nil && upper != nil:
		return *lower, min(max(*lower, *upper), *lower+maxSpan)
	case lower != nil:
		return max(lo, *lower), max(hi, *lower+hi-lo)
	case upper != nil:
		return min(lo, *upper-hi+lo), min(hi, *upper)
	}
	return lo, hi
}

// appendNumber appends a number that satisfies step and exclusive bounds.
func (s *schema) appendNumber(b []byte, w *Writer, kind string, lo, hi float64) []byte {
	if kind == "number" && s.MultipleOf <= 0 {
		x := w.randomNumber(lo, hi, 2)
		if s.ExclusiveMinimum != nil && x <= *s.ExclusiveMinimum || s.ExclusiveMaximum != nil && x >= *s.ExclusiveMaximum {
			x = (lo + hi) / 2
		}
		return strconv.AppendFloat(b, x, 'f', -1, 64)
	}
	step := max(s.MultipleOf, 0)
	step = cmp.Or(step, 1)
	from, to := math.Ceil(lo/step), math.Floor(hi/step)
	if s.ExclusiveMinimum != nil && from*step <= *s.ExclusiveMinimum {
		from++
	}
	if s.ExclusiveMaximum != nil && to*step >= *s.ExclusiveMaximum {
		to--
	}
	n := from + math.Floor(w.rng.Float64()*(max(to-from, 0)+1))
	return strconv.AppendFloat(b, min(n, max(to, from))*step, 'f', -1, 64)
}

// randomNumber returns a number in lo..hi, rounded if possible. With decimals it tends to the
// upper half, like confidences.
func (w *Writer) randomNumber(lo, hi float64, decimals int) float64 {
	if !(lo < hi) {
		return lo
	}
	x := lo + (0.35+0.6*w.rng.Float64())*(hi-lo)
	ten := math.Pow10(decimals)
	if decimals == 0 {
		x = lo + math.Floor(w.rng.Float64()*(hi-lo+1))
	}
	if y := math.Round(x*ten) / ten; y >= lo && y <= hi {
		return y
	}
	return min(max(x, lo), hi)
}

func (f *filler) fillText(s *schema, name string) string {
	var text string
	switch s.Format {
	case "date":
		return "2025-0" + strconv.Itoa(1+f.w.rng.IntN(9)) + "-1" + strconv.Itoa(f.w.rng.IntN(10))
	case "date-time":
		return "2025-0" + strconv.Itoa(1+f.w.rng.IntN(9)) + "-11T08:30:00Z"
	case "uri", "url":
		return "https://example.org/" + slugify(f.w.nextPhrase())
	case "email":
		return "someone@example.org"
	}
	if f.literal {
		text = f.w.mainTopic()
	} else {
		text = f.w.namedText(name, max(1, 2-f.terse))
	}
	return f.fitLength(s, text)
}

func (f *filler) fitLength(s *schema, text string) string {
	if s.MinLength != nil {
		for utf8.RuneCountInString(text) < min(*s.MinLength, maxLength) {
			text += " " + f.w.newSentence()
		}
	}
	if s.MaxLength != nil && utf8.RuneCountInString(text) > max(*s.MaxLength, 0) {
		text = string([]rune(text)[:max(*s.MaxLength, 0)])
	}
	return text
}

func (f *filler) writeString(s string) {
	b, err := json.Marshal(s)
	if err != nil {
		b = []byte(`""`)
	}
	f.buf = append(f.buf, b...)
}

// itemCount returns *n within 0..maxItems, or other.
func itemCount(n *int, other int) int {
	if n == nil {
		return other
	}
	return min(max(*n, 0), maxItems)
}

func slugify(s string) string { return strings.ReplaceAll(s, " ", "-") }

func trimPlural(name string) string { return strings.TrimSuffix(name, "s") }
