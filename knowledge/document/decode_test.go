package document

import (
	"errors"
	"strings"
	"testing"
	"unicode/utf16"
	"unicode/utf8"

	"ponder/internal/textkit/charset"
)

func utf16Bytes(s string, little bool, mark bool) string {
	if mark {
		s = "\ufeff" + s
	}
	var b []byte
	for _, u := range utf16.Encode([]rune(s)) {
		if little {
			b = append(b, byte(u), byte(u>>8))
		} else {
			b = append(b, byte(u>>8), byte(u))
		}
	}
	return string(b)
}

func TestDecode(t *testing.T) {
	const text = "Grüße aus Zürich, 12 °C. And some more words."
	for _, c := range []struct{ name, in, want string }{
		{"UTF-8", text, text},
		{"UTF-8 with a mark", "\ufeff" + text, text},
		{"UTF-16LE with a mark", utf16Bytes(text, true, true), text},
		{"UTF-16BE with a mark", utf16Bytes(text, false, true), text},
		{"UTF-16LE", utf16Bytes(text, true, false), text},
		{"UTF-16BE", utf16Bytes(text, false, false), text},
		{"UTF-16 cut off", utf16Bytes(text, true, true) + "x", text},
		{"Latin-1", "Gr\xfc\xdfe, 12 \xb0C", "Grüße, 12 °C"},
		{"Windows-1252", "\x93so\x94 \x96 5 \x80", "“so” – 5 €"},
		{"damaged", text + strings.Repeat("ü", 40) + "\xff\xfe", text + strings.Repeat("ü", 40) + "\ufffd"},
		{"empty", "", ""},
		{"form feed and colours", "a\fb\x1b[1;31mc\x1b[0m \x1b]0;title\x1b\\d", "a\fbc d"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := decodeText([]byte(c.in))
			if err != nil || got != c.want {
				t.Errorf("decode: %q, %v, want %q", got, err, c.want)
			}
		})
	}
}

func TestDecodeRefuses(t *testing.T) {
	for name, in := range map[string]string{
		"zeros":       "text\x00text and more of it",
		"picture":     "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR",
		"executable":  "\x7fELF\x02\x01\x01\x00",
		"controls":    strings.Repeat("\x01\x02\x03", 100),
		"wide zeros":  strings.Repeat("\x00", 1000),
		"marked wide": "\xff\xfe" + strings.Repeat("\x01\x00", 100),
	} {
		t.Run(name, func(t *testing.T) {
			if got, err := decodeText([]byte(in)); !errors.Is(err, charset.ErrBinary) {
				t.Errorf("decode: %q, %v, want %v", got, err, charset.ErrBinary)
			}
		})
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte("\xff\xfea\x00b\x00"))
	f.Add([]byte("caf\xe9"))
	f.Fuzz(func(t *testing.T, in []byte) {
		if text, err := decodeText(in); err == nil && !utf8.ValidString(text) {
			t.Errorf("decode(%q) is not UTF-8: %q", in, text)
		}
	})
}
