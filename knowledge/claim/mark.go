package claim

import (
	"regexp"
	"slices"
	"strings"
)

// weakScore is the score under which what is qualified is marked, though nothing in it
// is missing in the quotes.
const weakScore = 0.35

// mark returns what is written behind a claim that is not borne out, or "".
func (f Finding) mark() string {
	switch f.Verdict {
	case Unverified:
		return " [unverified]"
	case Contradicted:
		if len(f.Against) > 0 && isID(f.Against[0].Evidence) {
			return " [contradicted by " + f.Against[0].Evidence + "]"
		}
		return " [contradicted]"
	case Qualified:
		if f.mismatch || f.part || f.Score < weakScore {
			return " [partly supported]"
		}
	}
	return ""
}

// Mark writes into a text, behind each factual sentence that is not borne out, how it
// stands: "[unverified]", "[contradicted by e4]", or "[partly supported]" where a
// number, date, name or more of it is in no quote. Nothing else of the text is changed,
// but that marks are taken out that are there already, so that to mark twice is to mark
// once. The sentences are those of the text by Split, marked or not; a finding belongs
// to the sentence at its place. A sentence that is not in the text is left out.
func Mark(text string, sentences []Sentence, findings []Finding) string {
	bare := Unmark(text)
	var out strings.Builder
	at, next := 0, 0
	for _, place := range Split(bare) {
		i := sentenceAt(sentences, place, next)
		if i < 0 {
			continue
		}
		next = i + 1
		if !place.Factual || i >= len(findings) {
			continue
		}
		m := findings[i].mark()
		if m == "" {
			continue
		}
		end := markPlace(bare, place)
		out.WriteString(bare[at:end])
		out.WriteString(m)
		at = end
	}
	out.WriteString(bare[at:])
	return out.String()
}

// sentenceAt returns which of the sentences from next on is the one at a place, or -1: the
// one of its offsets, or the next that says the same, as offsets of a text that was
// marked are others.
func sentenceAt(sentences []Sentence, place Sentence, next int) int {
	const ahead = 8
	i, ok := slices.BinarySearchFunc(sentences, place.Start, func(s Sentence, start int) int { return s.Start - start })
	if ok && i >= next && sentences[i].Text == place.Text {
		return i
	}
	for i := next; i < min(len(sentences), next+ahead); i++ {
		if sentences[i].Text == place.Text {
			return i
		}
	}
	return -1
}

// markPlace returns where the mark of a sentence goes: behind it, and in a row of a
// table into its last cell.
func markPlace(text string, s Sentence) int {
	said := text[s.Start:s.End]
	if strings.HasPrefix(said, "|") && strings.HasSuffix(said, "|") && len(said) > 1 {
		said = strings.TrimRight(said[:len(said)-1], " \t")
	}
	return s.Start + len(said)
}

// marks are what this package writes into a text, and what a model may write that looks
// like it.
var marks = regexp.MustCompile(`(?i)[ \t]?(?:\*\*|_)?\[(?:un|not )?(?:verified|supported|confirmed|partly supported|partially supported|qualified|inference|contradicted(?: by [a-z]{1,8}[0-9]{1,9}(?:, ?[a-z]{1,8}[0-9]{1,9}){0,20})?)\](?:\*\*|_)?`)

// markAt returns the length of the mark that a text begins with, or 0.
func markAt(s string) int {
	if !strings.HasPrefix(s, "[") {
		return 0
	}
	end := strings.IndexAny(s[1:min(len(s), 300)], "[]\n")
	if end < 0 || s[1+end] != ']' {
		return 0
	}
	if m := marks.FindStringIndex(s[:end+2]); m != nil && m[0] == 0 {
		return m[1]
	}
	return 0
}

// Unmark takes the marks out of a text that Mark writes, and what looks like them: a
// model may have typed them itself.
func Unmark(text string) string {
	if !strings.Contains(text, "[") {
		return text
	}
	for range 16 {
		next := marks.ReplaceAllString(text, "")
		if next == text {
			return text
		}
		text = next
	}
	return strings.NewReplacer("[", "(", "]", ")").Replace(text)
}
