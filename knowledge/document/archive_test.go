package document

import (
	"archive/zip"
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"ponder/internal/racetest"
)

func zipFile(t testing.TB, members ...string) []byte {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for i := 0; i+1 < len(members); i += 2 {
		h := &zip.FileHeader{Name: members[i], Method: zip.Deflate}
		if members[i] == "mimetype" {
			h.Method = zip.Store
		}
		m, err := w.CreateHeader(h)
		if err == nil {
			_, err = m.Write([]byte(members[i+1]))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

const core = `<cp:coreProperties xmlns:dc="d"><dc:title>Harbours</dc:title><dc:creator>Anna Meier</dc:creator><dcterms:modified>2024-03-05T09:15:00Z</dcterms:modified></cp:coreProperties>`

func docxFile(t testing.TB, body string) []byte {
	return zipFile(t, "word/document.xml", `<w:document xmlns:w="w"><w:body>`+body+`</w:body></w:document>`,
		"word/styles.xml", `<w:styles><w:style w:styleId="berschrift2"><w:name w:val="heading 2"/></w:style><w:style w:styleId="Own"><w:outlineLvl w:val="2"/></w:style></w:styles>`,
		"word/footnotes.xml", `<w:footnotes><w:footnote><w:p><w:r><w:t>A note.</w:t></w:r></w:p></w:footnote></w:footnotes>`, "docProps/core.xml", core)
}

func docxPara(style, text string) string {
	return `<w:p><w:pPr><w:pStyle w:val="` + style + `"/></w:pPr><w:r><w:t xml:space="preserve">` + text + `</w:t></w:r></w:p>`
}

func TestDOCX(t *testing.T) {
	const end = "P A note.\n"
	checkFormat(t, []formatCase{
		{
			"headings", docxPara("Heading1", "One") + docxPara("Normal", "Text &amp; more.") + docxPara("berschrift2", "Two") + docxPara("Own", "Three"),
			"T Harbours\nH1 One\nP Text & more.\nH2 Two\nH3 Three\n" + end,
		},
		{"runs", `<w:p><w:r><w:t>Half</w:t></w:r><w:r><w:t>way </w:t><w:tab/><w:t>there</w:t></w:r></w:p>`, "T Harbours\nP Halfway there\n" + end},
		{"lists", `<w:p><w:pPr><w:numPr><w:ilvl w:val="0"/></w:numPr></w:pPr><w:r><w:t>rope</w:t></w:r></w:p>` + docxPara("ListParagraph", "tape"), "T Harbours\nI rope\nI tape\n" + end},
		{"code", docxPara("SourceCode", "if x {") + docxPara("SourceCode", "  y"), "T Harbours\nC if x {⏎  y\n" + end},
		{
			"changes", `<w:p><w:r><w:t>It </w:t></w:r><w:del><w:r><w:delText>was</w:delText><w:t>was</w:t></w:r></w:del><w:ins><w:r><w:t>is</w:t></w:r></w:ins></w:p>`,
			"T Harbours\nP It is\n" + end,
		},
		{
			"tables", `<w:tbl><w:tr><w:tc>` + docxPara("", "Phase") + `</w:tc><w:tc>` + docxPara("", "Cost") + `</w:tc></w:tr><w:tr><w:tc>` + docxPara("", "One") + docxPara("", "and two") +
				`</w:tc><w:tc><w:tbl><w:tr><w:tc>` + docxPara("", "12") + `</w:tc></w:tr></w:tbl></w:tc></w:tr></w:tbl>`,
			"T Harbours\nR Phase | Cost\nR One and two | 12\n" + end,
		},
		{
			"text boxes", `<w:p><w:r><w:t>Before</w:t><mc:AlternateContent><mc:Choice>` + docxPara("", "boxed") + `</mc:Choice><mc:Fallback>` + docxPara("", "boxed") + `</mc:Fallback></mc:AlternateContent><w:t> after</w:t></w:r></w:p>`,
			"T Harbours\nP boxed\nP Before after\n" + end,
		},
	}, func(s string) (Content, error) { return DOCX(docxFile(t, s)) })
}

func TestDOCXMeta(t *testing.T) {
	c, err := DOCX(docxFile(t, docxPara("Title", "Other")))
	must(t, err)
	if at := time.Date(2024, 3, 5, 9, 15, 0, 0, time.UTC); c.Author != "Anna Meier" || !c.Published.Equal(at) || c.Blocks[0].Level != 1 {
		t.Errorf("author %q, published %v, %+v", c.Author, c.Published, c.Blocks[0])
	}
}

func epubFile(t testing.TB, chapters ...string) []byte {
	var items, refs strings.Builder
	members := []string{"mimetype", "application/epub+zip", "META-INF/container.xml", `<container><rootfiles><rootfile full-path="OEBPS/a.opf"/></rootfiles></container>`}
	for i, c := range chapters {
		fmt.Fprintf(&items, `<item id="c%d" href="text/ch%%20%d.xhtml" media-type="application/xhtml+xml"/>`, i, i)
		fmt.Fprintf(&refs, `<itemref idref="c%d"/>`, i)
		members = append(members, fmt.Sprintf("OEBPS/text/ch %d.xhtml", i), c)
	}
	opf := `<package><metadata><dc:title>Harbours</dc:title><dc:creator>Anna Meier</dc:creator><dc:date>2019-05</dc:date><dc:language>de</dc:language></metadata>` +
		`<manifest><item id="nav" href="nav.xhtml" media-type="application/xhtml+xml" properties="nav"/>` + items.String() + `</manifest><spine><itemref idref="nav"/>` + refs.String() + refs.String() + `</spine></package>`
	return zipFile(t, append(members, "OEBPS/a.opf", opf, "OEBPS/nav.xhtml", "<p>Contents")...)
}

func TestEPUB(t *testing.T) {
	file := epubFile(t, "<h1>First</h1><p>It began.</p>", "<h1>Second</h1><p>It went &#252;ber.</p>")
	d, err := NewFileDocument("/b.epub", file, nil, false)
	must(t, err)
	if want := "First\n\nIt began.\n\nSecond\n\nIt went über."; d.Text != want {
		t.Errorf("text %q, want %q", d.Text, want)
	}
	if at := time.Date(2019, 5, 1, 0, 0, 0, 0, time.UTC); d.Title != "Harbours" || d.Author != "Anna Meier" || d.Language != "de" || !d.Published.Equal(at) {
		t.Errorf("title %q, author %q, language %q, published %v", d.Title, d.Author, d.Language, d.Published)
	}
	if named, err := NewFileDocument("/b", file, nil, true); err != nil || named.Text != d.Text {
		t.Errorf("without its extension: %v", err)
	}
}

func xlsxFile(t testing.TB, rows, shared string) []byte {
	return zipFile(t, "xl/workbook.xml", `<workbook xmlns:r="r"><sheets><sheet name="People" sheetId="1" r:id="rId1"/></sheets></workbook>`,
		"xl/_rels/workbook.xml.rels", `<Relationships><Relationship Id="rId1" Target="worksheets/sheet1.xml"/></Relationships>`,
		"xl/worksheets/sheet1.xml", `<worksheet><sheetData>`+rows+`</sheetData></worksheet>`, "xl/sharedStrings.xml", `<sst>`+shared+`</sst>`,
		"xl/styles.xml", `<styleSheet><numFmts><numFmt numFmtId="164" formatCode="yyyy\-mm\-dd hh:mm"/></numFmts><cellStyleXfs><xf numFmtId="14"/></cellStyleXfs><cellXfs><xf numFmtId="0"/><xf numFmtId="14"/><xf numFmtId="164"/></cellXfs></styleSheet>`)
}

func TestXLSX(t *testing.T) {
	const names = `<si><t>name</t></si><si><t>born</t></si><si><r><t>Anna </t></r><r><t>Meier</t></r><rPh><t>x</t></rPh></si>`
	const head = `<row r="1"><c r="A1" t="s"><v>0</v></c><c r="B1" t="s"><v>1</v></c></row>`
	checkFormat(t, []formatCase{
		{"a table", head + `<row r="2"><c r="A2" t="s"><v>2</v></c><c r="B2" s="1"><v>29254</v></c></row>`, "H1 People\nR name: Anna Meier | born: 1980-02-03\n"},
		{"kinds", `<row><c t="inlineStr"><is><t>x</t></is></c><c t="b"><v>1</v></c><c><v>0.30000000000000004</v></c><c s="2"><v>45000.5</v></c><c t="str"><f>A1</f><v>sum</v></c></row>`, "H1 People\nR x | true | 0.3 | 2023-03-15 12:00 | sum\n"},
		{"gaps", head + `<row r="9"><c r="B9"><v>7</v></c></row>`, "H1 People\nR born: 7\n"},
		{"bad numbers", `<row><c t="s"><v>99</v></c><c t="s"><v>-1</v></c><c s="-5"><v>1e400</v></c><c r="ZZZZZZ1"><v>4</v></c></row>`, "H1 People\nR 1e400\n"},
		{"nothing", "", ""},
	}, func(s string) (Content, error) { return XLSX(xlsxFile(t, s, names)) })
}

func repeatToSize(unit string, n int) string { return strings.Repeat(unit, n/len(unit)) }

func TestHostileArchives(t *testing.T) {
	racetest.Skip(t, "one goroutine, which reads hostile files")
	const much = 40 << 20
	whole := docxFile(t, docxPara("", repeatToSize("text ", 50_000)))
	many := make([]string, 0, 2*(maxMembers+1))
	for i := range maxMembers + 1 {
		many = append(many, fmt.Sprint(i), "")
	}
	for name, c := range map[string]struct {
		file []byte
		read func([]byte) (Content, error)
		want error // nil: any error, or none
	}{
		"docx, not an archive":   {[]byte("hello"), DOCX, errBroken},
		"docx, half":             {whole[:len(whole)/2], DOCX, errBroken},
		"docx, without text":     {zipFile(t, "a", "b"), DOCX, errBroken},
		"docx, many members":     {zipFile(t, many...), DOCX, errMembers},
		"docx, bomb":             {docxFile(t, "<w:p><w:t>"+repeatToSize("a", much)), DOCX, errZipBomb},
		"docx, bomb of tags":     {docxFile(t, repeatToSize("<w:p/>", much)), DOCX, errZipBomb},
		"docx, deep":             {docxFile(t, repeatToSize("<w:p><w:t>x</w:t>", 1<<20)), DOCX, errDeep},
		"docx, deep tables":      {docxFile(t, repeatToSize("<w:tbl><w:tr><w:tc>", 1<<20)), DOCX, errDeep},
		"docx, endless table":    {docxFile(t, "<w:tbl>"+repeatToSize("<w:tr><w:tc><w:p/></w:tc></w:tr>", much/20)+"</w:tbl>"), DOCX, nil},
		"docx, attributes":       {docxFile(t, "<w:p "+repeatToSize(`a="b" `, much/20)+"/>"), DOCX, nil},
		"docx, entities":         {zipFile(t, "word/document.xml", `<!DOCTYPE x [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]><w:document><w:p><w:t>&b;</w:t></w:p></w:document>`), DOCX, errBroken},
		"docx, not closed":       {zipFile(t, "word/document.xml", "<w:document><w:p>"), DOCX, errBroken},
		"docx, box in paragraph": {docxFile(t, "<w:p><w:r><w:t>"+repeatToSize("a ", 1<<20)+"</w:t>"+repeatToSize("<w:p></w:p>", 2<<20)+"</w:r></w:p>"), DOCX, nil},
		"epub, no package":       {zipFile(t, "META-INF/container.xml", "<container/>"), EPUB, errBroken},
		"epub, not there":        {zipFile(t, "META-INF/container.xml", `<rootfile full-path="x"/>`), EPUB, errBroken},
		"epub, bomb":             {epubFile(t, "<p>"+repeatToSize("a ", much)), EPUB, errZipBomb},
		"epub, encrypted":        {append([]byte(nil), zipFile(t, "META-INF/rights.xml", "x", "META-INF/container.xml", `<rootfile full-path="x"/>`, "x", "<package/>")...), EPUB, nil},
		"xlsx, bomb":             {xlsxFile(t, repeatToSize("<row><c><v>1</v></c></row>", much), ""), XLSX, errZipBomb},
		"xlsx, one text, often":  {xlsxFile(t, repeatToSize(`<row><c t="s"><v>0</v></c></row>`, 1<<20), "<si><t>"+repeatToSize("long ", 1<<15)+"</t></si>"), XLSX, errTooMuch},
		"xlsx, far cells":        {xlsxFile(t, repeatToSize(`<row><c r="ALL1"><v>1</v></c></row>`, 8<<20), ""), XLSX, errTooMuch},
		"xlsx, deep":             {xlsxFile(t, repeatToSize("<row>", 1<<20), ""), XLSX, errDeep},
	} {
		t.Run(name, func(t *testing.T) {
			began := time.Now()
			got, err := c.read(c.file)
			if c.want != nil && !errors.Is(err, c.want) {
				t.Errorf("error %v, want %v", err, c.want)
			}
			if err == nil {
				checkDocument(t, NewDocument("/f", "f", got))
			}
			if took := time.Since(began); took > 20*time.Second {
				t.Errorf("it took %v", took)
			} else if took > time.Second {
				t.Logf("it took %v: %v", took, err)
			}
		})
	}
}

func TestArchiveNames(t *testing.T) {
	u, err := newUnpacker(zipFile(t, "/a.xml", "one", `b\c.xml`, "two", "a.xml", "three"))
	must(t, err)
	got := map[string]string{}
	for _, name := range []string{"a.xml", "/b/c.xml", "b/../a.xml"} {
		text, err := u.readMember(name)
		must(t, err)
		got[name] = string(text)
	}
	if diff := cmp.Diff(map[string]string{"a.xml": "one", "/b/c.xml": "two", "b/../a.xml": "one"}, got); diff != "" {
		t.Errorf("members (-want +got):\n%s", diff)
	}
}

func FuzzDOCX(f *testing.F) {
	f.Add(docxPara("Heading1", "a") + "<w:tbl><w:tr><w:tc>" + docxPara("", "b") + "</w:tc></w:tr></w:tbl>")
	f.Fuzz(func(t *testing.T, body string) {
		if c, err := DOCX(docxFile(t, body)); err == nil {
			checkDocument(t, NewDocument("/f.docx", "f", c))
		}
	})
}

func FuzzEPUB(f *testing.F) {
	f.Add("<h1>a</h1><p>b", `<package><manifest><item id="a" href="b" media-type="text/html"/></manifest><spine><itemref idref="a"/></spine></package>`)
	f.Fuzz(func(t *testing.T, page, opf string) {
		for _, file := range [][]byte{epubFile(t, page), zipFile(t, "META-INF/container.xml", `<rootfile full-path="x"/>`, "x", opf, "b", page)} {
			if c, err := EPUB(file); err == nil {
				checkDocument(t, NewDocument("/f.epub", "f", c))
			}
		}
	})
}

func FuzzXLSX(f *testing.F) {
	f.Add(`<row><c r="A1" t="s"><v>0</v></c><c s="1"><v>3.5</v></c></row>`, "<si><t>a</t></si>")
	f.Fuzz(func(t *testing.T, rows, shared string) {
		if c, err := XLSX(xlsxFile(t, rows, shared)); err == nil {
			checkDocument(t, NewDocument("/f.xlsx", "f", c))
		}
	})
}

func FuzzArchive(f *testing.F) {
	f.Add(docxFile(f, docxPara("", "a")))
	f.Add(epubFile(f, "<p>a"))
	f.Add(xlsxFile(f, "<row><c><v>1</v></c></row>", ""))
	f.Fuzz(func(t *testing.T, file []byte) {
		for _, read := range []func([]byte) (Content, error){DOCX, EPUB, XLSX} {
			if c, err := read(file); err == nil {
				checkDocument(t, NewDocument("/f", "f", c))
			}
		}
	})
}
