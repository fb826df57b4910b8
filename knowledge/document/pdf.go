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

const (
	maxPDFPages = 10_000
	maxPDFText  = 48 << 20 // letters
	pdfLineCost = 32       // letters that a line counts as, for its memory
	maxMeta     = 4096     // bytes of a title
)

// pdfErrors maps error numbers of PDFium.
var pdfErrors = map[int]error{
	2: errors.New("not a valid PDF"),
	3: errors.New("not a valid PDF"),
	4: errors.New("it is encrypted"),
	5: errors.New("it is encrypted"),
}

var errPictures = errors.New("its pages are pictures without text")

func isPDF(head []byte) bool {
	return bytes.Contains(head[:min(len(head), 1024)], []byte("%PDF-"))
}

// PDF returns the content of a PDF. Paragraphs and headings follow from line positions
// and letter sizes. It omits text repeated at page edges.
func PDF(file []byte) (Content, error) { return readPDF(file, pdfTime) }

func readPDF(file []byte, limit time.Duration) (Content, error) {
	if err := checkPDF(file); err != nil {
		return Content{}, err
	}
	engines, err := startPDFRunner()
	if err != nil {
		return Content{}, err
	}
	sum := sha256.Sum256(file)
	if err := engines.slowError(sum); err != nil {
		return Content{}, err
	}
	var r pdfReader
	err = engines.runEngine(limit, func(e *pdfEngine) error {
		r.pdfEngine = e
		return r.readFile(file)
	})
	if err != nil {
		engines.recordSlow(sum, err)
		return Content{}, err
	}
	c := r.content
	c.Blocks = pdfBlocks(r.pages)
	if len(c.Blocks) == 0 && len(r.pages) > 0 {
		return Content{}, errPictures
	}
	return c, nil
}

// A pdfLine is a line of a page. Units are points; y grows upwards.
type pdfLine struct {
	text        string
	size        float64 // letter size
	weight      int     // letter weight; 700 is bold
	left, right float64 // of the first and last letter
	y, end      float64 // baselines of the first and last letter; two lines sharing a word are one
	letters     int
	row         bool // a table row, cells separated by " | "
}

type pdfReader struct {
	*pdfEngine
	content   Content
	pages     [][]pdfLine
	letters   int
	originBuf uint64 // buffer for two doubles
}

func (r *pdfReader) readFile(file []byte) error {
	at := r.writeBytes(file)
	r.originBuf = r.alloc(16)
	doc := r.call("FPDF_LoadMemDocument", at, uint64(len(file)), 0)
	if r.err == nil && doc == 0 {
		if err := pdfErrors[r.callInt("FPDF_GetLastError")]; err != nil {
			return err
		}
		return pdfErrors[3]
	}
	n := r.callInt("FPDF_GetPageCount", doc)
	if n > maxPDFPages {
		return fmt.Errorf("it has more than %d pages", maxPDFPages)
	}
	r.content = Content{Title: pdfTitle(r.metaValue(doc, "Title")), Author: r.metaValue(doc, "Author"), Published: pdfDate(r.metaValue(doc, "CreationDate"))}
	for i := 0; i < n && r.err == nil; i++ {
		r.pages = append(r.pages, r.pageLines(doc, i))
		r.extendLimit()
		if r.letters > maxPDFText {
			return errTooMuch
		}
	}
	return r.err
}

// metaValue returns a metadata value.
func (r *pdfReader) metaValue(doc uint64, tag string) string {
	name := r.writeBytes([]byte(tag))
	buf := r.alloc(maxMeta)
	n := r.callInt("FPDF_GetMetaText", doc, name, buf, maxMeta)
	if n < 2 || n > maxMeta {
		return ""
	}
	raw := r.readBytes(buf, n-2)
	r.free(name)
	r.free(buf)
	units := make([]uint16, len(raw)/2)
	for i := range units {
		units[i] = binary.LittleEndian.Uint16(raw[2*i:])
	}
	return oneLine(string(utf16.Decode(units)))
}

// pageLines returns the lines of a page; none if it is unreadable.
func (r *pdfReader) pageLines(doc uint64, i int) []pdfLine {
	page := r.call("FPDF_LoadPage", doc, uint64(i))
	if page == 0 {
		return nil
	}
	text := r.call("FPDFText_LoadPage", page)
	var lines []pdfLine
	if text != 0 {
		lines = r.textLines(text)
		r.call("FPDFText_ClosePage", text)
	}
	r.call("FPDF_ClosePage", page)
	return lines
}

func (r *pdfReader) textLines(text uint64) []pdfLine {
	var out []pdfLine
	var line []pdfLetter
	for i, c := range append(r.textRunes(text), '\n') {
		switch {
		case c == '\n' || c == '\r':
			if l, ok := r.measureLine(text, line); ok {
				out = append(out, l)
				if r.letters += pdfLineCost; r.letters > maxPDFText {
					return out
				}
			}
			line = line[:0]
		case c == 2 || c == 0xfffe: // a hyphen at a line end
			line = append(line, pdfLetter{softHyphen, i})
		case c == ' ' || c == '\t' || c == 0xa0:
			line = append(line, pdfLetter{' ', i})
		case c > ' ':
			line = append(line, pdfLetter{c, i})
		}
	}
	return out
}

