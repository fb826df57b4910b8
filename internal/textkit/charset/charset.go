// Package charset decodes text files and web pages to UTF-8.
//
// A byte order mark or a declaration decides the encoding. Otherwise valid UTF-8 is UTF-8, zeros
// at every second byte mean UTF-16, and chardet, a port of ICU's detector, identifies older
// encodings by statistics.
// All functions are pure, safe for concurrent use, and accept any bytes.
package charset

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"mime"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/gogs/chardet"
	"golang.org/x/net/html/charset"
	"golang.org/x/text/encoding"
	wide "golang.org/x/text/encoding/unicode"
)

// ErrBinary reports bytes that are not text in a known encoding.
var ErrBinary = errors.New("not a text")

const (
	utf8Mark   = "\xef\xbb\xbf"
	sampleSize = 64 << 10 // bytes that the detector reads

	// minConfidence is the minimum detector confidence in percent. Random bytes have at most 4 in
	// single-byte encodings, short texts at least 8.
	minConfidence = 6

	minLegacy = 4  // non-ASCII bytes that the detector needs; with fewer, it guesses Chinese
	minWide   = 16 // bytes of UTF-16 without a mark
)

// Decode returns the text of a file of unknown encoding, or ErrBinary.
func Decode(file []byte) (string, error) {
	file = bytes.TrimPrefix(file, []byte(utf8Mark))
	if e := wideEncoding(file); e != nil {
		out, err := e.NewDecoder().Bytes(file[:len(file)&^1])
		if err != nil || IsBinary(out) {
			return "", ErrBinary
		}
		return string(out), nil
	}
	switch {
	case IsBinary(file):
		return "", ErrBinary
	case utf8.Valid(file):
		return string(file), nil
	case isDamagedUTF8(file):
		return strings.ToValidUTF8(string(file), "\ufffd"), nil
	}
	return decodeLegacy(file)
}

// DecodePage returns a web page as UTF-8 and the name of its encoding. As in browsers, the order
// is: byte order mark, contentType, the page's declaration, Windows-1252. It corrects two server
// mistakes: valid UTF-8 declared as Latin-1 is UTF-8, and invalid bytes declared as UTF-8 are
// Windows-1252.
func DecodePage(raw []byte, contentType string) (text, name string, err error) {
	e, name, certain := charset.DetermineEncoding(raw, contentType)
	valid := utf8.Valid(raw)
	switch {
	case valid && (name == "windows-1252" || !certain):
		name = "utf-8"
	case name == "utf-8" && !valid && !isDamagedUTF8(raw):
		e, name = charset.Lookup("windows-1252")
	}
	if name == "utf-8" {
		raw = bytes.TrimPrefix(raw, []byte(utf8Mark))
		return strings.ToValidUTF8(string(raw), "\ufffd"), name, nil
	}
	out, err := e.NewDecoder().Bytes(raw)
	if err != nil {
		return "", name, fmt.Errorf("decode page as %s: %w", name, err)
	}
	return strings.TrimPrefix(strings.ToValidUTF8(string(out), "\ufffd"), "\ufeff"), name, nil
}

// DecodeHTML returns an HTML file as UTF-8: by its own declaration, or as [Decode] does.
func DecodeHTML(file []byte) (string, error) {
	e, name, _ := charset.DetermineEncoding(file, "")
	if name == "utf-8" || name == "windows-1252" {
		return Decode(file)
	}
	out, err := e.NewDecoder().Bytes(file)
	if err != nil {
		return "", fmt.Errorf("decode page as %s: %w", name, err)
	}
	return string(out), nil
}

// NewReader returns a reader of UTF-8 for XML whose declaration names an encoding.
func NewReader(label string, r io.Reader) (io.Reader, error) {
	return charset.NewReaderLabel(label, r)
}

// DecodeLabel returns raw as UTF-8 if label names another encoding in which raw is valid.
func DecodeLabel(raw []byte, label string) (text []byte, ok bool) {
	e, name := charset.Lookup(label)
	if e == nil || name == "utf-8" || name == "replacement" {
		return nil, false
	}
	text, err := e.NewDecoder().Bytes(raw)
	return text, err == nil
}

