package deep

import (
	"regexp"
	"strings"
)

var labelPattern = regexp.MustCompile(`(?im)^[\s>#*_-]*(hmm+|thoughts?)[\s*_]*:[\s*_]*`)

// formatReflection returns a reflection as "hmm: ...", an empty line and "thoughts: ...". Text with other or no
// labels becomes thoughts, with its first sentence as hmm.
func formatReflection(text string) string {
	text = strings.TrimSpace(text)
	var hmm, thoughts []string
	marks := labelPattern.FindAllStringSubmatchIndex(text, -1)
	if len(marks) == 0 {
		first, rest := firstSentence(text)
		if rest == "" {
			return "hmm: " + first + "\n\nthoughts: " + first
		}
		return "hmm: " + first + "\n\nthoughts: " + rest
	}
	if before := strings.TrimSpace(text[:marks[0][0]]); before != "" {
		thoughts = append(thoughts, before)
	}
	for i, m := range marks {
		end := len(text)
		if i+1 < len(marks) {
			end = marks[i+1][0]
		}
		part := strings.TrimSpace(text[m[1]:end])
		if part == "" {
			continue
		}
		if strings.HasPrefix(strings.ToLower(text[m[2]:m[3]]), "hm") {
			hmm = append(hmm, part)
		} else {
			thoughts = append(thoughts, part)
		}
	}
	if len(hmm) == 0 && len(thoughts) > 0 {
		first, _ := firstSentence(thoughts[0])
		hmm = []string{first}
	}
	if len(thoughts) == 0 {
		thoughts = hmm
	}
	return "hmm: " + strings.Join(hmm, "\n\n") + "\n\nthoughts: " + strings.Join(thoughts, "\n\n")
}

func firstSentence(text string) (first, rest string) {
	for i, r := range text {
		if strings.ContainsRune(".!?\n", r) && (i+1 == len(text) || strings.ContainsAny(text[i+1:i+2], " \n")) {
			return strings.TrimSpace(text[:i+1]), strings.TrimSpace(text[i+1:])
		}
	}
	return text, ""
}
