package search

import (
	"cmp"
	"net/netip"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
	"golang.org/x/net/idna"

	"ponder/internal/textkit"
)

const maxURL = 2048

// Canonical normalizes an http or https address and reports whether it is valid. Hosts
// become lower-case ASCII. It removes needless escapes, default ports, fragments,
// tracking parameters, AMP caches and mobile hosts.
//
// The result usually leads to the same page. Canonical is idempotent.
func Canonical(raw string) (string, bool) {
	for range 5 { // an address may contain another
		u, ok := parseAddress(raw)
		if !ok {
			return "", false
		}
		next := unwrapAMP(u)
		next = cmp.Or(next, u.String())
		if next == raw {
			return raw, true
		}
		raw = next
	}
	return "", false
}

func parseAddress(raw string) (*url.URL, bool) {
	raw = strings.TrimSpace(raw)
	if raw == "" || len(raw) > maxURL {
		return nil, false
	}
	u, err := url.Parse(raw)
	if err != nil || u.User != nil || u.Opaque != "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, false
	}
	host, ok := asciiHost(u.Hostname())
	if !ok {
		return nil, false
	}
	host = desktopHost(host)
	out := &url.URL{Scheme: u.Scheme, Host: host}
	if strings.Contains(host, ":") {
		out.Host = "[" + host + "]"
	}
	if p := u.Port(); p != "" && p != map[string]string{"http": "80", "https": "443"}[u.Scheme] {
		out.Host += ":" + p
	}
	out.Path, out.RawPath = cleanPath(u)
	out.RawQuery = cleanQuery(u.RawQuery)
	return out, len(out.String()) <= maxURL
}

func asciiHost(host string) (string, bool) {
	host = strings.ToLower(strings.TrimSuffix(strings.TrimSpace(host), "."))
	if a, err := netip.ParseAddr(host); err == nil {
		return a.String(), a.Zone() == ""
	}
	if host == "" || len(host) > 253 {
		return "", false
	}
	if strings.Trim(host, "abcdefghijklmnopqrstuvwxyz0123456789-_.") == "" && !strings.Contains(host, "xn--") {
		return host, !strings.Contains("."+host+".", "..")
	}
	out, err := idna.Lookup.ToASCII(host)
	if err != nil || out == "" || strings.ContainsAny(out, ":%/\\@ ") {
		return "", false
	}
	return out, true
}

// desktopHost removes labels for mobile hosts.
func desktopHost(host string) string {
	parts := strings.Split(host, ".")
	registry := len(parts) == 3 && len(parts[1]) <= 3 && len(parts[2]) == 2 // m.co.uk
	if len(parts) > 2 && slices.Contains(mobileLabels, parts[0]) && !registry {
		return strings.Join(parts[1:], ".")
	}
	if len(parts) == 4 && parts[1] == "m" { // en.m.wikipedia.org
		return strings.Join(append(parts[:1:1], parts[2:]...), ".")
	}
	return host
}

var mobileLabels = []string{"m", "mobile", "amp"}

// cleanPath returns a path without "..", with few escapes.
func cleanPath(u *url.URL) (string, string) {
	p := (&url.URL{Path: "/"}).ResolveReference(&url.URL{Path: u.Path, RawPath: u.RawPath})
	escaped := p.EscapedPath()
	if i := strings.Index(strings.ToLower(escaped), ";jsessionid="); i >= 0 {
		escaped = escaped[:i]
	}
	escaped = recodeEscapes(escaped)
	if !strings.HasPrefix(escaped, "/") {
		escaped = "/" + escaped
	}
	plain, err := url.PathUnescape(escaped)
	if err != nil {
		return p.Path, p.RawPath
	}
	return plain, escaped
}

// recodeEscapes unescapes unreserved bytes and capitalizes other escapes.
func recodeEscapes(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '%' || i+2 >= len(s) || !isHex(s[i+1]) || !isHex(s[i+2]) {
			b.WriteByte(s[i])
			continue
		}
		if c := hexValue(s[i+1])<<4 | hexValue(s[i+2]); isUnreserved(c) {
			b.WriteByte(c)
		} else {
			b.WriteString(strings.ToUpper(s[i : i+3]))
		}
		i += 2
	}
	return b.String()
}

