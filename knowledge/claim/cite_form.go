package claim

import (
	"cmp"
	"regexp"
	"strconv"
	"strings"
	"unicode"
)

const maxCitation = 300

// bracketContent returns the text between the brackets at i and the end of the closing one. ok
// is false without one in the paragraph.
func (c *citationCleaner) bracketContent(i int, open, shut string) (in string, end int, ok bool) {
	from := i + len(open)
	limit := min(len(c.text), from+maxCitation)
	n := strings.Index(c.text[from:limit], shut)
	if n < 0 || strings.Contains(c.text[from:from+n], "\n\n") {
		return "", 0, false
	}
	return c.text[from : from+n], from + n + len(shut), true
}

func (c *citationCleaner) readBracket(i int) int {
	if n := c.readFootnote(i); n > 0 {
		return n
	}
	if n := len(pandocKey.FindString(c.text[i:min(len(c.text), i+maxCitation)])); n > 0 && !c.isInCode(i) {
		return c.dropCitation(i, i+n)
	}
	in, end, ok := c.bracketContent(i, "[", "]")
	if ok && !strings.Contains(in, "[") {
		f, is := c.parseForm(in)
		if linked := end < len(c.text) && (c.text[end] == '(' || c.text[end] == '['); !is && !linked {
			f, is = c.parseLooseForm(in)
		}
		if n := c.readDefinition(i, in, end, f); n > 0 {
			return n
		}
		if is && !(f.numbers && c.isInCode(i)) {
			if n := c.readLinkedCitation(i, end, f); n > 0 {
				return n
			}
			return c.writeCitations(i, end, f)
		}
	}
	if n := c.readLink(i, i); n > 0 {
		return n
	}
	if ok && !strings.Contains(in, "[") {
		if left := c.removeUnknownIDs(in); left != in {
			c.reportRemoved(c.text[i:end])
			c.write("[" + left + "]")
			return end - i
		}
	}
	return 0
}

func (c *citationCleaner) isInCode(i int) bool {
	for _, s := range c.codeSpans {
		if s.start <= i && i < s.end {
			return true
		}
	}
	line := c.text[strings.LastIndexByte(c.text[max(0, i-4096):i], '\n')+1+max(0, i-4096) : i]
	return strings.Count(line, "`")%2 == 1
}

func (c *citationCleaner) readLenticular(i int) int {
	in, end, ok := c.bracketContent(i, "【", "】")
	if !ok {
		return 0
	}
	if f, is := c.parseForm(in); is {
		return c.writeCitations(i, end, f)
	}
	if strings.ContainsAny(in, "†0123456789") || c.removeUnknownIDs(in) != in {
		return c.dropCitation(i, end)
	}
	return 0
}

func (c *citationCleaner) readEscaped(i int) int {
	for _, shut := range []string{"\\]", "]"} {
		in, end, ok := c.bracketContent(i, "\\[", shut)
		if !ok {
			continue
		}
		if f, is := c.parseForm(in); is && !c.isInCode(i) {
			return c.writeCitations(i, end, f)
		}
	}
	return 0
}

// readParentheses reads (e3), (see e3) and (source: 12); a bare number needs further
// evidence.
func (c *citationCleaner) readParentheses(i int) int {
	in, end, ok := c.bracketContent(i, "(", ")")
	if !ok || strings.Contains(in, "(") {
		return 0
	}
	f, is := c.parseForm(in)
	if !is && authorYear.MatchString(in) && clauseEnd.MatchString(c.text[end:]) && !c.isInCode(i) {
		return c.dropCitation(i, end)
	}
	if is && f.numbers && !f.hasIntro && len(f.ids) == 0 && c.isNumberCitation(i, in, end) {
		return c.dropCitation(i, end)
	}
	if !is || f.numbers && !f.hasIntro && len(f.ids) == 0 || !f.hasIntro && !c.areCitations(f) {
		return 0
	}
	return c.writeCitations(i, end, f)
}

// areCitations reports whether IDs in parentheses are citations: each is known, or e and a
// number.
func (c *citationCleaner) areCitations(f citationForm) bool {
	for _, id := range f.ids {
		if !c.isKnownID(id) && (id[0] != 'e' || !isDigitString(id[1:])) {
			return false
		}
	}
	return len(f.ids) > 0
}

