package mimic

import (
	"math/rand/v2"
	"strconv"
	"strings"
)

// Mangle adds formatting faults of real models, by seed.
func Mangle(seed uint64, answer string) string {
	rng := rand.New(rand.NewPCG(seed, 0xda3e39cb94b95bdb))
	ways := manglers(strings.HasPrefix(strings.TrimSpace(answer), "{") || strings.HasPrefix(strings.TrimSpace(answer), "["))
	out := answer
	for out == answer && strings.TrimSpace(answer) != "" {
		out = ways[rng.IntN(len(ways))](answer)
	}
	if rng.IntN(3) == 0 {
		out = ways[rng.IntN(len(ways))](out)
	}
	return out
}

func manglers(json bool) []func(string) string {
	if json {
		return []func(string) string{
			fenced, chatty, thinking, half, twice, trailingComma, singleQuotes, bareKeys, comments, smartQuotes, numbersAsWords, wrapped,
		}
	}
	return []func(string) string{
		fenced, chatty, thinking, half, numberedLines, bold, lowerLabels, noDashes, percent, outOfTen, otherDigits, noBreaks, noColon,
	}
}

func fenced(s string) string { return "```json\n" + s + "\n```" }

func chatty(s string) string {
	return "Sure! Here is what you asked for:\n\n" + s + "\n\nLet me know if you would like me to go deeper."
}

func thinking(s string) string {
	return "<think>\nThe user wants an answer {in a format}. Let me see.\n</think>\n" + s
}

func half(s string) string { return strings.ToValidUTF8(s[:len(s)*2/3], "") }

func twice(s string) string { return s + "\n" + s }

func trailingComma(s string) string {
	return strings.NewReplacer("}", ",}", "]", ",]").Replace(s)
}

func singleQuotes(s string) string { return strings.ReplaceAll(s, `"`, `'`) }

func bareKeys(s string) string {
	return strings.NewReplacer(`{"`, `{`, `,"`, `,`, `":`, `:`).Replace(s)
}

func comments(s string) string { return strings.Replace(s, "{", "{ // the answer\n", 1) }

func smartQuotes(s string) string {
	open := false
	return strings.Map(func(r rune) rune {
		if r != '"' {
			return r
		}
		if open = !open; open {
			return '“'
		}
		return '”'
	}, s)
}

func numbersAsWords(s string) string {
	return strings.NewReplacer(":0.", `:"0.`, ":1", `:"one"`, ":8", `:"8/10"`, ":7", `:"7 out of 10"`).Replace(s)
}

func wrapped(s string) string { return `{"result":` + s + `}` }

func linewise(s string, f func(i int, label, rest string) string) string {
	var b strings.Builder
	i := 0
	for line := range strings.Lines(s) {
		label, rest, ok := strings.Cut(line, ":")
		if !ok || !upper(label) {
			b.WriteString(line)
			continue
		}
		b.WriteString(f(i, label, rest))
		i++
	}
	return b.String()
}

func numberedLines(s string) string {
	return linewise(s, func(i int, label, rest string) string { return strconv.Itoa(i+1) + ". " + label + ":" + rest })
}

func bold(s string) string {
	return linewise(s, func(_ int, label, rest string) string { return "**" + label + ":**" + rest })
}

func lowerLabels(s string) string {
	return linewise(s, func(_ int, label, rest string) string { return capital(strings.ToLower(label)) + " :" + rest })
}

func noDashes(s string) string { return strings.ReplaceAll(s, "---\n", "\n") }

func percent(s string) string {
	return linewise(s, func(_ int, label, rest string) string {
		if x, err := strconv.ParseFloat(strings.TrimSpace(rest), 64); err == nil && x <= 1 {
			return label + ": " + strconv.Itoa(int(x*100)) + "%\n"
		}
		return label + ":" + rest
	})
}

func outOfTen(s string) string {
	return linewise(s, func(_ int, label, rest string) string {
		if x, err := strconv.ParseFloat(strings.TrimSpace(rest), 64); err == nil {
			if x <= 1 {
				x *= 10
			}
			return label + ": " + strconv.Itoa(int(x)) + "/10\n"
		}
		return label + ":" + rest
	})
}

// otherDigits writes Arabic-Indic or full-width digits.
func otherDigits(s string) string {
	zero := '٠'
	if len(s)%2 == 0 {
		zero = '０'
	}
	return strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' {
			return zero + r - '0'
		}
		return r
	}, s)
}

func noBreaks(s string) string { return strings.ReplaceAll(s, "\n", " ") }

func noColon(s string) string {
	return linewise(s, func(_ int, label, rest string) string { return label + " -" + rest })
}
