package deep

import (
	"regexp"
	"slices"
	"strings"

	"ponder/llm"
	"ponder/redact"
)

// label finds the labels of a reflection, however they are dressed up.
var label = regexp.MustCompile(`(?im)^[\s>#*_-]*(hmm+|thoughts?)[\s*_]*:[\s*_]*`)

// form returns a reflection in its stored form: "hmm: ...", an empty line and
// "thoughts: ...". What has other labels, or none, is all thoughts, and its first
// sentence is what strikes.
func form(text string) string {
	text = strings.TrimSpace(text)
	var hmm, thoughts []string
	marks := label.FindAllStringSubmatchIndex(text, -1)
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

// firstSentence cuts a text after its first sentence.
func firstSentence(text string) (first, rest string) {
	for i, r := range text {
		if strings.ContainsRune(".!?\n", r) && (i+1 == len(text) || strings.ContainsAny(text[i+1:i+2], " \n")) {
			return strings.TrimSpace(text[:i+1]), strings.TrimSpace(text[i+1:])
		}
	}
	return text, ""
}

// cleaned returns what a model wrote without what may not be kept.
func cleaned(m llm.Message, r *redact.Redactor) llm.Message {
	m.Parts = slices.Clone(m.Parts)
	for i, p := range m.Parts {
		text, reasoning := r.Text(p.Text), r.Text(p.Reasoning)
		if text != p.Text || reasoning != p.Reasoning {
			p.Text, p.Reasoning, p.Opaque = text, reasoning, nil // which may have it too
		}
		if p.Call != nil {
			call := *p.Call
			call.Input = r.JSON(call.Input)
			p.Call = &call
		}
		m.Parts[i] = p
	}
	return m
}
