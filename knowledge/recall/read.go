package recall

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"ponder/knowledge/document"
	"ponder/knowledge/recall/index"
)

// ReadOptions say how much is read around a place, in bytes: 600 before and 2,000
// behind if zero; 64 KiB at most.
type ReadOptions struct{ Before, After int }

// Bounds on what is read at once.
const (
	readBefore = 600
	readAfter  = 2000
	readMost   = 64 << 10
)

// An Excerpt is what stands at a place.
type Excerpt struct {
	Item       Item   // without its text
	Text       string // exactly the bytes Start to End of the text of Item
	Start, End int
	Of         int // bytes that the text has
	Section    string
	Page       int

	// Earlier and Later are the ids to read what is before and behind; "" if
	// there is nothing.
	Earlier, Later string
}

// Read returns what is at a place, which is the id of an item or of a hit, with
// some of what stands around it. What is not there is ErrNone.
func (l *Library) Read(ctx context.Context, id string, o ReadOptions) (Excerpt, error) {
	x, err := l.read(ctx, id, o)
	if err != nil {
		return Excerpt{}, fmt.Errorf("read %s: %w", id, err)
	}
	return x, nil
}

func (l *Library) read(ctx context.Context, id string, o ReadOptions) (Excerpt, error) {
	it, start, end, err := l.locate(ctx, id)
	if err != nil {
		return Excerpt{}, err
	}
	passages, err := l.index.Passages(ctx, it.num)
	if errors.Is(err, index.ErrNone) {
		return Excerpt{}, ErrNone
	}
	if err != nil {
		return Excerpt{}, err
	}
	size := 0
	if n := len(passages); n > 0 {
		size = passages[n-1].End
	}
	if end > size {
		return Excerpt{}, ErrNone
	}
	end = min(end, start+readMost)
	from := max(0, start-within(o.Before, readBefore))
	to := min(size, end+within(o.After, readAfter))
	it.Text, it.Raw = "", ""
	x := Excerpt{Item: it, Of: size}
	x.Text, x.Start, x.End = between(passages, from, to)
	for _, p := range passages {
		if p.Start <= start {
			x.Section, x.Page = p.Heading, p.Page
		}
	}
	if x.Start > 0 {
		x.Earlier = fmt.Sprintf("%s:%d-%d", it.Hash[:placeHash], max(0, x.Start-readAfter), x.Start)
	}
	if x.End < size {
		x.Later = fmt.Sprintf("%s:%d-%d", it.Hash[:placeHash], x.End, min(size, x.End+readAfter))
	}
	return x, nil
}

func within(n, dflt int) int {
	n = cmp.Or(n, dflt)
	return min(max(n, 0), readMost)
}

// between returns the bytes from to to of passages, at whole letters.
func between(passages []index.Passage, from, to int) (text string, start, end int) {
	var b strings.Builder
	for _, p := range passages {
		if a, z := max(from, p.Start), min(to, p.End); a < z && z-p.Start <= len(p.Text) {
			b.WriteString(p.Text[a-p.Start : z-p.Start])
		}
	}
	text = b.String()
	for len(text) > 0 && !utf8.RuneStart(text[0]) {
		text, from = text[1:], from+1
	}
	for i := 0; i < utf8.UTFMax && len(text) > 0; i++ {
		if r, n := utf8.DecodeLastRuneInString(text); r != utf8.RuneError || n > 1 {
			break
		}
		text = text[:len(text)-1]
	}
	return text, from, from + len(text)
}

// locate returns the item that an id means, and the range: all of it for the id
// of an item.
func (l *Library) locate(ctx context.Context, id string) (it Item, start, end int, err error) {
	hash, start, end, ok := document.ParsePlace(id)
	if !ok {
		it, err = l.item(ctx, id)
		return it, 0, 0, err
	}
	list, err := l.items(ctx, `WHERE i.owner = ? AND i.hash >= ? AND i.hash < ? ORDER BY i.id LIMIT 1`, l.owner, hash, hash+"g")
	if err == nil && len(list) == 0 {
		err = ErrNone
	}
	if err != nil {
		return Item{}, 0, 0, err
	}
	return list[0], start, end, nil
}
