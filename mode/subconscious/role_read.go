package subconscious

import (
	"fmt"
	"maps"
	"path"
	"ponder/internal/textkit"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// Limits of a role file. Lengths are in bytes.
const (
	maxRoleFile   = 16 << 10
	maxRolePrompt = 1800
	maxRoleDoc    = 200
	maxRoleReads  = 20
	maxRoleTypes  = 12
	minEvery      = time.Minute
	maxEvery      = 30 * 24 * time.Hour
)

// ReadRole reads a role from a Markdown file with front matter:
//
//	---
//	doc: Money that comes and goes
//	reads: [mail, files, due]
//	category: active_threads
//	types:
//	  bill: active_threads
//	  habit: patterns
//	every: 6h
//	looks: memory
//	---
//	You look for bills ...
//
// The file name without folders and ".md" names the role. Only reads and the prompt below the
// front matter are required; category defaults to hunches. Errors are one line with a line number.
func ReadRole(name string, file []byte) (Role, error) {
	name = strings.TrimSuffix(path.Base(strings.ReplaceAll(name, `\`, "/")), ".md")
	r := Role{Name: name, Category: Hunches}
	if !isRoleName(name) {
		return Role{}, fmt.Errorf("role %q: name the file with at most 32 lower-case letters, digits and dashes, as in money.md", textkit.TruncateBytes(textkit.OneLine(name), 40))
	}
	switch {
	case len(file) > maxRoleFile:
		return Role{}, fmt.Errorf("role %s: the file has more than %d KB", name, maxRoleFile>>10)
	case !utf8.Valid(file):
		return Role{}, fmt.Errorf("role %s: the file is not UTF-8 text", name)
	}
	lines := strings.Split(strings.ReplaceAll(strings.TrimPrefix(string(file), "\ufeff"), "\r\n", "\n"), "\n")
	end, err := r.readHead(lines)
	if err != nil {
		return Role{}, err
	}
	r.Prompt = textkit.CleanTrim(strings.Join(lines[end:], "\n"))
	if err := r.checkFields(end); err != nil {
		return Role{}, err
	}
	return r, nil
}

func isRoleName(s string) bool {
	return s != "" && len(s) <= 32 && strings.Trim(s, "abcdefghijklmnopqrstuvwxyz0123456789-") == "" && strings.Trim(s, "-") == s
}

// lineErrorf returns an error about a line, counted from 1.
func (r *Role) lineErrorf(line int, format string, args ...any) error {
	return fmt.Errorf("role %s: line %d: %s", r.Name, line, fmt.Sprintf(format, args...))
}

type field struct {
	line     int
	key      string
	value    string
	children []field // elements without keys, or a table with keys
}

func (r *Role) readHead(lines []string) (end int, err error) {
	if strings.TrimSpace(lines[0]) != "---" {
		return 0, r.lineErrorf(1, `the file must begin with "---" and front matter`)
	}
	for end = 1; end < len(lines) && strings.TrimSpace(lines[end]) != "---"; end++ {
	}
	if end == len(lines) {
		return 0, r.lineErrorf(end, `the front matter does not end: a line "---" is missing`)
	}
	fields, err := r.parseFields(lines[1:end])
	if err != nil {
		return 0, err
	}
	seen := make(map[string]bool)
	for _, f := range fields {
		if seen[f.key] {
			return 0, r.lineErrorf(f.line, "%s is given twice", f.key)
		}
		seen[f.key] = true
		if err := r.setField(f); err != nil {
			return 0, err
		}
	}
	return end + 1, nil
}

func (r *Role) parseFields(lines []string) (list []field, err error) {
	for i, line := range lines {
		bare := strings.TrimSpace(line)
		if bare == "" || strings.HasPrefix(bare, "#") {
			continue
		}
		f := field{line: i + 2}
		item, isItem := strings.CutPrefix(bare, "- ")
		if isItem {
			f.value = trimQuotes(item)
		} else {
			key, value, ok := strings.Cut(bare, ":")
			if !ok {
				return nil, r.lineErrorf(f.line, `want "key: value", not %q`, textkit.TruncateBytes(textkit.OneLine(bare), 40))
			}
			f.key, f.value = strings.TrimSpace(key), trimQuotes(value)
		}
		if !isItem && line == strings.TrimLeft(line, " \t") {
			list = append(list, f)
			continue
		}
		if len(list) == 0 || list[len(list)-1].value != "" {
			return nil, r.lineErrorf(f.line, "no key precedes this list item")
		}
		above := &list[len(list)-1]
		above.children = append(above.children, f)
	}
	return list, nil
}

func trimQuotes(s string) string {
	s = strings.TrimSpace(s)
	for _, mark := range []string{`"`, `'`} {
		if len(s) >= 2 && strings.HasPrefix(s, mark) && strings.HasSuffix(s, mark) {
			return s[1 : len(s)-1]
		}
	}
	return s
}

func (r *Role) setField(f field) error {
	switch f.key {
	case "doc":
		r.Doc = textkit.OneLine(f.value)
		if len(r.Doc) > maxRoleDoc {
			return r.lineErrorf(f.line, "doc has more than %d bytes", maxRoleDoc)
		}
	case "reads":
		return r.setReads(f)
	case "category":
		if r.Category = Category(f.value); !slices.Contains(categories, r.Category) {
			return r.lineErrorf(f.line, "category %q: want %s", textkit.TruncateBytes(textkit.OneLine(f.value), 40), categoryNames())
		}
	case "types":
		return r.setTypes(f)
	case "every":
		d, err := time.ParseDuration(f.value)
		if err != nil || d < minEvery || d > maxEvery {
			return r.lineErrorf(f.line, "every %q: want a duration from 1m to 720h, as in 6h", textkit.TruncateBytes(textkit.OneLine(f.value), 40))
		}
		r.Every = d
	case "looks":
		return r.setLooks(f)
	default:
		return r.lineErrorf(f.line, "unknown key %q: want doc, reads, category, types, every or looks", textkit.TruncateBytes(textkit.OneLine(f.key), 40))
	}
	return nil
}

func (r *Role) setLooks(f field) error {
	switch r.Looks = LookUpSource(f.value); r.Looks {
	case LookUpMemory, LookUpWeb:
	case "none":
		r.Looks = LookUpNone
	default:
		return r.lineErrorf(f.line, "looks %q: want memory, web or none", textkit.TruncateBytes(textkit.OneLine(f.value), 40))
	}
	return nil
}

func (r *Role) setReads(f field) error {
	for _, item := range f.listItems() {
		kind, _, _ := strings.Cut(item.value, ":")
		if item.key != "" || kind != readsAll && !isRoleName(kind) || len(item.value) > maxName || textkit.OneLine(item.value) != item.value {
			return r.lineErrorf(item.line, `reads has %q: want kinds of sensors, as in [mail, files], "due" or "*"`, textkit.TruncateBytes(textkit.OneLine(item.value), 40))
		}
		if !slices.Contains(r.Reads, item.value) {
			r.Reads = append(r.Reads, item.value)
		}
	}
	if len(r.Reads) > maxRoleReads {
		return r.lineErrorf(f.line, "reads has more than %d kinds of sensors", maxRoleReads)
	}
	return nil
}

func (r *Role) setTypes(f field) error {
	r.Types = make(map[string]Category)
	for _, item := range f.listItems() {
		if item.key == "" {
			name, category, ok := strings.Cut(item.value, ":")
			if item.key, item.value = strings.TrimSpace(name), trimQuotes(category); !ok {
				item.value = "" // use the role's default
			}
		}
		c := Category(item.value)
		switch {
		case !isRoleName(item.key):
			return r.lineErrorf(item.line, "types has %q: want lower-case letters, digits and dashes", textkit.TruncateBytes(textkit.OneLine(item.key), 40))
		case c != "" && !slices.Contains(categories, c):
			return r.lineErrorf(item.line, "category %q of type %s: want %s", textkit.TruncateBytes(textkit.OneLine(item.value), 40), item.key, categoryNames())
		}
		r.Types[item.key] = c
	}
	if len(r.Types) > maxRoleTypes {
		return r.lineErrorf(f.line, "there are more than %d types", maxRoleTypes)
	}
	return nil
}

func (f field) listItems() []field {
	if f.value == "" {
		return f.children
	}
	value := f.value
	for _, pair := range []string{"[]", "{}"} {
		if strings.HasPrefix(value, pair[:1]) && strings.HasSuffix(value, pair[1:]) && len(value) > 1 {
			value = value[1 : len(value)-1]
		}
	}
	var list []field
	for part := range strings.SplitSeq(value, ",") {
		if part = trimQuotes(part); part != "" {
			list = append(list, field{line: f.line, value: part})
		}
	}
	return list
}

func categoryNames() string {
	list := make([]string, len(categories))
	for i, c := range categories {
		list[i] = string(c)
	}
	return strings.Join(list[:len(list)-1], ", ") + " or " + list[len(list)-1]
}

func (r *Role) checkFields(at int) error {
	switch {
	case len(r.Reads) == 0:
		return r.lineErrorf(at, `reads is missing: name the kinds of sensors that it reads, as in "reads: [mail, files]"`)
	case r.Prompt == "":
		return r.lineErrorf(at, "the prompt is missing: write below the front matter what the role looks for")
	case len(r.Prompt) > maxRolePrompt:
		return r.lineErrorf(at+1, "the prompt has %d bytes; at most %d fit beside the observations", len(r.Prompt), maxRolePrompt)
	}
	if r.Doc == "" {
		first, _, _ := strings.Cut(r.Prompt, "\n")
		r.Doc = textkit.TruncateBytes(textkit.OneLine(first), maxRoleDoc)
	}
	for _, t := range slices.Sorted(maps.Keys(r.Types)) {
		if r.Types[t] == "" {
			r.Types[t] = r.Category
		}
	}
	return nil
}
