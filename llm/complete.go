package llm

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// CompletePart returns the complete parts of an answer that broke off. Of JSON these are the
// complete members and items, without a record that lacks its first member, and the complete
// sentences of a text in the outermost object. Of other text they are the complete sentences
// and list items. An answer that ends properly is unchanged.
func CompletePart(text string) string {
	body := strings.TrimLeft(text, " \t\r\n")
	if rest, ok := strings.CutPrefix(body, fenceMark); ok {
		if _, after, ok := strings.Cut(rest, "\n"); ok {
			if inner := strings.TrimLeft(after, " \t\r\n"); isContainer(inner) {
				body = inner
			}
		}
	}
	if isContainer(body) {
		return completeJSON(body)
	}
	return CompleteSentences(text)
}

func isContainer(text string) bool {
	return text != "" && (text[0] == '{' || text[0] == '[')
}

// A jsonCutter reads the JSON of an answer that broke off. Unlike [Repair] it keeps nothing
// that may be incomplete.
type jsonCutter struct {
	text    string
	open    []byte // brackets
	kept    int    // end of the newest complete member or item
	closers string // of the brackets open there
	isValue bool   // the next scalar is a member's value
}

func completeJSON(text string) string {
	c := jsonCutter{text: text}
	for i := 0; i < len(text); {
		switch b := text[i]; b {
		case '{', '[':
			c.open, c.isValue = append(c.open, b), b == '['
			if i++; len(c.open) == 1 {
				c.keep(i)
			}
		case '}', ']':
			if len(c.open) == 0 {
				return text
			}
			c.open = c.open[:len(c.open)-1]
			if i++; len(c.open) == 0 {
				return text // complete
			}
			c.endValue(i)
		case '"':
			n := stringLen(text[i:])
			if n == 0 {
				return c.closeText(i)
			}
			if i += n; c.isValue {
				c.endValue(i)
			}
		case ':':
			c.isValue = true
			i++
		case ',', ' ', '\t', '\r', '\n':
			i++
		default:
			n := strings.IndexAny(text[i:], ",]} \t\r\n:")
			if n < 0 { // a number may go on
				return c.join(c.kept, "")
			}
			if n == 0 {
				n = 1
			}
			if i += n; c.isValue {
				c.endValue(i)
			}
		}
	}
	return c.join(c.kept, "")
}

// endValue keeps the text up to a complete value.
func (c *jsonCutter) endValue(at int) {
	c.keep(at)
	c.isValue = len(c.open) > 0 && c.open[len(c.open)-1] == '['
}

func (c *jsonCutter) keep(at int) {
	c.kept = at
	closers := make([]byte, 0, len(c.open))
	for i := len(c.open) - 1; i >= 0; i-- {
		closers = append(closers, c.open[i]+2) // '}' and ']' are two after their brackets
	}
	c.closers = string(closers)
}

// join returns the text up to a place, with its end.
func (c *jsonCutter) join(at int, end string) string { return c.text[:at] + end + c.closers }

// closeText keeps the complete sentences of a member of the outermost object whose text,
// from its quote, is incomplete.
func (c *jsonCutter) closeText(quote int) string {
	if len(c.open) != 1 || c.open[0] != '{' || !c.isValue {
		return c.join(c.kept, "")
	}
	part := c.text[quote+1:]
	if n := strings.LastIndexByte(part, '\\'); n >= 0 && len(part)-n < 6 { // perhaps half of an escape
		for n > 0 && part[n-1] == '\\' {
			n--
		}
		part = part[:n]
	}
	part = CompleteSentences(strings.ReplaceAll(part, `\n`, "\n"))
	if part == "" {
		return c.join(c.kept, "")
	}
	return c.join(quote+1, strings.ReplaceAll(part, "\n", `\n`)+`"`)
}

// stringLen returns the length of the JSON string at the start of text, or 0 without its end.
func stringLen(text string) int {
	for i := 1; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return 0
}

// CompleteSentences returns text without an incomplete sentence or list item at its end. It
// returns text without any end of a sentence or line unchanged.
func CompleteSentences(text string) string {
	text = strings.TrimRightFunc(text, unicode.IsSpace)
	end := 0
	for i, r := range text {
		next := i + utf8.RuneLen(r)
		switch {
		case strings.ContainsRune("。！？", r), r == '\n':
			end = next
		case r == '.' && isNumbered(text[end:i]): // of a list item
		case strings.ContainsRune(".!?…", r):
			for next < len(text) && strings.IndexByte(`"')*_]`, text[next]) >= 0 {
				next++
			}
			if rest := text[next:]; rest == "" || unicode.IsSpace(firstRune(rest)) || strings.HasPrefix(rest, "”") || isCited(rest) {
				end = next
			}
		}
	}
	if end == 0 {
		return text
	}
	if rest, ok := citation(text[end:]); ok {
		end = len(text) - len(rest)
	}
	return strings.TrimRightFunc(text[:end], unicode.IsSpace)
}

// isNumbered reports whether a text is only the number of a list item.
func isNumbered(text string) bool {
	text = strings.TrimSpace(text)
	return text != "" && len(text) <= 3 && strings.Trim(text, "0123456789") == ""
}

func firstRune(text string) rune {
	r, _ := utf8.DecodeRuneInString(text)
	return r
}

func isCited(text string) bool {
	_, ok := citation(text)
	return ok
}

// citation returns the rest of a text after the citations at its start, such as " [e3]".
func citation(text string) (rest string, ok bool) {
	for {
		after, is := strings.CutPrefix(strings.TrimLeft(text, " "), "[")
		id, more, closed := strings.Cut(after, "]")
		if !is || !closed || len(id) == 0 || len(id) > 8 {
			return text, ok
		}
		text, ok = more, true
	}
}
