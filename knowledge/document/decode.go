package document

import (
	"bytes"
	"errors"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

var errBinary = errors.New("not a text")

// decode returns the text of a file: UTF-8, UTF-16 with or without a mark, or,
// where it is neither, what its letters are most usual in (charset.go). A file of
// which that is not sure is refused. What a terminal is told is left out.
func decode(file []byte) (string, error) {
	text, err := decodeText(file)
	if err == nil && strings.IndexByte(text, 0x1b) >= 0 {
		text = withoutSequences(text)
	}
	return text, err
}

func decodeText(file []byte) (string, error) {
	if rest, ok := bytes.CutPrefix(file, []byte("\xef\xbb\xbf")); ok {
		file = rest
	}
	if little, ok := wideOrder(file); ok {
		return decode16(file, little)
	}
	if err := controls(file); err != nil {
		return "", err
	}
	if utf8.Valid(file) {
		return string(file), nil
	}
	if good, bad := runes(file); bad*20 <= good {
		return string(bytes.ToValidUTF8(file, []byte("\ufffd"))), nil // damaged in few places
	}
	if text, ok := decodeOld(file); ok {
		return text, nil
	}
	return "", errBinary
}

// controls refuses a file that has many bytes no text has, or a zero.
func controls(file []byte) error {
	n := 0
	for _, c := range file {
		switch {
		case c == 0:
			return errBinary
		case c < '\b' || 0x0e <= c && c < ' ' && c != 0x1b:
			n++
		}
	}
	if n > len(file)/100 {
		return errBinary
	}
	return nil
}

// runes counts the letters beyond ASCII that are UTF-8, and the bytes that are
// not.
func runes(file []byte) (good, bad int) {
	for len(file) > 0 {
		r, n := utf8.DecodeRune(file)
		switch {
		case r == utf8.RuneError && n == 1:
			bad++
		case n > 1:
			good++
		}
		file = file[n:]
	}
	return good, bad
}

// minWide is how long UTF-16 without a mark must be to be known as such.
const minWide = 16

// wideOrder reports whether a file is UTF-16, and whether the low byte of each
// letter comes first. Without a mark it is known by the zeros of its ASCII.
func wideOrder(file []byte) (little, ok bool) {
	if len(file) < 2 {
		return false, false
	}
	switch {
	case file[0] == 0xff && file[1] == 0xfe:
		return true, true
	case file[0] == 0xfe && file[1] == 0xff:
		return false, true
	}
	if len(file) < minWide {
		return false, false
	}
	var zeros [2]int
	head := file[:min(len(file), 4096)]
	for i, c := range head {
		zeros[i&1] += b2i(c == 0)
	}
	most := len(head) / 2 * 7 / 10
	return zeros[1] > most, zeros[0] <= 1 && zeros[1] > most || zeros[1] <= 1 && zeros[0] > most
}

func decode16(file []byte, little bool) (string, error) {
	units := make([]uint16, len(file)/2)
	for i := range units {
		a, b := uint16(file[2*i]), uint16(file[2*i+1])
		if little {
			a, b = b, a
		}
		units[i] = a<<8 | b
	}
	text := string(utf16.Decode(units))
	if err := controls([]byte(text)); err != nil {
		return "", err
	}
	return strings.TrimPrefix(text, "\ufeff"), nil
}
