package document

import (
	"bytes"
	"compress/zlib"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"time"
	"unicode/utf16"
)

// Bounds on a PDF.
const (
	maxPDFPages = 10_000
	maxPDFText  = 32 << 20 // letters
	maxMeta     = 4096     // bytes of a title
)

// Errors of PDFium, by its numbers.
var pdfErrors = map[int]error{
	2: errors.New("not a PDF that can be opened"),
	3: errors.New("not a PDF that can be opened"),
	4: errors.New("it is encrypted"),
	5: errors.New("it is encrypted"),
}

var errPictures = errors.New("it has no text, its pages are pictures")

func looksPDF(head []byte) bool {
	return bytes.Contains(head[:min(len(head), 1024)], []byte("%PDF-"))
}

// PDF takes a PDF apart: the lines of each page, and what their places and the
// sizes of their letters say of paragraphs and headings. What stands at the edge
// of every page is left out.
func PDF(file []byte) (Content, error) { return readPDF(file, pdfTime) }

func readPDF(file []byte, limit time.Duration) (Content, error) {
	if err := checkPDF(file); err != nil {
		return Content{}, err
	}
	engines, err := startPDFs()
	if err != nil {
		return Content{}, err
	}
	sum := sha256.Sum256(file)
	if err := engines.late(sum); err != nil {
		return Content{}, err
	}
	var r pdfReader
	err = engines.with(limit, func(e *pdfEngine) error {
		r.pdfEngine = e
		return r.read(file)
	})
	if err != nil {
		engines.note(sum, err)
		return Content{}, err
	}
	c := r.content
	c.Blocks = pdfBlocks(r.pages)
	if len(c.Blocks) == 0 && len(r.pages) > 0 {
		return Content{}, errPictures
	}
	return c, nil
}

// A pdfLine is a line as it stands on a page. Measures are points; y grows
// upwards.
type pdfLine struct {
	text        string
	size        float64 // of the letters
	weight      int     // of the letters: 700 is bold
	left, right float64 // of the first and the last letter
	y, end      float64 // what its first and its last letter stand on: two lines that share a word are one
	letters     int
	row         bool // of a table, with " | " between its cells
}

// pdfReader reads what PDFium knows.
type pdfReader struct {
	*pdfEngine
	content Content
	pages   [][]pdfLine
	letters int
	place   uint64 // room for two doubles
}

func (r *pdfReader) read(file []byte) error {
	at := r.put(file)
	r.place = r.alloc(16)
	doc := r.call("FPDF_LoadMemDocument", at, uint64(len(file)), 0)
	if r.err == nil && doc == 0 {
		if err := pdfErrors[r.number("FPDF_GetLastError")]; err != nil {
			return err
		}
		return pdfErrors[3]
	}
	n := r.number("FPDF_GetPageCount", doc)
	if n > maxPDFPages {
		return fmt.Errorf("it has more than %d pages", maxPDFPages)
	}
	r.content = Content{Title: pdfTitle(r.meta(doc, "Title")), Author: r.meta(doc, "Author"), Published: pdfDate(r.meta(doc, "CreationDate"))}
	for i := 0; i < n && r.err == nil; i++ {
		r.pages = append(r.pages, r.page(doc, i))
		r.extend(pdfPage)
		if r.letters > maxPDFText {
			return errTooMuch
		}
	}
	return r.err
}

// meta returns what a PDF says of itself.
func (r *pdfReader) meta(doc uint64, tag string) string {
	name := r.put([]byte(tag))
	buf := r.alloc(maxMeta)
	n := r.number("FPDF_GetMetaText", doc, name, buf, maxMeta)
	if n < 2 || n > maxMeta {
		return ""
	}
	raw := r.bytes(buf, n-2)
	r.free(name)
	r.free(buf)
	units := make([]uint16, len(raw)/2)
	for i := range units {
		units[i] = binary.LittleEndian.Uint16(raw[2*i:])
	}
	return oneLine(string(utf16.Decode(units)))
}

// page returns the lines of a page. One that cannot be read has none.
func (r *pdfReader) page(doc uint64, i int) []pdfLine {
	page := r.call("FPDF_LoadPage", doc, uint64(i))
	if page == 0 {
		return nil
	}
	text := r.call("FPDFText_LoadPage", page)
	var lines []pdfLine
	if text != 0 {
		lines = r.lines(text)
		r.call("FPDFText_ClosePage", text)
	}
	r.call("FPDF_ClosePage", page)
	return lines
}

// lines reads the letters of a page.
func (r *pdfReader) lines(text uint64) []pdfLine {
	var out []pdfLine
	var line []pdfLetter
	for i, c := range append(r.runes(text), '\n') {
		switch {
		case c == '\n' || c == '\r':
			if l, ok := r.line(text, line); ok {
				out = append(out, l)
			}
			line = line[:0]
		case c == 2 || c == 0xfffe: // a hyphen at the end of a line
			line = append(line, pdfLetter{softHyphen, i})
		case c == ' ' || c == '\t' || c == 0xa0:
			line = append(line, pdfLetter{' ', i})
		case c > ' ':
			line = append(line, pdfLetter{c, i})
		}
	}
	return out
}

