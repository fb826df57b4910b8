package recall

import (
	"cmp"
	"fmt"
	"iter"
	"regexp"
	"strings"
	"time"

	"ponder/internal/textkit"
	"ponder/knowledge/document"
)

// Names of a record's fields; the first one present counts.
var (
	textFields    = []string{"text", "memory", "content", "body", "full_text", "message", "post"}
	rawFields     = []string{"raw", "raw_text", "raw_content", "original"}
	idFields      = []string{"external_id", "externalid", "id", "id_str", "post_id", "uuid"}
	sourceFields  = []string{"source", "platform", "network"}
	dateFields    = []string{"date", "created_at", "createdat", "timestamp", "time", "published", "published_at", "posted_at"}
	linkFields    = []string{"link", "url", "permalink", "uri"}
	authorFields  = []string{"author", "user", "username", "screen_name", "handle", "by"}
	speakerFields = []string{"speaker", "role", "sender", "from"}
	tagFields     = []string{"tags", "hashtags", "labels"}
	titleFields   = []string{"title", "subject", "headline"}
)

func (r row) firstField(names []string) string {
	for _, n := range names {
		if s := r.fields[n]; s != "" {
			return s
		}
	}
	return ""
}

// A shape is the kind of a file's records.
type shape int

const (
	shapeTable shape = iota
	shapePosts
	shapeTurns
)

// shapeSample is the number of records that decide the shape.
const shapeSample = 20

func shapeOf(ext string, raw []byte) shape {
	rows := readRows(ext, raw)
	if rows == nil {
		return shapeTable
	}
	n, bad, posts, turns := 0, 0, 0, 0
	for r, err := range rows {
		if n+bad == shapeSample {
			break
		}
		if err != nil {
			bad++
			continue
		}
		n++
		if r.firstField(textFields) == "" && r.firstField(rawFields) == "" {
			continue
		}
		origin := r.firstField(sourceFields) + r.firstField(linkFields) + r.firstField(rawFields) + r.fields["external_id"] + r.fields["kind"] + r.fields["memory"]
		switch {
		case origin == "" && r.firstField(speakerFields) != "":
			turns++
		case origin != "" || r.firstField(dateFields) != "" || r.firstField(idFields) != "" || r.firstField(authorFields) != "":
			posts++
		}
	}
	switch {
	case n == 0 || bad > n:
		return shapeTable
	case posts*5 >= n*4:
		return shapePosts
	case turns*5 >= n*4:
		return shapeTurns
	}
	return shapeTable
}

// postEntry makes an entry of a record. Search finds both its distilled and its raw
// text.
func postEntry(r row, base Item) (*entry, error) {
	it := base
	it.Text, it.Raw = r.firstField(textFields), r.firstField(rawFields)
	if it.Text == "" {
		it.Text, it.Raw = it.Raw, ""
	}
	it.Text, it.Raw = textkit.Prefix(it.Text, maxText), textkit.Prefix(it.Raw, maxText)
	it.ExternalID, it.Link, it.Author = r.firstField(idFields), r.firstField(linkFields), r.firstField(authorFields)
	if s := r.firstField(sourceFields); s != "" {
		it.Source = s
	} else if base.defaultSource != "" {
		it.Source = base.defaultSource
	}
	it.defaultSource = ""
	if t, ok := parseDate(r.firstField(dateFields)); ok {
		it.Date = t
	}
	if k := Kind(strings.ToLower(r.fields["kind"])); k.isKnown() && base.Kind == "" {
		it.Kind = k
	} else if base.Kind == "" {
		it.Kind = KindPost
	}
	it.Title = r.firstField(titleFields)
	it.Tags = append(append([]string(nil), base.Tags...), splitTags(r.firstField(tagFields))...)
	it.Part = r.recordKey()
	return textEntry(it)
}

// recordKey identifies a record in its file, also after others are added.
func (r row) recordKey() string {
	if id := r.firstField(idFields); id != "" {
		return "id " + textkit.PrefixLine(id, maxTag)
	}
	return "row " + hashOf(r.firstField(textFields), r.firstField(rawFields), r.firstField(dateFields), r.firstField(linkFields))[:16]
}

// postEntries yields an entry for each record; of equal IDs the last counts.
func postEntries(rows iter.Seq2[row, error], base Item) iter.Seq2[*entry, error] {
	return func(yield func(*entry, error) bool) {
		last := map[string]int{}
		for r, err := range rows {
			if err == nil {
				last[r.recordKey()] = r.number
			}
		}
		for r, err := range rows {
			if err == nil && last[r.recordKey()] != r.number {
				continue
			}
			var e *entry
			if err == nil {
				if e, err = postEntry(r, base); err != nil {
					err = fmt.Errorf("line %d: %w", r.number, err)
				}
			}
			if !yield(e, err) {
				return
			}
		}
	}
}

func splitTags(s string) []string {
	return strings.FieldsFunc(textkit.Prefix(s, 4*maxField), func(r rune) bool { return r == ',' || r == ';' || r == '#' || r == '\n' })
}

