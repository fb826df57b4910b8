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
			addFence, addChatter, addThinking, cutHalf, repeatTwice, trailingComma, singleQuotes, bareKeys, addComment, smartQuotes, numbersAsWords, wrapResult,
		}
	}
	return []func(string) string{
		addFence, addChatter, addThinking, cutHalf, numberedLines, boldLabels, lowerLabels, noDashes, writePercent, outOfTen, otherDigits, noBreaks, noColon,
	}
}

func addFence(s string) string { return "```json\n" + s + "\n```" }

func addChatter(s string) string {
	return "Sure! Here is what you asked for:\n\n" + s + "\n\nLet me know if you would like me to go deeper."
}

func addThinking(s string) string {
	return "<think>\nThe user wants an answer {in a format}. Let me see.\n</think>\n" + s
}

func cutHalf(s string) string { return strings.ToValidUTF8(s[:len(s)*2/3], "") }

func repeatTwice(s string) string { return s + "\n" + s }

func trailingComma(s string) string {
	return strings.NewReplacer("}", ",}", "]", ",]").Replace(s)
}

func singleQuotes(s string) string { return strings.ReplaceAll(s, `"`, `'`) }

func bareKeys(s string) string {
	return strings.NewReplacer(`{"`, `{`, `,"`, `,`, `":`, `:`).Replace(s)
}

func addComment(s string) string { return strings.Replace(s, "{", "{ // the answer\n", 1) }

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

func wrapResult(s string) string { return `{"result":` + s + `}` }

func mapLabels(s string, f func(i int, label, rest string) string) string {
	var b strings.Builder
	i := 0
	for line := range strings.Lines(s) {
		label, rest, ok := strings.Cut(line, ":")
		if !ok || !isUpperLabel(label) {
			b.WriteString(line)
			continue
		}
		b.WriteString(f(i, label, rest))
		i++
	}
	return b.String()
}

func numberedLines(s string) string {
	return mapLabels(s, func(i int, label, rest string) string { return strconv.Itoa(i+1) + ". " + label + ":" + rest })
}

func boldLabels(s string) string {
	return mapLabels(s, func(_ int, label, rest string) string { return "**" + label + ":**" + rest })
}

func lowerLabels(s string) string {
	return mapLabels(s, func(_ int, label, rest string) string { return capitalize(strings.ToLower(label)) + " :" + rest })
}

func noDashes(s string) string { return strings.ReplaceAll(s, "---\n", "\n") }

func writePercent(s string) string {
	return mapLabels(s, func(_ int, label, rest string) string {
		if x, err := strconv.ParseFloat(strings.TrimSpace(rest), 64); err == nil && x <= 1 {
			return label + ": " + strconv.Itoa(int(x*100)) + "%\n"
		}
		return label + ":" + rest
	})
}

func outOfTen(s string) string {
	return mapLabels(s, func(_ int, label, rest string) string {
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
	return mapLabels(s, func(_ int, label, rest string) string { return label + " -" + rest })
}
