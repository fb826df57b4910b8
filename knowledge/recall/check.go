package recall

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"

	"ponder/internal/textkit"
	"ponder/knowledge/archive"
	"ponder/knowledge/document"
	"ponder/knowledge/recall/index"
)

type CheckResult struct {
	Stored   bool // the place is in a stored text with the item's hash
	Original bool // the original is archived
	Exact    bool // the original, parsed again, has the quote at its place
	Earlier  bool // that original is an earlier one of its source

	Quote string // the text at the place
	Item  Item   // without Text
}

// Check reports whether a quote is still in the Library and in its original, which it
// parses again from the archive. A text that was given is its own original. Places in
// changed files are looked up in kept originals. An unknown ID is no error.
func (l *Library) Check(ctx context.Context, id string) (CheckResult, error) {
	c, err := l.checkPlace(ctx, id)
	if err != nil {
		return CheckResult{}, fmt.Errorf("check %s: %w", id, err)
	}
	return c, nil
}

func (l *Library) checkPlace(ctx context.Context, id string) (CheckResult, error) {
	it, start, end, err := l.findPlace(ctx, id)
	if errors.Is(err, ErrNone) {
		return l.checkEarlier(ctx, id)
	}
	if err != nil {
		return CheckResult{}, err
	}
	text, err := l.index.Text(ctx, it.num)
	if errors.Is(err, index.ErrNone) {
		return CheckResult{}, nil
	}
	if err != nil {
		return CheckResult{}, err
	}
	end = cmp.Or(end, len(text))
	if end > len(text) {
		return CheckResult{}, nil
	}
	sum := sha256.Sum256([]byte(text))
	c := CheckResult{Quote: text[start:end], Stored: hex.EncodeToString(sum[:]) == it.Hash, Item: it}
	c.Original, c.Exact, err = l.checkOriginal(ctx, it, c.Quote, start)
	c.Item.Text, c.Item.Raw = "", ""
	return c, err
}

func (l *Library) checkOriginal(ctx context.Context, it Item, quote string, start int) (original, exact bool, err error) {
	if it.Original == "" {
		if it.Text == "" {
			return false, false, nil
		}
		e, err := textEntry(it)
		return true, err == nil && hasQuoteAt(e.doc, it, quote, start), nil
	}
	if l.archive == nil {
		return false, false, nil
	}
	o, err := l.archive.Get(ctx, it.Original)
	if errors.Is(err, archive.ErrNone) {
		return false, false, nil
	}
	if err != nil {
		return false, false, err
	}
	if it.Path == "" && it.ExternalID != "" && it.Link == it.ExternalID {
		return true, pageHasQuote(o, quote), nil
	}
	return true, fileHasQuote(o, it, quote, start), nil
}

func hasQuoteAt(d *document.Document, it Item, quote string, start int) bool {
	return d.Hash == it.Hash && d.Verify(quote, start, start+len(quote))
}

// fileHasQuote reports whether the quote is at its place in the item's part of a file.
func fileHasQuote(o archive.Original, it Item, quote string, start int) bool {
	base := Item{Path: it.Path, Source: orDefault(it.Path, it.Source)}
	for _, kind := range []Kind{"", it.Kind} { // a given kind keeps a journal in one item
		base.Kind = kind
		for e, err := range fileEntries(source{path: base.Source, userNamed: true}, o.Bytes, base) {
			if err == nil && e.item.Part == it.Part && hasQuoteAt(e.doc, it, quote, start) {
				return true
			}
		}
	}
	return false
}

func pageHasQuote(o archive.Original, quote string) bool {
	for d, err := range document.Read("page"+mediaExtension(o.Type), o.Bytes, nil, true) {
		if err == nil && strings.Contains(textkit.OneLine(d.Text), textkit.OneLine(quote)) {
			return true
		}
	}
	return false
}

func mediaExtension(media string) string {
	media, _, _ = strings.Cut(media, ";")
	switch strings.TrimSpace(media) {
	case "application/pdf":
		return ".pdf"
	case "text/plain":
		return ".txt"
	case "text/markdown":
		return ".md"
	case "application/json":
		return ".json"
	}
	return ".html"
}
