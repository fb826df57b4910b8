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

// A numbering numbers sources from 1, in the order of citation.
type numbering struct {
	of    map[string]int // source id to number
	known map[string]bool
	order []string
}

// citation matches [e1] and [e1, e2].
var citation = regexp.MustCompile(`\[(e\d{1,9}(?:\s*[,;]\s*e\d{1,9})*)\]`)

var sourceID = regexp.MustCompile(`e\d{1,9}`)

// number numbers the sources that texts cite, in order.
func number(sources []session.Source, texts ...string) *numbering {
	n := &numbering{of: make(map[string]int), known: make(map[string]bool)}
	for _, s := range sources {
		n.known[s.ID] = true
	}
	n.cited(texts...)
	return n
}

// cited adds the sources that texts cite.
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

// blocks splits the citations in blocks into spans.
func (n *numbering) blocks(list []block) []block {
	for i := range list {
		list[i].blocks, list[i].spans = n.blocks(list[i].blocks), n.spans(list[i].spans)
	}
	return list
}

// spans splits the citations outside links into spans.
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

// split cuts a text at its citations. An unknown id stays text.
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

type htmlWriter struct {
	b       strings.Builder
	numbers *numbering
	claim   func(number string) (status, mark, why string) // of a claim; may be nil
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

// inPage escapes text for a page. It also replaces NUL, which is invalid, and the plus sign,
// which browsers that guess UTF-7 would read as markup.
func inPage(s string) string {
	return strings.ReplaceAll(strings.ReplaceAll(html.EscapeString(s), "\x00", "\uFFFD"), "+", "&#43;")
}

func (w *htmlWriter) text(s string) { w.b.WriteString(html.EscapeString(s)) }

// sign writes the status of a claim as text, with a link to the reason.
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
