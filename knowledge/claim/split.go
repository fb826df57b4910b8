package claim

import (
	"strings"
	"unicode/utf8"
)

const (
	maxSentences = 400
	maxSentence  = 4 << 10 // bytes
)

// Split divides a finished Markdown answer into sentences, in order and without
// overlap. List items and table rows are one or more sentences. Headings and code are
// factual if they state a fact; source lists are not factual. It returns at most 400
// sentences. It cuts those over 4 KiB and drops later text.
func Split(text string) []Sentence {
	list, _ := splitWithEnd(text)
	return list
}

// CheckedPart returns the part of a text that Split reads, and whether that is less than
// all. The rest is neither checked nor marked.
func CheckedPart(text string) (string, bool) {
	_, end := splitWithEnd(text)
	if !hasLetter(text[end:]) {
		return text, false
	}
	return strings.TrimSpace(text[:end]), true
}

func splitWithEnd(text string) (list []Sentence, end int) {
	parts, end := scanBlocks(text)
	for _, b := range parts {
		for _, s := range b.splitSentences(text) {
			for _, part := range splitLong(text, s) {
				sentence, ok := parseSentence(text, part, b.kind)
				if ok && len(list) == maxSentences {
					return list, list[len(list)-1].End
				}
				if ok {
					list = append(list, sentence)
				}
			}
		}
	}
	return list, end
}

func parseSentence(text string, at span, kind blockKind) (Sentence, bool) {
	at = trimSpan(text, at)
	said, cites := stripMarkdown(text[at.start:at.end])
	if !hasLetter(said) {
		return Sentence{}, false
	}
	s := Sentence{Text: said, Start: at.start, End: at.end, Cites: cites}
	s.Factual = kind.statesFact(said)
	return s, true
}

type span struct{ start, end int }

func trimSpan(text string, s span) span {
	part := text[s.start:s.end]
	s.start += len(part) - len(strings.TrimLeft(part, " \t\r\n>"))
	s.end = s.start + len(strings.TrimSpace(text[s.start:s.end]))
	return s
}

func splitLong(text string, s span) []span {
	var list []span
	for s.end-s.start > maxSentence && len(list) < maxSentences {
		cut := s.start + maxSentence
		if i := strings.LastIndexAny(text[s.start:cut], " \n\t"); i > maxSentence/2 {
			cut = s.start + i
		}
		for cut > s.start+1 && !utf8.RuneStart(text[cut]) {
			cut--
		}
		list = append(list, span{s.start, cut})
		s.start = cut
	}
	return append(list, s)
}

type blockKind uint8

const (
	paragraph blockKind = iota
	item
	row
	heading
	header // the first table row, above dashes
	code
	sourceEntry // an entry in a list of sources
)

func (k blockKind) statesFact(said string) bool {
	switch k {
	case heading:
		return headingStatesFact(said)
	case header:
		return headerStatesFact(said)
	case code:
		return isProse(said) && statesFact(said)
	case sourceEntry:
		return false
	}
	return statesFact(said)
}

type block struct {
	span
	kind blockKind
}

func (b block) splitSentences(text string) []span {
	if b.kind != paragraph && b.kind != item {
		return []span{b.span}
	}
	return sentencesIn(text, b.span)
}

type blockScanner struct {
	text    string
	list    []block
	open    bool   // the next line may continue the last block
	fence   string // the closing fence
	sources bool   // under a heading of a list of sources
}

func scanBlocks(text string) ([]block, int) {
	b := blockScanner{text: text}
	at := 0
	for at < len(text) && len(b.list) < 4*maxSentences {
		end := strings.IndexByte(text[at:], '\n')
		if end < 0 {
			end = len(text)
		} else {
			end += at
		}
		b.addLine(at, end)
		at = min(end+1, len(text))
	}
	return b.list, at
}

func (b *blockScanner) addLine(start, end int) {
	start = skipQuote(b.text, start, end)
	line := strings.TrimSpace(b.text[start:end])
	if b.addCode(line, start, end) {
		return
	}
	switch {
	case line == "":
		b.open = false
	case b.markUnderlined(line):
	case isRule(line):
		b.open = false
	case strings.HasPrefix(line, "#") && strings.HasPrefix(strings.TrimLeft(line, "#"), " "):
		b.addTitle(end-len(strings.TrimLeft(b.text[start:end], " \t#")), end)
	case isTableRow(line):
		b.addRow(line, start, end)
	case isBold(line) && !b.open:
		b.addTitle(start, end)
	default:
		b.addProse(start, end)
	}
}

func (b *blockScanner) addProse(start, end int) {
	kind := paragraph
	if n := bulletLength(b.text[start:end]); n > 0 {
		kind, b.open = item, false
		start += n
	}
	if b.open && len(b.list) > 0 {
		b.list[len(b.list)-1].end = end
		return
	}
	if b.sources {
		kind = sourceEntry
	}
	b.list = append(b.list, block{span{start, end}, kind})
	b.open = true
}

