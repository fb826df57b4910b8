package document

import (
	"cmp"
	"encoding/xml"
	"strconv"
	"strings"
)

// DOCX returns the content of a Word document with headings, lists, tables and notes.
// It omits tracked deletions.
func DOCX(file []byte) (Content, error) {
	u, err := newUnpacker(file)
	if err != nil {
		return Content{}, err
	}
	r := &docxReader{styles: docxStyles(u)}
	if err := r.readMember(u, "word/document.xml"); err != nil {
		return Content{}, err
	}
	for _, notes := range []string{"word/footnotes.xml", "word/endnotes.xml"} {
		if u.members[notes] != nil {
			if err := r.readMember(u, notes); err != nil {
				return Content{}, err
			}
		}
	}
	meta := u.elementTexts("docProps/core.xml", "title", "creator", "created", "modified", "language")
	c := Content{Title: meta["title"], Author: meta["creator"], Language: meta["language"], Blocks: r.blocks}
	if c.Published = parseDate(meta["modified"]); c.Published.IsZero() {
		c.Published = parseDate(meta["created"])
	}
	c.Title = cmp.Or(c.Title, r.title)
	return c, nil
}

func docxStyles(u *unpacker) map[string]int {
	levels := map[string]int{}
	id := ""
	_ = u.parseXML("word/styles.xml", xmlEvents{start: func(name string, attrs []xml.Attr) { // without styles, IDs suffice
		switch name {
		case "style":
			id = attrValue(attrs, "styleId")
		case "name":
			if level, ok := headingStyle(attrValue(attrs, "val")); ok && id != "" {
				levels[id] = level
			}
		case "outlineLvl":
			if n, err := strconv.Atoi(attrValue(attrs, "val")); err == nil && 0 <= n && n < 6 && id != "" {
				levels[id] = n + 1
			}
		}
	}})
	return levels
}

func headingStyle(name string) (level int, ok bool) {
	s := strings.ToLower(strings.ReplaceAll(name, " ", ""))
	if s == "title" {
		return 0, true
	}
	n, err := strconv.Atoi(strings.TrimPrefix(s, "heading"))
	return min(n, 6), strings.HasPrefix(s, "heading") && err == nil && n > 0
}

type docxReader struct {
	styles map[string]int
	blocks []Block
	title  string
	length int

	text   *strings.Builder   // open paragraph
	outer  []*strings.Builder // paragraphs around the text box
	kind   Kind
	level  int
	inText bool // in a text element
	tables int  // open tables
	cells  []string
	cell   strings.Builder
	skip   int // open skipped elements
	err    error
}

func (r *docxReader) readMember(u *unpacker, member string) error {
	r.text = &strings.Builder{}
	r.cell.Reset()
	r.cells, r.tables, r.skip, r.outer = nil, 0, 0, nil
	if err := u.parseXML(member, xmlEvents{start: r.startElement, end: r.endElement, text: r.charData}); err != nil {
		return err
	}
	return r.err
}

// isSkippedElement reports whether an element is no text: deleted, a duplicate for old
// programs, or drawn.
func isSkippedElement(name string) bool {
	return name == "del" || name == "moveFrom" || name == "Fallback" || name == "instrText" || name == "pict"
}

func (r *docxReader) startElement(name string, attrs []xml.Attr) {
	if r.skip > 0 || isSkippedElement(name) {
		r.skip++
		return
	}
	switch name {
	case "p":
		r.outer = append(r.outer, r.text)
		r.text = &strings.Builder{}
		r.kind, r.level = Prose, 0
	case "pStyle":
		r.applyStyle(attrValue(attrs, "val"))
	case "outlineLvl":
		if n, err := strconv.Atoi(attrValue(attrs, "val")); err == nil && 0 <= n && n < 6 {
			r.kind, r.level = Heading, n+1
		}
	case "numPr":
		if r.kind == Prose {
			r.kind = Item
		}
	case "t":
		r.inText = true
	case "tab":
		r.text.WriteByte('\t')
	case "br", "cr":
		r.text.WriteByte('\n')
	case "noBreakHyphen":
		r.text.WriteByte('-')
	case "tbl":
		r.tables++
	}
}

func (r *docxReader) applyStyle(id string) {
	level, ok := r.styles[id]
	if !ok {
		level, ok = headingStyle(id)
	}
	switch {
	case ok:
		r.kind, r.level = Heading, max(level, 1)
	case strings.HasPrefix(id, "List"):
		r.kind = Item
	case strings.Contains(id, "Code") || id == "HTMLPreformatted":
		r.kind = Code
	}
	if ok && level == 0 {
		r.level = -1
	}
}

func (r *docxReader) endElement(name string) {
	if r.skip > 0 {
		r.skip--
		return
	}
	switch name {
	case "t":
		r.inText = false
	case "p":
		r.endParagraph()
	case "tc":
		if r.tables == 1 {
			r.cells = append(r.cells, strings.TrimSpace(r.cell.String()))
			r.cell.Reset()
		}
	case "tr":
		if r.tables == 1 {
			r.addBlock(Block{Kind: Row, Text: strings.TrimRight(strings.Join(r.cells, " | "), " |")})
			r.cells = nil
		}
	case "tbl":
		r.tables = max(r.tables-1, 0)
	}
}

func (r *docxReader) endParagraph() {
	b := Block{Kind: r.kind, Level: r.level, Text: r.text.String()}
	if n := len(r.outer); n > 0 {
		r.text, r.outer = r.outer[n-1], r.outer[:n-1]
	}
	r.kind, r.level = Prose, 0
	if r.tables > 0 {
		r.cell.WriteString(b.Text + " ")
		r.addLength(len(b.Text))
		return
	}
	if b.Kind == Heading && b.Level < 0 {
		b.Level = 1
		if r.title == "" {
			r.title = oneLine(b.Text)
		}
	}
	r.addBlock(b)
}

func (r *docxReader) addBlock(b Block) {
	if strings.TrimSpace(b.Text) == "" {
		return
	}
	if last := len(r.blocks) - 1; b.Kind == Code && last >= 0 && r.blocks[last].Kind == Code {
		r.blocks[last].Text += "\n" + b.Text // continued code
		return
	}
	r.blocks = append(r.blocks, b)
}

func (r *docxReader) charData(s []byte) {
	if r.inText && r.skip == 0 && r.addLength(len(s)) {
		r.text.Write(s)
	}
}

func (r *docxReader) addLength(n int) bool {
	if r.length += n; r.length > maxDocText {
		r.err = errTooMuch
	}
	return r.err == nil
}
