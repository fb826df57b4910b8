package limitio

import (
	"bytes"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"sync"
)

// Libraries of protocols copy the texts of a body several times. [LongTexts] gives them short placeholders for the
// long texts of a large body, and restores the texts in the values that the libraries decoded.

const (
	LargeBody = 1 << 20 // bytes; smaller bodies stay whole
	longText  = 256     // bytes of a text
)

// LongTexts has the long texts of the bodies of a handler. It is safe for concurrent use.
type LongTexts struct {
	mark string // unguessable, so that no other text is taken for a placeholder

	mu   sync.Mutex
	next int
	list map[string]RawJSON // by placeholder
}

// NewLongTexts returns an empty collection.
func NewLongTexts() *LongTexts {
	return &LongTexts{mark: "text" + rand.Text(), list: make(map[string]RawJSON)}
}

// placeholderBytes is a multiple of four: a placeholder is also valid base64, and what base64 encodes it back to.
const placeholderBytes = 4 + 26 + 10

// CutRequest replaces the long texts in a body, until the caller calls release. A handler that cannot read the body
// reports the error.
func (l *LongTexts) CutRequest(r *http.Request) (release func()) {
	if r.Body == nil || r.Body == http.NoBody {
		return func() {}
	}
	body, err := RequestBody(r)
	if err != nil || len(body) <= LargeBody {
		return func() {}
	}
	short, names := l.cut(body)
	SetRequestBody(r, short)
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		for _, name := range names {
			delete(l.list, name)
		}
	}
}

// cut returns js with placeholders and without white space. It ends the result at an invalid text, so that it is
// invalid too.
func (l *LongTexts) cut(js []byte) (short []byte, names []string) {
	for i := 0; i < len(js); i++ {
		switch c := js[i]; c {
		case ' ', '\t', '\r', '\n':
			if n := len(short); n > 0 && short[n-1] != ' ' {
				short = append(short, ' ') // two numbers stay two
			}
		case '"':
			end := stringEnd(js[i:])
			text := js[i : i+end]
			i += end - 1
			if len(text) <= longText {
				short = append(short, text...)
				continue
			}
			if !json.Valid(text) {
				return short, names
			}
			name := l.add(text)
			names = append(names, name)
			short = append(short, `"`+name+`"`...)
		default:
			short = append(short, c)
		}
	}
	return short, names
}

// stringEnd returns the length of the string at the start of js.
func stringEnd(js []byte) int {
	for i := 1; i < len(js); i++ {
		switch js[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(js)
}

func (l *LongTexts) add(text RawJSON) (name string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.next++
	name = fmt.Sprintf("%s%010d", l.mark, l.next)
	l.list[name] = text
	return name
}

// take returns the JSON of a text once.
func (l *LongTexts) take(name string) (js RawJSON, ok bool) {
	if len(name) != placeholderBytes || !strings.HasPrefix(name, l.mark) {
		return nil, false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	js, ok = l.list[name]
	delete(l.list, name)
	return js, ok
}

func (l *LongTexts) takeText(name string) (text string, ok bool) {
	js, ok := l.take(name)
	if ok {
		ok = json.Unmarshal(js, &text) == nil
	}
	return text, ok
}

// Restore puts the texts into a decoded value, to which into points: once for each text.
func (l *LongTexts) Restore(into any) {
	l.mu.Lock()
	empty := len(l.list) == 0
	l.mu.Unlock()
	if v := reflect.ValueOf(into); !empty && v.Kind() == reflect.Pointer && !v.IsNil() {
		l.restore(v.Elem())
	}
}

func (l *LongTexts) restore(v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		if text, ok := l.takeText(v.String()); ok {
			v.SetString(text)
		}
	case reflect.Pointer:
		if !v.IsNil() {
			l.restore(v.Elem())
		}
	case reflect.Interface:
		if !v.IsNil() {
			v.Set(l.restored(v.Elem()))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				l.restore(v.Field(i))
			}
		}
	case reflect.Map:
		for _, key := range v.MapKeys() {
			value := l.restored(v.MapIndex(key))
			v.SetMapIndex(key, reflect.Value{})
			v.SetMapIndex(l.restored(key), value)
		}
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			v.SetBytes(l.restoreBytes(v.Bytes(), v.Type() == reflect.TypeFor[json.RawMessage]()))
			return
		}
		for i := range v.Len() {
			l.restore(v.Index(i))
		}
	}
}

// restored returns a restored copy of a value that cannot be set.
func (l *LongTexts) restored(v reflect.Value) reflect.Value {
	c := reflect.New(v.Type()).Elem()
	c.Set(v)
	l.restore(c)
	return c
}

// restoreBytes restores JSON, or bytes that base64 encoded.
func (l *LongTexts) restoreBytes(b []byte, isJSON bool) []byte {
	if !isJSON {
		if text, ok := l.takeText(base64.StdEncoding.EncodeToString(b[:min(len(b), placeholderBytes)])); ok {
			if data, err := base64.StdEncoding.DecodeString(text); err == nil {
				return data
			}
			return nil
		}
		return b
	}
	var out []byte
	for rest := b; ; {
		i := bytes.Index(rest, []byte(l.mark))
		if i < 1 || len(rest) < i+placeholderBytes+1 {
			if out == nil {
				return b
			}
			return append(out, rest...)
		}
		js, ok := l.take(string(rest[i : i+placeholderBytes]))
		if !ok {
			js = rest[i-1 : i+placeholderBytes+1]
		}
		out = append(append(out, rest[:i-1]...), js...)
		rest = rest[i+placeholderBytes+1:]
	}
}
