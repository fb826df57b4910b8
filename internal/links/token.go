package links

import (
	"bytes"
	"html"
	"regexp"
	"strings"
	"unicode/utf8"
)

// schemes begin addresses that clients recognize in plain text.
var schemes = []string{"http://", "https://", "ftp://", "mailto:", "xmpp:", "www."}

// readScheme reads an address that begins with one of schemes, or a letter.
func (f *Filter) readScheme(in []byte, more bool) int {
	for _, s := range schemes {
		n := 0
		for n < len(s) && n < len(in) && (in[n] == s[n] || isLetter(in[n]) && in[n]|0x20 == s[n]) {
			n++
		}
		switch {
		case n == len(s):
			return f.readAddress("", in, more)
		case n == len(in) && more:
			return 0
		}
	}
	f.emitText(in[:1])
	return 1
}

// readColon reads a colon, or the rest of an address from its colon.
func (f *Filter) readColon(in []byte, more bool) int {
	word := f.lastWord()
	if word == "" {
		f.emitText(in[:1])
		return 1
	}
	for n := 1; n < min(3, len(in)+1); n++ {
		switch {
		case n == len(in) && more:
			return 0
		case n == len(in) || in[n] != '/':
			return f.readPort(word, in, more)
		}
	}
	return f.readAddress(word, in, more)
}

// readPort reads a colon, or the rest of an address that begins with a host and a port.
func (f *Filter) readPort(word string, in []byte, more bool) int {
	n := 1
	for n < min(len(in), 6) && '0' <= in[n] && in[n] <= '9' {
		n++
	}
	switch {
	case n == len(in) && more:
		return 0
	case 1 < n && n < len(in) && in[n] == '/' && hostOfWord(word) != "":
		return f.readAddress(hostOfWord(word), in, more)
	}
	f.emitText(in[:1])
	return 1
}

var wordHost = regexp.MustCompile(`^(?:[A-Za-z0-9_-]+\.)+[A-Za-z]{2,24}$`)

// hostOfWord returns the end of a word that clients may take for a host, or "".
func hostOfWord(word string) string {
	word = strings.TrimLeft(word[strings.LastIndexByte(word, '+')+1:], ".-_")
	if !strings.Contains(word, ".") || !wordHost.MatchString(word) {
		return ""
	}
	return word
}

// readSlash reads a mark, or the rest of an address after its host or scheme.
func (f *Filter) readSlash(in []byte, more bool) int {
	host := hostOfWord(f.lastWord())
	if len(in) == 1 && more && (in[0] == '/' || host != "") {
		return 0
	}
	switch last := f.lastByte(); {
	case len(in) > 1 && in[0] == '/' && in[1] == '/' && last != '/' && last != ':':
		end := tokenLength(in)
		if end == len(in) && more {
			return 0
		}
		if doubleSlash.Match(in[:end]) {
			return f.readAddress("", in, more)
		}
	case len(in) > 1 && host != "" && in[1] > ' ' && (isAlnum(in[1]) || in[1] >= utf8.RuneSelf || in[0] == '/'):
		return f.readAddress(host, in, more)
	}
	f.emitText(in[:1])
	return 1
}

var doubleSlash = regexp.MustCompile(`^//[\pL\pN\[_-]+[.:][\pL\pN]`)

// readAt reads an at sign, or the end of a mail address.
func (f *Filter) readAt(in []byte, more bool) int {
	word := f.lastWord()
	n := 1
	for n < len(in) && isWordByte(in[n]) && in[n] != '+' {
		n++
	}
	if word != "" && n == len(in) && more {
		return 0
	}
	n = 1 + len(strings.TrimRight(string(in[1:n]), ".-_"))
	if dot := bytes.IndexByte(in[:n], '.'); word == "" || dot < 2 || !bytes.ContainsFunc(in[dot:n], func(r rune) bool { return isLetter(byte(r)) }) {
		f.emitText(in[:1])
		return 1
	}
	if f.policy.Knows(word+string(in[:n]), false) || !f.isActive() {
		f.emitText(in[:n])
		return n
	}
	f.emitCode(in[:1]) // some clients take a backtick for a part of the address, but not on both sides
	return 1
}

// tokenLength returns the length of the input until white space or a tag.
func tokenLength(in []byte) int {
	for i, c := range in {
		if c <= ' ' || c == '<' || c == 0x7f {
			return i
		}
	}
	return len(in)
}

// readAddress reads an address at the start of the input, whose beginning word is already written.
func (f *Filter) readAddress(word string, in []byte, more bool) int {
	end := tokenLength(in)
	if end == len(in) && more {
		return 0
	}
	token := in[:end]
	n, isExact := f.knownLength(word, token)
	isExact = isExact && (end == len(in) || in[end] != '<')
	switch {
	case n > 0 && isExact, !f.isActive():
		if n == 0 {
			n = 1
		}
		f.emitText(token[:n])
		return n
	case n > 0 && word == "" && schemePattern.Match(token):
		if f.isEscape {
			f.emit('\\')
		}
		f.emitText([]byte("<" + string(token[:n]) + ">")) // otherwise clients read on
		return n
	}
	n = unknownLength(token)
	f.emitCode(token[:n])
	return n
}

// endings are marks after an address that no client takes for a part of it.
const endings = "?!.,:*_~)"

// knownLength returns the length of a known address at the start of a token, or 0. It is exact if
// clients find the same end.
func (f *Filter) knownLength(word string, token []byte) (n int, isExact bool) {
	whole := trimAddress(string(token))
	if f.knowsToken(word + whole) {
		return len(whole), strings.Trim(string(token[len(whole):]), endings) == ""
	}
	for i, tries := 1, 0; i < len(token) && tries < maxTries; i++ {
		if strings.IndexByte("`\"'|)]}>*\\,:", token[i]) < 0 && !(token[i] >= utf8.RuneSelf && token[i-1] < utf8.RuneSelf) {
			continue
		}
		tries++
		if part := trimAddress(string(token[:i])); part != "" && f.knowsToken(word+part) {
			n = len(part) // the longest counts
		}
	}
	return n, f.isOpen && bytes.HasPrefix(token[n:], []byte("]("))
}

// maxTries limits the parts of a token that may be known.
const maxTries = 16

func (f *Filter) knowsToken(address string) bool {
	return f.policy.Knows(address, false) || strings.Contains(address, "&amp;") && f.policy.Knows(html.UnescapeString(address), false)
}

// unknownLength returns the length of the part of a token that must not follow its beginning.
func unknownLength(token []byte) int {
	n, depth := max(1, len(trimAddress(string(token)))), 0
	for i, c := range token[:n] {
		switch {
		case i == 0:
		case strings.IndexByte("`\"'|>]}", c) >= 0, c >= utf8.RuneSelf, c == ')' && depth == 0:
			return i
		case c == '(':
			depth++
		case c == ')':
			depth--
		}
	}
	return n
}
