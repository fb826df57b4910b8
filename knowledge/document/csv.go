package document

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"iter"
)

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
