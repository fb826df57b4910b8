package llm

import (
	"bytes"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A markerUse tells whether a marker is a part of the template, or words of the text.
type markerUse int

const (
	isMarker markerUse = iota
	isDoubtful
	isText
)

// specials has the bytes at which a marker, a line or code may begin.
var specials = func() (set [256]bool) {
	for _, c := range []byte("<[]`~\n\xe2") {
		set[c] = true
	}
	return set
}()

// skipPlain skips plain text and reports whether a special byte follows.
func (r *OutputReader) skipPlain() bool {
	for r.at < len(r.raw) {
		switch c := r.raw[r.at]; {
		case !specials[c]:
			r.at++
		case c == '\n':
			r.at++
			r.lineStart, r.tick = r.at, 0
		default:
			return true
		}
	}
	return false
}

// skipSpecial skips a special byte that is no marker, or a run of backticks. It returns false
// to wait for more text.
func (r *OutputReader) skipSpecial() bool {
	c := r.raw[r.at]
	if c != '`' && c != '~' {
		r.at++
		return true
	}
	n := 1
	for n < maxName && r.at+n < len(r.raw) && r.raw[r.at+n] == c {
		n++
	}
	if n < maxName && r.at+n == len(r.raw) && !r.closing {
		return false
	}
	run := string(r.raw[r.at : r.at+n])
	switch {
	case r.fence != "":
		if strings.HasPrefix(run, r.fence) && r.isLineStart() && (r.at+n == len(r.raw) || r.raw[r.at+n] <= ' ') {
			r.fence = ""
		}
	case n >= 3 && r.isLineStart():
		if r.mode == modeText {
			switch size, wait := r.callFence(r.at + n); {
			case wait:
				return false
			case size > 0:
				r.openCall(r.at, r.at+n+size, openCall{closer: "fence"})
				return true
			}
		}
		r.fence = run
	case c == '~':
	case r.tick == 0:
		r.tick = n
	case r.tick == n:
		r.tick = 0
	}
	r.at += n
	return true
}

// callFence returns the length of the language of a fence of calls, or 0.
func (r *OutputReader) callFence(at int) (size int, wait bool) {
	line, _, ok := strings.Cut(string(r.raw[at:min(len(r.raw), at+maxName)]), "\n")
	if !ok && len(line) < maxName && !r.closing {
		return 0, true
	}
	switch strings.TrimSpace(strings.ToLower(line)) {
	case "tool_call", "tool_calls", "tool_code", "function_call", "toolcall":
		return len(line), false
	}
	return 0, false
}

// isLineStart reports whether only white space precedes in the line.
func (r *OutputReader) isLineStart() bool { return isBlank(r.raw[r.lineStart:r.at]) }

// isBegun reports whether there is text before this place.
func (r *OutputReader) isBegun() bool {
	if r.hasText || r.at > r.blank && !isBlank(r.raw[max(r.done, r.blank):r.at]) {
		return true
	}
	r.blank = max(r.blank, r.at)
	return false
}

func isBlank(text []byte) bool { return len(bytes.TrimSpace(text)) == 0 }

// maxLine limits how far a quotation may begin before a marker.
const maxLine = 400

// isQuoted reports whether the text here is code or a quotation.
func (r *OutputReader) isQuoted() bool {
	if r.fence != "" || r.tick > 0 {
		return true
	}
	line := string(r.raw[max(r.lineStart, r.at-maxLine):r.at])
	if strings.HasPrefix(strings.TrimLeft(line, " \t"), ">") {
		return true
	}
	if (strings.HasPrefix(line, "\t") || strings.HasPrefix(line, "    ")) && (r.hasText || r.mode == modeText && !isBlank(r.raw[r.done:max(r.done, r.lineStart)])) {
		return true // indented code
	}
	last, _ := utf8.DecodeLastRuneInString(line)
	if strings.ContainsRune("'\"“‘«「『„‹", last) {
		return true
	}
	return hasOpenQuote(line)
}

// hasOpenQuote reports whether a quotation in text is open at its end. It ignores quotations in
// quotations.
func hasOpenQuote(text string) bool {
	var ends string
	before := ' '
	for i, c := range text {
		switch {
		case before == '\\':
		case ends != "":
			if strings.ContainsRune(ends, c) {
				ends = ""
			}
		case unicode.IsSpace(before) || strings.ContainsRune(":;,=([{>—", before) || c == '「' || c == '『':
			if ends = quoteEnds[c]; c == '"' && strings.HasPrefix(text[i+1:], `"`) {
				ends = ""
			}
		}
		before = c
	}
	return ends != ""
}

// quoteEnds has the ends of a quotation by its start.
var quoteEnds = map[rune]string{'"': `"`, '“': "”", '„': "“”", '«': "»", '»': "«", '「': "」", '『': "』"}

// maxQuotation limits how far before a call a quotation of several lines may begin.
const maxQuotation = 4000

// inLongQuotation reports whether the text here is in a quotation that may have begun in an
// earlier line.
func (r *OutputReader) inLongQuotation() bool {
	from := max(0, r.at-maxQuotation)
	for i := len(r.segs) - 1; i >= 0; i-- {
		if s := r.segs[i]; s.kind != outText {
			from = max(from, s.to)
			break
		}
	}
	return hasOpenQuote(string(r.raw[min(from, r.at):r.at]))
}

// Words that stand before and after the name of a tag in a sentence about it.
var (
	wordsBefore = wordSet("the a an tag tags token tokens marker markers like as with use uses using write writes emit emits output outputs " +
		"between in inside within of called named and or by means into opening closing literal start end starting ending special string word " +
		"delimiter element through to after before from der die das den dem und oder mit le la les un une et ou el los y o e")
	wordsAfter = wordSet("is are was were and or tag tags token tokens marker markers block blocks section sections element elements means mark marks " +
		"opens closes starts ends begins when before after to in then delimits delimit denotes indicates wraps comes should must has have " +
		"within around between with at for from appears ist sind und oder est sont et ou es son y o pair pairs")
)

func wordSet(words string) map[string]bool {
	set := map[string]bool{}
	for _, w := range strings.Fields(words) {
		set[w] = true
	}
	return set
}

// judge decides whether a marker here is a part of the template. wait reports that more text is
// necessary.
func (r *OutputReader) judge(m marker) (v markerUse, wait bool) {
	if r.isQuoted() {
		return isText, false
	}
	after, afterSpace, glued, wait := r.judgeAfter(r.at + m.size)
	if wait {
		return isText, true
	}
	line := string(r.raw[max(r.lineStart, r.at-maxLine):r.at])
	if strings.TrimSpace(line) == "" {
		if after {
			return isDoubtful, false
		}
		return isMarker, false
	}
	trimmed := strings.TrimRight(line, " \t")
	word := trimmed[strings.LastIndexAny(trimmed, " \t(,")+1:]
	before := trimmed != line && wordsBefore[strings.ToLower(word)] || strings.HasSuffix(line, "(")
	last, _ := utf8.DecodeLastRuneInString(trimmed)
	ended := strings.ContainsRune(".!?。！？…:*", last)
	switch {
	case before && after:
		return isText, false
	case before || after:
		return isDoubtful, false
	case ended, trimmed == line && last != ',', glued, !afterSpace:
		return isMarker, false
	}
	return isDoubtful, false
}

// judgeAfter reports whether the text after a marker speaks about it, whether it begins with a
// space and a small letter, and whether it follows at once.
func (r *OutputReader) judgeAfter(at int) (about, small, glued, wait bool) {
	rest := string(r.raw[at:min(len(r.raw), at+maxName)])
	word := strings.TrimLeft(rest, " \t")
	n := strings.IndexFunc(word, func(c rune) bool { return !unicode.IsLetter(c) })
	if n < 0 {
		if len(rest) < maxName && !r.closing {
			return false, false, false, true
		}
		n = len(word)
	}
	first, _ := utf8.DecodeRuneInString(word)
	if len(word) == len(rest) { // no space
		return word != "" && strings.ContainsRune(".,;:?!)'\"”’»`", first), false, unicode.IsLetter(first) || unicode.IsDigit(first), false
	}
	return wordsAfter[word[:n]], unicode.IsLower(first), false, false
}

// selfTalk has words with which models talk to themselves, in lower case.
var selfTalk = []string{
	"the user", "user is asking", "user wants", "i need to", "i should", "i have to", "i'll need", "we need to", "we should", "we have to", "let me think",
	"let's think", "let me see", "let me work", "let me check", "let me compute", "let me calculate", "hmm", "wait,", "okay, so", "ok, so", "okay, the", "okay, let", "alright,", "first, i", "the question", "the task", "thinking process",
	"thought process", "i'm asked", "i am asked", "we are asked", "we are given", "my answer should", "step by step", "let's see", "need to answer", "must answer",
	"用户", "我需要", "我应该", "好的，", "嗯", "让我", "首先，", "ユーザー", "사용자",
}

// isSelfTalk reports whether a text begins like reasoning.
func isSelfTalk(text string) bool {
	text = strings.ToLower(strings.ReplaceAll(text, "’", "'"))
	for _, s := range selfTalk {
		if strings.Contains(text, s) {
			return true
		}
	}
	return false
}