func textEntry(it Item) (*entry, error) {
	e := &entry{item: it, givenText: it.Text}
	content := document.Content{Title: it.Title}
	if it.Kind == KindThread {
		content.Blocks, e.turns = parseConversation(it.Text)
	}
	if e.turns == nil {
		content.Blocks = document.Markdown(it.Text).Blocks
	}
	if it.Raw != "" && it.Raw != it.Text {
		content.Blocks = append(content.Blocks, document.Block{Kind: document.Heading, Level: 6, Text: rawHeading})
		content.Blocks = append(content.Blocks, document.Plain(it.Raw).Blocks...)
	}
	name := "text"
	if len(content.Blocks) > 0 {
		name = firstWords(content.Blocks[0].Text)
	}
	content.Title = cmp.Or(content.Title, name)
	e.doc = document.NewDocument(it.Source, name, content)
	if e.doc.Text == "" {
		return nil, errNoText
	}
	placeTurns(e.turns, e.doc)
	e.item.Title = e.doc.Title
	return e, nil
}

// rawHeading separates the raw text from the distilled one.
const rawHeading = "As it was written"

const titleWords = 10

// firstWords returns the first words, as a title.
func firstWords(s string) string {
	fields := strings.Fields(textkit.Prefix(s, 400))
	if len(fields) <= titleWords {
		return strings.Join(fields, " ")
	}
	return strings.Join(fields[:titleWords], " ") + "…"
}

func firstDate(times ...time.Time) time.Time {
	for _, t := range times {
		if !t.IsZero() {
			return t
		}
	}
	return time.Time{}
}

// speakerLine matches a line that begins with its speaker.
var speakerLine = regexp.MustCompile(`^[*_]{0,2}([\pL\pN][\pL\pN .'_@-]{0,39}?)[*_]{0,2}:[*_]{0,2}\s+\S`)

// parseConversation parses a conversation with lines like "Anna: I will.", or returns nil.
func parseConversation(text string) ([]document.Block, []turn) {
	var blocks []document.Block
	var turns []turn
	for _, s := range strings.Split(text, "\n") {
		if strings.TrimSpace(s) == "" {
			continue
		}
		if m := speakerLine.FindStringSubmatch(s); m != nil {
			turns = append(turns, turn{len(blocks), m[1]})
		}
		blocks = append(blocks, document.Block{Kind: document.Prose, Text: s})
	}
	if len(turns) < 2 || len(turns)*3 < len(blocks) {
		return nil, nil
	}
	return blocks, turns
}

// placeTurns converts the starts of turns from blocks to bytes of the document. Blocks of
// turns are never empty.
func placeTurns(turns []turn, d *document.Document) {
	at, block := 0, 0
	for i := range turns {
		for ; block < turns[i].start; block++ {
			at = nextBlock(d.Text, at)
		}
		turns[i].start = at
	}
}

func nextBlock(text string, at int) int {
	if i := strings.Index(text[at:], "\n\n"); i >= 0 {
		return at + i + 2
	}
	return len(text)
}

// A conversationDay is one day of a conversation.
type conversationDay struct {
	key    string
	date   time.Time
	blocks []document.Block
	turns  []turn
	bytes  int
}

// maxDayBytes limits a talk; longer days are split.
const maxDayBytes = 256 << 10

// conversationEntries yields an entry for each day of a conversation of records, and an error for
// each unreadable record.
func conversationEntries(rows iter.Seq2[row, error], base Item) iter.Seq2[*entry, error] {
	return func(yield func(*entry, error) bool) {
		t := conversationDay{key: "1"}
		n := 1
		flush := func() bool {
			if len(t.blocks) == 0 {
				return true
			}
			return yield(t.newEntry(base))
		}
		for r, err := range rows {
			if err != nil {
				if !yield(nil, err) {
					return
				}
				continue
			}
			date, _ := parseDate(r.firstField(dateFields))
			if other := !date.IsZero() && !t.date.IsZero() && !sameDay(date, t.date); other || t.bytes > maxDayBytes {
				if !flush() {
					return
				}
				n++
				t = conversationDay{key: fmt.Sprint(n)}
			}
			t.addRow(r, date)
		}
		flush()
	}
}

func sameDay(a, b time.Time) bool { return a.Format(time.DateOnly) == b.Format(time.DateOnly) }

func (t *conversationDay) addRow(r row, date time.Time) {
	text := strings.Join(strings.Fields(r.firstField(textFields)), " ")
	if text == "" {
		return
	}
	speaker := textkit.PrefixLine(r.firstField(speakerFields), maxTag)
	if t.date.IsZero() {
		t.date = date
	}
	t.turns = append(t.turns, turn{len(t.blocks), speaker})
	if speaker != "" {
		text = speaker + ": " + text
	}
	t.blocks = append(t.blocks, document.Block{Text: textkit.Prefix(text, maxText)})
	t.bytes += len(text)
}

func (t *conversationDay) newEntry(base Item) (*entry, error) {
	it := base
	it.Kind = cmp.Or(it.Kind, KindThread)
	it.Part, it.Date = t.key, firstDate(t.date, base.Date)
	title := it.Title
	if !t.date.IsZero() {
		title += " " + t.date.Format(time.DateOnly)
	}
	e := &entry{item: it, turns: t.turns}
	e.doc = document.NewDocument(it.Source, title, document.Content{Title: title, Blocks: t.blocks})
	if e.doc.Text == "" {
		return nil, errNoText
	}
	placeTurns(e.turns, e.doc)
	e.item.Title = e.doc.Title
	return e, nil
}
