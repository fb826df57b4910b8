package session

import (
	"ponder/internal/textkit"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Labels in the middle of a line. In capitals they may follow a blank, otherwise
// a bar or a bracket.
var (
	thoughtInline  = inline("type|confidence|cites|sources|importance")
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
	note  string // in brackets behind the label, as in THOUGHT 2 (critique)
	line  string // all of it, with the label

	within bool // it does not begin its line
}

// raw returns the line of a token, with its label.
func (t token) raw() string {
	if t.kind == label {
		return t.line
	}
	return t.text
}

// tokens splits an answer.
func tokens(text string, all labels, inner *regexp.Regexp) (list []token) {
	for line := range strings.SplitSeq(textkit.CleanTrim(text), "\n") {
		line = strings.TrimRightFunc(line, unicode.IsSpace)
		switch bare := strings.TrimSpace(line); {
		case strings.Trim(bare, "> ") == "":
			list = append(list, token{kind: blank})
		case strings.HasPrefix(bare, "```"), strings.HasPrefix(bare, "~~~"):
			list = append(list, token{kind: fence, text: line})
		case isRule(bare):
			list = append(list, token{kind: rule, text: line})
		default:
			list = appendLine(list, line, all, inner)
		}
	}
	return list
}

// appendLine appends a line, split before each label.
func appendLine(list []token, line string, all labels, inner *regexp.Regexp) []token {
	first := token{text: line}
	if name, note, rest, ok := labelled(line, all); ok {
		first = token{kind: label, label: name, text: rest, note: note, line: line}
	}
	cuts := inner.FindAllStringSubmatchIndex(first.text, -1)
	if _, _, ok := tailOf(line); len(cuts) == 0 || ok && first.kind == plain {
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
		list = append(list, token{kind: label, label: all[strings.ToLower(name)], text: unopened(strings.TrimLeft(rest[c[1]:end], " \t*_")), line: strings.TrimRight(rest[c[0]:end], " \t"), within: true})
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

// labelled splits a line that begins with a label: "2. **Thought 2 (critique):** text".
// A label may also stand alone, as in "## Key insights", or in brackets, as in "[TYPE] x".
func labelled(line string, all labels) (name, note, rest string, ok bool) {
	depth := 0
	for i, r := range line {
		if i > maxHead || r == '"' || r == '{' { // not those of JSON
			break
		}
		size := utf8.RuneLen(r)
		switch r {
		case '(', '（':
			depth++
			continue
		case ')', '）':
			depth--
			continue
		case ':', '：', '﹕', '꞉', '=':
		case '-', '–', '—':
			if i == 0 || line[i-1] != ' ' || !strings.HasPrefix(line[i+size:], " ") {
				continue
			}
		default:
			continue
		}
		if name, note, ok := all.noted(line[:i]); ok && depth <= 0 {
			return name, note, unmarked(line[:i], line[i+size:]), true
		}
	}
	if inside, rest, ok := strings.Cut(unlisted(line), "]"); ok && len(inside) <= maxHead && strings.HasPrefix(strings.TrimLeft(inside, "*_"), "[") && !strings.ContainsAny(inside, "0123456789") {
		if name, ok := all.of(inside); ok {
			return name, "", strings.Trim(rest, " *_"), true
		}
	}
	if len(line) <= maxHead && strings.ContainsAny(line, "*#_") {
		if name, note, ok := all.noted(line); ok {
			return name, note, "", true
		}
	}
	return "", "", "", false
}

// noted returns what a head means, and what stands in brackets behind it.
func (all labels) noted(head string) (name, note string, ok bool) {
	if i := strings.IndexAny(head, "(（"); i > 0 && strings.ContainsFunc(head[:i], unicode.IsLetter) {
		head, note = head[:i], head[i:]
	}
	name, ok = all.of(head)
	return name, strings.Trim(note, "()（） *_#"), ok
}

// unmarked returns what follows a label, without the end of bold type or the
// like that began before it.
func unmarked(head, rest string) string {
	if len(rest) > 1 && (rest[0] == '-' || strings.HasPrefix(rest, "–")) { // right behind the colon it is no minus
		rest = strings.TrimLeft(rest, "-–")
	}
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
