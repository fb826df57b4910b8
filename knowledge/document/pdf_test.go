package document

import (
	"bytes"
	"compress/zlib"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"ponder/internal/racetest"
)

type pdfFile []string

// encode writes the PDF. Object 1 is the catalogue, object 2 the metadata.
func (p pdfFile) encode() []byte {
	var b bytes.Buffer
	b.WriteString("%PDF-1.7\n")
	var at []int
	for i, o := range p {
		at = append(at, b.Len())
		fmt.Fprintf(&b, "%d 0 obj\n%s\nendobj\n", i+1, o)
	}
	start := b.Len()
	fmt.Fprintf(&b, "xref\n0 %d\n0000000000 65535 f \n", len(p)+1)
	for _, n := range at {
		fmt.Fprintf(&b, "%010d 00000 n \n", n)
	}
	fmt.Fprintf(&b, "trailer\n<< /Size %d /Root 1 0 R /Info 2 0 R >>\nstartxref\n%d\n%%%%EOF\n", len(p)+1, start)
	return b.Bytes()
}

func pdfStream(dict, data string) string {
	return fmt.Sprintf("<< %s /Length %d >>\nstream\n%s\nendstream", dict, len(data), data)
}

func pdfText(x, y, size int, text string) string {
	return fmt.Sprintf("BT /F1 %d Tf %d %d Td (%s) Tj ET\n", size, x, y, text)
}

func pdfPages(contents ...string) []byte {
	p := pdfFile{
		"<< /Type /Catalog /Pages 3 0 R >>",
		"<< /Title (The Harbour) /Author (Anna Meier) /CreationDate (D:20240305101500+01'00') >>",
		"",
		"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
	}
	var kids []string
	for _, c := range contents {
		n := len(p) + 1
		kids = append(kids, fmt.Sprintf("%d 0 R", n))
		p = append(p, fmt.Sprintf("<< /Type /Page /Parent 3 0 R /MediaBox [0 0 612 792] /Contents %d 0 R /Resources << /Font << /F1 4 0 R >> >> >>", n+1), pdfStream("", c))
	}
	p[2] = fmt.Sprintf("<< /Type /Pages /Kids [%s] /Count %d >>", strings.Join(kids, " "), len(kids))
	return p.encode()
}

func harbourPages(n int) []string {
	var out []string
	of := [...]string{"of ships, and of the sea beyond", "of trade", "of those who worked there"}
	for i := range n {
		page := pdfText(72, 760, 9, "A book of harbours") + pdfText(72, 700, 20, fmt.Sprintf("Chapter %c", 'A'+i)) +
			pdfText(72, 660, 12, "The harbour of the old town was rebuilt in many years, and its walls are still stand-") +
			pdfText(72, 646, 12, "ing where they stood. Nobody has ever paid for them in full, and nobody will now.") +
			pdfText(72, 620, 12, "A second paragraph has more to say "+of[i%3]) +
			pdfText(300, 40, 9, fmt.Sprint(i+1))
		out = append(out, page)
	}
	return out
}

func TestPDF(t *testing.T) {
	c, err := PDF(pdfPages(harbourPages(3)...))
	must(t, err)
	want := `T The Harbour
H1 Chapter A
P The harbour of the old town was rebuilt in many years, and its walls are still standing where they stood. Nobody has ever paid for them in full, and nobody will now.
P A second paragraph has more to say of ships, and of the sea beyond
H1 Chapter B
P The harbour of the old town was rebuilt in many years, and its walls are still standing where they stood. Nobody has ever paid for them in full, and nobody will now.
I A second paragraph has more to say of trade
H1 Chapter C
P The harbour of the old town was rebuilt in many years, and its walls are still standing where they stood. Nobody has ever paid for them in full, and nobody will now.
P A second paragraph has more to say of those who worked there
`
	if diff := cmp.Diff(want, formatContent(c)); diff != "" {
		t.Errorf("outline (-want +got):\n%s", diff)
	}
	d := NewDocument("/h.pdf", "h", c)
	checkDocument(t, d)
	if at := time.Date(2024, 3, 5, 9, 15, 0, 0, time.UTC); d.Author != "Anna Meier" || !d.Published.Equal(at) {
		t.Errorf("author %q, published %v", d.Author, d.Published)
	}
	for text, page := range map[string]int{"Chapter A": 1, "of ships": 1, "Chapter B": 2, "of trade": 2, "worked": 3} {
		if got := d.Page(strings.Index(d.Text, text)); got != page {
			t.Errorf("%s is on page %d, want %d", text, got, page)
		}
	}
}

