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

// A citationNumbers numbers sources from 1, in the order of citation.
type citationNumbers struct {
	numberByID map[string]int // source id to number
	known      map[string]bool
	order      []string
}

// citation matches [e1] and [e1, e2].
var citation = regexp.MustCompile(`\[(e\d{1,9}(?:\s*[,;]\s*e\d{1,9})*)\]`)

var sourceID = regexp.MustCompile(`e\d{1,9}`)

// numberSources numbers the sources that texts cite, in order.
func numberSources(sources []session.Source, texts ...string) *citationNumbers {
	n := &citationNumbers{numberByID: make(map[string]int), known: make(map[string]bool)}
	for _, s := range sources {
		n.known[s.ID] = true
	}
	n.addCited(texts...)
	return n
}

// addCited adds the sources that texts cite.
func (n *citationNumbers) addCited(texts ...string) {
	for _, text := range texts {
		for _, m := range citation.FindAllString(text, -1) {
			for _, id := range sourceID.FindAllString(m, -1) {
				n.addSource(id)
			}
		}
	}
}

func (n *citationNumbers) addRemaining(sources []session.Source) {
	for _, s := range sources {
		if s.Cited {
			n.addSource(s.ID)
		}
	}
}

func (n *citationNumbers) addSource(id string) {
	if n.known[id] && n.numberByID[id] == 0 {
		n.order = append(n.order, id)
		n.numberByID[id] = len(n.order)
	}
}

// splitBlocks splits the citations in blocks into spans.
func (n *citationNumbers) splitBlocks(list []block) []block {
	for i := range list {
		list[i].blocks, list[i].spans = n.splitBlocks(list[i].blocks), n.splitSpans(list[i].spans)
	}
	return list
}

// splitSpans splits the citations outside links into spans.
func (n *citationNumbers) splitSpans(list []span) (out []span) {
	for _, s := range list {
		switch s.kind {
		case plain:
			out = append(out, n.splitText(s.text)...)
			continue
		case emphasis, strong, strike:
			s.spans = n.splitSpans(s.spans)
		}
		out = append(out, s)
	}
	return out
}

// splitText cuts a text at its citations. An unknown id stays text.
func (n *citationNumbers) splitText(text string) (out []span) {
	from := 0
	for _, m := range citation.FindAllStringIndex(text, -1) {
		var cites []span
		for _, id := range sourceID.FindAllString(text[m[0]:m[1]], -1) {
			if n.numberByID[id] > 0 {
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
	numbers *citationNumbers
	claim   func(number string) (status, mark, why string) // of a claim; may be nil
}

func (w *htmlWriter) renderProse(list []block) template.HTML {
	w.writeBlocks(list, false)
	return template.HTML(w.b.String()) //nolint:gosec // all that is foreign is escaped
}

func (w *htmlWriter) writeBlocks(list []block, tight bool) {
	for _, b := range list {
		w.writeBlock(b, tight)
	}
}

func (w *htmlWriter) writeElement(tag, attrs string, body func()) {
	w.b.WriteString("<" + tag + attrs + ">")
	body()
	w.b.WriteString("</" + tag + ">")
}

func (w *htmlWriter) writeBlock(b block, tight bool) {
	spans := func() { w.writeSpans(b.spans) }
	switch b.kind {
	case heading:
		w.writeElement("h"+strconv.Itoa(min(b.level+headingShift, 6)), ` dir="auto"`, spans)
	case list:
		tag, attrs := "ul", ""
		if b.ordered {
			tag, attrs = "ol", fmt.Sprintf(` start="%d"`, b.level)
		}
		w.writeElement(tag, attrs, func() {
			for _, it := range b.blocks {
				w.writeElement("li", ` dir="auto"`, func() { w.writeBlocks(it.blocks, b.tight) })
			}
		})
	case quote:
		w.writeElement("blockquote", "", func() { w.writeBlocks(b.blocks, false) })
	case code:
		w.writeElement("pre", ` tabindex="0"`, func() { w.writeElement("code", "", func() { w.writeText(b.text) }) })
	case rule:
		w.b.WriteString("<hr>")
	case table:
		w.writeTable(b)
	case paragraph:
		if tight {
			spans()
			return
		}
		w.writeElement("p", ` dir="auto"`, spans)
	default:
		w.writeBlocks(b.blocks, tight)
	}
	w.b.WriteByte('\n')
}

func (w *htmlWriter) writeTable(b block) {
	w.b.WriteString(`<div class="wide" tabindex="0" role="group" aria-label="Table"><table>`)
	for i, r := range b.blocks {
		tag := "td"
		if i == 0 {
			tag = "th"
		}
		w.writeElement("tr", "", func() {
			for j, c := range r.blocks {
				attrs := ""
				if j < len(b.align) && b.align[j] != "" {
					attrs = ` class="` + html.EscapeString(b.align[j]) + `"`
				}
				w.writeElement(tag, attrs, func() { w.writeSpans(c.spans) })
			}
		})
	}
	w.b.WriteString("</table></div>")
}

// escapePage escapes text for a page. It also replaces NUL, which is invalid, and the plus sign,
// which browsers that guess UTF-7 would read as markup.
func escapePage(s string) string {
	return strings.ReplaceAll(strings.ReplaceAll(html.EscapeString(s), "\x00", "\uFFFD"), "+", "&#43;")
}

func (w *htmlWriter) writeText(s string) { w.b.WriteString(html.EscapeString(s)) }

// writeSign writes the status of a claim as text, with a link to the reason.
func (w *htmlWriter) writeSign(number string) {
	status, mark, _ := w.claim(number)
	if mark != "" {
		w.b.WriteString(`<a class="sign ` + html.EscapeString(status) + `" href="#claim-` + escapePage(number) + `" aria-label="` + html.EscapeString(status) + `">` + mark + `</a>`)
	}
}

func (w *htmlWriter) writeSpans(list []span) {
	for _, s := range list {
		inner := func() { w.writeSpans(s.spans) }
		switch s.kind {
		case plain:
			w.writeText(s.text)
		case codeSpan:
			w.writeElement("code", "", func() { w.writeText(s.text) })
		case emphasis:
			w.writeElement("em", "", inner)
		case strong:
			w.writeElement("strong", "", inner)
		case strike:
			w.writeElement("s", "", inner)
		case link:
			w.writeElement("a", ` href="`+html.EscapeString(s.text)+`" rel="noopener noreferrer nofollow"`, inner)
		case cite:
			n := strconv.Itoa(w.numbers.numberByID[s.text])
			w.b.WriteString(`<a class="cite" href="#source-` + n + `" aria-label="source ` + n + `">` + n + `</a>`)
		case claimed:
			status, _, why := w.claim(s.text)
			w.writeElement("span", ` class="claim `+html.EscapeString(status)+`" title="`+escapePage(status+": "+why)+`"`, inner)
		case sign:
			w.writeSign(s.text)
		case softBreak:
			w.b.WriteByte('\n')
		case hardBreak:
			w.b.WriteString("<br>")
		}
	}
}
