package structured

import (
	"regexp"
	"strconv"
	"strings"

	"ponder/internal/textkit"
)

// figurePattern matches 0.8, 0,8, .8, 80%, 8/10, 8 out of 10.
var figurePattern = regexp.MustCompile(`(?i)(^-)?(\d+(?:[.,]\d+)?|[.,]\d+)(?:\s*(%|percent\b)|\s*(?:/|out of|of)\s*(\d+(?:\.\d+)?))?`)

// wordLevels lists longer words before their prefixes.
var wordLevels = []struct {
	word  string
	share float64
}{
	{"very low", 0.1}, {"very high", 0.9}, {"critical", 1}, {"urgent", 0.9}, {"certain", 0.95},
	{"high", 0.8}, {"likely", 0.7}, {"medium", 0.5}, {"moderate", 0.5}, {"low", 0.2},
}

// maxFigure is in bytes.
const maxFigure = 80

// parseNumber returns v's number, if any. It scales shares such as 80% or 8/10.
func (m *member) parseNumber(v any) (x float64, ok bool) {
	switch v := v.(type) {
	case float64:
		x, ok = v, true
	case string:
		x, ok = parseFigure(strings.TrimLeft(textkit.Prefix(v, maxFigure), " *_`\"'(["), m.scale)
	}
	if m.scale > 1 && 0 < x && x < 1 {
		x *= m.scale
	}
	return x, ok
}

// parseFigure returns the first number with a unit, else between 0 and 1, else any.
func parseFigure(text string, scale float64) (x float64, ok bool) {
	for _, f := range figurePattern.FindAllStringSubmatch(text, -1) {
		n, err := strconv.ParseFloat(f[1]+strings.Replace(f[2], ",", ".", 1), 64)
		if err != nil {
			continue
		}
		if of, _ := strconv.ParseFloat(f[4], 64); of > 0 {
			return n / of * scale, true
		}
		if f[3] != "" {
			return n / 100 * scale, true
		}
		if !ok || 0 < n && n < 1 && !(0 < x && x < 1) {
			x, ok = n, true
		}
	}
	for _, l := range wordLevels {
		if !ok && strings.HasPrefix(strings.ToLower(text), l.word) {
			return l.share * scale, true
		}
	}
	return x, ok
}
