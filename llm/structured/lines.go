package structured

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

func (f *form) readLines(text string) map[string]any {
	text = TrimFence(text)
	if !strings.Contains(text, "\n") {
		text = inlineLabel.ReplaceAllStringFunc(text, func(label string) string { return "\n" + strings.TrimSpace(label) })
	}
	lines := strings.Split(text, "\n")
	if slices.ContainsFunc(f.members, func(m *member) bool { return m.kind == recordsKind }) {
		return f.recordLines(lines)
	}
	return f.readSections(lines)
}

// Label returns the member that a line's label names, and the text after it.
func (f *form) Label(line string) (name, rest string, ok bool) {
	p, rest, ok := f.splitLabel(line)
	if ok && p.list == nil {
		return p.member.name, rest, true
	}
	return "", "", false
}

var separator = regexp.MustCompile(`[:：]| [-–—] `)

// splitLabel splits a line with a label, such as "2. **Thought 2:** text", or a heading.
func (f *form) splitLabel(line string) (p place, rest string, ok bool) {
	line = TrimBullet(line)
	at := separator.FindStringIndex(line)
	if at == nil {
		if at = []int{len(line), len(line)}; !strings.ContainsAny(line, "#*") {
			return p, "", false
		}
	}
	head := line[:at[0]]
	if len(head) > maxName || strings.ContainsAny(head, `"{?`) {
		return p, "", false
	}
	name, _, _ := strings.Cut(head, "(")
	if p, ok = f.labels[labelKey(name)]; !ok {
		return p, "", false
	}
	rest = strings.TrimSpace(line[at[1]:])
	for _, mark := range []string{"**", "__", "*", "_"} { // emphasis may end after the label or line
		if strings.Count(head, mark)%2 == 1 {
			after, ok := strings.CutPrefix(rest, mark)
			if !ok {
				after = strings.TrimSuffix(rest, mark)
			}
			return p, strings.TrimSpace(after), true
		}
	}
	return p, rest, true
}

type recorder struct {
	found map[string]any
	list  *member        // of the current records
	cur   map[string]any // or nil
	open  place          // target of the current text
	lines []string       // or before a record
}

// recordLines reads lines whose labels start records. A value may precede its record's
// head.
func (f *form) recordLines(lines []string) map[string]any {
	r := recorder{found: make(map[string]any)}
	for _, line := range lines {
		bare := strings.TrimSpace(line)
		switch p, rest, ok := f.splitLabel(line); {
		case ok:
			for i, part := range f.splitInline(rest) {
				if i > 0 {
					p = part.place
				}
				r.setLabel(p, part.text)
			}
		case isRule(bare):
			r.closeText(false)
			r.cur = nil
		case strings.HasPrefix(bare, "```"):
		case strings.Trim(bare, "> ") == "":
			r.lines = append(r.lines, "")
		default:
			r.addLine(bare)
		}
	}
	r.closeText(false)
	for _, m := range f.members {
		if v, ok := r.found[m.name]; ok {
			if v = m.fitValue(v); v != nil {
				r.found[m.name] = v
			} else {
				delete(r.found, m.name)
			}
		}
	}
	return r.found
}

type part struct {
	place
	text string
}

// inlineLabel matches a label within a line, in capitals or after a bar.
var inlineLabel = regexp.MustCompile(`(?:[\s(,;]\s*[*_]*([A-Z][A-Z ]{2,20})|\|\s*[*_]*([A-Za-z][A-Za-z ]{2,20}))[*_]*:`)

// splitInline splits at labels within rest.
func (f *form) splitInline(rest string) (parts []part) {
	from, at := 0, place{}
	for _, m := range inlineLabel.FindAllStringSubmatchIndex(rest, -1) {
		if p, ok := f.labels[labelKey(rest[m[0]:m[1]])]; ok && p.member != nil {
			parts = append(parts, part{at, strings.TrimRight(rest[from:m[0]], " |*_(,;")})
			from, at = m[1], p
		}
	}
	return append(parts, part{at, strings.TrimSpace(rest[from:])})
}