func isHex(c byte) bool { return strings.IndexByte("0123456789abcdefABCDEF", c) >= 0 }

func hexValue(c byte) byte {
	switch {
	case c <= '9':
		return c - '0'
	case c <= 'F':
		return c - 'A' + 10
	}
	return c - 'a' + 10
}

func isUnreserved(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("-._~", c) >= 0
}

// cleanQuery returns the parameters in order, without tracking.
func cleanQuery(raw string) string {
	var keep []string
	for _, part := range strings.Split(raw, "&") {
		name, _, _ := strings.Cut(part, "=")
		if part != "" && !isTracking(name) {
			keep = append(keep, escapeInvalid(recodeEscapes(part)))
		}
	}
	return strings.Join(keep, "&")
}

func escapeInvalid(s string) string {
	var b strings.Builder
	for i := range len(s) {
		if c := s[i]; c <= ' ' || c >= 0x7f || strings.IndexByte("\"<>\\^`{|}#", c) >= 0 {
			b.WriteString("%" + strings.ToUpper(string([]byte{hexDigit(c >> 4), hexDigit(c & 15)})))
		} else {
			b.WriteByte(c)
		}
	}
	return b.String()
}

func hexDigit(c byte) byte { return "0123456789ABCDEF"[c] }

// isTracking reports whether a parameter is for tracking or AMP.
func isTracking(name string) bool {
	name = strings.ToLower(name)
	for _, p := range []string{"utm_", "oly_", "hsa_", "pk_", "mtm_", "matomo_", "ga_", "at_custom", "guce_", "__hs"} {
		if strings.HasPrefix(name, p) {
			return true
		}
	}
	return slices.Contains(trackers, name)
}

var trackers = strings.Fields(`gclid gclsrc dclid gbraid wbraid fbclid msclkid yclid twclid ttclid igshid igsh mc_cid mc_eid mkt_tok
	_hsenc _hsmi vero_id vero_conv wickedid srsltid li_fat_id _ga _gl _openstat s_cid s_kwcid ncid cmpid ef_id rb_clickid epik
	ref_src ref_url spm scm xtor wt.mc_id trk_contact trk_msg at_medium at_campaign guccounter __twitter_impression
	fb_action_ids fb_action_types fb_source action_object_map amp outputtype usqp amp_js_v`)

// unwrapAMP returns the address behind an AMP cache, or "".
func unwrapAMP(u *url.URL) string {
	p := u.EscapedPath()
	switch host := u.Hostname(); {
	case strings.HasPrefix(host, "www.google.") && strings.HasPrefix(p, "/amp/"):
		p = strings.TrimPrefix(p, "/amp")
	case strings.HasSuffix(host, ".ampproject.org") && len(p) > 3 && (p[1] == 'c' || p[1] == 'v') && p[2] == '/':
		p = p[2:]
	default:
		return ""
	}
	scheme := "http://"
	if rest, ok := strings.CutPrefix(p, "/s/"); ok {
		scheme, p = "https://", rest
	}
	p = strings.TrimPrefix(p, "/")
	if u.RawQuery != "" {
		p += "?" + u.RawQuery
	}
	return scheme + p
}

// pageKey returns a key that addresses of one page share.
func pageKey(canonical string) string {
	u, err := url.Parse(canonical)
	if err != nil {
		return canonical
	}
	p := strings.TrimRight(u.EscapedPath(), "/")
	p = strings.TrimSuffix(p, "/amp")
	for _, index := range []string{"/index.html", "/index.htm", "/index.php", "/default.aspx"} {
		if last, ok := strings.CutSuffix(p, index); ok {
			p = last
			break
		}
	}
	params := strings.Split(u.RawQuery, "&")
	slices.Sort(params)
	return strings.TrimPrefix(u.Host, "www.") + strings.TrimRight(p, "/") + "?" + strings.Join(params, "&")
}