// WordDecoder returns a decoder of encoded words in mail headers, of all encodings.
func WordDecoder() *mime.WordDecoder {
	return &mime.WordDecoder{CharsetReader: charset.NewReaderLabel}
}

// DecodeWords returns the value of a mail header with its encoded words decoded.
func DecodeWords(header string) string {
	if out, err := WordDecoder().DecodeHeader(header); err == nil {
		return out
	}
	return header
}

// IsBinary reports whether s has a zero byte or more than one percent of control characters.
// Escape characters do not count.
func IsBinary[T []byte | string](s T) bool {
	n := 0
	for i := range len(s) {
		switch c := s[i]; {
		case c == 0:
			return true
		case c < '\b' || 0x0e <= c && c < ' ' && c != 0x1b:
			n++
		}
	}
	return n > len(s)/100
}

// isDamagedUTF8 reports whether raw is UTF-8 with at most one invalid byte per twenty non-ASCII
// letters.
func isDamagedUTF8(raw []byte) bool {
	good, bad := 0, 0
	for len(raw) > 0 {
		r, n := utf8.DecodeRune(raw)
		switch {
		case r == utf8.RuneError && n == 1:
			bad++
		case n > 1:
			good++
		}
		raw = raw[n:]
	}
	return bad*20 <= good
}

// wideEncoding returns the UTF-16 encoding of a file, or nil. Without a mark, the zero bytes of
// ASCII letters decide.
func wideEncoding(file []byte) encoding.Encoding {
	utf16 := func(order wide.Endianness) encoding.Encoding { return wide.UTF16(order, wide.UseBOM) }
	switch {
	case bytes.HasPrefix(file, []byte("\xff\xfe")), bytes.HasPrefix(file, []byte("\xfe\xff")):
		return utf16(wide.BigEndian)
	case len(file) < minWide:
		return nil
	}
	var zeros [2]int
	head := file[:min(len(file), 4096)]
	for i, c := range head {
		if c == 0 {
			zeros[i&1]++
		}
	}
	switch most := len(head) / 2 * 7 / 10; {
	case zeros[0] <= 1 && zeros[1] > most:
		return utf16(wide.LittleEndian)
	case zeros[1] <= 1 && zeros[0] > most:
		return utf16(wide.BigEndian)
	}
	return nil
}

// decodeLegacy decodes text in the detector's most likely encoding.
func decodeLegacy(file []byte) (string, error) {
	found, err := chardet.NewTextDetector().DetectAll(file[:min(len(file), sampleSize)])
	if bytesBeyondASCII(file) < minLegacy {
		found, err = []chardet.Result{{Charset: "windows-1252", Confidence: 100}}, nil
	}
	if err != nil {
		return "", ErrBinary
	}
	slices.SortFunc(found, func(a, b chardet.Result) int {
		return cmp.Or(cmp.Compare(b.Confidence, a.Confidence), strings.Compare(a.Charset, b.Charset))
	})
	for _, r := range found {
		if r.Charset == "ISO-8859-2" {
			r.Charset = "windows-1250" // most such files are in fact windows-1250
		}
		e, _ := charset.Lookup(r.Charset)
		if e == nil || r.Confidence < minConfidence {
			continue
		}
		if out, err := e.NewDecoder().Bytes(file); err == nil && isText(out) {
			return string(out), nil
		}
	}
	return "", ErrBinary
}

func bytesBeyondASCII(file []byte) (n int) {
	for _, c := range file {
		if c >= utf8.RuneSelf {
			n++
		}
	}
	return n
}

// isText reports whether at most one in twenty non-ASCII letters is a replacement, control or
// private character.
func isText(decoded []byte) bool {
	good, bad := 0, 0
	for _, r := range string(decoded) {
		switch {
		case r < utf8.RuneSelf:
		case r == utf8.RuneError || r < 0xa0 || unicode.Is(unicode.Co, r):
			bad++
		default:
			good++
		}
	}
	return bad*20 <= good
}