func (b *blockScanner) addCode(line string, start, end int) bool {
	if b.fence != "" {
		if strings.HasPrefix(line, b.fence) && strings.Trim(line, b.fence[:1]) == "" {
			b.fence, b.open = "", false
			return true
		}
		b.list[len(b.list)-1].end = end
		return true
	}
	for _, mark := range []string{"`", "~"} {
		n := len(line) - len(strings.TrimLeft(line, mark))
		if n >= 3 && !strings.Contains(line[n:], mark) {
			b.fence = line[:n]
			b.list = append(b.list, block{span{end, end}, code})
			return true
		}
	}
	return false
}

func (b *blockScanner) addTitle(start, end int) {
	b.list = append(b.list, block{span{start, end}, heading})
	b.enterHeading()
}

func (b *blockScanner) enterHeading() {
	last := b.list[len(b.list)-1]
	said, _ := stripMarkdown(b.text[last.start:min(last.end, last.start+200)])
	b.sources = sourceHeadings[strings.ToLower(strings.Trim(said, " :#"))]
	b.open = false
}

var sourceHeadings = pipeSet(`sources|source|references|reference|citations|bibliography|works cited|further reading|
quellen|quelle|literatur|quellenangaben|quellenverzeichnis|einzelnachweise|références|bibliographie|sources consultées|notes et références|
fuentes|referencias|bibliografía|fuentes consultadas|出典|参考文献|来源|參考資料|参考资料|fonti|bronnen|источники`)

func (b *blockScanner) markUnderlined(line string) bool {
	if !b.open || len(b.list) == 0 || strings.Trim(line, "=") != "" && strings.Trim(line, "-") != "" {
		return false
	}
	last := &b.list[len(b.list)-1]
	if last.kind != paragraph || strings.Contains(b.text[last.start:last.end], "\n") {
		return false
	}
	last.kind = heading
	b.enterHeading()
	return true
}

// addRow adds a table row. Dashes below the first row make it a header.
func (b *blockScanner) addRow(line string, start, end int) {
	b.open = false
	if strings.Trim(line, "|-: \t") == "" {
		if n := len(b.list); n > 0 && b.list[n-1].kind == row {
			b.list[n-1].kind = header
		}
		return
	}
	kind := row
	if b.sources {
		kind = sourceEntry
	}
	b.list = append(b.list, block{span{start, end}, kind})
}

func isTableRow(line string) bool {
	return len(line) > 1 && line[0] == '|' && line[len(line)-1] == '|' || strings.Count(line, " | ") >= 2
}

func isRule(line string) bool {
	if len(line) < 3 || !strings.ContainsAny(line[:1], "-*_") {
		return false
	}
	return strings.Count(line, line[:1]) >= 3 && strings.Trim(line, line[:1]+" ") == ""
}

func isBold(line string) bool {
	in, ok := strings.CutPrefix(line, "**")
	if !ok || len(line) > 120 {
		return false
	}
	in, ok = strings.CutSuffix(strings.TrimSuffix(in, ":"), "**")
	return ok && in != "" && !strings.Contains(in, "**") && !strings.ContainsAny(in[len(in)-1:], ".!?[]")
}

func bulletLength(line string) int {
	n := len(line) - len(strings.TrimLeft(line, " \t"))
	rest := line[n:]
	switch {
	case rest == "":
		return 0
	case strings.ContainsAny(rest[:1], "-*+"):
		n, rest = n+1, rest[1:]
	case strings.HasPrefix(rest, "•"):
		n, rest = n+len("•"), rest[len("•"):]
	default:
		digits := len(rest) - len(strings.TrimLeft(rest, "0123456789"))
		if digits == 0 || digits > 3 || digits == len(rest) || rest[digits] != '.' && rest[digits] != ')' {
			return 0
		}
		n, rest = n+digits+1, rest[digits+1:]
	}
	if rest != "" && rest[0] != ' ' && rest[0] != '\t' {
		return 0
	}
	n += len(rest) - len(strings.TrimLeft(rest, " \t"))
	if box := line[n:]; len(box) > 3 && box[0] == '[' && box[2] == ']' && strings.ContainsAny(box[1:2], " xX") && box[3] == ' ' {
		n += 4
	}
	return n
}

func skipQuote(text string, start, end int) int {
	for {
		rest := strings.TrimLeft(text[start:end], " ")
		if !strings.HasPrefix(rest, ">") {
			return start
		}
		start = end - len(rest) + 1
	}
}

func pipeSet(list string) map[string]bool {
	set := make(map[string]bool)
	for _, w := range strings.Split(list, "|") {
		set[strings.TrimSpace(w)] = true
	}
	return set
}
