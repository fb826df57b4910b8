package claim

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"ponder/internal/textkit/lexical"
)

// sentencesIn returns the sentences of a span, with the citations and marks after
// their stops.
func sentencesIn(text string, in span) []span {
	var list []span
	start := in.start
	for i := in.start; i < in.end; {
		r, n := utf8.DecodeRuneInString(text[i:in.end])
		if !isStop(r) {
			i += n
			continue
		}
		end, ok := sentenceBoundary(text, start, i, in.end)
		if ok {
			list = append(list, span{start, end})
			start = end
		}
		i = max(end, i+n)
	}
	if strings.TrimSpace(text[start:in.end]) != "" {
		list = append(list, span{start, in.end})
	}
	return list
}

func isStop(r rune) bool {
	switch r {
	case '.', '!', '?', '…', '。', '！', '？', '．', '।', '؟', '\u037e', '։', '።', '፧', '။', '។', '៕':
		return true
	}
	return false
}

func isWideStop(r rune) bool {
	switch r {
	case '。', '！', '？', '．':
		return true
	}
	return false
}

// sentenceBoundary returns the end of the stop at i with its attachments, and whether the
// sentence from start ends there.
func sentenceBoundary(text string, start, i, limit int) (end int, ok bool) {
	first, _ := utf8.DecodeRuneInString(text[i:])
	last := first
	end = i
	for end < limit {
		r, n := utf8.DecodeRuneInString(text[end:limit])
		if !isStop(r) {
			break
		}
		last, end = r, end+n
	}
	one := first == '.' && end-i == 1
	end = skipClosing(text, end, limit)
	cited := skipCitations(text, end, limit)
	if cited > end {
		end = skipClosing(text, cited, limit)
	}
	next, _ := utf8.DecodeRuneInString(text[end:limit])
	spaced := end == limit || unicode.IsSpace(next)
	if !spaced {
		if first == '．' && unicode.IsDigit(next) && unicode.IsDigit(lastRune(text[start:i])) {
			return end, false // "３．１４"
		}
		return end, isWideStop(last) || cited > i+1 && cited == end && unicode.IsUpper(next)
	}
	rest := strings.TrimLeft(text[end:limit], " \t\r\n>*_\"'“”„«»‘’(")
	if citationLength(rest) > 0 {
		return end, true
	}
	rest = strings.TrimLeft(rest, "[")
	if one && !isSentenceEnd(text[start:i], rest) {
		return end, false
	}
	head, _ := utf8.DecodeRuneInString(rest)
	return end, rest == "" || !unicode.IsLower(head) || first != '.' && first != '…' && last != '…'
}

func skipClosing(text string, i, limit int) int {
	for i < limit {
		r, n := utf8.DecodeRuneInString(text[i:limit])
		switch {
		case strings.ContainsRune("\"'”’»)*_]`」』）", r):
			i += n
		case unicode.IsSpace(r) && strings.HasPrefix(text[i+n:limit], "»"):
			i += n + len("»")
		default:
			return i
		}
	}
	return i
}

// skipCitations returns the end of the citations after a stop at i. A citation that begins
// the next sentence ("[e3] says") belongs to that.
func skipCitations(text string, i, limit int) int {
	end := i
	for {
		at := end
		for at < limit && (text[at] == ' ' || text[at] == '\u0009') {
			at++
		}
		n := citationLength(text[at:limit])
		if n == 0 {
			n = markLength(text[at:limit])
		}
		if n == 0 {
			break
		}
		end = at + n
	}
	if end == i {
		return i
	}
	next, _ := utf8.DecodeRuneInString(strings.TrimLeft(text[end:limit], " "))
	if unicode.IsLower(next) && text[i] == ' ' {
		return i
	}
	return end
}

