package knowledge

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"ponder/internal/textkit"
	"ponder/knowledge/document"
	"ponder/knowledge/recall"
)

// The size of an excerpt, in bytes.
const (
	readBefore = 600
	readAfter  = 2000
	maxRead    = 16 << 10 // before, and after
	maxID      = 200
)

type readInput struct {
	ID     string `json:"id"`
	Before *int   `json:"before"`
	After  *int   `json:"after"`
}

// excerpt is the JSON result of knowledge_read.
type excerpt struct {
	ID        string    `json:"id"`
	Kind      string    `json:"kind"`
	Source    string    `json:"source"`
	Title     string    `json:"title"`
	Section   string    `json:"section,omitempty"`
	Page      int       `json:"page,omitempty"`
	Item      string    `json:"item,omitempty"`
	URL       string    `json:"url,omitempty"`
	Author    string    `json:"author,omitempty"`
	Published time.Time `json:"published,omitzero"`
	Untrusted bool      `json:"untrusted,omitempty"`
	Notice    string    `json:"notice,omitempty"`

	Text    string `json:"text"`
	Start   int    `json:"start"`
	End     int    `json:"end"`
	Bytes   int    `json:"bytes"` // of the whole text
	Hash    string `json:"hash"`
	Earlier string `json:"earlier,omitempty"` // the id of the text before
	Later   string `json:"later,omitempty"`
}

func (s *searcher) readPassage(ctx context.Context, in readInput) (string, error) {
	id := strings.TrimSpace(in.ID)
	if id == "" || len(id) > maxID {
		return "", errors.New(ReadName + ": id is empty or too long: give the id of a hit of " + Name)
	}
	before, after := bytesOf(in.Before, readBefore), bytesOf(in.After, readAfter)
	x, ok, err := s.readFile(ctx, id, before, after)
	if err == nil && !ok {
		x, ok, err = s.readMemory(ctx, id, before, after)
	}
	switch {
	case err != nil:
		return "", fmt.Errorf("%s: %w", ReadName, err)
	case !ok:
		return "", fmt.Errorf("%s: nothing has the id %.60q now: search again with %s", ReadName, id, Name)
	}
	if x.Untrusted {
		x.Notice = notice
	}
	return textkit.JSON(x)
}

// bytesOf returns the requested number of bytes, within the limits.
func bytesOf(n *int, byDefault int) int {
	if n == nil {
		return byDefault
	}
	return min(max(*n, 0), maxRead)
}

// readMemory reads an excerpt of the memory.
func (s *searcher) readMemory(ctx context.Context, id string, before, after int) (excerpt, bool, error) {
	if s.opts.Library == nil {
		return excerpt{}, false, nil
	}
	got, err := s.opts.Library.Read(ctx, id, recall.ReadOptions{Before: orNone(before), After: orNone(after)})
	if errors.Is(err, recall.ErrNone) {
		return excerpt{}, false, nil
	}
	if err != nil {
		return excerpt{}, false, err
	}
	it := got.Item
	return excerpt{
		ID: id, Kind: string(it.Kind), Source: sourceOf(it), Title: textkit.Line(it.Title, maxLabel), Section: textkit.Line(got.Section, maxLabel), Page: got.Page, Item: it.ID,
		URL: urlOf(it), Author: textkit.Line(it.Author, maxLabel), Published: storedTime(it.Date), Untrusted: isUntrusted(it),
		Text: got.Text, Start: got.Start, End: got.End, Bytes: got.TextLength, Hash: it.Hash, Earlier: got.Earlier, Later: got.Later,
	}, true, nil
}

// orNone returns n, or -1 for zero, because zero means the default to a Library.
func orNone(n int) int {
	if n == 0 {
		return -1
	}
	return n
}

// readFile reads an excerpt of a file that was searched, or that is in a root.
func (s *searcher) readFile(ctx context.Context, id string, before, after int) (excerpt, bool, error) {
	hash, start, end, ok := document.ParseRangeID(id)
	if !ok {
		return excerpt{}, false, nil
	}
	if len(s.opts.Roots) > 0 {
		if _, _, err := s.cache.loadDocuments(ctx, s.opts.Roots); err != nil {
			return excerpt{}, false, err
		}
	}
	d := s.cache.findDocument(hash)
	if d == nil || end > len(d.Text) {
		return excerpt{}, false, nil
	}
	from, to := len(textkit.Prefix(d.Text, max(0, start-before))), len(textkit.Prefix(d.Text, min(len(d.Text), min(end, start+maxRead)+after)))
	x := excerpt{
		ID: id, Kind: fileKind, Source: d.Source, Title: textkit.TruncateBytes(d.Title, maxLabel), Page: d.Page(start), Author: textkit.TruncateBytes(d.Author, maxLabel),
		Published: storedTime(d.Published), Untrusted: isMail(d.Source), Text: d.Text[from:to], Start: from, End: to, Bytes: len(d.Text), Hash: d.Hash,
	}
	if i := d.SentenceAt(start); i < len(d.Sentences) {
		x.Section = textkit.TruncateBytes(d.Heading(d.Sentences[i].Section), maxLabel)
	}
	if from > 0 {
		x.Earlier = d.RangeID(len(textkit.Prefix(d.Text, max(0, from-readAfter))), from)
	}
	if to < len(d.Text) {
		x.Later = d.RangeID(to, len(textkit.Prefix(d.Text, min(len(d.Text), to+readAfter))))
	}
	return x, true, nil
}
