package ponder

import (
	"bytes"
	"encoding/json"
	"math"
	"math/bits"
	"strconv"
	"time"
	"unicode/utf8"
)

// A jsonWriter appends JSON to b. It writes what package json does, but leaves
// '<', '>' and '&' as they are, so that data of another version keeps its bytes.
// The first error stays in err.
type jsonWriter struct {
	b   []byte
	enc *json.Encoder // writes to b; made when it is needed
	err error

	compact [][]byte // JSON that package json was seen to leave as it is, such as schemas
}

// Write implements [io.Writer], for enc.
func (w *jsonWriter) Write(p []byte) (int, error) {
	w.b = append(w.b, p...)
	return len(p), nil
}

// fields writes the fields of v behind those that an object has already, and ends
// the object.
func (w *jsonWriter) fields(v any) {
	start := len(w.b)
	w.value(v)
	switch {
	case w.err != nil:
	case w.b[start+1] == '}' || w.b[start-1] == '{': // one of the two has none
		w.b = append(w.b[:start], w.b[start+1:]...)
	default:
		w.b[start] = ','
	}
}

// value writes any value.
func (w *jsonWriter) value(v any) {
	if w.err != nil {
		return
	}
	if w.enc == nil {
		w.enc = json.NewEncoder(w)
		w.enc.SetEscapeHTML(false)
	}
	if w.err = w.enc.Encode(v); w.err == nil {
		w.b = bytes.TrimSuffix(w.b, []byte("\n"))
	}
}

// name begins a field of an object.
func (w *jsonWriter) name(name string) {
	if w.b[len(w.b)-1] != '{' {
		w.b = append(w.b, ',')
	}
	w.b = append(w.b, '"')
	w.b = append(w.b, name...)
	w.b = append(w.b, '"', ':')
}

// text writes a field, unless it is empty. So do those that follow.
func (w *jsonWriter) text(name, s string) {
	if s != "" {
		w.name(name)
		w.b = appendText(w.b, s)
	}
}

func (w *jsonWriter) number(name string, n int64) {
	if n != 0 {
		w.name(name)
		w.b = strconv.AppendInt(w.b, n, 10)
	}
}

func (w *jsonWriter) flag(name string, set bool) {
	if set {
		w.name(name)
		w.b = append(w.b, "true"...)
	}
}

func (w *jsonWriter) raw(name string, js json.RawMessage) {
	if len(js) > 0 {
		w.name(name)
		w.value(js)
	}
}

func (w *jsonWriter) texts(name string, all []string) {
	if len(all) == 0 {
		return
	}
	w.name(name)
	for i, s := range all {
		w.b = appendText(append(w.b, "[,"[min(i, 1)]), s)
	}
	w.b = append(w.b, ']')
}

func (w *jsonWriter) float(name string, f float64) {
	if f != 0 {
		w.name(name)
		w.decimal(f)
	}
}

// decimal writes a number.
func (w *jsonWriter) decimal(f float64) {
	if size := math.Abs(f); size != 0 && (size < 1e-6 || size >= 1e21) || math.IsNaN(f) {
		w.value(f) // with an exponent, or an error
		return
	}
	w.b = strconv.AppendFloat(w.b, f, 'f', -1, 64)
}

// schema writes JSON of which there are few kinds, again and again.
func (w *jsonWriter) schema(js json.RawMessage) {
	const most, longest = 8, 8 << 10
	for _, known := range w.compact {
		if bytes.Equal(known, js) {
			w.b = append(w.b, js...)
			return
		}
	}
	start := len(w.b)
	w.value(js)
	if w.err != nil || len(js) > longest || !bytes.Equal(w.b[start:], js) {
		return
	}
	if len(w.compact) == most {
		w.compact = w.compact[:0]
	}
	w.compact = append(w.compact, bytes.Clone(js))
}

// appendTime appends a time of UTC in timeFormat.
func appendTime(b []byte, t time.Time) []byte {
	year, month, day := t.Date()
	if year < 0 || year > 9999 {
		return t.AppendFormat(b, timeFormat)
	}
	hour, minute, second := t.Clock()
	b = append(appendDigits(b, year, 4), '-')
	b = append(appendDigits(b, int(month), 2), '-')
	b = append(appendDigits(b, day, 2), 'T')
	b = append(appendDigits(b, hour, 2), ':')
	b = append(appendDigits(b, minute, 2), ':')
	b = append(appendDigits(b, second, 2), '.')
	return append(appendDigits(b, t.Nanosecond()/1000, 6), 'Z')
}

// appendDigits appends so many digits of a number.
func appendDigits(b []byte, n, digits int) []byte {
	for range digits {
		b = append(b, '0')
	}
	for i := len(b) - 1; n > 0 && digits > 0; i-- {
		b[i] += byte(n % 10)
		n, digits = n/10, digits-1
	}
	return b
}

const hexDigits = "0123456789abcdef"

// appendText appends a string as JSON.
func appendText(b []byte, s string) []byte {
	b = append(b, '"')
	from := 0 // what comes after it is not appended yet
	for i := 0; i < len(s); {
		if i+8 <= len(s) {
			plain := plainBytes(s[i : i+8])
			if i += plain; plain == 8 {
				continue
			}
		}
		c := s[i]
		if c >= utf8.RuneSelf {
			r, size := utf8.DecodeRuneInString(s[i:])
			switch {
			case r == utf8.RuneError && size == 1:
				b = append(append(b, s[from:i]...), `\ufffd`...)
				from = i + size
			case r == '\u2028' || r == '\u2029':
				b = append(append(b, s[from:i]...), '\\', 'u', '2', '0', '2', hexDigits[r&0xf])
				from = i + size
			}
			i += size
			continue
		}
		if c >= ' ' && c != '"' && c != '\\' {
			i++
			continue
		}
		b = appendEscaped(append(b, s[from:i]...), c)
		i++
		from = i
	}
	return append(append(b, s[from:]...), '"')
}

// plainBytes returns how many of eight bytes are printable ASCII, and neither '"'
// nor '\\', before the first that is not. It looks at all of them at once: that one,
// and perhaps some behind it, has its highest bit set then.
func plainBytes(s string) int {
	const ones, tops = 0x0101010101010101, 0x8080808080808080
	_ = s[7]
	v := uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
		uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
	quote, slash := v^(ones*'"'), v^(ones*'\\')
	return bits.TrailingZeros64((v|(v-ones*' ')|(quote-ones)|(slash-ones))&tops) / 8
}

func appendEscaped(b []byte, c byte) []byte {
	switch c {
	case '"', '\\':
		return append(b, '\\', c)
	case '\b':
		return append(b, `\b`...)
	case '\f':
		return append(b, `\f`...)
	case '\n':
		return append(b, `\n`...)
	case '\r':
		return append(b, `\r`...)
	case '\t':
		return append(b, `\t`...)
	}
	return append(b, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&0xf])
}
