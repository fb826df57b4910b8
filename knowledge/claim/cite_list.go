package claim

import (
	"regexp"
	"strings"

	"ponder/internal/textkit/lexical"
)

// removeComments removes HTML comments. An unclosed comment loses only its mark.
func (c *citationCleaner) removeComments(text string) string {
	if !strings.Contains(text, "<!--") {
		return text
	}
	var b strings.Builder
	for {
		at := strings.Index(text, "<!--")
		if at < 0 {
			return b.String() + text
		}
		end := strings.Index(text[at:], "-->")
		if end < 0 {
			c.reportRemoved("<!--")
			return b.String() + strings.ReplaceAll(text, "<!--", "")
		}
		c.reportRemoved(text[at : at+end+len("-->")])
		b.WriteString(text[:at])
		text = text[at+end+len("-->"):]
	}
}

// removeSourceLists removes source lists with their headings: all text from such a heading to the
// next, and the entries after a line "Sources:".
func (c *citationCleaner) removeSourceLists(text string) string {
	var keep, cut []string
	fence, in := "", notListed
	for line := range strings.SplitAfterSeq(text, "\n") {
		trimmed := strings.TrimSpace(line)
		if strings.HasPrefix(trimmed, "```") && in == notListed {
			fence = map[bool]string{true: "```"}[fence == ""]
		}
		if fence == "" {
			in = c.nextListState(in, trimmed)
		}
		if in == notListed {
			keep = append(keep, line)
		} else if cut = append(cut, line); trimmed != "" {
			c.reportRemoved(trimmed)
		}
	}
	if len(cut) == 0 {
		return text
	}
	return strings.Join(keep, "")
}

type listState uint8

const (
	notListed  listState = iota
	underTitle           // under a heading, which owns all lines
	underLine            // after a line with only "Sources:"
	inEntries            // in the entries after such a line
	inOneLine            // in a paragraph that starts with "Sources: "
)

func (c *citationCleaner) nextListState(in listState, line string) listState {
	head := line[:min(len(line), 200)]
	switch m := listTitle.FindStringSubmatch(head); {
	case m != nil && (m[1] != "" || m[2] != ""):
		return underTitle
	case m != nil:
		return underLine
	case listLine.MatchString(head) && !c.hasOnlyCitations(line):
		return inOneLine
	}
	titled := strings.HasPrefix(line, "#") || isBold(line)
	entry := bulletLength(line) > 0 || strings.HasPrefix(line, "[") || strings.HasPrefix(line, "|") || isRule(line)
	switch in {
	case underTitle:
		if titled || !entry && c.citesKnown(line) {
			return notListed
		}
		return underTitle
	case underLine, inEntries:
		if entry && !titled {
			return inEntries
		}
		if line == "" || !titled && in == underLine {
			return in
		}
		return notListed
	case inOneLine:
		if line != "" && !titled && !entry {
			return inOneLine
		}
	}
	return notListed
}

// citesKnown reports whether a line cites a gathered source, as answer text does.
func (c *citationCleaner) citesKnown(line string) bool {
	for i := range line {
		if n := citationLength(line[i:]); n > 0 {
			for _, id := range parseIDs(line[i : i+n]) {
				if c.isKnownID(id) {
					return true
				}
			}
		}
	}
	return false
}

func (c *citationCleaner) hasOnlyCitations(line string) bool {
	f, ok := c.parseForm(strings.NewReplacer("[", " ", "]", " ", "*", " ").Replace(line[strings.IndexByte(line, ':')+1:]))
	return ok && len(f.ids) > 0
}

const listNames = `(?:(?:list of |key |main |selected |cited |primary |additional )?(?:sources|references)(?: (?:and (?:references|further reading|notes)|cited|used|consulted))?|source list|reference list|bibliography|works cited|literature cited|further reading|citations|footnotes|endnotes|` +
	`quellen|quellenangaben|quellenverzeichnis|literatur|literaturverzeichnis|einzelnachweise|weiterführende literatur|références|notes et références|bibliographie|sources consultées|lectures complémentaires|` +
	`fuentes|fuentes consultadas|referencias|bibliografía|lecturas adicionales|出典|参考文献|来源|參考資料|参考资料|fonti|bibliografia|bronnen|literatuur|источники|литература)`