func (c *citationCleaner) writeCitations(i, end int, f citationForm) int {
	kept := 0
	for _, id := range f.ids {
		if !c.isKnownID(id) {
			c.reportRemoved("[" + id + "]")
			continue
		}
		kept++
		c.write("[" + id + "]")
	}
	if len(f.ids) == 0 || f.numbers {
		c.reportRemoved(c.text[i:end])
	}
	if kept == 0 {
		c.trimSpaceBefore(end)
		c.write(removedMark)
	}
	return end - i
}

type citationForm struct {
	ids      []string // lower case
	numbers  bool     // it has numbers that are no IDs
	hasIntro bool     // it follows a word such as "source"
}

const maxRange = 30

// leads introduce citations; joiners connect IDs.
var (
	introWords = fieldSet("source sources src ref refs reference references see also cf evidence quote quotes citation citations cite note doc document result quelle quellen beleg belege siehe vgl voir fuente fuentes véase vease id ids")
	joiners    = fieldSet("and & + und et y to bis a")
)

// parseForm parses the text in brackets as IDs and numbers with marks between and perhaps
// an introduction. ok is false for anything else.
func (c *citationCleaner) parseForm(in string) (f citationForm, ok bool) {
	in = strings.Trim(in, " \t")
	in = spacedID.ReplaceAllString(strings.TrimPrefix(in, "^"), "$1$2")
	if len(in) == 0 || len(in) > maxCitation {
		return f, false
	}
	if at := strings.Index(in, "†"); at >= 0 { // 【3†source】, 【e3†L1-L5】
		in = in[:at]
		f.hasIntro = true
	}
	last, ranged := "", false
	for _, w := range formParts.FindAllString(in, -1) {
		low := strings.ToLower(w)
		switch {
		case w == "-" || w == "–" || w == "—" || w == "‑" || low == "to" || low == "bis":
			ranged = true
			continue
		case strings.Trim(w, ",;:.#*_ \t\n\u00a0") == "" || joiners[low]:
			continue
		case introWords[low]:
			f.hasIntro = true
			continue
		case isID(low):
			low = trimIDZeros(low)
			f.addIDs(low, last, ranged)
			last = low
		case locators[low] || turnName.MatchString(low) || letteredNumber.MatchString(low):
			f.hasIntro, f.numbers = true, f.numbers || !locators[low]
		case isNumeric(w):
			if ranged && last != "" && len(w) < 6 && isDigitString(w) {
				f.addIDs(strings.TrimRight(last, "0123456789")+w, last, true)
				break
			}
			f.numbers = true
		default:
			return citationForm{}, false
		}
		ranged = false
	}
	return f, len(f.ids) > 0 || f.numbers
}

var formParts = regexp.MustCompile(`[\p{L}\p{N}_]+|[^\p{L}\p{N}_\s]|\s+`)

func (f *citationForm) addIDs(id, last string, ranged bool) {
	word := strings.TrimRight(id, "0123456789")
	if from, to := idNumber(last), idNumber(id); ranged && strings.TrimRight(last, "0123456789") == word && from < to && to-from <= maxRange {
		for n := from + 1; n < to; n++ {
			f.ids = appendNew(f.ids, word+strconv.Itoa(n))
		}
	}
	f.ids = appendNew(f.ids, id)
}

func trimIDZeros(id string) string {
	word := strings.TrimRight(id, "0123456789")
	return word + cmp.Or(strings.TrimLeft(id[len(word):], "0"), "0")
}

func idNumber(id string) int {
	n, _ := strconv.Atoi(strings.TrimLeft(id, "abcdefghijklmnopqrstuvwxyz"))
	return n
}

func isNumeric(w string) bool {
	return w != "" && strings.IndexFunc(w, func(r rune) bool { return !unicode.IsNumber(r) }) < 0
}

var idWord = regexp.MustCompile(`\b[eE][0-9]{1,9}\b`)

func (c *citationCleaner) removeUnknownIDs(in string) string {
	if !strings.ContainsAny(in, "eE") {
		return in
	}
	out := idWord.ReplaceAllStringFunc(in, func(id string) string {
		if c.isKnownID(strings.ToLower(id)) {
			return id
		}
		return ""
	})
	if out == in {
		return in
	}
	return strings.Join(strings.Fields(out), " ")
}