func TestPDFLayout(t *testing.T) {
	for _, c := range []struct{ name, page, want string }{
		{
			"a table", pdfText(72, 700, 12, "Phase") + pdfText(250, 700, 12, "Cost") + pdfText(72, 686, 12, "One") + pdfText(250, 686, 12, "12"),
			"T The Harbour\nR Phase | Cost\nR One | 12\n",
		},
		{
			"a list", pdfText(72, 700, 12, "- a rope that is long") + pdfText(72, 686, 12, "- tape"),
			"T The Harbour\nI a rope that is long\nI tape\n",
		},
		{
			"two columns",
			pdfText(72, 700, 12, "The left column has a first line that") + pdfText(72, 686, 12, "goes on to the bottom of the page and") +
				pdfText(330, 700, 12, "then goes on at the top of the right one") + pdfText(330, 686, 12, "where it ends."),
			"T The Harbour\nP The left column has a first line that goes on to the bottom of the page and then goes on at the top of the right one where it ends.\n",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := PDF(pdfPages(c.page))
			must(t, err)
			if diff := cmp.Diff(c.want, formatContent(got)); diff != "" {
				t.Errorf("outline (-want +got):\n%s", diff)
			}
		})
	}
}

func TestPDFOverPages(t *testing.T) {
	c, err := PDF(pdfPages(pdfText(72, 100, 12, "The walls of the harbour that was built so long ago by people who"), pdfText(72, 700, 12, "came from far away are gone now.")))
	must(t, err)
	if want := "T The Harbour\nP The walls of the harbour that was built so long ago by people who came from far away are gone now.\n"; formatContent(c) != want {
		t.Errorf("outline:\n%s\nwant:\n%s", formatContent(c), want)
	}
}

// nestedForms returns a PDF with a form that shows two more, to a depth. If cyclic, the
// last shows the first.
func nestedForms(depth int, cyclic bool) []byte {
	p := pdfFile{
		"<< /Type /Catalog /Pages 3 0 R >>", "<< >>", "<< /Type /Pages /Kids [5 0 R] /Count 1 >>",
		"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
		"<< /Type /Page /Parent 3 0 R /MediaBox [0 0 612 792] /Contents 6 0 R /Resources << /XObject << /X 7 0 R >> >> >>",
		pdfStream("", "/X Do"),
	}
	for i := range depth {
		next := len(p) + 2
		if i == depth-1 && cyclic {
			next = 7
		}
		show := "/X Do /X Do " + pdfText(72, 700, 12, "tide")
		p = append(p, pdfStream(fmt.Sprintf("/Type /XObject /Subtype /Form /BBox [0 0 612 792] /Resources << /XObject << /X %d 0 R >> /Font << /F1 4 0 R >> >>", next), show))
	}
	return append(p, pdfStream("/Type /XObject /Subtype /Form /BBox [0 0 612 792]", "")).encode()
}

func TestPDFEnded(t *testing.T) {
	hang := nestedForms(28, false)
	began := time.Now()
	engines, err := startPDFRunner()
	if err != nil {
		t.Fatal(err)
	}
	err = engines.runEngine(300*time.Millisecond, func(e *pdfEngine) error {
		r := pdfReader{pdfEngine: e}
		return r.readFile(hang)
	})
	if err == nil || err.Error() != "reading took too long: longer than 300ms" {
		t.Errorf("error %v", err)
	}
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("it was ended after %v", took)
	}
	if _, err := PDF(pdfPages(harbourPages(1)...)); err != nil {
		t.Errorf("the next: %v", err)
	}
}

