package document

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"strconv"
	"strings"
)

const (
	maxJSONDepth = 100
	maxJSONItems = 2_000_000 // values that become text
	maxJSONText  = 128 << 20 // bytes of names and values
	maxJSONName  = 200       // bytes of a value's path
	maxNumbers   = 64        // shown of a list of numbers
)

// JSONLines yields the values of a file with one JSON value per line. Posts are
// separate documents, as in [CSV]; other values are rows of one. A malformed line
// yields an error, and reading continues.
func JSONLines(file []byte) iter.Seq2[Part, error] {
	return func(yield func(Part, error) bool) {
		var list []entry
		room := newJSONBudget()
		n := 0
		for line := range bytes.Lines(file) {
			n++
			if line = bytes.TrimSpace(line); len(line) == 0 {
				continue
			}
			r, err := jsonRecord(line, room)
			if err != nil {
				if !yield(Part{Key: "line " + strconv.Itoa(n)}, err) {
					return
				}
				continue
			}
			list = append(list, r)
		}
		if len(list) > 0 {
			recordParts(list)(yield)
		}
	}
}

// JSON yields the contents of one JSON value. A list of objects reads as [JSONLines];
// any other value becomes items with names.
func JSON(file []byte) iter.Seq2[Part, error] {
	return func(yield func(Part, error) bool) {
		if list, ok := jsonList(file); ok {
			recordParts(list)(yield)
			return
		}
		if err := checkMemory(len(file)); err != nil {
			yield(Part{}, err)
			return
		}
		all, err := jsonRecord(file, newJSONBudget())
		if err != nil {
			yield(Part{}, err)
			return
		}
		c := Content{}
		for _, f := range all {
			c.Blocks = append(c.Blocks, f.itemBlocks()...)
		}
		yield(Part{Content: c}, nil)
	}
}

// longValue is the minimum length of a value that becomes a separate text.
const longValue = 120

func (f field) itemBlocks() []Block {
	if len(f.value) > longValue && strings.ContainsAny(f.value, " \n") {
		return append([]Block{{Kind: Item, Text: f.name + ":"}}, Plain(f.value).Blocks...)
	}
	if f.name == "" {
		return []Block{{Kind: Item, Text: f.value}}
	}
	return []Block{{Kind: Item, Text: f.name + ": " + f.value}}
}

func jsonList(file []byte) (list []entry, ok bool) {
	room := newJSONBudget()
	d := json.NewDecoder(bytes.NewReader(file))
	if t, err := d.Token(); err != nil || t != json.Delim('[') {
		return nil, false
	}
	for d.More() {
		var raw json.RawMessage
		if d.Decode(&raw) != nil || raw[0] != '{' {
			return nil, false
		}
		r, err := jsonRecord(raw, room)
		if err != nil {
			return nil, false
		}
		list = append(list, r)
	}
	_, err := d.Token()
	return list, err == nil && len(list) > 0
}

type jsonBudget struct{ items, bytes int }

func newJSONBudget() *jsonBudget { return &jsonBudget{maxJSONItems, maxJSONText} }

func jsonRecord(raw []byte, room *jsonBudget) (entry, error) {
	w := &jsonFlattener{d: json.NewDecoder(bytes.NewReader(raw)), budget: room}
	w.d.UseNumber()
	if err := w.readValue(nil); err != nil {
		return nil, err
	}
	return w.fields, nil
}

type jsonFlattener struct {
	d      *json.Decoder
	fields entry
	budget *jsonBudget
}

func (w *jsonFlattener) readValue(path []string) error {
	t, err := w.d.Token()
	switch {
	case err != nil:
		return jsonError(err)
	case len(path) > maxJSONDepth:
		return errDeep
	}
	switch t := t.(type) {
	case json.Delim:
		if t == '{' {
			return w.readObject(path)
		}
		return w.readArray(path)
	case string:
		return w.addField(path, t)
	case json.Number:
		return w.addField(path, t.String())
	case bool:
		return w.addField(path, strconv.FormatBool(t))
	}
	return nil
}

