package web

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/html/charset"
	"golang.org/x/text/encoding"
)

// decode returns bytes as UTF-8, and the encoding that they had: that of a mark
// at the beginning, of the header, or of the page; but what is UTF-8 is UTF-8,
// whatever a host that knows only Latin-1 says, and what is not is not. Without a
// word about it, it is UTF-8 or, failing that, Windows-1252, as in browsers.
func decode(raw []byte, contentType string) (text, name string, err error) {
	e, name, certain := charset.DetermineEncoding(raw, contentType)
	valid := utf8.Valid(raw)
	switch {
	case valid && (name == "windows-1252" || !certain):
		e, name = encoding.Nop, "utf-8"
	case name == "utf-8" && !valid && !damaged(raw):
		e, name = charset.Lookup("windows-1252")
	}
	if name == "utf-8" {
		raw = bytes.TrimPrefix(raw, []byte("\xef\xbb\xbf"))
		return strings.ToValidUTF8(string(raw), "\ufffd"), name, nil
	}
	out, err := io.ReadAll(io.LimitReader(e.NewDecoder().Reader(bytes.NewReader(raw)), int64(4*len(raw)+16)))
	if err != nil {
		return "", name, fmt.Errorf("%w: its letters are not %s", ErrType, name)
	}
	return strings.TrimPrefix(strings.ToValidUTF8(string(out), "\ufffd"), "\ufeff"), name, nil
}

// damaged reports whether bytes are UTF-8 but for a few.
func damaged(raw []byte) bool {
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

// looksBinary reports whether decoded text has letters that no text has.
func looksBinary(text string) bool {
	n := 0
	for i := range len(text) {
		c := text[i]
		if c == 0 {
			return true
		}
		if c < '\b' || 0x0e <= c && c < ' ' && c != 0x1b {
			n++
		}
	}
	return n > len(text)/100
}