func (r *recorder) setLabel(p place, text string) {
	before := r.closeText(p.list != nil && p.list == r.list && p.member != nil && p.member != p.list.elementRecord.head)
	if r.open = p; p.list != nil && p.member == nil {
		if r.open, r.cur = (place{list: p.list}), nil; text != "" {
			r.startRecord(p.list)
			r.cur[p.list.elementRecord.head.name] = text
		} else if r.found[p.list.name] == nil {
			r.found[p.list.name] = []any{}
		}
		return
	}
	if p.list != nil {
		if _, had := r.cur[p.member.name]; r.cur == nil || had || r.list != p.list {
			r.startRecord(p.list)
			if before != "" {
				r.cur[p.list.elementRecord.head.name] = before
			}
		}
		r.cur[p.member.name] = ""
	}
	r.lines = append(r.lines, text)
}

func (r *recorder) startRecord(m *member) {
	r.list, r.cur = m, make(map[string]any)
	had, _ := r.found[m.name].([]any)
	r.found[m.name] = append(had, r.cur)
}

// addLine adds an unlabelled line.
func (r *recorder) addLine(line string) {
	if m := r.open.member; m != nil && m.kind != textKind && m.kind != listKind && strings.Join(r.lines, "") != "" {
		r.closeText(false)
	}
	switch item := TrimBullet(line); {
	case r.open.member != nil:
		r.lines = append(r.lines, line)
	case r.open.list != nil && item != line:
		r.startRecord(r.open.list)
		r.cur[r.list.elementRecord.head.name] = item
	case r.open.list == nil && headingLevel(line) == 0:
		if n := len(r.lines); n > 0 && r.lines[n-1] == "" || item != line {
			r.lines = nil
		}
		r.lines = append(r.lines, item)
	}
}

// closeText ends the current text, and returns it if it has no label. A record's text ends at
// a blank line, unless whole and the head.
func (r *recorder) closeText(whole bool) (before string) {
	s := strings.TrimSpace(strings.Join(r.lines, "\n"))
	if p := r.open; p.list != nil && p.member != nil {
		if !whole || p.member != p.list.elementRecord.head {
			s, _, _ = strings.Cut(s, "\n\n")
		}
		r.cur[p.member.name] = s
	} else if p.member != nil {
		r.found[p.member.name] = s
	} else if p.list == nil {
		before = s
	}
	r.open, r.lines = place{}, nil
	return before
}

// maxLead limits an introduction, in bytes.
const maxLead = 400

// readSections reads lines whose labels start sections. The first text is the main one, even
// without label if another follows. The last section of a label wins; earlier ones and
// other headings are main text.
func (f *form) readSections(lines []string) map[string]any {
	var main *member
	if f.members[0].kind == textKind {
		main = f.members[0]
	}
	begin, last := -1, make(map[*member]int)
	code := false
	for i, line := range lines {
		if strings.HasPrefix(strings.TrimSpace(line), "```") {
			code = !code && begin >= 0
		}
		if p, _, ok := f.splitLabel(line); ok && !code {
			if p.member != main {
				last[p.member] = i
			} else if begin < 0 {
				begin = i
			}
		}
	}
	if len(last) == 0 && begin < 0 {
		return nil
	}
	if begin > 0 {
		lead := strings.Join(lines[:begin], "\n")
		if len(lead) <= maxLead && !strings.Contains(strings.TrimSpace(lead), "\n\n") && headingLevel(lead) == 0 {
			lines = lines[begin:]
			for m := range last {
				last[m] -= begin
			}
			begin = 0
		}
	}
	end := slices.Max(append(slices.Collect(maps.Values(last)), -1))
	parts, at, depth := make(map[*member][]string), main, 0
	for i, line := range lines {
		p, rest, ok := f.splitLabel(line)
		n := headingLevel(line)
		switch {
		case ok && p.member == main && i == begin:
			at, line = main, rest
		case ok && p.member != main && last[p.member] == i:
			at, line, depth = p.member, rest, n
		case at != main && n > 0 && (depth == 0 || n <= depth),
			at != main && at != nil && i < end && isParagraph(lines, i) && at.kind == listKind && trimLines(parts[at]) != "":
			at = main
		case at != main && isRule(strings.TrimSpace(line)):
			at = nil
		}
		parts[at] = append(parts[at], line)
	}
	found := make(map[string]any)
	for _, m := range f.members {
		lines, ok := parts[m]
		text := trimLines(lines)
		switch {
		case !ok || text == "" && m.kind != listKind:
		case m.kind == listKind:
			found[m.name] = Items(text)
		default:
			if v := m.fitValue(text); v != nil {
				found[m.name] = v
			}
		}
	}
	return found
}