func (w *jsonFlattener) readObject(path []string) error {
	for w.d.More() {
		t, err := w.d.Token()
		if err != nil {
			return jsonError(err)
		}
		name, _ := t.(string)
		name = strings.Clone(name[:min(len(name), maxJSONName)])
		if err := w.readValue(append(path, name)); err != nil {
			return err
		}
	}
	return w.readCloseDelim()
}

func (w *jsonFlattener) readArray(path []string) error {
	first := len(w.fields)
	for w.d.More() {
		if err := w.readValue(append(path, "")); err != nil {
			return err
		}
	}
	w.fields = append(w.fields[:first], joinFields(w.fields[first:])...)
	return w.readCloseDelim()
}

func (w *jsonFlattener) readCloseDelim() error {
	if _, err := w.d.Token(); err != nil {
		return jsonError(err)
	}
	return nil
}

func jsonError(err error) error {
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return fmt.Errorf("not JSON: %w", err)
}

func (w *jsonFlattener) addField(path []string, value string) error {
	f := field{joinPath(path), value}
	w.budget.items--
	w.budget.bytes -= len(f.name) + len(f.value)
	if w.budget.items < 0 || w.budget.bytes < 0 {
		return errTooMuch
	}
	w.fields = append(w.fields, f)
	return nil
}

// joinPath formats the end of a path: "size.width". List indexes are dropped.
func joinPath(path []string) string {
	var names []string
	length := 0
	for i := len(path) - 1; i >= 0 && length < maxJSONName; i-- {
		if path[i] != "" {
			names = append(names, path[i])
			length += len(path[i]) + 1
		}
	}
	slices.Reverse(names)
	return strings.Join(names, ".")
}

// joinFields joins short values of one name: "tags: a, b". Of many numbers it keeps
// the first.
func joinFields(list entry) entry {
	for _, f := range list {
		if f.name != list[0].name || len(f.value) > longValue {
			return list
		}
	}
	if len(list) < 2 {
		return list
	}
	var values []string
	length := 0
	for _, f := range list {
		if _, err := strconv.ParseFloat(f.value, 64); err == nil && len(values) >= maxNumbers {
			continue
		}
		values = append(values, f.value)
		length += len(f.value)
	}
	if length > maxMeta {
		return list
	}
	return entry{{list[0].name, strings.Join(values, ", ")}}
}

// Notebook returns the text and code of a Jupyter notebook without outputs.
func Notebook(file []byte) (Content, error) {
	var n struct {
		Cells []struct {
			Kind   string   `json:"cell_type"`
			Source cellText `json:"source"`
		} `json:"cells"`
		Metadata struct {
			Title   string
			Authors []struct{ Name string }
		} `json:"metadata"`
	}
	if err := json.Unmarshal(file, &n); err != nil {
		return Content{}, fmt.Errorf("not a notebook: %w", err)
	}
	c := Content{Title: n.Metadata.Title}
	if len(n.Metadata.Authors) > 0 {
		c.Author = n.Metadata.Authors[0].Name
	}
	for _, cell := range n.Cells {
		switch cell.Kind {
		case "markdown":
			c.Blocks = append(c.Blocks, Markdown(string(cell.Source)).Blocks...)
		case "code":
			c.Blocks = append(c.Blocks, Block{Kind: Code, Text: string(cell.Source)})
		}
	}
	return c, nil
}

type cellText string

// UnmarshalJSON reads a string, or a list of lines.
func (l *cellText) UnmarshalJSON(b []byte) error {
	var list []string
	if json.Unmarshal(b, &list) == nil {
		*l = cellText(strings.Join(list, ""))
		return nil
	}
	var s string
	err := json.Unmarshal(b, &s)
	*l = cellText(s)
	return err
}
