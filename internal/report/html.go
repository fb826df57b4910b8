package report

import (
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"fmt"
	"html"
	"strings"

	"ponder/mode/session"
)

//go:embed page.css
var style string

// HTML returns a session as a report on one page of its own: it needs no script,
// and nothing from elsewhere. The error is always nil.
func HTML(v session.View) ([]byte, error) {
	p := &page{doc: newDocument(v), read: newReader()}
	p.write()
	return []byte(p.b.String()), nil
}

// A page writes a document as HTML. It is written by code and not by a template:
// a template calls methods by names that it reads, and a program that can do so
// keeps every method of all that it is made of.
type page struct {
	doc  *document
	read *reader
	b    strings.Builder
}

// markup is HTML in which all that is foreign is escaped.
type markup string

// put writes a format of ours, with arguments escaped unless they are markup or
// whole numbers. Attributes in it stand in double quotes.
func (p *page) put(format string, args ...any) {
	for i, a := range args {
		switch a.(type) {
		case markup, int:
		default:
			args[i] = inPage(fmt.Sprint(a))
		}
	}
	fmt.Fprintf(&p.b, format, args...)
}

// putIf writes a format with a text, unless the text is empty.
func (p *page) putIf(format, text string) {
	if text != "" {
		p.put(format, text)
	}
}

// inPage returns text for an element or an attribute: without NUL, which a page
// must not have, and without a plus, which what guesses UTF-7 would take for markup.
func inPage(s string) string {
	return strings.ReplaceAll(strings.ReplaceAll(html.EscapeString(s), "\x00", "\uFFFD"), "+", "&#43;")
}

// address returns a URL, already safe, for an attribute: what is not of a URL by
// RFC 3986, and quotes and parentheses, as %xx.
func address(url string) string {
	var b strings.Builder
	for i := range len(url) {
		c := url[i]
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', strings.IndexByte("-._~!#$&*+,/:;=?@[]", c) >= 0:
			b.WriteByte(c)
		case c == '%' && isHex(url[i+1:]):
			b.WriteByte(c)
		default:
			fmt.Fprintf(&b, "%%%02x", c)
		}
	}
	return b.String()
}

// isHex reports whether a text begins with two hexadecimal digits.
func isHex(s string) bool {
	return len(s) >= 2 && strings.Trim(s[:2], "0123456789abcdefABCDEF") == ""
}

// write writes the page, in the order in which it is read.
func (p *page) write() {
	p.head()
	p.answer()
	p.section("reached", "How it was reached", func() { p.put("\n<p>%s</p>", p.doc.Account) })
	p.confidence()
	p.insights()
	p.open()
	p.tree()
	p.sources()
	p.syntheses()
	p.corrections()
	p.steering()
	p.stream()
	p.cost()
	p.notes()
	p.put("</main>\n")
	p.putIf("<footer>%s</footer>", p.doc.Colophon)
	p.put("\n</body>\n</html>\n")
}

func (p *page) head() {
	p.begin(p.doc.Title, style, "")
	p.putIf("\n"+`<blockquote class="question" dir="auto">%s</blockquote>`, p.doc.Question)
	p.put("\n"+`<p class="lead">%s</p>`+"\n</header>\n", p.doc.Lead)
}

// begin writes a page up to its heading. The policy allows the style of the page, what
// else is named, and nothing else. The style and the policy are ours.
func (p *page) begin(title, css, allowed string) {
	sum := sha256.Sum256([]byte(css))
	policy := "default-src 'none'; " + allowed + "style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'; base-uri 'none'; form-action 'none'"
	p.put(`<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="%s">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<meta name="color-scheme" content="light dark">
<title>%s</title>
<style>%s</style>
</head>
<body>
<a class="skip" href="#answer">To the answer</a>
<main>
<header>
<h1 dir="auto">%s</h1>`, policy, title, markup(css), title)
}

// section writes a section, below a blank line. The id and the title are ours.
func (p *page) section(id, title string, body func()) {
	p.put(`
<section aria-labelledby="h-%s">
<h2 id="h-%s">%s</h2>`, id, id, title)
	body()
	p.put("\n</section>\n")
}

// prose returns a text of several paragraphs.
func (p *page) prose(md string) markup {
	w := &htmlWriter{numbers: p.doc.numbers}
	w.blocks(p.doc.numbers.blocks(p.read.prose(md)), false)
	return markup(w.b.String())
}

// line returns a text that stands in a line.
func (p *page) line(md string) markup {
	w := &htmlWriter{numbers: p.doc.numbers}
	w.spans(p.doc.numbers.spans(p.read.inline(md)))
	return markup(w.b.String())
}
