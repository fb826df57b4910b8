package report

import (
	"fmt"
	"html"
	"html/template"
	"strconv"
	"strings"
)

// An htmlWriter writes trees of blocks as HTML. All text in it is escaped.
type htmlWriter struct {
	b       strings.Builder
	numbers *numbering
	claim   func(number string) (status, mark, why string) // of claims, if there are any
}

// prose returns blocks as HTML.
func (w *htmlWriter) prose(list []block) template.HTML {
	w.blocks(list, false)
	return template.HTML(w.b.String()) //nolint:gosec // all that is foreign is escaped
}

func (w *htmlWriter) blocks(list []block, tight bool) {
	for _, b := range list {
		w.block(b, tight)
	}
}

// in writes an element around what body writes. The attributes are ours.
func (w *htmlWriter) in(tag, attrs string, body func()) {
	w.b.WriteString("<" + tag + attrs + ">")
	body()
	w.b.WriteString("</" + tag + ">")
}

func (w *htmlWriter) block(b block, tight bool) {
	spans := func() { w.spans(b.spans) }
	switch b.kind {
	case heading:
		w.in("h"+strconv.Itoa(min(b.level+belowOurs, 6)), ` dir="auto"`, spans)
	case list:
		tag, attrs := "ul", ""
		if b.ordered {
			tag, attrs = "ol", fmt.Sprintf(` start="%d"`, b.level)
		}
		w.in(tag, attrs, func() {
			for _, it := range b.blocks {
				w.in("li", ` dir="auto"`, func() { w.blocks(it.blocks, b.tight) })
			}
		})
	case quote:
		w.in("blockquote", "", func() { w.blocks(b.blocks, false) })
	case code:
		w.in("pre", ` tabindex="0"`, func() { w.in("code", "", func() { w.text(b.text) }) })
	case rule:
		w.b.WriteString("<hr>")
	case table:
		w.table(b)
	case paragraph:
		if tight {
			spans()
			return
		}
		w.in("p", ` dir="auto"`, spans)
	default:
		w.blocks(b.blocks, tight)
	}
	w.b.WriteByte('\n')
}

func (w *htmlWriter) table(b block) {
	w.b.WriteString(`<div class="wide" tabindex="0" role="group" aria-label="Table"><table>`)
	for i, r := range b.blocks {
		tag := "td"
		if i == 0 {
			tag = "th"
		}
		w.in("tr", "", func() {
			for j, c := range r.blocks {
				attrs := ""
				if j < len(b.align) && b.align[j] != "" {
					attrs = ` class="` + html.EscapeString(b.align[j]) + `"`
				}
				w.in(tag, attrs, func() { w.spans(c.spans) })
			}
		})
	}
	w.b.WriteString("</table></div>")
}

// inPage returns text for an element or an attribute: without NUL, which a page
// must not have, and without a plus, which what guesses UTF-7 would take for markup.
func inPage(s string) string {
	return strings.ReplaceAll(strings.ReplaceAll(html.EscapeString(s), "\x00", "\uFFFD"), "+", "&#43;")
}

func (w *htmlWriter) text(s string) { w.b.WriteString(html.EscapeString(s)) }

// sign writes how a claim stands, for those who see no colours, and leads to why.
func (w *htmlWriter) sign(number string) {
	status, mark, _ := w.claim(number)
	if mark != "" {
		w.b.WriteString(`<a class="sign ` + html.EscapeString(status) + `" href="#claim-` + inPage(number) + `" aria-label="` + html.EscapeString(status) + `">` + mark + `</a>`)
	}
}

func (w *htmlWriter) spans(list []span) {
	for _, s := range list {
		inner := func() { w.spans(s.spans) }
		switch s.kind {
		case plain:
			w.text(s.text)
		case codeSpan:
			w.in("code", "", func() { w.text(s.text) })
		case emphasis:
			w.in("em", "", inner)
		case strong:
			w.in("strong", "", inner)
		case strike:
			w.in("s", "", inner)
		case link:
			w.in("a", ` href="`+html.EscapeString(s.text)+`" rel="noopener noreferrer nofollow"`, inner)
		case cite:
			n := strconv.Itoa(w.numbers.of[s.text])
			w.b.WriteString(`<a class="cite" href="#source-` + n + `" aria-label="source ` + n + `">` + n + `</a>`)
		case claimed:
			status, _, why := w.claim(s.text)
			w.in("span", ` class="claim `+html.EscapeString(status)+`" title="`+inPage(status+": "+why)+`"`, inner)
		case sign:
			w.sign(s.text)
		case softBreak:
			w.b.WriteByte('\n')
		case hardBreak:
			w.b.WriteString("<br>")
		}
	}
}
