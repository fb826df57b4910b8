package llm

import (
	"encoding/json"
	"strconv"
	"strings"
)

// literalAt also accepts truncated literals.
func (s *scanner) literalAt(i int) bool {
	start := i
	for i < len(s.text) && i-start < 10 && isLetter(s.byteAt(i)) {
		i++
	}
	_, ok := parseConstant(s.text[start:i])
	return ok || i > start && i == len(s.text) && completePrefix(s.text[start:i]) != ""
}

// parseConstant returns null for values without a JSON form.
func parseConstant(word string) (string, bool) {
	switch word {
	case "true", "True", "TRUE":
		return "true", true
	case "false", "False", "FALSE":
		return "false", true
	case "null", "Null", "NULL", "None", "nil", "undefined", "NaN", "nan", "Infinity", "-Infinity", "+Infinity":
		return "null", true
	}
	return "", false
}

func parseLiteral(text string) (string, bool) {
	if lit, ok := parseConstant(text); ok {
		return lit, true
	}
	return parseNumber(text)
}

func isLiteral(text string) bool {
	_, ok := parseLiteral(strings.TrimSpace(text))
	return ok
}

const maxNumber = 400

// narrowWidth replaces full-width letters, digits and signs of a literal by ASCII.
func narrowWidth(text string) string {
	if strings.IndexByte(text, fullWidthLead) < 0 || len(text) > maxNumber {
		return text
	}
	return strings.Map(func(r rune) rune {
		if '！' <= r && r <= '～' {
			return r - '！' + '!'
		}
		return r
	}, text)
}

// parseNumber accepts 007, +1, .5, 5., 1_000 and 0x1F.
func parseNumber(text string) (string, bool) {
	if text == "" || len(text) > maxNumber || strings.IndexByte("+-.0123456789", text[0]) < 0 {
		return "", false
	}
	if json.Valid([]byte(text)) {
		return text, true
	}
	if hex, ok := strings.CutPrefix(strings.ToLower(text), "0x"); ok {
		n, err := strconv.ParseUint(hex, 16, 64)
		if err != nil {
			return "", false
		}
		return strconv.FormatUint(n, 10), true
	}
	digits, sign := strings.TrimPrefix(text, "+"), ""
	if rest, ok := strings.CutPrefix(digits, "-"); ok {
		digits, sign = rest, "-"
	}
	digits = strings.ReplaceAll(digits, "_", "")
	whole, exponent, _ := cutAny(digits, "eE")
	whole, fraction, _ := strings.Cut(whole, ".")
	if whole+fraction == "" || strings.Trim(whole+fraction, "0123456789") != "" {
		return "", false
	}
	n := sign + orZero(strings.TrimLeft(whole, "0"))
	if fraction != "" {
		n += "." + fraction
	}
	if exponent != "" {
		n += "e" + exponent
	}
	if !json.Valid([]byte(n)) {
		return "", false
	}
	return n, true
}

func cutAny(s, bytes string) (before, after string, found bool) {
	if i := strings.IndexAny(s, bytes); i >= 0 {
		return s[:i], s[i+1:], true
	}
	return s, "", false
}

func orZero(digits string) string {
	if digits == "" {
		return "0"
	}
	return digits
}

// completePrefix completes a truncated literal or number.
func completePrefix(text string) string {
	if text == "" {
		return ""
	}
	for _, word := range []string{"true", "false", "null", "True", "False", "None"} {
		if strings.HasPrefix(word, text) {
			lit, _ := parseConstant(word)
			return lit
		}
	}
	if text == "-" {
		return "null"
	}
	lit, _ := parseNumber(strings.TrimRight(text, "eE+-."))
	return lit
}
