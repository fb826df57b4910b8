package report

import (
	"cmp"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"fmt"
	"html"
	"html/template"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"ponder/internal/links"
	"ponder/internal/textkit"
	"ponder/knowledge/claim"
	"ponder/mode/session"
)

//go:embed page.html research.html
var pageFiles embed.FS

//go:embed page.css
var style string

//go:embed research.css
var researchStyle string

var pages = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("").Funcs(funcs).Funcs(template.FuncMap{"icon": iconHTML}).ParseFS(pageFiles, "*.html"))
})

var funcs = map[string]any{
	"plain": textkit.OneLine, "clock": formatClock, "count": textkit.Count, "short": textkit.TruncateWords, "two": twoDecimals, "kind": kindClass,
	"ten":    func(x float64) int { return int(clampUnit(x)*10 + 0.5) },
	"join":   func(list []string) string { return strings.Join(list, " · ") },
	"number": func(i int) int { return i + 1 },
	"basis":  basisText,
	"status": statusByName, "statuses": func() []claimStatus { return statuses },
	"thoughtMarks": thoughtMarks, "synthesisMarks": synthesisMarks,
	"about": conflictSubject, "voices": voicesText, "asked": Query.toolText, "says": (*Since).summaryLine, "differences": (*Since).listDifferences, "shown": Change.displayForm,
}

// HTML returns a session as one page without scripts and external resources.
func HTML(v session.View) ([]byte, error) {
	d := newDocument(v)
	p := newPage(d.numbers, sessionAddresses(v), d.Title, d.Question, d.Lead, style, "")
	text, err := executePage("session", &sessionPage{p, d})
	return []byte(text), err
}

// HTML returns the report as one page without scripts and external resources. It includes the
// JSON form: see [ReadResearch].
func (r Research) HTML() ([]byte, error) {
	r.fillEmptyLists()
	f := newResearchDocument(&r)
	p := newPage(f.numbers, r.knownAddresses(), f.Title, textkit.Clean(f.Asked), f.Lead(), style+researchStyle, "img-src data:; ")
	text, err := executePage("research", &researchPage{p, f})
	if err != nil {
		return nil, err
	}
	return embedReport(text, scriptOpens, &r, scriptCloses, "\n</body>\n</html>\n")
}

func executePage(name string, page any) (string, error) {
	var b strings.Builder
	if err := pages().ExecuteTemplate(&b, name, page); err != nil {
		return "", fmt.Errorf("write an HTML report: %w", err)
	}
	return b.String(), nil
}

type page struct {
	Head    head
	numbers *citationNumbers
	read    *reader
}

type head struct {
	Title, Question, Lead, Policy string
	Style                         template.CSS
}

type sessionPage struct {
	page
	*document
}

type researchPage struct {
	page
	*researchDocument
}

// newPage returns a page whose policy allows only its style and the sources in allowed. css and
// allowed are ours.
func newPage(n *citationNumbers, known links.Set, title, question, lead, css, allowed string) page {
	sum := sha256.Sum256([]byte(css))
	policy := "default-src 'none'; " + allowed + "style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'; base-uri 'none'; form-action 'none'"
	return page{head{title, question, lead, policy, template.CSS(css)}, n, newReader(known)}
}

func (p *page) Prose(md string) template.HTML {
	return (&htmlWriter{numbers: p.numbers}).renderProse(p.numbers.splitBlocks(p.read.parseProse(md)))
}

func (p *page) Line(md string) template.HTML {
	w := &htmlWriter{numbers: p.numbers}
	w.writeSpans(p.numbers.splitSpans(p.read.parseInline(md)))
	return template.HTML(w.b.String()) //nolint:gosec // an htmlWriter escapes all that is foreign
}

// Gist returns the start of a folded synthesis.
func (p *page) Gist(md string) string {
	return textkit.TruncateWords(blocksText(p.read.parseProse(md)), maxGist)
}

// maxGist is the length of a gist, in runes.
const maxGist = 80

func blocksText(blocks []block) string {
	for _, b := range blocks {
		if text := cmp.Or(textkit.OneLine(spansText(b.spans)), blocksText(b.blocks)); text != "" {
			return text
		}
	}
	return ""
}