func isParagraph(lines []string, i int) bool {
	bare := strings.TrimSpace(lines[i])
	return bare != "" && strings.TrimSpace(lines[i-1]) == "" && TrimBullet(bare) == bare && !isRule(bare)
}

// trimLines joins lines without outer blank lines and rules.
func trimLines(lines []string) string {
	isLoose := func(l string) bool { return strings.TrimSpace(l) == "" || isRule(strings.TrimSpace(l)) }
	for len(lines) > 0 && isLoose(lines[0]) {
		lines = lines[1:]
	}
	for len(lines) > 0 && isLoose(lines[len(lines)-1]) {
		lines = lines[:len(lines)-1]
	}
	return strings.TrimSpace(strings.Join(lines, "\n"))
}

// isRule reports whether a line is dashes or the like.
func isRule(line string) bool {
	return utf8.RuneCountInString(line) >= 3 && strings.Trim(line, "-—–=*_ ") == ""
}

func headingLevel(line string) int {
	rest := strings.TrimLeft(line, "#")
	if n := len(line) - len(rest); n <= 6 && strings.HasPrefix(rest, " ") {
		return n
	}
	return 0
}

var bullet = regexp.MustCompile(`^[\s>]*(?:[-*+•–·]\s+|[・●○]\s*|\(?\d{1,3}[.)]\s*|\[[ xX]\]\s+)+`)

// TrimBullet returns a line without its bullet or number.
func TrimBullet(line string) string {
	return strings.TrimSpace(line[len(bullet.FindString(line)):])
}

// maxItem is the length from which an item accepts no more lines.
const maxItem = 1000

// Items returns a list's items, joined with indented and unmarked lines below them.
// Without bullets, semicolons separate items too.
func Items(text string) []string {
	items := []string{}
	depth, goes := -1, false
	bullets := slices.ContainsFunc(strings.Split(text, "\n"), bullet.MatchString)
	for line := range strings.SplitSeq(text, "\n") {
		item, n := TrimBullet(line), len(items)
		indent := len(line) - len(strings.TrimLeftFunc(line, unicode.IsSpace))
		listed := item != strings.TrimSpace(line)
		switch {
		case item == "" || strings.HasPrefix(item, "```") || headingLevel(strings.TrimSpace(line)) > 0:
			goes = false
			continue
		case !bullets:
			for one := range strings.SplitSeq(item, ";") {
				if one = strings.TrimSpace(one); one != "" {
					items = append(items, one)
				}
			}
		case listed && (depth < 0 || indent <= depth):
			depth, items = indent, append(items, item)
		case n > 0 && len(items[n-1]) > maxItem:
		case listed && n > 0:
			items[n-1] += itemSeparator(items[n-1]) + item
		case goes && n > 0:
			items[n-1] += " " + item
		case depth < 0:
			items = append(items, item)
		}
		goes = bullets && depth >= 0
	}
	return items
}

func itemSeparator(item string) string {
	if strings.HasSuffix(item, ":") || strings.HasSuffix(item, "：") {
		return " "
	}
	return "; "
}
