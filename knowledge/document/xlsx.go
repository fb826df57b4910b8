package document

import (
	"bytes"
	"encoding/csv"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
	"path"
	"strconv"
	"strings"
	"time"
)

const maxColumns = 1024

// XLSX returns the content of a workbook. Each sheet is a section; rows label cells by
// the header, if there is one.
func XLSX(file []byte) (Content, error) {
	u, err := newUnpacker(file)
	if err != nil {
		return Content{}, err
	}
	w := &workbook{links: readRelations(u, "xl/_rels/workbook.xml.rels", "xl"), dates: dateStyles(u)}
	if err := w.readSheetNames(u); err != nil {
		return Content{}, err
	}
	if u.members["xl/sharedStrings.xml"] != nil {
		if err := w.readSharedStrings(u); err != nil {
			return Content{}, err
		}
	}
	meta := u.elementTexts("docProps/core.xml", "title", "creator", "created", "modified")
	c := Content{Title: meta["title"], Author: meta["creator"], Published: parseDate(meta["modified"])}
	for _, s := range w.sheets {
		rows, err := w.readSheet(u, s.member)
		if err != nil {
			return Content{}, err
		}
		if len(rows) > 0 {
			blocks, err := rowBlocks(tableRecords(rows))
			if err != nil {
				return Content{}, err
			}
			c.Blocks = append(append(c.Blocks, Block{Kind: Heading, Level: 1, Text: s.name}), blocks...)
		}
	}
	return c, nil
}

func readRelations(u *unpacker, member, dir string) map[string]string {
	links := map[string]string{}
	_ = u.parseXML(member, xmlEvents{start: func(name string, attrs []xml.Attr) { // an unreadable member has none
		if name == "Relationship" {
			target := attrValue(attrs, "Target")
			if !strings.HasPrefix(target, "/") {
				target = path.Join(dir, target)
			}
			links[attrValue(attrs, "Id")] = target
		}
	}})
	return links
}

type sheet struct{ name, member string }

type workbook struct {
	links     map[string]string
	dates     map[int]bool // cell styles of dates and times
	sheets    []sheet
	shared    []string
	epoch1904 bool // dates count from 1904
	length    int
}

func (w *workbook) readSheetNames(u *unpacker) error {
	return u.parseXML("xl/workbook.xml", xmlEvents{start: func(name string, attrs []xml.Attr) {
		switch name {
		case "workbookPr":
			v := attrValue(attrs, "date1904")
			w.epoch1904 = v == "1" || v == "true"
		case "sheet":
			member := ""
			for _, a := range attrs {
				if a.Name.Local == "id" && a.Name.Space != "" {
					member = w.links[a.Value]
				}
			}
			w.sheets = append(w.sheets, sheet{attrValue(attrs, "name"), member})
		}
	}})
}

func (w *workbook) readSharedStrings(u *unpacker) error {
	var text strings.Builder
	in, phonetic, length := false, false, 0
	err := u.parseXML("xl/sharedStrings.xml", xmlEvents{
		start: func(name string, _ []xml.Attr) {
			in = in || name == "t"
			phonetic = phonetic || name == "rPh"
		},
		end: func(name string) {
			switch name {
			case "t":
				in = false
			case "rPh":
				phonetic = false
			case "si":
				w.shared = append(w.shared, oneLine(text.String()))
				text.Reset()
			}
		},
		text: func(s []byte) {
			if length += len(s); in && !phonetic && length <= maxDocText {
				text.Write(s)
			}
		},
	})
	if err == nil && length > maxDocText {
		err = errTooMuch
	}
	return err
}

func (w *workbook) readSheet(u *unpacker, member string) ([][]string, error) {
	if u.members[member] == nil {
		return nil, nil
	}
	r := &sheetReader{workbook: w}
	if err := u.parseXML(member, xmlEvents{start: r.startElement, end: r.endElement, text: r.charData}); err != nil {
		return nil, err
	}
	return r.rows, r.err
}

type sheetReader struct {
	*workbook
	rows   [][]string
	row    []string
	column int
	kind   string // of the cell
	style  int
	value  strings.Builder
	in     bool // in a cell value
	err    error
}

func (r *sheetReader) startElement(name string, attrs []xml.Attr) {
	switch name {
	case "row":
		r.row, r.column = nil, 0
	case "c":
		if n := columnOf(attrValue(attrs, "r")); n > 0 {
			r.column = n - 1
		}
		r.kind = attrValue(attrs, "t")
		r.style, _ = strconv.Atoi(attrValue(attrs, "s"))
		r.value.Reset()
	case "v", "t":
		r.in = true
	}
}

func (r *sheetReader) charData(s []byte) {
	if r.in && r.err == nil && r.value.Len() <= maxDocText {
		r.value.Write(s)
	}
}

func (r *sheetReader) endElement(name string) {
	switch name {
	case "v", "t":
		r.in = false
	case "c":
		r.endCell()
		r.column++
	case "row":
		if len(r.row) > 0 && r.err == nil {
			r.rows = append(r.rows, r.row)
		}
	}
}