// runes returns the letters of a page, by their numbers.
func (r *pdfReader) runes(text uint64) []rune {
	n := r.number("FPDFText_CountChars", text)
	if r.letters += max(n, 0); n <= 0 || r.letters > maxPDFText {
		return nil
	}
	buf := r.alloc(2 * (n + 1))
	written := r.number("FPDFText_GetText", text, 0, uint64(n), buf)
	raw := r.bytes(buf, 2*(n+1))
	r.free(buf)
	if r.err != nil {
		return nil
	}
	out := make([]rune, n)
	for i := range out {
		if written == n+1 {
			out[i] = rune(binary.LittleEndian.Uint16(raw[2*i:]))
		} else { // it left some out, and so their numbers are others
			out[i] = rune(r.number("FPDFText_GetUnicode", text, uint64(i)))
		}
		if i > 0 && utf16.IsSurrogate(out[i-1]) {
			out[i-1], out[i] = utf16.DecodeRune(out[i-1], out[i]), 0 // one letter of two halves
		}
	}
	return out
}

// A pdfLetter is a letter and its number on the page.
type pdfLetter struct {
	rune
	at int
}

// trimLetters returns a line without spaces at its ends.
func trimLetters(line []pdfLetter) []pdfLetter {
	for len(line) > 0 && line[0].rune == ' ' {
		line = line[1:]
	}
	for len(line) > 0 && line[len(line)-1].rune == ' ' {
		line = line[:len(line)-1]
	}
	return line
}

// line measures a line. An empty one is not ok.
func (r *pdfReader) line(text uint64, line []pdfLetter) (l pdfLine, ok bool) {
	if line = trimLetters(line); len(line) == 0 {
		return l, false
	}
	first, last := line[0].at, line[len(line)-1].at
	mid := len(line) / 2 // the first may be an initial, or the mark of an item
	if line[mid].rune == ' ' {
		mid--
	}
	l.letters = len(line)
	l.weight = r.number("FPDFText_GetFontWeight", text, uint64(line[mid].at))
	l.size = r.float("FPDFText_GetFontSize", text, uint64(line[mid].at))
	l.left, l.y = r.origin(text, first)
	l.right, l.end = r.origin(text, last)
	var s strings.Builder
	spread := (l.right-l.left)/float64(len(line)) > wideSpread*l.size
	for i, c := range line {
		if c.rune == ' ' && spread && r.gap(text, line[i-1].at, line[i+1].at) > wideGap*l.size {
			l.row = true
			s.WriteString(" |")
		}
		s.WriteRune(c.rune)
	}
	l.text = s.String()
	return l, true
}

// Measures of a row of a table, in sizes of its letters: what a letter takes on
// average, and the least distance between the letters around a gap.
const (
	wideSpread = 0.7
	wideGap    = 2.2
)

// gap returns how far a letter is to the right of another.
func (r *pdfReader) gap(text uint64, a, b int) float64 {
	x, _ := r.origin(text, a)
	y, _ := r.origin(text, b)
	return y - x
}

// origin returns where a letter stands.
func (r *pdfReader) origin(text uint64, i int) (x, y float64) {
	r.call("FPDFText_GetCharOrigin", text, uint64(i), r.place, r.place+8)
	b := r.bytes(r.place, 16)
	if r.err != nil {
		return 0, 0
	}
	return math.Float64frombits(binary.LittleEndian.Uint64(b)), math.Float64frombits(binary.LittleEndian.Uint64(b[8:]))
}

// pdfTitle returns a title, or "" if it is what a program made up.
func pdfTitle(s string) string {
	low := strings.ToLower(s)
	for _, junk := range []string{"untitled", "microsoft word - ", "microsoft powerpoint - ", "powerpoint presentation", "document1", "(anonymous)"} {
		if strings.HasPrefix(low, junk) {
			return ""
		}
	}
	for _, ext := range []string{".doc", ".docx", ".dvi", ".tex", ".indd", ".qxd", ".pdf", ".rtf"} {
		if strings.HasSuffix(low, ext) {
			return ""
		}
	}
	return s
}

// Bounds on the streams of a PDF that are not pictures, before the engine unpacks
// them: it has to have one whole.
const (
	maxPDFStream = 48 << 20            // bytes of one
	maxPDFAll    = 192 << 20           // bytes of all that are long
	longStream   = maxPDFStream / 1032 // packed, what is shorter cannot become too long
	streamHead   = 512                 // bytes before a stream that say what it is
)

var errPDFStream = errors.New("a page of it unpacks to more than is read of a file")

// checkPDF refuses a file with streams that unpack to more than a page can say.
// It finds the usual kind; the memory of the engine bounds the others.
func checkPDF(file []byte) error {
	all := int64(0)
	for at := 0; ; {
		i := bytes.Index(file[at:], []byte("stream"))
		if i < 0 {
			return nil
		}
		at += i + len("stream")
		body := bytes.TrimLeft(file[at:min(len(file), at+2)], "\r\n")
		start := min(len(file), at+2) - len(body)
		n := bytes.Index(file[start:], []byte("endstream"))
		if n < 0 {
			n = len(file) - start
		}
		if n > longStream && !isPicture(file[max(0, at-streamHead):at]) {
			length := unpacked(file[start : start+n])
			if all += length; length > maxPDFStream || all > maxPDFAll {
				return errPDFStream
			}
		}
		if at = start + n + len("endstream"); at >= len(file) {
			return nil
		}
	}
}

// isPicture reports whether what stands before a stream says that it is one.
func isPicture(before []byte) bool {
	if i := bytes.LastIndex(before, []byte(" obj")); i >= 0 {
		before = before[i:]
	}
	return bytes.Contains(before, []byte("/Image"))
}

// unpacked returns how long a stream is when it is unpacked, or a little more
// than may be; 0 if it is not packed in the usual way.
func unpacked(stream []byte) int64 {
	r, err := zlib.NewReader(bytes.NewReader(stream))
	if err != nil {
		return 0
	}
	defer r.Close()
	n, err := io.Copy(io.Discard, io.LimitReader(r, maxPDFStream+1))
	if err != nil {
		return n // damaged: what there is
	}
	return n
}
