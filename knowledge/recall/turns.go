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

// speech is a line or paragraph that begins with who says it.
var speech = regexp.MustCompile(`^[*_]{0,2}([\pL\pN][\pL\pN .'_@-]{0,39}?)[*_]{0,2}:[*_]{0,2}\s+\S`)

// spoken takes a conversation apart in which who speaks stands before what they
// say: "Anna: I will." It returns nil if the text is none.
func spoken(text string) ([]document.Block, []turn) {
	var blocks []document.Block
	var turns []turn
	for _, s := range strings.Split(text, "\n") {
		if strings.TrimSpace(s) == "" {
			continue
		}
		if m := speech.FindStringSubmatch(s); m != nil {
			turns = append(turns, turn{len(blocks), m[1]})
		}
		blocks = append(blocks, document.Block{Kind: document.Prose, Text: s})
	}
	if len(turns) < 2 || len(turns)*3 < len(blocks) {
		return nil, nil
	}
	return blocks, turns
}

// place makes turns, which begin with blocks, begin with bytes of the document
// that was made of the blocks. Blocks of turns are never empty.
func place(turns []turn, d *document.Document) {
	at, block := 0, 0
	for i := range turns {
		for ; block < turns[i].start; block++ {
			at = next(d.Text, at)
		}
		turns[i].start = at
	}
}

// next returns where the block after the one at a place begins.
func next(text string, at int) int {
	if i := strings.Index(text[at:], "\n\n"); i >= 0 {
		return at + i + 2
	}
	return len(text)
}

// A talk is the turns of a day of a conversation.
type talk struct {
	key    string
	date   time.Time
	blocks []document.Block
	turns  []turn
	bytes  int
}

// talkBytes is how long a talk may be; what is longer goes on as another.
const talkBytes = 256 << 10

// talks yields an entry for each day of a conversation whose turns are records,
// and an error for each record that cannot be read.
func talks(rows iter.Seq2[row, error], base Item) iter.Seq2[*entry, error] {
	return func(yield func(*entry, error) bool) {
		t := talk{key: "1"}
		n := 1
		flush := func() bool {
			if len(t.blocks) == 0 {
				return true
			}
			return yield(t.entry(base))
		}
		for r, err := range rows {
			if err != nil {
				if !yield(nil, err) {
					return
				}
				continue
			}
			date, _ := parseDate(r.first(dateFields))
			if other := !date.IsZero() && !t.date.IsZero() && !sameDay(date, t.date); other || t.bytes > talkBytes {
				if !flush() {
					return
				}
				n++
				t = talk{key: fmt.Sprint(n)}
			}
			t.add(r, date)
		}
		flush()
	}
}

func sameDay(a, b time.Time) bool { return a.Format(time.DateOnly) == b.Format(time.DateOnly) }

// add adds a turn.
func (t *talk) add(r row, date time.Time) {
	text := strings.Join(strings.Fields(r.first(textFields)), " ")
	if text == "" {
		return
	}
	speaker := textkit.PrefixLine(r.first(speakerFields), maxTag)
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

func (t *talk) entry(base Item) (*entry, error) {
	it := base
	it.Kind = cmp.Or(it.Kind, KindThread)
	it.Part, it.Date = t.key, dated(t.date, base.Date)
	title := it.Title
	if !t.date.IsZero() {
		title += " " + t.date.Format(time.DateOnly)
	}
	e := &entry{item: it, turns: t.turns}
	e.doc = document.NewDocument(it.Source, title, document.Content{Title: title, Blocks: t.blocks})
	if e.doc.Text == "" {
		return nil, errNoText
	}
	place(e.turns, e.doc)
	e.item.Title = e.doc.Title
	return e, nil
}