func (r *sheetReader) endCell() {
	v := oneLine(r.value.String())
	r.value.Reset()
	switch {
	case v == "" || r.column >= maxColumns || r.err != nil:
		return
	case r.kind == "s":
		n, err := strconv.Atoi(v)
		if err != nil || n < 0 || n >= len(r.shared) {
			return
		}
		v = r.shared[n]
	case r.kind == "b":
		v = map[string]string{"1": "true", "0": "false"}[v]
	case r.kind == "" || r.kind == "n":
		v = r.formatNumber(v)
	}
	if r.length += len(v) + 8*(r.column-len(r.row)+1); r.length > maxDocText {
		r.err = errTooMuch
		return
	}
	for len(r.row) <= r.column {
		r.row = append(r.row, "")
	}
	r.row[r.column] = v
}

func (r *sheetReader) formatNumber(v string) string {
	f, err := strconv.ParseFloat(v, 64)
	if err != nil {
		return v
	}
	if !r.dates[r.style] || f < 0 || f > 2958466 {
		return strconv.FormatFloat(math.Round(f*1e10)/1e10, 'f', -1, 64)
	}
	first := time.Date(1899, 12, 30, 0, 0, 0, 0, time.UTC)
	if r.epoch1904 {
		first = time.Date(1904, 1, 1, 0, 0, 0, 0, time.UTC)
	}
	day, part := math.Modf(f)
	t := first.AddDate(0, 0, int(day)).Add(time.Duration(math.Round(part*86400)) * time.Second)
	switch {
	case day == 0:
		return t.Format("15:04")
	case part == 0:
		return t.Format(time.DateOnly)
	}
	return t.Format("2006-01-02 15:04")
}

// columnOf returns the column number of a cell, 28 for "AB7"; 0 without one.
func columnOf(cell string) int {
	n := 0
	for _, c := range cell {
		if c < 'A' || c > 'Z' || n > maxColumns {
			break
		}
		n = n*26 + int(c-'A') + 1
	}
	return n
}

func dateStyles(u *unpacker) map[int]bool {
	styles, custom := map[int]bool{}, map[string]bool{}
	inCells, n := false, 0
	_ = u.parseXML("xl/styles.xml", xmlEvents{ // without styles there are no dates
		start: func(name string, attrs []xml.Attr) {
			switch name {
			case "numFmt":
				custom[attrValue(attrs, "numFmtId")] = isDateFormat(attrValue(attrs, "formatCode"))
			case "cellXfs":
				inCells = true
			case "xf":
				if inCells {
					id := attrValue(attrs, "numFmtId")
					num, _ := strconv.Atoi(id)
					if 14 <= num && num <= 22 || 27 <= num && num <= 36 || 45 <= num && num <= 47 || custom[id] {
						styles[n] = true
					}
					n++
				}
			}
		},
		end: func(name string) { inCells = inCells && name != "cellXfs" },
	})
	return styles
}

func isDateFormat(code string) bool {
	quoted, bracket := false, false
	for _, c := range strings.ToLower(code) {
		switch {
		case c == '"':
			quoted = !quoted
		case c == '[' || c == ']':
			bracket = c == '['
		case !quoted && !bracket && (c == 'y' || c == 'd' || c == 'h'):
			return true
		}
	}
	return false
}

const maxRows = 2_000_000

// CSV yields the contents of a table with any separator. Posts (rows with text and an
// ID, date or link) are separate documents; other tables are one document.
func CSV(file []byte) iter.Seq2[Part, error] { return tableParts(file, detectSeparator(file)) }

// TSV is [CSV] with tabs.
func TSV(file []byte) iter.Seq2[Part, error] { return tableParts(file, '\t') }

func tableParts(file []byte, comma rune) iter.Seq2[Part, error] {
	return func(yield func(Part, error) bool) {
		rows, err := readRows(file, comma)
		if err != nil {
			yield(Part{}, err)
			return
		}
		recordParts(tableRecords(rows))(yield)
	}
}

func readRows(file []byte, comma rune) ([][]string, error) {
	r := csv.NewReader(bytes.NewReader(file))
	r.Comma, r.FieldsPerRecord, r.LazyQuotes, r.TrimLeadingSpace = comma, -1, true, comma != '\t'
	var rows [][]string
	for cells := 0; ; {
		row, err := r.Read()
		var bad *csv.ParseError
		switch {
		case errors.Is(err, io.EOF):
			return rows, nil
		case errors.As(err, &bad):
			continue
		case err != nil:
			return nil, fmt.Errorf("read rows: %w", err)
		}
		row = row[:min(len(row), maxColumns)]
		if cells += len(row); len(rows) >= maxRows || cells > 4*maxRows {
			return nil, errTooMuch
		}
		rows = append(rows, row)
	}
}

// detectSeparator returns the separator that is most frequent and regular in the first
// lines.
func detectSeparator(file []byte) rune {
	best, most := ',', 0
	lines := bytes.SplitN(file[:min(len(file), 1<<16)], []byte("\n"), 12)
	for _, sep := range []rune{',', ';', '\t', '|'} {
		first := bytes.Count(lines[0], []byte(string(sep)))
		same := 0
		for _, l := range lines[:max(len(lines)-1, 1)] {
			same += boolToInt(bytes.Count(l, []byte(string(sep))) == first)
		}
		if n := min(first, 50) * same; n > most {
			best, most = sep, n
		}
	}
	return best
}