func spansText(spans []span) string {
	var b strings.Builder
	for _, s := range spans {
		switch s.kind {
		case plain, codeSpan:
			b.WriteString(s.text)
		case softBreak, hardBreak:
			b.WriteByte(' ')
		}
		b.WriteString(spansText(s.spans))
	}
	return b.String()
}

// kindClass returns the kind of a thought if it has a colour, else "".
func kindClass(kind string) string {
	if slices.Contains([]string{"exploration", "critique", "connection", "insight", "question", "synthesis"}, kind) {
		return kind
	}
	return "other"
}

func twoDecimals(x float64) string { return strconv.FormatFloat(clampUnit(x), 'f', 2, 64) }

func (p *sessionPage) Nodes() template.HTML {
	var b strings.Builder
	depth := -1
	for _, n := range p.Tree {
		switch {
		case n.Depth > depth:
			b.WriteString(`<ul class="tree">`)
			depth++ // a child is at most one level deeper
		default:
			b.WriteString("</li>" + strings.Repeat("</ul></li>", depth-n.Depth))
			depth = n.Depth
		}
		fmt.Fprintf(&b, `<li class="%s"><div class="q"><span class="state" aria-hidden="true">%s</span> <span class="qtext" dir="auto">%s</span> <span class="marks">%s</span></div>`,
			html.EscapeString(string(n.State)), stateMarks[n.State], p.Line(n.Text), html.EscapeString(strings.Join(nodeMarks(n), " · ")))
		if n.Insights != "" {
			fmt.Fprintf(&b, `<p class="learned" dir="auto">%s</p>`, p.Line(n.Insights))
		}
	}
	if depth >= 0 {
		b.WriteString("</li></ul>" + strings.Repeat("</li></ul>", depth))
	}
	return template.HTML(b.String()) //nolint:gosec // all that is foreign is escaped
}

func (p *researchPage) Marked() template.HTML {
	blocks := p.page.numbers.splitBlocks(p.read.parseProse(claim.Unmark(p.Answer))) // a page has its own marks
	markClaims(blocks, p.Claims)
	return (&htmlWriter{numbers: p.page.numbers, claim: p.claimSign}).renderProse(blocks)
}

// claimSign returns the sign and the reason of a claim's status.
func (p *researchPage) claimSign(number string) (known, mark, why string) {
	n, err := strconv.Atoi(number)
	if err != nil || n < 1 || n > len(p.Claims) {
		return "", "", ""
	}
	c := p.Claims[n-1]
	s := statusByName(c.Status)
	if s.Name == string(claim.Supported) {
		s.Sign = ""
	}
	return s.Name, s.Sign, textkit.OneLine(c.Reason)
}

// maxIcon bounds an icon, in bytes of its URI.
const maxIcon = 64 << 10

// pictureURI matches data URIs of passive image types.
var pictureURI = regexp.MustCompile(`^data:image/(?:png|gif|jpeg|webp|x-icon|vnd\.microsoft\.icon);base64,[A-Za-z0-9+/]+={0,2}$`)

func iconHTML(e Evidence) template.HTML {
	if len(e.Icon) <= maxIcon && pictureURI.MatchString(e.Icon) {
		return template.HTML(`<img class="icon" alt="" width="16" height="16" src="` + strings.ReplaceAll(e.Icon, "+", "&#43;") + `">`) //nolint:gosec // matched
	}
	letter, hue := sourceMonogram(e)
	return template.HTML(fmt.Sprintf(`<span class="icon m%d" aria-hidden="true">%s</span>`, hue, escapePage(letter))) //nolint:gosec // escaped
}

// hues is the number of colours of monograms.
const hues = 8

// sourceMonogram returns a letter and a colour for a source without an icon.
func sourceMonogram(e Evidence) (letter string, hue int) {
	url, path := sourceLocation(e)
	name := path[strings.LastIndexAny(path, `/\`)+1:]
	if _, rest, ok := strings.Cut(url, "://"); ok {
		name, _, _ = strings.Cut(rest, "/")
		name = strings.TrimPrefix(name, "www.")
	}
	for _, r := range name {
		hue = (hue*31 + int(r)) % hues
	}
	key, _ := lettersOnly(name)
	for _, r := range strings.ToUpper(key) {
		return string(r), hue
	}
	return "·", hue
}
