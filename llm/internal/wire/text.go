package wire

import (
	"math/bits"
	"unicode/utf8"
)

const hexDigits = "0123456789abcdef"

// AppendText appends a string as [Body] writes it, for texts that are long.
func AppendText(b []byte, s string) []byte {
	b = append(b, '"')
	from := 0 // what comes after it is not appended yet
	for i := 0; i < len(s); {
		if i+8 <= len(s) {
			plain := plainBytes(s[i : i+8])
			if i += plain; plain == 8 {
				continue
			}
		}
		c, size := s[i], 1
		if c >= utf8.RuneSelf {
			var r rune
			r, size = utf8.DecodeRuneInString(s[i:])
			if r != '\u2028' && r != '\u2029' && (r != utf8.RuneError || size > 1) {
				i += size
				continue
			}
			b = appendRune(append(b, s[from:i]...), r)
		} else if c >= ' ' && c != '"' && c != '\\' && c != '<' && c != '>' && c != '&' {
			i++
			continue
		} else {
			b = appendEscape(append(b, s[from:i]...), c)
		}
		i += size
		from = i
	}
	return append(append(b, s[from:]...), '"')
}

// appendRune appends one of the runes that are not written as they are: the
// replacement for what is no rune, and ends of lines that JavaScript does not like.
func appendRune(b []byte, r rune) []byte {
	if r == utf8.RuneError {
		return utf8.AppendRune(b, r)
	}
	return append(b, '\\', 'u', '2', '0', '2', hexDigits[r&0xf])
}

func appendEscape(b []byte, c byte) []byte {
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

// plainBytes returns how many of eight bytes stand in JSON as they are, before the
// first that does not or is not ASCII. It looks at all of them at once: that one, and
// perhaps some behind it, has its highest bit set then.
func plainBytes(s string) int {
	const ones, tops = 0x0101010101010101, 0x8080808080808080
	_ = s[7]
	v := uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
		uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
	special := v | (v - ones*' ')
	special |= (v ^ ones*'"') - ones
	special |= (v ^ ones*'\\') - ones
	special |= (v ^ ones*'&') - ones
	special |= ((v &^ (ones * 2)) ^ ones*'<') - ones // and '>', which differs from it in one bit
	return bits.TrailingZeros64(special&tops) / 8
}
