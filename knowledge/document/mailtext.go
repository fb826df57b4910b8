package document

import "strings"

// Headings for text by others and for signatures.
const (
	quotedTitle    = "Quoted"
	signatureTitle = "Signature"
)

// messageBlocks returns the blocks of a message text. Quoted text before an answer stays in
// place, marked ">"; other quoted text gets a heading at the end. Lines that end with
// a space join if flowed.
func messageBlocks(text string, flowed bool) []Block {
	text = strings.ReplaceAll(text, "\r\n", "\n")
	if flowed {
		text = joinFlowed(text)
	}
	body, signature := cutSignature(text)
	lines := strings.Split(body, "\n")
	last := len(lines)
	for last > 0 && (isQuoted(lines[last-1]) || strings.TrimSpace(lines[last-1]) == "") {
		last--
	}
	if at := forwardedStart(lines[:last]); at >= 0 {
		last = at
	} else {
		last = attributionStart(lines, last)
	}
	var out []Block
	for first := 0; first < last; {
		end := first + 1
		for end < last && isQuoted(lines[end]) == isQuoted(lines[first]) {
			end++
		}
		if piece := lines[first:end]; isQuoted(piece[0]) {
			out = append(out, quotedItems(piece)...)
		} else {
			out = append(out, plainParagraphs(strings.Join(piece, "\n"))...)
		}
		first = end
	}
	if quoted := plainParagraphs(stripQuoteMarks(lines[last:])); len(quoted) > 0 {
		out = append(append(out, Block{Kind: Heading, Level: 6, Text: quotedTitle}), quoted...)
	}
	if signed := plainParagraphs(signature); len(signed) > 0 {
		out = append(append(out, Block{Kind: Heading, Level: 6, Text: signatureTitle}), signed...)
	}
	return out
}

// plainParagraphs is Plain without headings: short lines such as "Thank you" are text.
func plainParagraphs(text string) []Block {
	blocks := Plain(text).Blocks
	for i, b := range blocks {
		if b.Kind == Heading {
			blocks[i] = Block{Text: b.Text}
		}
	}
	return blocks
}

func isQuoted(line string) bool { return strings.HasPrefix(line, ">") }

func stripQuoteMarks(lines []string) string {
	var b strings.Builder
	for _, l := range lines {
		b.WriteString(strings.TrimLeft(l, "> "))
		b.WriteByte('\n')
	}
	return b.String()
}

func quotedItems(lines []string) []Block {
	blocks := Plain(stripQuoteMarks(lines)).Blocks
	for i := range blocks {
		blocks[i] = Block{Kind: Item, Text: "> " + blocks[i].Text}
	}
	return blocks
}

// cutSignature splits a text at its last "-- " line if little follows.
func cutSignature(text string) (body, signature string) {
	for _, mark := range []string{"\n-- \n", "\n--\n"} {
		if i := strings.LastIndex(text, mark); i >= 0 {
			if rest := text[i+len(mark):]; strings.Count(rest, "\n") <= 15 && !strings.Contains(rest, "\n>") {
				return text[:i], rest
			}
		}
	}
	return text, ""
}

func splitSignature(blocks []Block) []Block {
	for i := len(blocks) - 1; i >= 0 && i >= len(blocks)-15; i-- {
		if strings.TrimSpace(blocks[i].Text) == "--" && i+1 < len(blocks) {
			blocks[i] = Block{Kind: Heading, Level: 6, Text: signatureTitle}
			return blocks
		}
	}
	return blocks
}

// forwardedStart returns the first line of an unmarked forwarded message, or -1.
func forwardedStart(lines []string) int {
	for i, l := range lines {
		s := strings.Trim(l, "-_ \t")
		if len(s) < len(strings.TrimSpace(l))-3 && (s == "Original Message" || s == "Forwarded message" || s == "Ursprüngliche Nachricht" || s == "Message d'origine" || s == "Weitergeleitete Nachricht") {
			return i
		}
		if strings.HasPrefix(l, "From: ") && i+3 < len(lines) && strings.HasPrefix(lines[i+1], "Sent: ") && strings.HasPrefix(lines[i+2], "To: ") {
			return i
		}
	}
	return -1
}

// attributionStart returns the start of the attribution of the quotation at last: "On
// Monday Anna wrote:".
func attributionStart(lines []string, last int) int {
	if last == len(lines) || last == 0 {
		return last
	}
	if !strings.HasSuffix(strings.TrimSpace(lines[last-1]), ":") {
		return last
	}
	for i := last - 1; i >= max(last-3, 0); i-- {
		l := strings.TrimSpace(lines[i])
		if l == "" {
			break
		}
		for _, begin := range []string{"On ", "Am ", "Le ", "El ", "Il ", "Op ", "Em "} {
			if strings.HasPrefix(l, begin) {
				return i
			}
		}
	}
	if l := strings.TrimSpace(lines[last-1]); strings.Contains(l, "wrote:") || strings.Contains(l, "schrieb") || strings.Contains(l, "écrit") {
		return last - 1
	}
	return last
}

func joinFlowed(text string) string {
	var b strings.Builder
	for line := range strings.SplitSeq(text, "\n") {
		if line == "-- " || !strings.HasSuffix(line, " ") {
			b.WriteString(line + "\n")
			continue
		}
		if isQuoted(line) {
			b.WriteString(strings.TrimRight(line, " ") + "\n")
			continue
		}
		b.WriteString(line)
	}
	return b.String()
}
