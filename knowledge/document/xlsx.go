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

// maxColumns is the most cells of a row that are read.
const maxColumns = 1024

// XLSX takes a workbook apart: each sheet is a section, and each row says what
// its cells are by the names in the first row, if those are names.
func XLSX(file []byte) (Content, error) {
	u, err := newUnpacker(file)
	if err != nil {
		return Content{}, err
	}
	w := &workbook{links: relations(u, "xl/_rels/workbook.xml.rels", "xl"), dates: dateStyles(u)}
	if err := w.names(u); err != nil {
		return Content{}, err
	}
	if u.members["xl/sharedStrings.xml"] != nil {
		if err := w.strings(u); err != nil {
			return Content{}, err
		}
	}
	meta := u.gather("docProps/core.xml", "title", "creator", "created", "modified")
	c := Content{Title: meta["title"], Author: meta["creator"], Published: parseDate(meta["modified"])}
	for _, s := range w.sheets {
		rows, err := w.sheet(u, s.member)
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

// relations returns the names of members by the ids that a member calls them.
func relations(u *unpacker, member, dir string) map[string]string {
	links := map[string]string{}
	_ = u.eachXML(member, xmlEvents{start: func(name string, attrs []xml.Attr) { // what cannot be read is not there
		if name == "Relationship" {
			target := attr(attrs, "Target")
			if !strings.HasPrefix(target, "/") {
				target = path.Join(dir, target)
			}
			links[attr(attrs, "Id")] = target
		}
	}})
	return links
}

// A sheet is a table of a workbook.
type sheet struct{ name, member string }

// workbook reads the sheets of a workbook.
type workbook struct {
	links  map[string]string
	dates  map[int]bool // styles of cells that are days or times
	sheets []sheet
	shared []string
	from04 bool // days are counted from 1904
	length int
}

// names reads what the sheets are called.
func (w *workbook) names(u *unpacker) error {
	return u.eachXML("xl/workbook.xml", xmlEvents{start: func(name string, attrs []xml.Attr) {
		switch name {
		case "workbookPr":
			v := attr(attrs, "date1904")
			w.from04 = v == "1" || v == "true"
		case "sheet":
			member := ""
			for _, a := range attrs {
				if a.Name.Local == "id" && a.Name.Space != "" {
					member = w.links[a.Value]
				}
			}
			w.sheets = append(w.sheets, sheet{attr(attrs, "name"), member})
		}
	}})
}

// strings reads the texts that cells name by number.
func (w *workbook) strings(u *unpacker) error {
	var text strings.Builder
	in, phonetic, length := false, false, 0
	err := u.eachXML("xl/sharedStrings.xml", xmlEvents{
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

// sheet reads the rows of a sheet. Empty rows are left out.
func (w *workbook) sheet(u *unpacker, member string) ([][]string, error) {
	if u.members[member] == nil {
		return nil, nil
	}
	r := &sheetReader{workbook: w}
	if err := u.eachXML(member, xmlEvents{start: r.start, end: r.end, text: r.chars}); err != nil {
		return nil, err
	}
	return r.rows, r.err
}

// sheetReader gathers the rows of a sheet.
type sheetReader struct {
	*workbook
	rows   [][]string
	row    []string
	column int
	kind   string // of the cell
	style  int
	value  strings.Builder
	in     bool // in the value of a cell
	err    error
}

func (r *sheetReader) start(name string, attrs []xml.Attr) {
	switch name {
	case "row":
		r.row, r.column = nil, 0
	case "c":
		if n := columnOf(attr(attrs, "r")); n > 0 {
			r.column = n - 1
		}
		r.kind = attr(attrs, "t")
		r.style, _ = strconv.Atoi(attr(attrs, "s"))
		r.value.Reset()
	case "v", "t":
		r.in = true
	}
}

func (r *sheetReader) chars(s []byte) {
	if r.in && r.err == nil && r.value.Len() <= maxDocText {
		r.value.Write(s)
	}
}

func (r *sheetReader) end(name string) {
	switch name {
	case "v", "t":
		r.in = false
	case "c":
		r.cell()
		r.column++
	case "row":
		if len(r.row) > 0 && r.err == nil {
			r.rows = append(r.rows, r.row)
		}
	}
}

func (r *sheetReader) cell() {
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
		v = r.numeral(v)
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

// numeral returns a number as people read it, and as a day if it is one.
func (r *sheetReader) numeral(v string) string {
	f, err := strconv.ParseFloat(v, 64)
	if err != nil {
		return v
	}
	if !r.dates[r.style] || f < 0 || f > 2958466 {
		return strconv.FormatFloat(math.Round(f*1e10)/1e10, 'f', -1, 64)
	}
	first := time.Date(1899, 12, 30, 0, 0, 0, 0, time.UTC)
	if r.from04 {
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

// columnOf returns the number of the column of a cell: 28 for "AB7"; 0 if it
// has none.
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

// dateStyles returns which styles of cells are of days and times.
func dateStyles(u *unpacker) map[int]bool {
	styles, custom := map[int]bool{}, map[string]bool{}
	inCells, n := false, 0
	_ = u.eachXML("xl/styles.xml", xmlEvents{ // without styles there are no days
		start: func(name string, attrs []xml.Attr) {
			switch name {
			case "numFmt":
				custom[attr(attrs, "numFmtId")] = dateFormat(attr(attrs, "formatCode"))
			case "cellXfs":
				inCells = true
			case "xf":
				if inCells {
					id := attr(attrs, "numFmtId")
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

// dateFormat reports whether a format of numbers is one of days or times.
func dateFormat(code string) bool {
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

// maxRows is the most rows of a table that are read.
const maxRows = 2_000_000

// CSV takes a table apart, whatever separates its cells: posts (rows with a
// text and an id, a date or a link) are documents of their own, and the rows of
// any other table are one document.
func CSV(file []byte) iter.Seq2[Part, error] { return separated(file, separator(file)) }

// TSV is [CSV] of cells that tabs separate.
func TSV(file []byte) iter.Seq2[Part, error] { return separated(file, '\t') }

func separated(file []byte, comma rune) iter.Seq2[Part, error] {
	return func(yield func(Part, error) bool) {
		rows, err := readRows(file, comma)
		if err != nil {
			yield(Part{}, err)
			return
		}
		recordParts(tableRecords(rows))(yield)
	}
}

// readRows reads the rows of a table. A row that is no row is left out.
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

// separator returns what separates the cells of a table: what its first lines
// have most of, and as often.
func separator(file []byte) rune {
	best, most := ',', 0
	lines := bytes.SplitN(file[:min(len(file), 1<<16)], []byte("\n"), 12)
	for _, sep := range []rune{',', ';', '\t', '|'} {
		first := bytes.Count(lines[0], []byte(string(sep)))
		same := 0
		for _, l := range lines[:max(len(lines)-1, 1)] {
			same += b2i(bytes.Count(l, []byte(string(sep))) == first)
		}
		if n := min(first, 50) * same; n > most {
			best, most = sep, n
		}
	}
	return best
}
