package mail

import (
	"regexp"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// pageText returns the visible text of an HTML page without quotations.
func pageText(page string) string {
	z := html.NewTokenizer(strings.NewReader(page))
	z.SetMaxBuf(maxBody)
	var b strings.Builder
	var skip atom.Atom // the skipped element
	depth := 0         // nesting of that element
	for {
		switch z.Next() {
		case html.ErrorToken: // end of input
			return b.String()
		case html.TextToken:
			if skip == 0 {
				b.WriteString(strings.ReplaceAll(string(z.Text()), "\n", " "))
			}
		case html.StartTagToken, html.SelfClosingTagToken:
			t := z.Token()
			switch {
			case skip != 0 && t.DataAtom == skip:
				depth++
			case skip == 0 && isSkipped(t):
				skip, depth = t.DataAtom, 1
			case skip == 0 && isBlock(t.DataAtom):
				b.WriteByte('\n')
			}
		case html.EndTagToken:
			name, _ := z.TagName()
			a := atom.Lookup(name)
			if skip != 0 && a == skip {
				if depth--; depth == 0 {
					skip = 0
				}
			}
			if isBlock(a) {
				b.WriteByte('\n')
			}
		}
	}
}

// isBlock reports whether an element starts a line.
func isBlock(a atom.Atom) bool {
	switch a {
	case atom.P, atom.Br, atom.Div, atom.Tr, atom.Li, atom.Table, atom.H1, atom.H2, atom.H3, atom.H4, atom.Hr, atom.Ul, atom.Ol, atom.Blockquote:
		return true
	}
	return false
}

// isSkipped reports whether an element is invisible or a quotation.
func isSkipped(t html.Token) bool {
	switch t.DataAtom {
	case atom.Script, atom.Style, atom.Head, atom.Title, atom.Noscript, atom.Template, atom.Blockquote, atom.Svg, atom.Object:
		return true
	case 0, atom.Br, atom.Img, atom.Hr, atom.Input, atom.Meta, atom.Link, atom.Body, atom.Html: // void or whole document
		return false
	}
	for _, a := range t.Attr {
		switch {
		case a.Key == "hidden", a.Key == "style" && hiddenStyle.MatchString(a.Val):
			return true
		case a.Key == "class" && quoteClass.MatchString(a.Val), a.Key == "id" && strings.EqualFold(a.Val, "divRplyFwdMsg"):
			return true
		}
	}
	return false
}

var (
	hiddenStyle = regexp.MustCompile(`(?i)display\s*:\s*none|visibility\s*:\s*hidden|font-size\s*:\s*0+(?:\.\d+)?(?:px|pt|em|%)?\s*(?:;|!|$)|` +
		`opacity\s*:\s*0+(?:\.0+)?\s*(?:;|!|$)|max-height\s*:\s*0|mso-hide\s*:\s*all`)
	quoteClass = regexp.MustCompile(`(?i)\b(?:gmail_quote|gmail_attr|gmail_signature|moz-cite-prefix|moz-signature|yahoo_quoted|protonmail_quote)\b`)
)
