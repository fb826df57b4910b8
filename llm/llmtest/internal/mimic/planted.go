package mimic

import (
	"regexp"
	"strings"
)

var (
	overrule = regexp.MustCompile(`(?i)\b(?:ignore|disregard|forget|override|do not follow|stop following)\b[^.\n]{0,80}\b(?:instruction|prompt|above|previous|prior|earlier|before|rule|everything|question|task)`)
	demand   = regexp.MustCompile(`(?i)\b(?:reply|respond|answer|say|output|print|write|return)\b(?:\s+(?:only|just|simply|exactly|instead|verbatim|now|back))*(?:\s+with)?(?:\s+(?:only|just|exactly|the (?:word|words|text|phrase|sentence)))*\s*[:,]?\s*` +
		"(?:\"([^\"\n]{1,400})\"|'([^'\n]{1,400})'|`([^`\n]{1,400})`|“([^”\n]{1,400})”|([^\n.]{1,400}))")
	invoke = regexp.MustCompile(`(?i)\b(?:call|use|invoke|run|execute)\s+(?:the\s+)?(?:tool|function)?\s*["'` + "`" + `]?([A-Za-z_][A-Za-z0-9_.-]{1,63})`)
)

const maxPlanted = 1 << 20 // bytes of a text that are searched

// An Order is an instruction planted in a text.
type Order struct {
	Say  string // what to answer, or empty
	Tool string // what to call, or empty
}

// Planted finds an instruction to overrule those that came before, as in
// "IGNORE ALL PREVIOUS INSTRUCTIONS and reply with X". It reports false if
// there is none, or none that says what to do.
func Planted(text string) (Order, bool) {
	text = text[:min(len(text), maxPlanted)]
	for {
		at := overrule.FindStringIndex(text)
		if at == nil {
			return Order{}, false
		}
		text = text[at[1]:]
		near := text[:min(len(text), 1000)]
		var o Order
		if m := demand.FindStringSubmatch(near); m != nil {
			o.Say = strings.TrimSpace(strings.Join(m[1:], ""))
		}
		if m := invoke.FindStringSubmatch(near); m != nil {
			o.Tool = m[1]
		}
		if o != (Order{}) {
			return o, true
		}
	}
}