var (
	listTitle = regexp.MustCompile(`(?i)^[>\s]*(#{1,6}\s*)?(?:[0-9]{1,2}[.)]\s*)?(\*\*|__)?[\s:📚🔗]*` + listNames + `\s*[:：]?(?:\*\*|__)?\s*[:：]?\s*#*$`)
	listLine  = regexp.MustCompile(`(?i)^[>\s]*(?:[-*+]\s+)?(?:\*\*|__|\*|_)?(?:` + listNames + `|source|reference|quelle|fuente|référence)\s*(?:\*\*|__|\*|_)?[:：](?:\*\*|__|\*|_)?\s*\S`)
)

// tidyRemovals removes the remains of removals: empty emphasis and brackets, doubled commas,
// and empty sentences.
func tidyRemovals(text string) string {
	if !strings.Contains(text, removedMark) && !strings.Contains(text, removedWordMark) {
		return text
	}
	for range 4 {
		next := text
		for _, t := range tidyRules {
			next = t.of.ReplaceAllString(next, t.to)
		}
		if next == text {
			break
		}
		text = next
	}
	var b strings.Builder
	for line := range strings.SplitAfterSeq(text, "\n") {
		b.WriteString(dropEmptySentences(line))
	}
	return strings.NewReplacer(removedMark, "", removedWordMark, "").Replace(b.String())
}

const removedMarkClass = `[\x{e000}\x{e001}]`

var tidyRules = []struct {
	of *regexp.Regexp
	to string
}{
	{regexp.MustCompile(`[ \t]?(?:\*{1,3}|_{1,3}|~~|"|“|‘)\s?(` + removedMarkClass + `+)\s?(?:\*{1,3}|_{1,3}|~~|"|”|’)`), "$1"},
	{regexp.MustCompile(`([,;])[ \t]*(` + removedMarkClass + `+)[ \t]*([.,;:!?])`), "$2$3"},
	{regexp.MustCompile(`(` + removedMarkClass + `+)([,;])(?:[ \t]?[,;])+`), "$1$2"},
	{regexp.MustCompile(`([(\[])[ \t]*(` + removedMarkClass + `+)[ \t]*[,;:][ \t]*`), "$1$2"},
	{regexp.MustCompile(`[,;:][ \t]*(` + removedMarkClass + `+)[ \t]*([)\]])`), "$1$2"},
	{regexp.MustCompile(`[ \t]?[(\[{][ \t]*(` + removedMarkClass + `+)[ \t]*[)\]}]`), "$1"},
}

// dropEmptySentences returns a line without the sentences that a removal left with function words
// only.
func dropEmptySentences(line string) string {
	if !strings.Contains(line, removedWordMark) || isTableRow(strings.TrimSpace(line)) {
		return line
	}
	from := bulletLength(line)
	body := strings.TrimRight(line[from:], "\r\n")
	var b strings.Builder
	for _, s := range sentencesIn(body, span{0, len(body)}) {
		said := body[s.start:s.end]
		if !strings.Contains(said, removedWordMark) || !isEmptySentence(said) {
			if b.Len() == 0 && s.start > 0 {
				said = strings.TrimLeft(said, " ")
			}
			b.WriteString(said)
		}
	}
	out := b.String()
	if from > 0 && !hasLetter(out) && strings.Trim(out, removedMark+removedWordMark+" .") == "" {
		return ""
	}
	return line[:from] + out + line[from+len(body):]
}

func isEmptySentence(said string) bool {
	if strings.ContainsAny(said, "[]`<") {
		return false
	}
	ok := true
	lexical.Tokens(said, func(t lexical.Token) {
		w := strings.ToLower(said[t.Start:t.End])
		ok = ok && (isStopWord(w) || restWords[w])
	})
	return ok
}

var restWords = fieldSet(`see visit read click more also via link links source sources site website page url today here available online siehe mehr unter quelle voir plus véase más`)
