package claim

import (
	"cmp"
	"regexp"
	"strconv"
	"strings"
	"unicode"
)

const maxCitation = 300

// inside returns the text between the brackets at i and the end of the closing one. ok
// is false without one in the paragraph.
func (c *citer) inside(i int, open, shut string) (in string, end int, ok bool) {
	from := i + len(open)
	limit := min(len(c.text), from+maxCitation)
	n := strings.Index(c.text[from:limit], shut)
	if n < 0 || strings.Contains(c.text[from:from+n], "\n\n") {
		return "", 0, false
	}
	return c.text[from : from+n], from + n + len(shut), true
}

func (c *citer) bracketed(i int) int {
	if n := c.footnote(i); n > 0 {
		return n
	}
	if n := len(keyed.FindString(c.text[i:min(len(c.text), i+maxCitation)])); n > 0 && !c.inCode(i) {
		return c.drop(i, i+n)
	}
	in, end, ok := c.inside(i, "[", "]")
	if ok && !strings.Contains(in, "[") {
		f, is := c.form(in)
		if linked := end < len(c.text) && (c.text[end] == '(' || c.text[end] == '['); !is && !linked {
			f, is = c.loose(in)
		}
		if n := c.defined(i, in, end, f); n > 0 {
			return n
		}
		if is && !(f.numbers && c.inCode(i)) {
			if n := c.addressed(i, end, f); n > 0 {
				return n
			}
			return c.cite(i, end, f)
		}
	}
	if n := c.linked(i, i); n > 0 {
		return n
	}
	if ok && !strings.Contains(in, "[") {
		if left := c.unnamed(in); left != in {
			c.report(c.text[i:end])
			c.write("[" + left + "]")
			return end - i
		}
	}
	return 0
}

func (c *citer) inCode(i int) bool {
	for _, s := range c.code {
		if s.start <= i && i < s.end {
			return true
		}
	}
	line := c.text[strings.LastIndexByte(c.text[max(0, i-4096):i], '\n')+1+max(0, i-4096) : i]
	return strings.Count(line, "`")%2 == 1
}

func (c *citer) lenticular(i int) int {
	in, end, ok := c.inside(i, "【", "】")
	if !ok {
		return 0
	}
	if f, is := c.form(in); is {
		return c.cite(i, end, f)
	}
	if strings.ContainsAny(in, "†0123456789") || c.unnamed(in) != in {
		return c.drop(i, end)
	}
	return 0
}

func (c *citer) escaped(i int) int {
	for _, shut := range []string{"\\]", "]"} {
		in, end, ok := c.inside(i, "\\[", shut)
		if !ok {
			continue
		}
		if f, is := c.form(in); is && !c.inCode(i) {
			return c.cite(i, end, f)
		}
	}
	return 0
}

// parenthesised reads (e3), (see e3) and (source: 12); a bare number needs further
// evidence.
func (c *citer) parenthesised(i int) int {
	in, end, ok := c.inside(i, "(", ")")
	if !ok || strings.Contains(in, "(") {
		return 0
	}
	f, is := c.form(in)
	if !is && authorYear.MatchString(in) && clauseEnd.MatchString(c.text[end:]) && !c.inCode(i) {
		return c.drop(i, end)
	}
	if is && f.numbers && !f.led && len(f.ids) == 0 && c.counted(i, in, end) {
		return c.drop(i, end)
	}
	if !is || f.numbers && !f.led && len(f.ids) == 0 || !f.led && !c.meant(f) {
		return 0
	}
	return c.cite(i, end, f)
}

// meant reports whether IDs in parentheses are citations: each is known, or e and a
// number.
func (c *citer) meant(f form) bool {
	for _, id := range f.ids {
		if !c.id(id) && (id[0] != 'e' || !numbered(id[1:])) {
			return false
		}
	}
	return len(f.ids) > 0
}

func (c *citer) cite(i, end int, f form) int {
	kept := 0
	for _, id := range f.ids {
		if !c.id(id) {
			c.report("[" + id + "]")
			continue
		}
		kept++
		c.write("[" + id + "]")
	}
	if len(f.ids) == 0 || f.numbers {
		c.report(c.text[i:end])
	}
	if kept == 0 {
		c.space(end)
		c.write(gone)
	}
	return end - i
}

type form struct {
	ids     []string // lower case
	numbers bool     // it has numbers that are no IDs
	led     bool     // it follows a word such as "source"
}

const maxRange = 30

// leads introduce citations; joiners connect IDs.
var (
	leads   = fieldSet("source sources src ref refs reference references see also cf evidence quote quotes citation citations cite note doc document result quelle quellen beleg belege siehe vgl voir fuente fuentes véase vease id ids")
	joiners = fieldSet("and & + und et y to bis a")
)

// form parses the text in brackets as IDs and numbers with marks between and perhaps
// an introduction. ok is false for anything else.
func (c *citer) form(in string) (f form, ok bool) {
	in = strings.Trim(in, " \t")
	in = parted.ReplaceAllString(strings.TrimPrefix(in, "^"), "$1$2")
	if len(in) == 0 || len(in) > maxCitation {
		return f, false
	}
	if at := strings.Index(in, "†"); at >= 0 { // 【3†source】, 【e3†L1-L5】
		in = in[:at]
		f.led = true
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
		case leads[low]:
			f.led = true
			continue
		case isID(low):
			low = unpadded(low)
			f.add(low, last, ranged)
			last = low
		case locators[low] || turn.MatchString(low) || lettredNumber.MatchString(low):
			f.led, f.numbers = true, f.numbers || !locators[low]
		case digitsOnly(w):
			if ranged && last != "" && len(w) < 6 && numbered(w) {
				f.add(strings.TrimRight(last, "0123456789")+w, last, true)
				break
			}
			f.numbers = true
		default:
			return form{}, false
		}
		ranged = false
	}
	return f, len(f.ids) > 0 || f.numbers
}

var formParts = regexp.MustCompile(`[\p{L}\p{N}_]+|[^\p{L}\p{N}_\s]|\s+`)

func (f *form) add(id, last string, ranged bool) {
	word := strings.TrimRight(id, "0123456789")
	if from, to := numberOf(last), numberOf(id); ranged && strings.TrimRight(last, "0123456789") == word && from < to && to-from <= maxRange {
		for n := from + 1; n < to; n++ {
			f.ids = appendNew(f.ids, word+strconv.Itoa(n))
		}
	}
	f.ids = appendNew(f.ids, id)
}

func unpadded(id string) string {
	word := strings.TrimRight(id, "0123456789")
	return word + cmp.Or(strings.TrimLeft(id[len(word):], "0"), "0")
}

func numberOf(id string) int {
	n, _ := strconv.Atoi(strings.TrimLeft(id, "abcdefghijklmnopqrstuvwxyz"))
	return n
}

func digitsOnly(w string) bool {
	return w != "" && strings.IndexFunc(w, func(r rune) bool { return !unicode.IsNumber(r) }) < 0
}

var idWord = regexp.MustCompile(`\b[eE][0-9]{1,9}\b`)

func (c *citer) unnamed(in string) string {
	if !strings.ContainsAny(in, "eE") {
		return in
	}
	out := idWord.ReplaceAllStringFunc(in, func(id string) string {
		if c.id(strings.ToLower(id)) {
			return id
		}
		return ""
	})
	if out == in {
		return in
	}
	return strings.Join(strings.Fields(out), " ")
}
