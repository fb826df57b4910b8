package links

import (
	"net/url"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxAddress is the longest address that can be known, in bytes.
const maxAddress = 2000

// Key returns the normal form of an address, and false if the address has none. http and https are
// the same, and a missing scheme means either. Paths, queries and fragments count completely.
func Key(address string) (string, bool) {
	if len(address) > maxAddress || address == "" || !utf8.ValidString(address) || strings.ContainsFunc(address, isForeign) {
		return "", false
	}
	scheme, rest, ok := cutScheme(address)
	switch {
	case !ok && strings.HasPrefix(address, "//"):
		scheme, rest = "http", address
	case !ok && strings.Contains(address, "@") && emailPattern.MatchString(address):
		scheme, rest = "mailto", address
	case !ok && hostPattern.MatchString(address):
		scheme, rest = "http", "//"+address
	case !ok:
		return "", false
	}
	switch scheme {
	case "mailto":
		return "mailto:" + strings.ToLower(rest), emailPattern.MatchString(rest)
	case "http", "https":
		return webKey(scheme, rest)
	}
	return scheme + ":" + rest, true
}

// isForeign reports whether no address has the character, since parsers disagree about it.
func isForeign(r rune) bool {
	return r <= ' ' || r == 0x7f || strings.ContainsRune("<>`|\\\"", r) || r >= utf8.RuneSelf && (unicode.IsSpace(r) || !unicode.IsGraphic(r))
}

var (
	schemePattern = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9+.-]*:`)
	emailPattern  = regexp.MustCompile(`^[A-Za-z0-9._+-]+@[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]+)+$`)
	hostPattern   = regexp.MustCompile(`^(?:[A-Za-z0-9_-]+\.)+[A-Za-z]{2,24}(?::\d{1,5})?(?:[/?#].*)?$`)
)

func cutScheme(address string) (scheme, rest string, ok bool) {
	at := len(schemePattern.FindString(address))
	if at == 0 {
		return "", "", false
	}
	scheme, rest = strings.ToLower(address[:at-1]), address[at:]
	if strings.Contains(scheme, ".") && rest != "" && '0' <= rest[0] && rest[0] <= '9' { // a host with a port
		return "", "", false
	}
	return scheme, rest, true
}

func webKey(scheme, rest string) (string, bool) {
	if !strings.HasPrefix(rest, "//") {
		return "", false
	}
	u, err := url.Parse(scheme + ":" + rest)
	if err != nil || u.Host == "" || u.User != nil {
		return "", false
	}
	host := strings.ToLower(u.Hostname())
	if port := u.Port(); port != "" && port != "80" && port != "443" {
		host += ":" + port
	}
	path := u.EscapedPath()
	if path == "" {
		path = "/"
	}
	key := "//" + host + unescapePlain(path)
	if u.RawQuery != "" || u.ForceQuery {
		key += "?" + unescapePlain(u.RawQuery)
	}
	if u.Fragment != "" {
		key += "#" + unescapePlain(u.EscapedFragment())
	}
	return key, true
}

// unescapePlain decodes percent-encoded letters, digits and characters beyond ASCII, and writes
// other codes in upper case.
func unescapePlain(s string) string {
	if !strings.Contains(s, "%") {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '%' || i+2 >= len(s) {
			b.WriteByte(s[i])
			continue
		}
		c, err := url.PathUnescape(s[i : i+3])
		if err == nil && (isWordByte(c[0]) || c[0] == '~') {
			b.WriteString(c)
		} else {
			b.WriteString(strings.ToUpper(s[i : i+3]))
		}
		i += 2
	}
	return b.String()
}

// isWordByte reports whether c may be part of a host or the local part of a mail address.
func isWordByte(c byte) bool { return isAlnum(c) || c == '.' || c == '_' || c == '-' || c == '+' }

func isAlnum(c byte) bool { return isLetter(c) || '0' <= c && c <= '9' }

func isLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }

// isPunct reports whether a backslash escapes c.
func isPunct(c byte) bool { return c > ' ' && c < 0x7f && !isAlnum(c) }

// localPattern matches addresses without a scheme, host or query: files and headings.
var localPattern = regexp.MustCompile(`^(?:\.{0,2}/)?(?:[A-Za-z0-9_.-]+/?)*(?:#[\pL\pN_.-]*)?$`)

// isLocal reports whether a link to the address stays where the text is shown. A path that begins
// like a host is not local, because some clients add a scheme.
func isLocal(address string) bool {
	if len(address) > maxAddress || !localPattern.MatchString(address) {
		return false
	}
	host, _, isPath := strings.Cut(address, "/")
	return !strings.HasPrefix(strings.ToLower(address), "www.") && !(isPath && hostPattern.MatchString(host))
}

// candidate matches text that may be an address, in prose, Markdown, HTML and JSON.
var candidate = regexp.MustCompile(`(?i)(?:[a-z][a-z0-9+.-]*:)?//[^\s<>"` + "`" + `|\\^{}]+|mailto:[^\s<>"'` + "`" + `|\\]+|[a-z0-9._+-]+@[a-z0-9_-]+(?:\.[a-z0-9_-]+)+|(?:[a-z0-9_-]+\.)+[a-z]{2,24}(?::\d{1,5})?(?:[/?#][^\s<>"` + "`" + `|\\^{}]*)?`)

// jsonEscapes resolves the escapes that occur in addresses within JSON.
var jsonEscapes = strings.NewReplacer(`\/`, "/", `\u0026`, "&", `\u003d`, "=", `\n`, "\n", `\"`, `"`)

// Find calls found with the key of each address in a text. Where punctuation may belong to an
// address, it finds the address with and without it.
func Find(text string, found func(key string)) {
	if strings.Contains(text, `\`) {
		text += "\n" + jsonEscapes.Replace(text)
	}
	for _, m := range candidate.FindAllString(text, -1) {
		last := ""
		for m != last {
			if key, ok := Key(m); ok {
				found(key)
			}
			last = m
			if i := strings.IndexAny(m, "])'*"); i > 0 {
				if key, ok := Key(trimAddress(m[:i])); ok {
					found(key)
				}
			}
			m = trimAddress(m)
		}
	}
}

// trimAddress removes punctuation that ends a sentence rather than an address.
func trimAddress(s string) string {
	for s != "" {
		r, n := utf8.DecodeLastRuneInString(s)
		switch {
		case r == ')' && strings.Count(s, "(") >= strings.Count(s, ")"):
			return s
		case strings.ContainsRune("?!.,:;*_~'\")]}", r), r >= utf8.RuneSelf && unicode.IsPunct(r):
			s = s[:len(s)-n]
		default:
			return s
		}
	}
	return s
}

// hostOf returns the host of an address in the normal form, or "".
func hostOf(key string) string {
	host, ok := strings.CutPrefix(key, "//")
	if !ok {
		return ""
	}
	if i := strings.IndexAny(host, "/?#"); i >= 0 {
		host = host[:i]
	}
	return strings.TrimPrefix(host, "www.")
}

// A Set is a policy that knows the addresses of some texts, and no images.
type Set map[string]bool

// SetOf returns the addresses of texts.
func SetOf(texts ...string) Set {
	s := make(Set)
	s.Add(texts...)
	return s
}

// Add adds the addresses of texts.
func (s Set) Add(texts ...string) {
	for _, text := range texts {
		Find(text, func(key string) { s[key] = true })
	}
}

// Applies implements [Policy].
func (Set) Applies() bool { return true }

// Knows implements [Policy].
func (s Set) Knows(address string, image bool) bool {
	key, ok := Key(address)
	return ok && s[key] && !image
}
