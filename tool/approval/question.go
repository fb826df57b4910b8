package approval

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"unicode"
)

// maxShown limits the arguments of a call that the user approves, in bytes. The user must be able
// to read all of them.
const maxShown = 16 << 10

// Show returns the arguments of a call as indented JSON, exactly as they will be sent. Characters
// that a terminal or a page does not show are escaped, so that nothing stays hidden.
func Show(args json.RawMessage) string {
	var b bytes.Buffer
	if json.Indent(&b, args, "", "  ") != nil {
		b.Reset()
		b.Write(args)
	}
	return Escape(b.String())
}

// Escape escapes the characters of a text that a terminal or a page does not show.
func Escape(text string) string {
	var out strings.Builder
	for _, r := range text {
		switch {
		case r == '\n' || r == ' ' || unicode.IsGraphic(r) && !unicode.Is(unicode.Zs, r) && !isInvisible(r):
			out.WriteRune(r)
		case r > 0xFFFF:
			r -= 0x10000
			fmt.Fprintf(&out, `\u%04x\u%04x`, 0xD800+r>>10, 0xDC00+r&0x3FF)
		default:
			fmt.Fprintf(&out, `\u%04x`, r)
		}
	}
	return out.String()
}

// isInvisible reports whether a rune is shown as nothing, or changes how its neighbours are shown.
func isInvisible(r rune) bool {
	switch {
	case r == 0x115F, r == 0x1160, r == 0x3164, r == 0xFFA0, r == 0x2800, r == 0x034F: // fillers and joiners
		return true
	case r >= 0xFE00 && r <= 0xFE0F, r >= 0xE0100 && r <= 0xE01EF: // variation selectors
		return true
	}
	return unicode.In(r, unicode.Cf, unicode.Cc, unicode.Co, unicode.Zl, unicode.Zp)
}

// markup escapes the characters by which a text starts or ends a comment, a tag, a formula or code. So
// an answer that leaves one open, such as "<!--", hides the question as a whole or not at all: its
// arguments cannot close it. The escapes are those of JSON, so the arguments stay exact.
var markup = strings.NewReplacer("<", `\u003c`, ">", `\u003e`, "&", `\u0026`, "`", `\u0060`, "$", `\u0024`, `\\`, `\u005c`)

// QuestionStart starts each question.
const QuestionStart = "**Ponder asks for your approval**"

// Question returns the question to the user as Markdown, for clients that show only text. code
// is the code that the user types; it is empty where the client asks by other means.
func Question(tool string, args json.RawMessage, reason, code string, untrusted []string) string {
	show := func(text []byte) string { return markup.Replace(Show(text)) }
	var b strings.Builder
	fmt.Fprintf(&b, "%s (%s): run `%s` with exactly this?\n\n```json\n%s\n```\n", QuestionStart, reason, show([]byte(tool)), show(args))
	if len(untrusted) > 0 {
		fmt.Fprintf(&b, "\nUntrusted text in this conversation: `%s`\n", show([]byte(strings.Join(untrusted, "; "))))
	}
	if code != "" {
		fmt.Fprintf(&b, "\nAnswer `approve %s` or `deny %s`.", code, code)
	}
	return b.String()
}

// ParseAnswer parses the answer to a question: approve or deny, and the code. Any other text is no
// answer.
func ParseAnswer(text string) (code string, approved, ok bool) {
	words := strings.Fields(strings.NewReplacer("`", "", "*", "").Replace(strings.Trim(text, " \t\r\n.!`*")))
	if len(words) != 2 || len(words[1]) < 4 {
		return "", false, false
	}
	switch strings.ToLower(words[0]) {
	case "approve":
		approved = true
	case "deny":
	default:
		return "", false, false
	}
	return strings.ToUpper(words[1]), approved, true
}
