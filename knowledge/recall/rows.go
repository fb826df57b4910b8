package recall

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"strconv"
	"strings"
)

// A row is a record with its fields by lower-case name.
type row struct {
	number int // line, from 1
	fields map[string]string
}

const maxRow = 4 << 20

var errTable = errors.New("not records")

// readRows yields the records of a JSON Lines or CSV file, or nil for other files. An
// unreadable record gives an error and does not affect others.
func readRows(ext string, raw []byte) iter.Seq2[row, error] {
	raw = bytes.TrimPrefix(raw, []byte("\ufeff"))
	switch ext {
	case ".jsonl", ".ndjson", ".jsonlines":
		return jsonRows(raw)
	case ".csv", ".tsv", ".tab":
		return csvRows(raw, ext != ".csv")
	case ".json":
		if len(raw) <= 4*maxRow {
			return arrayRows(raw)
		}
	case "":
		if line, _, _ := bytes.Cut(bytes.TrimSpace(raw[:min(len(raw), maxRow)]), []byte("\n")); len(line) > 0 && line[0] == '{' && json.Valid(line) {
			return jsonRows(raw)
		}
	}
	return nil
}

func jsonRows(raw []byte) iter.Seq2[row, error] {
	return func(yield func(row, error) bool) {
		n := 0
		for line := range bytes.Lines(raw) {
			n++
			line = bytes.TrimSpace(line)
			if len(line) == 0 {
				continue
			}
			r, err := jsonRow(n, line)
			if !yield(r, err) {
				return
			}
		}
	}
}

func jsonRow(n int, line []byte) (row, error) {
	if len(line) > maxRow {
		return row{number: n}, fmt.Errorf("line %d: more than %d MiB", n, maxRow>>20)
	}
	d := json.NewDecoder(bytes.NewReader(line))
	d.UseNumber()
	var v map[string]any
	if err := d.Decode(&v); err != nil || v == nil {
		return row{number: n}, fmt.Errorf("line %d: not a JSON object", n)
	}
	return row{n, flattenFields(v)}, nil
}

// arrayRows yields the objects of a JSON array, or returns nil.
func arrayRows(raw []byte) iter.Seq2[row, error] {
	var list []map[string]any
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	if err := d.Decode(&list); err != nil || len(list) == 0 {
		return nil
	}
	return func(yield func(row, error) bool) {
		for i, v := range list {
			if !yield(row{i + 1, flattenFields(v)}, nil) {
				return
			}
		}
	}
}

// flattenFields converts fields to strings: lists joined by commas, objects by their name or
// text.
func flattenFields(v map[string]any) map[string]string {
	out := make(map[string]string, len(v))
	for name, value := range v {
		if s := flattenValue(value); s != "" {
			out[strings.ToLower(name)] = s
		}
	}
	return out
}

func flattenValue(v any) string {
	switch v := v.(type) {
	case string:
		return strings.ToValidUTF8(v, "\uFFFD")
	case json.Number:
		return v.String()
	case bool:
		return strconv.FormatBool(v)
	case []any:
		var parts []string
		for _, e := range v {
			if s := flattenValue(e); s != "" {
				parts = append(parts, s)
			}
		}
		return strings.Join(parts, ",")
	case map[string]any:
		for _, name := range []string{"text", "name", "screen_name", "username", "value"} {
			if s, ok := v[name].(string); ok {
				return s
			}
		}
	}
	return ""
}

func csvRows(raw []byte, tabs bool) iter.Seq2[row, error] {
	return func(yield func(row, error) bool) {
		r := csv.NewReader(bufio.NewReader(bytes.NewReader(raw)))
		r.LazyQuotes, r.FieldsPerRecord, r.ReuseRecord, r.Comma = true, -1, true, detectSeparator(raw, tabs)
		var names []string
		for {
			record, err := r.Read()
			if errors.Is(err, io.EOF) {
				return
			}
			n, _ := r.FieldPos(0)
			if err != nil {
				yield(row{number: n}, fmt.Errorf("line %d: %w", n, errTable))
				return
			}
			if names == nil {
				for _, name := range record {
					names = append(names, strings.ToLower(strings.TrimSpace(name)))
				}
				continue
			}
			fields := make(map[string]string, len(record))
			for i, v := range record[:min(len(record), len(names))] {
				if v != "" {
					fields[names[i]] = strings.ToValidUTF8(v, "\uFFFD")
				}
			}
			if !yield(row{n, fields}, nil) {
				return
			}
		}
	}
}

// detectSeparator detects the separator.
func detectSeparator(raw []byte, tabs bool) rune {
	if tabs {
		return '\t'
	}
	line, _, _ := bytes.Cut(raw[:min(len(raw), maxRow)], []byte("\n"))
	best, maxCount := ',', bytes.Count(line, []byte(","))
	for _, c := range ";\t|" {
		if n := bytes.Count(line, []byte(string(c))); n > maxCount {
			best, maxCount = c, n
		}
	}
	return best
}
