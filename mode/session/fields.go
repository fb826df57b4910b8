package session

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// The labels of the text formats and what models call them.
var (
	thoughtLabels = map[string]string{
		"thought": "thought", "thoughts": "thought", "thought text": "thought", "idea": "thought",
		"type": "type", "thought type": "type", "kind": "type", "category": "type",
		"confidence": "confidence", "confidence level": "confidence", "certainty": "confidence",
		"cites": "cites", "sources": "cites", "source": "cites", "citations": "cites", "evidence": "cites",
	}
	questionLabels = map[string]string{
		"question": "question", "questions": "question", "new question": "question", "q": "question", "question text": "question",
		"priority": "priority", "importance": "priority",
		"why": "why", "reason": "why", "rationale": "why", "explanation": "why", "because": "why",
	}
	summaryLabels = map[string]string{
		"synthesis": "text", "final synthesis": "text", "answer": "text", "final answer": "text", "current understanding": "text", "summary": "text",
		"insights": "insights", "key insights": "insights", "insight": "insights", "key insight": "insights",
		"confidence": "confidence", "confidence level": "confidence", "overall confidence": "confidence",
		"remaining": "remaining", "remaining questions": "remaining", "open questions": "remaining", "unanswered questions": "remaining", "remaining question": "remaining",
	}
)

// Labels in the middle of a line. In capitals they may follow a blank, otherwise
// a bar or a bracket.
var (
	thoughtInline  = inline("type|confidence|cites|sources")
	questionInline = inline("priority|why|rationale")
	summaryInline  = inline("key insights|insights|confidence|remaining")
)

func inline(labels string) *regexp.Regexp {
	mark := `[*_]{0,3}`
	return regexp.MustCompile(`(?:\s` + mark + `(` + strings.ToUpper(labels) + `)|[|;,(\[{·•]\s*` + mark + `((?i:` + labels + `)))\s*` + mark + `\s*[:：﹕=]`)
}

// A tokenKind is what a line, or a part of it, is.
type tokenKind int

const (
	plain tokenKind = iota
	label
	blank
	rule // a line of dashes
	fence
)

// A token is a line of an answer, or a labelled part of one.
type token struct {
	kind  tokenKind
	label string // what is meant by it
	text  string // that follows the label, or the line
	line  string // all of it, if it begins with a label
}

// tokens splits an answer.
func tokens(text string, labels map[string]string, inner *regexp.Regexp) (list []token) {
	for line := range strings.SplitSeq(clean(text), "\n") {
		line = strings.TrimRightFunc(line, unicode.IsSpace)
		switch bare := strings.TrimSpace(line); {
		case bare == "":
			list = append(list, token{kind: blank})
		case strings.HasPrefix(bare, "```"), strings.HasPrefix(bare, "~~~"):
			list = append(list, token{kind: fence, text: line})
		case isRule(bare):
			list = append(list, token{kind: rule, text: line})
		default:
			list = appendLine(list, line, labels, inner)
		}
	}
	return list
}

// appendLine appends a line, split before each label.
func appendLine(list []token, line string, labels map[string]string, inner *regexp.Regexp) []token {
	first := token{text: line}
	if name, rest, ok := labelled(line, labels); ok {
		first = token{kind: label, label: name, text: rest, line: line}
	}
	cuts := inner.FindAllStringSubmatchIndex(first.text, -1)
	if len(cuts) == 0 {
		return append(list, first)
	}
	rest := first.text
	if first.text = unopened(rest[:cuts[0][0]]); first.text != "" || first.kind == label {
		list = append(list, first)
	}
	for i, c := range cuts {
		name, end := group(rest, c), len(rest)
		if i+1 < len(cuts) {
			end = cuts[i+1][0]
		}
		list = append(list, token{kind: label, label: labels[strings.ToLower(name)], text: unopened(strings.TrimLeft(rest[c[1]:end], " \t*_"))})
	}
	return list
}

func group(text string, c []int) string {
	if c[2] >= 0 {
		return text[c[2]:c[3]]
	}
	return text[c[4]:c[5]]
}

// unopened returns text without the punctuation that led to a label after it.
func unopened(text string) string {
	return strings.TrimSpace(strings.TrimRight(text, " \t|;,([{·•"))
}

// isRule reports whether a line has nothing but dashes or the like.
func isRule(line string) bool {
	return utf8.RuneCountInString(line) >= 3 && strings.Trim(line, "-—–=*_ ") == "" && strings.Trim(line, "* ") != "" || line == "***" || line == "* * *"
}

// maxHead bounds how far into a line its label may end, in bytes.
const maxHead = 60

// labelled splits a line that begins with a label: "2. **Thought 2:** text". A
// label may also stand alone: "## Key insights".
func labelled(line string, labels map[string]string) (name, rest string, ok bool) {
	for i, r := range line {
		if i > maxHead {
			return "", "", false
		}
		size := utf8.RuneLen(r)
		switch r {
		case ':', '：', '﹕', '꞉', '=':
		case '-', '–', '—':
			if i == 0 || line[i-1] != ' ' || !strings.HasPrefix(line[i+size:], " ") {
				continue
			}
		default:
			continue
		}
		if name, ok := labels[headOf(line[:i])]; ok {
			return name, unmarked(line[:i], line[i+size:]), true
		}
	}
	if name, ok := labels[headOf(line)]; ok && len(line) <= maxHead && strings.ContainsAny(line, "*#_") {
		return name, "", true
	}
	return "", "", false
}

// headOf returns the words before a colon without numbers and decoration.
func headOf(head string) string {
	words := strings.FieldsFunc(strings.ToLower(fold(head)), func(r rune) bool { return !unicode.IsLetter(r) && r != '\'' })
	return strings.Join(words, " ")
}

// unmarked returns what follows a label, without the end of bold type or the
// like that began before it.
func unmarked(head, rest string) string {
	head, rest = head[len(bullet.FindString(head)):], strings.TrimSpace(rest)
	for _, mark := range []string{"**", "__", "*", "`"} {
		if strings.Count(head, mark)%2 == 1 {
			if after, ok := strings.CutPrefix(rest, mark); ok {
				return strings.TrimSpace(after)
			}
			return strings.TrimSpace(strings.TrimSuffix(rest, mark))
		}
	}
	return rest
}
