package document

import (
	"errors"
	"iter"
	"runtime/debug"
	"strings"
	"testing"

	"ponder/internal/guard"
	"ponder/internal/racetest"
)

// TestDepth reads deeply nested input in all formats with a small stack. An exhausted stack
// ends the test program, because Go cannot recover from it.
func TestDepth(t *testing.T) {
	racetest.Skip(t, "one goroutine, which reads large files")
	defer debug.SetMaxStack(debug.SetMaxStack(1 << 20))
	const n = 20_000
	nest := func(open, middle, end string) string {
		return strings.Repeat(open, n) + middle + strings.Repeat(end, n)
	}
	parts := func(kind string) string { // each part contains the next
		var b strings.Builder
		b.WriteString("From: a@b.c\nSubject: s\n")
		for i := range 5000 {
			b.WriteString(strings.ReplaceAll(kind, "N", string(rune('a'+i%26))+strings.Repeat("x", i%7)))
		}
		return b.String() + "\nend"
	}
	for _, c := range []struct{ name, text string }{
		{"a.html", nest("<div>", "text", "</div>")},
		{"b.html", nest("<b>", "text", "")},
		{"c.html", nest("<ul><li>", "text", "")},
		{"d.html", nest("<table><tr><td>", "text", "")},
		{"e.html", nest("<svg>", "text", "")},
		{"f.html", nest("<p><a href=x><i>", "text", "")},
		{"a.md", nest("> ", "text", "")},
		{"b.md", nest("- ", "text", "")},
		{"c.md", nest("[", "text", "](x)")},
		{"d.md", nest("*", "text", "*")},
		{"e.md", nest("<div>", "text", "</div>")},
		{"f.md", nest("(", "text", ")") + nest("![", "text", "](x)")},
		{"a.json", nest("[", "1", "]")},
		{"b.json", nest(`{"a":`, "1", "}")},
		{"c.json", nest(`[{"text":"some long text","id":`, "1", "}]")},
		{"a.jsonl", nest("[", "1", "]") + "\n" + nest(`{"a":`, "1", "}")},
		{"a.ipynb", `{"cells":` + nest("[", "1", "]") + "}"},
		{"a.csv", "a,b\n" + nest(`"`, "text", `"`)},
		{"a.eml", parts("Content-Type: multipart/mixed; boundary=N\n\n--N\n")},
		{"b.eml", parts("Content-Type: message/rfc822\n\nFrom: a@b.c\nSubject: N\n")},
		{"c.eml", parts("Content-Type: multipart/alternative; boundary=N\n\n--N\n")},
		{"d.eml", "From: " + nest("(", "a", ")") + " <a@b.c>\nTo: " + nest("a:", "", ";") + "\nSubject: s\n\ntext"},
		{"a.mbox", "From a@b.c Thu Jan  1 00:00:00 1970\n" + parts("Content-Type: message/rfc822\n\nFrom: a@b.c\nSubject: N\n")},
		{"a.docx", string(zipFile(t, "word/document.xml", nest("<w:p>", "text", "</w:p>")))},
		{"b.docx", string(zipFile(t, "word/document.xml", nest("<w:tbl><w:tr><w:tc>", "text", "")))},
		{"a.xlsx", string(zipFile(t, "xl/workbook.xml", nest("<sheets>", "", "</sheets>")))},
		{"a.epub", string(zipFile(t,
			"META-INF/container.xml", `<c><rootfile full-path="p.opf"/></c>`,
			"p.opf", `<p><item id="a" media-type="application/xhtml+xml" href="a.html"/><itemref idref="a"/></p>`,
			"a.html", nest("<div>", "text", "</div>"),
		))},
		{"a.pdf", string(append(pdfFile{"<< /Type /Catalog /Pages 3 0 R >>", "<< >>", "<< /Type /Pages /Count 1 /Kids "}, nest("[", "", "]")).encode())},
		{"b.pdf", string(append(pdfFile{"<< /Type /Catalog /Pages 3 0 R >>", "<< >>"}, nest("<< /A ", "", ">>")).encode())},
		{"a.go", nest("/*", "text", "*/")},
		{"a.txt", nest("(", "text", ")")},
	} {
		t.Run(c.name, func(t *testing.T) {
			for doc, err := range Read("/"+c.name, []byte(c.text), nil, true) {
				if panicked := (*guard.PanicError)(nil); errors.As(err, &panicked) {
					t.Errorf("%v\n%s", err, panicked.Stack)
				}
				if err == nil {
					checkDocument(t, doc)
				}
			}
		})
	}
}

// TestPanic checks that a panic of a format is an error of its file, also on the goroutines
// of a load.
func TestPanic(t *testing.T) {
	var list []int
	formats := []Format{
		{Name: "one", Exts: []string{".one"}, Extract: func([]byte) (Content, error) { return Content{Title: string(rune(list[3]))}, nil }},
		{Name: "several", Exts: []string{".several"}, Parts: func([]byte) iter.Seq2[Part, error] {
			return func(yield func(Part, error) bool) {
				yield(Part{"a", Plain("The first part is well.")}, nil)
				panic("oh no")
			}
		}},
		{Name: "text", Exts: []string{".txt"}, Extract: textExtractor(Plain)},
	}
	dir := writeTree(t, map[string]string{"a.one": "x", "b.several": "x", "c.txt": "The last file is well."})
	c, skipped, err := Load(t.Context(), []string{dir}, Options{Formats: formats})
	if err != nil {
		t.Fatal(err)
	}
	var reasons []string
	for _, s := range skipped {
		reasons = append(reasons, s.Reason)
	}
	want := "the parser failed: runtime error: index out of range [3] with length 0|the parser failed: oh no"
	if got := strings.Join(reasons, "|"); got != want || len(c.docs) != 2 {
		t.Errorf("%d documents; skipped %q, want %q", len(c.docs), got, want)
	}
}