func TestHostilePDF(t *testing.T) {
	racetest.Skip(t, "one goroutine, which reads hostile files")
	var bomb bytes.Buffer
	z := zlib.NewWriter(&bomb)
	for range 64 {
		_, err := z.Write(bytes.Repeat([]byte("BT (x) Tj ET "), 1<<16))
		must(t, err)
	}
	must(t, z.Close())
	whole := pdfPages(harbourPages(3)...)
	pages := func(tree ...string) []byte {
		return append(pdfFile{"<< /Type /Catalog /Pages 3 0 R >>", "<< >>"}, tree...).encode()
	}
	for name, file := range map[string][]byte{
		"empty":             {},
		"not a PDF":         []byte("hello"),
		"only a head":       []byte("%PDF-1.7\n"),
		"half":              whole[:len(whole)/2],
		"without an end":    whole[:len(whole)-40],
		"cyclic pages":      pages("<< /Type /Pages /Kids [3 0 R 3 0 R] /Count 2 >>"),
		"cyclic parents":    pages("<< /Type /Pages /Kids [4 0 R] /Count 1 /Parent 4 0 R >>", "<< /Type /Pages /Kids [3 0 R] /Count 1 /Parent 3 0 R >>"),
		"many pages":        pages("<< /Type /Pages /Kids [] /Count 2000000000 >>"),
		"pages of nothing":  pages("<< /Type /Pages /Kids [9 0 R] /Count 5 >>"),
		"cyclic forms":      nestedForms(4, true),
		"bomb":              pages("<< /Type /Pages /Kids [4 0 R] /Count 1 >>", "<< /Type /Page /Parent 3 0 R /MediaBox [0 0 612 792] /Contents 5 0 R >>", pdfStream("/Filter /FlateDecode", bomb.String())),
		"filters on filter": pages("<< /Type /Pages /Kids [4 0 R] /Count 1 >>", "<< /Type /Page /Parent 3 0 R /Contents 5 0 R >>", pdfStream("/Filter ["+strings.Repeat("/FlateDecode ", 5000)+"]", bomb.String())),
		"deep array":        pages("<< /Type /Pages /Kids " + strings.Repeat("[", 100_000) + " /Count 1 >>"),
		"noise":             append([]byte("%PDF-1.4\n"), bytes.Repeat([]byte{0xff, 0, 'o', 'b', 'j', ' '}, 10_000)...),
	} {
		t.Run(name, func(t *testing.T) {
			began := time.Now()
			c, err := readPDF(file, time.Second)
			if err == nil {
				checkDocument(t, NewDocument("/f.pdf", "f", c))
			} else if strings.ContainsAny(err.Error(), "\n") {
				t.Errorf("error of more than a line: %v", err)
			}
			if took := time.Since(began); took > 20*time.Second {
				t.Errorf("it took %v", took)
			} else if took > time.Second {
				t.Logf("it took %v: %v", took, err)
			}
		})
	}
}

func TestPDFRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		file []byte
		want error
	}{
		"not a PDF": {[]byte("hello"), pdfErrors[3]},
		"pictures":  {pdfPages("0 0 100 100 re f"), errPictures},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := PDF(c.file); err != c.want { //nolint:errorlint // it is reported unchanged
				t.Errorf("error %v, want %v", err, c.want)
			}
		})
	}
}

func FuzzPDF(f *testing.F) {
	f.Add(pdfPages(harbourPages(1)...))
	f.Add(nestedForms(3, false))
	f.Fuzz(func(t *testing.T, file []byte) {
		if c, err := readPDF(file, time.Second); err == nil {
			checkDocument(t, NewDocument("/f.pdf", "f", c))
		}
	})
}

func BenchmarkPDF(b *testing.B) {
	file := pdfPages(harbourPages(20)...)
	for b.Loop() {
		if _, err := PDF(file); err != nil {
			b.Fatal(err)
		}
	}
}