// isSentenceEnd reports whether the point between before and after ends a sentence, and no
// abbreviation, initial or ordinal.
func isSentenceEnd(before, after string) bool {
	at := strings.LastIndexFunc(before, func(r rune) bool {
		return unicode.IsSpace(r) || strings.ContainsRune("([\"'“„«‘’*_", r)
	})
	word := before[at+1:]
	low := strings.ToLower(strings.TrimRight(word, "."))
	next := after[:len(after)-len(strings.TrimLeftFunc(after, unicode.IsLetter))]
	fresh := after == "" || isSentenceOpening(next)
	switch {
	case word == "":
		return true
	case isDigitString(word):
		return !isOrdinalNumber(word, next)
	case titles[low], twoWordAbbreviations[low+" "+strings.ToLower(next)]:
		return false
	case numberAbbreviations[low]:
		return after == "" || after[0] < '0' || after[0] > '9'
	case abbreviations[low], utf8.RuneCountInString(low) == 1 && unicode.IsLetter(firstRune(low)), strings.Contains(low, ".") && hasShortParts(low), strings.HasSuffix(low, "str"):
		return fresh
	}
	return true
}

func firstRune(s string) rune {
	r, _ := utf8.DecodeRuneInString(s)
	return r
}

func hasShortParts(word string) bool {
	for part := range strings.SplitSeq(word, ".") {
		if utf8.RuneCountInString(part) > 3 {
			return false
		}
	}
	return true
}

// isSentenceOpening reports whether a capitalized word is a common sentence opening, not a name.
func isSentenceOpening(word string) bool {
	if word == "" || !unicode.IsUpper(firstRune(word)) {
		return false
	}
	low := strings.ToLower(word)
	return slices.ContainsFunc([]lexical.Language{"en", "de", "fr", "es"}, func(lang lexical.Language) bool { return lexical.Stop(low, lang) })
}

func lastRune(s string) rune {
	r, _ := utf8.DecodeLastRuneInString(s)
	return r
}

func isDigitString(word string) bool {
	return word != "" && strings.Trim(word, "0123456789") == ""
}

// isOrdinalNumber reports whether a number with a point is an ordinal, as German "3. Oktober".
func isOrdinalNumber(word, next string) bool {
	if len(word) > 2 || next == "" {
		return false
	}
	low := strings.ToLower(next)
	return monthNamed(low) > 0 || germanOrdinals[low] || !unicode.IsUpper(firstRune(next))
}

var germanOrdinals = pipeSet(`jahrhundert|jahrhunderts|jahrhunderte|platz|auflage|kapitel|bezirk|etage|stock|klasse|liga|mal|geburtstag|bundestag|wahlperiode|runde|welle|weltkrieg|tag|jahrtausend`)

// titles never end a sentence.
var titles = pipeSet(`mr|mrs|ms|dr|prof|st|mt|ft|gen|gov|sen|rep|col|sgt|capt|lt|rev|hon|pres|messrs|hr|fr|frl|mme|mlle|mm|sra|srta|dra|ud|uds|vs|approx|ca|cf|e.g|i.e|z.b|d.h|u.a|s.o|bspw|bzw|vgl|ggf|evtl|sog|p.ej|p.ex|av|ing|dipl|geb|gegr|inkl|zzgl|bzgl|mmes|mlles|dott|sig|sigg|sig.ra|avv|dhr|mevr|drs|bijv|np|tzn|mgr|inż|напр|проф|акад`)

// twoWordAbbreviations are two-word abbreviations that do not end a sentence between their words.
var twoWordAbbreviations = pipeSet(`v chr|n chr|av j|ap j|ee uu|ff aa`)

// numberAbbreviations are abbreviations only before a number.
var numberAbbreviations = pipeSet(`no|nos|vol|fig|eq|pp|p|ch|sec|art|nr|abs|bd|kap|núm|pág|jan|feb|mar|apr|jun|jul|aug|sep|sept|oct|nov|dec|okt|dez|s|v|par|ver`)

// abbreviations may end a sentence.
var abbreviations = pipeSet(`etc|inc|ltd|co|corp|jr|sr|bros|llc|plc|dept|est|univ|assn|ave|blvd|rd|hwy|min|max|mio|mrd|tel|str|usw|usf|mill|tsd|u.s|u.k|u.n|u.s.a|a.m|p.m|b.c|a.d|ph.d|d.c|ee.uu|a.c|d.c|m|mm|al|ed|eds|éd|env|ss|chr|jh|uu|aa|ул|просп|обл|им|гг|др|руб|тыс|млн|млрд|ul|enz|ecc|atd|itd|itp`)
