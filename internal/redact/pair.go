package redact

import "strings"

// findURLPasswords returns the passwords in URLs: scheme://user:password@host.
func findURLPasswords(text string) (spans []span) {
	const maxAuthority = 512
	for at := 0; ; {
		i := strings.Index(text[at:], "://")
		if i < 0 {
			return spans
		}
		at += i + len("://")
		near := text[at:min(len(text), at+maxAuthority)]
		if end := strings.IndexAny(near, "/?# \t\r\n\"'`<>"); end >= 0 {
			near = near[:end]
		}
		host := strings.LastIndexByte(near, '@')
		if host < 0 {
			continue
		}
		colon := strings.IndexByte(near[:host], ':')
		if colon < 0 || isPlaceholder(near[colon+1:host], "password", true) || near[colon+1:host] == "pass" {
			continue
		}
		spans = append(spans, span{at + colon + 1, at + host, Password})
	}
}

// findPairs returns values after the name of a secret (name=value, name: value, "name": "value", name
// is value, --name value), after Bearer, and passwords after "-u user:".
func findPairs(text string) (spans []span) {
	for i := 0; i < len(text); i++ {
		var s span
		var ok bool
		switch text[i] {
		case '=', ':':
			s, ok = pairAt(text, i, i+1, false)
		case ' ':
			s, ok = spokenAt(text, i)
		}
		if ok {
			spans = append(spans, s)
			i = max(i, s.to-1)
		}
	}
	return spans
}

// spokenAt returns a secret after a space at i.
func spokenAt(text string, i int) (span, bool) {
	for _, is := range []string{" is ", " ist ", " was "} {
		if strings.HasPrefix(text[i:], is) {
			return pairAt(text, i, i+len(is), true)
		}
	}
	before := text[:i]
	switch {
	case strings.HasSuffix(before, "Bearer") || strings.HasSuffix(before, "bearer"):
		from, to, quoted := valueBounds(text, i+1)
		if v := text[from:to]; from == i+1 && to-from >= 16 && looksSecret(v) && !isPlaceholder(v, "", quoted) {
			return span{from, to, Token}, true
		}
	case strings.HasSuffix(before, " -u") || strings.HasSuffix(before, "--user"):
		from, to, _ := valueBounds(text, i+1)
		colon := strings.IndexByte(text[from:to], ':')
		if colon > 0 && !isPlaceholder(text[from+colon+1:to], "password", true) {
			return span{from + colon + 1, to, Password}, true
		}
	case i+1 < len(text) && text[i+1] != '-':
		from := i
		for from > 0 && i-from < maxName && isURLSafe(text[from-1]) {
			from--
		}
		if strings.HasPrefix(text[from:i], "--") {
			return judgeValue(text, text[from:i], i+1, true)
		}
	}
	return span{}, false
}

// pairAt returns the secret of a pair whose separator spans at to after. spoken means that a word
// separates them.
func pairAt(text string, at, after int, spoken bool) (span, bool) {
	if strings.HasPrefix(text[after:], "//") {
		return span{}, false // a URL
	}
	if strings.HasPrefix(text[after:], "=") {
		after++ // of == and :=
	}
	if after < len(text) && text[after] == '>' {
		after++
	}
	name, space := nameBefore(text, at)
	if name == "" || after > len(text) {
		return span{}, false
	}
	tight := text[at] == '=' && !space && after < len(text) && text[after] != ' '
	return judgeValue(text, name, after, tight && !spoken)
}

// judgeValue returns the value after a name if both suggest a secret. tight means that prose would not
// have this form.
func judgeValue(text, name string, after int, tight bool) (span, bool) {
	level, word := secretName(name)
	if level == nameOpen {
		return span{}, false
	}
	from, to, quoted := valueBounds(text, after)
	v := text[from:to]
	if scheme := normalizeName(v); word == "authorization" && (scheme == "bearer" || scheme == "basic" || scheme == "token") {
		from, to, quoted = valueBounds(text, to)
		v = text[from:to]
	}
	if isPlaceholder(v, word, quoted) {
		return span{}, false
	}
	kind := Password
	switch {
	case strings.HasSuffix(word, "key"):
		kind = APIKey
	case level == nameWeak:
		kind = Token
	}
	switch {
	case level == nameWeak:
		return span{from, to, kind}, len(v) >= 8 && looksSecret(v)
	case tight:
		return span{from, to, kind}, len(v) >= 4
	case quoted:
		return span{from, to, kind}, len(v) >= 4 && strings.Count(v, " ") <= 4
	}
	return span{from, to, kind}, len(v) >= 6 && looksSecret(v)
}

// nameBefore returns the name before at, quoted or not, and whether space follows it.
func nameBefore(text string, at int) (name string, space bool) {
	end := at
	for end > 0 && at-end < 4 && (text[end-1] == ' ' || text[end-1] == '\t') {
		end--
	}
	space = end < at
	for end > 0 && strings.IndexByte("\"'`*]", text[end-1]) >= 0 && at-end < 8 {
		end--
	}
	if end > 0 && text[end-1] == '\\' { // "name\": in escaped JSON
		end--
	}
	start := end
	for start > 0 && end-start < maxName && (isAlnum(text[start-1]) || strings.IndexByte("_-.", text[start-1]) >= 0) {
		start--
	}
	name = text[start:end]
	if strings.EqualFold(name, "key") && start > 3 && text[start-1] == ' ' { // "API key"
		words := text[max(0, start-8) : start-1]
		name = words[strings.LastIndexByte(words, ' ')+1:] + name
	}
	return name, space
}

// valueBounds returns the bounds of the value at at: the quoted text, or the word.
func valueBounds(text string, at int) (from, to int, quoted bool) {
	for n := 0; at < len(text) && n < 4 && (text[at] == ' ' || text[at] == '\t' || text[at] == '*'); n++ {
		at++
	}
	if strings.HasPrefix(text[at:], `\"`) {
		at++
	}
	if at < len(text) && strings.IndexByte("\"'`", text[at]) >= 0 {
		near, _, _ := strings.Cut(text[at+1:min(len(text), at+1+maxQuoted)], "\n")
		if i := strings.IndexByte(near, text[at]); i >= 0 {
			end := at + 1 + i
			if i > 0 && text[end-1] == '\\' {
				end--
			}
			return at + 1, max(end, at+1), true
		}
		at++
	}
	end := at
	for end < len(text) && strings.IndexByte(" \t\r\n,;&\"'`<>)]}|\\", text[end]) < 0 {
		end++
	}
	if end > at && strings.IndexByte(".?!:", text[end-1]) >= 0 {
		end-- // end of a sentence
	}
	return at, end, false
}