// textRunes returns the letters of a page by index.
func (r *pdfReader) textRunes(text uint64) []rune {
	n := r.callInt("FPDFText_CountChars", text)
	if r.letters += max(n, 0); n <= 0 || r.letters > maxPDFText {
		return nil
	}
	buf := r.alloc(2 * (n + 1))
	written := r.callInt("FPDFText_GetText", text, 0, uint64(n), buf)
	raw := r.readBytes(buf, 2*(n+1))
	r.free(buf)
	if r.err != nil {
		return nil
	}
	out := make([]rune, n)
	for i := range out {
		if written == n+1 {
			out[i] = rune(binary.LittleEndian.Uint16(raw[2*i:]))
		} else { // it dropped letters, so indexes differ
			out[i] = rune(r.callInt("FPDFText_GetUnicode", text, uint64(i)))
		}
		if i > 0 && utf16.IsSurrogate(out[i-1]) {
			out[i-1], out[i] = utf16.DecodeRune(out[i-1], out[i]), 0 // surrogate pair
		}
	}
	return out
}

type pdfLetter struct {
	rune
	at int
}

func trimLetters(line []pdfLetter) []pdfLetter {
	for len(line) > 0 && line[0].rune == ' ' {
		line = line[1:]
	}
	for len(line) > 0 && line[len(line)-1].rune == ' ' {
		line = line[:len(line)-1]
	}
	return line
}

// measureLine measures a line. ok is false for an empty one.
func (r *pdfReader) measureLine(text uint64, line []pdfLetter) (l pdfLine, ok bool) {
	if line = trimLetters(line); len(line) == 0 {
		return l, false
	}
	first, last := line[0].at, line[len(line)-1].at
	mid := len(line) / 2 // the first may be an initial or item mark
	if line[mid].rune == ' ' {
		mid--
	}
	l.letters = len(line)
	l.weight = r.callInt("FPDFText_GetFontWeight", text, uint64(line[mid].at))
	l.size = r.callFloat("FPDFText_GetFontSize", text, uint64(line[mid].at))
	l.left, l.y = r.letterOrigin(text, first)
	l.right, l.end = r.letterOrigin(text, last)
	var s strings.Builder
	spread := (l.right-l.left)/float64(len(line)) > wideSpread*l.size
	for i, c := range line {
		if c.rune == ' ' && spread && r.letterGap(text, line[i-1].at, line[i+1].at) > wideGap*l.size {
			l.row = true
			s.WriteString(" |")
		}
		s.WriteRune(c.rune)
	}
	l.text = s.String()
	return l, true
}

// Table row measures in letter sizes: average letter width, and minimum distance
// across a gap.
const (
	wideSpread = 0.7
	wideGap    = 2.2
)

// letterGap returns the horizontal distance between two letters.
func (r *pdfReader) letterGap(text uint64, a, b int) float64 {
	x, _ := r.letterOrigin(text, a)
	y, _ := r.letterOrigin(text, b)
	return y - x
}

func (r *pdfReader) letterOrigin(text uint64, i int) (x, y float64) {
	r.call("FPDFText_GetCharOrigin", text, uint64(i), r.originBuf, r.originBuf+8)
	b := r.readBytes(r.originBuf, 16)
	if r.err != nil {
		return 0, 0
	}
	return math.Float64frombits(binary.LittleEndian.Uint64(b)), math.Float64frombits(binary.LittleEndian.Uint64(b[8:]))
}

// pdfTitle returns a title, or "" if a program generated it.
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

// Bounds on streams other than pictures. The engine unpacks each stream whole.
const (
	maxPDFStream = 48 << 20            // bytes of one
	maxPDFAll    = 192 << 20           // bytes of all long ones
	longStream   = maxPDFStream / 1032 // shorter packed streams cannot exceed maxPDFStream
	streamHead   = 512                 // bytes of the dictionary before a stream
)

var errPDFStream = errors.New("a page is too large when unpacked")

// checkPDF refuses a file with oversized streams. It detects the usual compression;
// the engine's memory limit bounds the others.
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
			length := unpackedLen(file[start : start+n])
			if all += length; length > maxPDFStream || all > maxPDFAll {
				return errPDFStream
			}
		}
		if at = start + n + len("endstream"); at >= len(file) {
			return nil
		}
	}
}

func isPicture(before []byte) bool {
	if i := bytes.LastIndex(before, []byte(" obj")); i >= 0 {
		before = before[i:]
	}
	return bytes.Contains(before, []byte("/Image"))
}

// unpackedLen returns the unpacked length of a stream, at most slightly above the bound;
// 0 for other compressions.
func unpackedLen(stream []byte) int64 {
	r, err := zlib.NewReader(bytes.NewReader(stream))
	if err != nil {
		return 0
	}
	defer r.Close()
	n, err := io.Copy(io.Discard, io.LimitReader(r, maxPDFStream+1))
	if err != nil {
		return n // damaged: the readable part
	}
	return n
}
