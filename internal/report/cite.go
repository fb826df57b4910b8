package report

import (
	"fmt"
	"html"
	"html/template"
	"regexp"
	"strconv"
	"strings"

	"ponder/mode/session"
)

// A numbering numbers what a report cites, from 1, in the order in which it is cited.
type numbering struct {
	of    map[string]int // the number of a source, by its id
	known map[string]bool
	order []string
}

// citation is how texts cite sources: [e1], or [e1, e2].
var citation = regexp.MustCompile(`\[(e\d{1,9}(?:\s*[,;]\s*e\d{1,9})*)\]`)

var sourceID = regexp.MustCompile(`e\d{1,9}`)

// number numbers the sources of a session that texts cite, in the order of the texts.
func number(sources []session.Source, texts ...string) *numbering {
	n := &numbering{of: make(map[string]int), known: make(map[string]bool)}
	for _, s := range sources {
		n.known[s.ID] = true
	}
	n.cited(texts...)
	return n
}

// cited numbers what texts cite and those before did not.
func (n *numbering) cited(texts ...string) {
	for _, text := range texts {
		for _, m := range citation.FindAllString(text, -1) {
			for _, id := range sourceID.FindAllString(m, -1) {
				n.add(id)
			}
		}
	}
}

func (n *numbering) rest(sources []session.Source) {
	for _, s := range sources {
		if s.Cited {
			n.add(s.ID)
		}
	}
}

func (n *numbering) add(id string) {
	if n.known[id] && n.of[id] == 0 {
		n.order = append(n.order, id)
		n.of[id] = len(n.order)
	}
}

// blocks makes the citations in blocks spans of their own.
func (n *numbering) blocks(list []block) []block {
	for i := range list {
		list[i].blocks, list[i].spans = n.blocks(list[i].blocks), n.spans(list[i].spans)
	}
	return list
}

// spans makes the citations in spans, but for those in links, spans of their own.
func (n *numbering) spans(list []span) (out []span) {
	for _, s := range list {
		switch s.kind {
		case plain:
			out = append(out, n.split(s.text)...)
			continue
		case emphasis, strong, strike:
			s.spans = n.spans(s.spans)
		}
		out = append(out, s)
	}
	return out
}

// split cuts a text at its citations. What names no source stays text.
func (n *numbering) split(text string) (out []span) {
	from := 0
	for _, m := range citation.FindAllStringIndex(text, -1) {
		var cites []span
		for _, id := range sourceID.FindAllString(text[m[0]:m[1]], -1) {
			if n.of[id] > 0 {
				cites = append(cites, span{kind: cite, text: id})
			}
		}
		if len(cites) == 0 {
			continue
		}
		if m[0] > from {
			out = append(out, span{text: strings.TrimRight(text[from:m[0]], " \t")})
		}
		out, from = append(out, cites...), m[1]
	}
	if from < len(text) {
		out = append(out, span{text: text[from:]})
	}
	return out
}

// An htmlWriter writes trees of blocks as HTML. All text in it is escaped.
type htmlWriter struct {
	b       strings.Builder
	numbers *numbering
	claim   func(number string) (status, mark, why string) // of claims, if there are any
}

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
