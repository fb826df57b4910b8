package claim

import (
	"ponder/internal/textkit"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Bounds on the report of removals.
const (
	maxRemoved = 200
	maxShown   = 200 // bytes of one entry
)

// CleanCitations removes citations of sources that were not gathered. It returns the clean
// text and each removed part once. It rewrites known evidence IDs, in any or no
// brackets, as [e3]. It removes unknown IDs, and numbers and author-year citations,
// which identify no source. Links and images with an address unknown to url keep their
// words. Unknown addresses disappear, and so do bare hosts unless url knows their home
// page. Source lists, HTML comments, and the marks of [Mark] with their imitations
// disappear too.
func CleanCitations(text string, id, url func(string) bool) (clean string, removed []string) {
	c := citationCleaner{isKnownID: id, isKnownURL: url, seen: make(map[string]bool)}
	for range 4 {
		for range 8 {
			next := c.cleanRound(text)
			if next == text {
				return text, c.removed
			}
			text = next
		}
		text = stripBrackets(text)
	}
	return text, c.removed
}

func (c *citationCleaner) cleanRound(text string) string {
	text = c.removeSourceLists(c.removeComments(normalizeDisguises(text)))
	if unmarked := Unmark(text); unmarked != text {
		c.reportRemoved("marks")
		text = unmarked
	}
	c.hasChessboard = chessboard.MatchString(text)
	return Unmark(tidyRemovals(c.cleanPass(text)))
}

// stripBrackets removes every character that a citation could use. It ends texts whose
// removals keep creating new citations.
func stripBrackets(text string) string {
	return bracketStripper.Replace(text)
}

var bracketStripper = strings.NewReplacer("[", "", "]", "", "【", "", "】", "", "(", "", ")", "", "<", "", ">", "", ":", "", "/", " ", "www", "", "WWW", "", "\\", "")

// A citationCleaner removes citations of unknown sources from a text.
type citationCleaner struct {
	isKnownID, isKnownURL func(string) bool
	removed               []string
	seen                  map[string]bool
	removedLabels         map[string]bool // labels of removed link addresses
	text                  string
	out                   []byte
	codeSpans             []span
	openTags              int  // open link tags that stay
	hasChessboard         bool // e4 is a chessboard square
}

func (c *citationCleaner) reportRemoved(what string) {
	what = collapseSpaces(what)
	what = textkit.Prefix(what, maxShown)
	if what != "" && !c.seen[what] && len(c.removed) < maxRemoved {
		c.seen[what] = true
		c.removed = append(c.removed, what)
	}
}

func (c *citationCleaner) cleanPass(text string) string {
	c.text, c.openTags = text, 0
	c.out = c.out[:0]
	c.removedLabels = c.unknownLabels()
	c.codeSpans = c.codeSpans[:0]
	parts, _ := scanBlocks(text)
	for _, b := range parts {
		if b.kind == code {
			c.codeSpans = append(c.codeSpans, b.span)
		}
	}
	before := len(c.removed)
	for i := 0; i < len(text); {
		n := c.readCitation(i)
		if n == 0 {
			_, n = utf8.DecodeRuneInString(text[i:])
			c.write(text[i : i+n])
		}
		i += n
	}
	out := string(c.out)
	if len(c.removed) > before || out != text {
		out = emptyBrackets.ReplaceAllString(out, "")
	}
	return out
}

var emptyBrackets = regexp.MustCompile(`(?i)[ \t]?(\((see|see also|source|sources|via|from|at|link|cf|ref|siehe|quelle|quellen|voir|véase|fuente)?[\s:,;.&\x{e000}\x{e001}]*\)|\[[ ,;:]+\])`)

// readCitation reads a citation at i and writes its replacement. It returns the length of the
// citation, or 0 if there is none.
func (c *citationCleaner) readCitation(i int) int {
	rest := c.text[i:]
	switch rest[0] {
	case '\\':
		if strings.HasPrefix(rest, "\\[") || strings.HasPrefix(rest, "\\]") {
			return c.readEscaped(i)
		}
		if n := len(texCommand.FindString(rest[:min(len(rest), maxCitation)])); n > 0 && !c.isInCode(i) {
			return c.dropCitation(i, i+n)
		}
	case '!':
		if strings.HasPrefix(rest, "![") {
			if n := c.readLink(i, i+1); n > 0 {
				return n
			}
		}
	case '[':
		return c.readBracket(i)
	case '(':
		return c.readParentheses(i)
	case '<':
		return c.readTag(i)
	case 0xe3: // the first byte of 【
		if strings.HasPrefix(rest, "【") {
			return c.readLenticular(i)
		}
	}
	if n := c.readOtherForm(i); n > 0 {
		return n
	}
	return c.removeAddress(i)
}

func (c *citationCleaner) dropCitation(i, end int) int {
	c.reportRemoved(c.text[i:end])
	c.trimSpaceBefore(end)
	c.write(removedMark)
	return end - i
}

// dropWords removes the bytes i..end, which may be part of the sentence.
func (c *citationCleaner) dropWords(i, end int) int {
	c.dropCitation(i, end)
	c.write(removedWordMark)
	return end - i
}

func (c *citationCleaner) write(s string) { c.out = append(c.out, s...) }

func (c *citationCleaner) trimSpaceBefore(end int) {
	n := len(c.out)
	for n >= len(removedMark) && (string(c.out[n-len(removedMark):n]) == removedMark || string(c.out[n-len(removedMark):n]) == removedWordMark) {
		n -= len(removedMark)
	}
	if n < 2 || c.out[n-1] != ' ' || c.out[n-2] == '\n' || c.out[n-2] == ' ' {
		return
	}
	next, _ := utf8.DecodeRuneInString(c.text[end:])
	if end == len(c.text) || unicode.IsSpace(next) || strings.ContainsRune(".,;:!?)", next) {
		c.out = append(c.out[:n-1], c.out[n:]...)
	}
}

const maxReplacements = 2

// citationPattern matches a citation in the form of Citations, with the space before it.
var citationPattern = regexp.MustCompile(`[ \t]*\[[a-zA-Z]{1,8}[0-9]{1,9}\]`)

// Sources returns the IDs that s should cite: supporting quotes replace other sources.
// It returns false if the citations may stay, as in an unsupported sentence. A
// sentence without citations gets sources only if no detail speaks against it.
func (f Finding) Sources(s Sentence) (ids []string, ok bool) {
	if f.Verdict != Supported && f.Verdict != Qualified || len(s.Cites) == 0 && f.Verdict != Supported && f.mismatch {
		return nil, false
	}
	var best, against []string
	for _, q := range f.Quotes {
		if !slices.Contains(best, q.Evidence) {
			best = append(best, q.Evidence)
		}
	}
	for _, q := range f.Against {
		if !slices.Contains(best, q.Evidence) {
			against = append(against, q.Evidence)
		}
	}
	if len(best) == 0 {
		return nil, false
	}
	for _, id := range s.Cites {
		if slices.Contains(best, id) {
			ids = append(ids, id)
		}
	}
	if len(ids) == 0 {
		return best[:min(len(best), maxReplacements)], true
	}
	ids = slices.DeleteFunc(slices.Clone(s.Cites), func(id string) bool { return slices.Contains(against, id) })
	return ids, len(ids) < len(s.Cites)
}

// ReplaceCitations replaces the citations of each sentence by the IDs at the same index in
// cites; nil keeps them. The sentences come from Split of text.
func ReplaceCitations(text string, sentences []Sentence, cites [][]string) string {
	var out strings.Builder
	at := 0
	for i, s := range sentences[:min(len(sentences), len(cites))] {
		if cites[i] == nil || s.Start < at || s.Start > s.End || s.End > len(text) {
			continue
		}
		out.WriteString(text[at:s.Start])
		out.WriteString(citeSentence(text[s.Start:s.End], s, cites[i]))
		at = s.End
	}
	return out.String() + text[at:]
}

func citeSentence(said string, s Sentence, ids []string) string {
	said = citationPattern.ReplaceAllStringFunc(said, func(m string) string {
		if slices.Contains(s.Cites, strings.Trim(m, " \t[]")) {
			return ""
		}
		return m
	})
	end := len(said)
	for end > 0 {
		r, size := utf8.DecodeLastRuneInString(said[:end])
		if !strings.ContainsRune(" \t\n|.!?…。！？*_", r) {
			break
		}
		end -= size
	}
	marks := ""
	for _, id := range ids {
		marks += " [" + id + "]"
	}
	return said[:end] + marks + said[end:]
}
