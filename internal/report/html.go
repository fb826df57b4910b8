package report

import (
	"cmp"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"fmt"
	"html"
	"html/template"
	"slices"
	"strconv"
	"strings"

	"ponder/mode/session"
)

//go:embed page.html
var pageSource string

//go:embed page.css
var style string

// HTML returns a session as a report on one page of its own: it needs no script,
// and nothing from elsewhere.
func HTML(v session.View) ([]byte, error) {
	p := &page{document: newDocument(v), read: newReader(), Style: template.CSS(style), Policy: policy()}
	t, err := template.New("page").Funcs(p.funcs()).Parse(pageSource)
	if err != nil {
		return nil, fmt.Errorf("page of a session: %w", err)
	}
	var b strings.Builder
	if err := t.Execute(&b, p); err != nil {
		return nil, fmt.Errorf("page of session %s: %w", v.Session.ID, err)
	}
	return []byte(b.String()), nil
}

// policy allows the style of the page and nothing else.
func policy() string {
	sum := sha256.Sum256([]byte(style))
	return "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'; base-uri 'none'; form-action 'none'"
}

// A page is a document with what its template needs.
type page struct {
	*document
	read   *reader
	Style  template.CSS
	Policy string
}

func (p *page) funcs() template.FuncMap {
	return template.FuncMap{
		"prose": func(md string) template.HTML { return p.prose(md) },
		"line":  func(md string) template.HTML { return p.line(md) },
		"plain": oneLine, "clock": clock, "thousands": thousands, "basis": basis, "thoughtMarks": thoughtMarks, "questionMarks": questionMarks,
		"join": func(list []string) string { return strings.Join(list, " · ") },
		"two":  func(x float64) string { return strconv.FormatFloat(unit(x), 'f', 2, 64) },
		"ten":  func(x float64) int { return int(unit(x)*10 + 0.5) },
		"wish": func(w session.Steering) string { wish, _ := steerLine(w); return wish },
		"came": func(w session.Steering) string { _, came := steerLine(w); return came },
		"kind": kindClass, "count": count, "quote": oneLine,
		"last": func(i int) bool { return i == len(p.Syntheses)-1 },
		"gist": func(md string) string { return short(textOf(p.read.prose(md)), maxGist) },
		"tree": func() template.HTML { return p.treeHTML() },
	}
}

// kindClass returns the kind of a thought if it is one that has a colour.
func kindClass(kind string) string {
	if slices.Contains([]string{"exploration", "critique", "connection", "insight", "question", "synthesis"}, kind) {
		return kind
	}
	return "other"
}

// maxGist is how many letters of a synthesis are shown while it is folded.
const maxGist = 80

// textOf returns the words of the first block that has any.
func textOf(blocks []block) string {
	for _, b := range blocks {
		if text := cmp.Or(oneLine(wordsOf(b.spans)), textOf(b.blocks)); text != "" {
			return text
		}
	}
	return ""
}

func wordsOf(spans []span) string {
	var b strings.Builder
	for _, s := range spans {
		switch s.kind {
		case plain, codeSpan:
			b.WriteString(s.text)
		case softBreak, hardBreak:
			b.WriteByte(' ')
		}
		b.WriteString(wordsOf(s.spans))
	}
	return b.String()
}

func (p *page) prose(md string) template.HTML {
	w := &htmlWriter{numbers: p.numbers}
	w.blocks(p.numbers.blocks(p.read.prose(md)), false)
	return template.HTML(w.b.String()) //nolint:gosec // written by htmlWriter, which escapes all that is foreign
}

func (p *page) line(md string) template.HTML {
	w := &htmlWriter{numbers: p.numbers}
	w.spans(p.numbers.spans(p.read.inline(md)))
	return template.HTML(w.b.String()) //nolint:gosec // as above
}

// treeHTML writes the questions as lists in lists, as deep as they are.
func (p *page) treeHTML() template.HTML {
	var b strings.Builder
	depth := -1
	for _, n := range p.Tree {
		switch {
		case n.Depth > depth:
			b.WriteString(`<ul class="tree">`)
			depth++ // a tree is never more than one deeper than what it is below
		default:
			b.WriteString("</li>" + strings.Repeat("</ul></li>", depth-n.Depth))
			depth = n.Depth
		}
		state := html.EscapeString(string(n.State))
		fmt.Fprintf(&b, `<li class="%s"><div class="q"><span class="state" aria-hidden="true">%s</span> <span class="qtext" dir="auto">%s</span> <span class="marks">%s</span></div>`,
			state, stateMarks[n.State], p.line(n.Text), html.EscapeString(strings.Join(append([]string{string(n.State)}, questionMarks(n.Question)...), " · ")))
		if n.Insights != "" {
			fmt.Fprintf(&b, `<p class="learned" dir="auto">%s</p>`, p.line(n.Insights))
		}
	}
	if depth >= 0 {
		b.WriteString("</li></ul>" + strings.Repeat("</li></ul>", depth))
	}
	return template.HTML(b.String()) //nolint:gosec // as above
}

// An htmlWriter writes trees of blocks as HTML. All text in it is escaped.
type htmlWriter struct {
	b       strings.Builder
	numbers *numbering
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

func (w *htmlWriter) text(s string) { w.b.WriteString(html.EscapeString(s)) }

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
		case softBreak:
			w.b.WriteByte('\n')
		case hardBreak:
			w.b.WriteString("<br>")
		}
	}
}
