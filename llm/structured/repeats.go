package structured

import (
	"slices"
	"strings"
	"unicode"

	"ponder/llm"
)

const (
	minRepeats      = 3  // times in a row
	maxRepeatedUnit = 4  // lines or sentences
	minRepeated     = 20 // letters of a unit
)

// DropRepeats returns a text without repetition: it keeps the first of lines, sentences or
// small groups of them that follow each other three times or more, and drops a loop at the end.
// It keeps code and tables.
func DropRepeats(text string) string {
	text = llm.TrimLoop(text)
	lines := strings.SplitAfter(text, "\n")
	code := false
	for i, line := range lines {
		bare := strings.TrimSpace(line)
		if strings.HasPrefix(bare, "```") {
			code = !code
		}
		if !code && !strings.HasPrefix(bare, "|") {
			lines[i] = joinOnce(splitSentences(line))
		}
	}
	return strings.TrimRightFunc(joinOnce(lines), unicode.IsSpace)
}

// joinOnce joins parts without those that repeat the parts before them.
func joinOnce(parts []string) string {
	keys, letters := make([]string, len(parts)), make([]int, len(parts))
	code := false
	var at []int // parts with words
	for i, p := range parts {
		bare := strings.TrimSpace(p)
		if strings.HasPrefix(bare, "```") {
			code = !code
		}
		if code || strings.HasPrefix(bare, "|") || strings.HasPrefix(bare, "```") {
			keys[i] = "\x00" + string(rune(i)) // is never repeated
			at = append(at, i)
		} else if keys[i] = joinWords(splitWords(TrimBullet(bare))); strings.TrimSpace(keys[i]) != "" {
			letters[i] = len(keys[i])
			at = append(at, i)
		}
	}
	drop := make([]bool, len(parts))
	for i := 0; i < len(at); {
		n, times := repeatedUnit(at[i:], keys, letters)
		if times >= minRepeats {
			from, to := at[i+n-1]+1, at[i+n*times-1]
			for k := from; k <= to; k++ {
				drop[k] = true
			}
			i += n * times
			continue
		}
		i++
	}
	if !slices.Contains(drop, true) {
		return strings.Join(parts, "")
	}
	var b strings.Builder
	for i, p := range parts {
		if !drop[i] {
			b.WriteString(p)
		}
	}
	return b.String()
}

// repeatedUnit returns the length of the unit at the start of a list that repeats most, and how
// often it does.
func repeatedUnit(at []int, keys []string, letters []int) (unit, times int) {
	for n := 1; n <= min(maxRepeatedUnit, len(at)/minRepeats); n++ {
		size := 0
		for _, i := range at[:n] {
			size += letters[i]
		}
		count := 1
		for count*n+n <= len(at) && sameKeys(at, keys, count*n, n) {
			count++
		}
		if size >= minRepeated && count >= minRepeats {
			return n, count
		}
	}
	return 1, 1
}

func sameKeys(at []int, keys []string, from, n int) bool {
	for i := range n {
		if keys[at[i]] != keys[at[from+i]] {
			return false
		}
	}
	return true
}

// splitSentences splits a line after sentences, each with the white space behind it.
func splitSentences(line string) (list []string) {
	start := 0
	for i := 0; i+1 < len(line); i++ {
		if strings.IndexByte(".!?", line[i]) >= 0 && (line[i+1] == ' ' || line[i+1] == '\n') {
			end := i + 1
			for end < len(line) && (line[end] == ' ' || line[end] == '\n') {
				end++
			}
			list = append(list, line[start:end])
			start, i = end, end-1
		}
	}
	return append(list, line[start:])
}