// prefersHTTPS prefers https.
func prefersHTTPS(a, b string) bool {
	return strings.HasPrefix(a, "https:") && !strings.HasPrefix(b, "https:")
}

// escapeReferences matches the escape character in HTML.
var escapeReferences = regexp.MustCompile(`(?i)&#(?:0{0,9}27|x0{0,9}1b);?`)

// StripMarkupEscapes is [textkit.StripEscapes] for HTML, where references may encode
// the escape character.
func StripMarkupEscapes(html string) string {
	if strings.Contains(html, "&#") {
		html = escapeReferences.ReplaceAllLiteralString(html, "\x1b")
	}
	return textkit.StripEscapes(html)
}

// simpleReader returns a simple reader for the file's type.
func simpleReader(name string) func(page []byte, address string) (Page, error) {
	ext := strings.ToLower(path.Ext(name))
	return func(page []byte, _ string) (Page, error) {
		raw := strings.ToValidUTF8(string(page), "\uFFFD")
		if ext == ".txt" || ext == ".md" || ext == ".markdown" {
			title, _, _ := strings.Cut(strings.TrimSpace(raw), "\n")
			return Page{Title: strings.TrimLeft(title, "# "), Text: raw}, nil
		}
		return readHTML(raw), nil
	}
}

// readHTML builds no tree.
func readHTML(raw string) Page {
	var p Page
	var text strings.Builder
	var skip atom.Atom
	depth := 0
	title := false
	z := html.NewTokenizer(strings.NewReader(raw))
	z.SetMaxBuf(maxFile)
	for {
		switch kind := z.Next(); kind {
		case html.ErrorToken:
			p.Text = strings.TrimSpace(text.String())
			return p
		case html.TextToken:
			if title && p.Title == "" {
				p.Title = textkit.PrefixLine(string(z.Text()), maxTitle)
			} else if skip == 0 && !title {
				text.Write(z.Text())
			}
		case html.StartTagToken, html.SelfClosingTagToken:
			t := z.Token()
			p.readHead(t)
			title = t.DataAtom == atom.Title
			switch {
			case skip != 0 && t.DataAtom == skip && kind == html.StartTagToken:
				depth++
			case skip == 0 && skippedTags[t.DataAtom] && kind == html.StartTagToken:
				skip, depth = t.DataAtom, 1
			case blockTags[t.DataAtom]:
				text.WriteString("\n")
			}
		case html.EndTagToken:
			t := z.Token()
			title = false
			if t.DataAtom == skip && skip != 0 {
				if depth--; depth == 0 {
					skip = 0
				}
			} else if blockTags[t.DataAtom] {
				text.WriteString("\n")
			}
		}
	}
}

func (p *Page) readHead(t html.Token) {
	get := func(key string) string {
		for _, a := range t.Attr {
			if a.Key == key {
				return a.Val
			}
		}
		return ""
	}
	switch t.DataAtom {
	case atom.Link:
		if strings.EqualFold(get("rel"), "canonical") && p.canonical == "" {
			p.canonical = get("href")
		}
	case atom.Meta:
		switch strings.ToLower(get("name") + get("property")) {
		case "author":
			p.Author = get("content")
		case "date", "article:published_time", "dc.date":
			if t := textkit.ParseDate(get("content")); p.Published.IsZero() {
				p.Published = t
			}
		}
	}
}

var (
	skippedTags = map[atom.Atom]bool{atom.Script: true, atom.Style: true, atom.Noscript: true, atom.Template: true, atom.Svg: true,
		atom.Nav: true, atom.Footer: true, atom.Aside: true, atom.Form: true, atom.Iframe: true}
	blockTags = map[atom.Atom]bool{atom.P: true, atom.Div: true, atom.Br: true, atom.Li: true, atom.H1: true, atom.H2: true, atom.H3: true,
		atom.H4: true, atom.H5: true, atom.H6: true, atom.Tr: true, atom.Td: true, atom.Th: true, atom.Section: true, atom.Article: true,
		atom.Blockquote: true, atom.Pre: true, atom.Dt: true, atom.Dd: true, atom.Ul: true, atom.Ol: true, atom.Table: true}
)
