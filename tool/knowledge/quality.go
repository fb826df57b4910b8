package knowledge

import (
	"time"

	"ponder"
	"ponder/knowledge/evidence"
	"ponder/knowledge/recall"
)

// atOnce is how soon after its date a page is remembered if the date is that of
// reading it.
const atOnce = time.Minute

// published returns when a hit was written, as far as that is known. A page that does
// not say it has the date on which it was read, which is none of its own.
func published(h recall.Hit) time.Time {
	date := h.Date
	if date.IsZero() {
		date = h.Item.Date
	}
	if ofWeb(h.Item) && h.Item.Added.Sub(date).Abs() < atOnce {
		return time.Time{}
	}
	return date
}

// ofWeb reports whether an item is a page that strangers wrote.
func ofWeb(it recall.Item) bool {
	return it.Kind == recall.KindDocument && urlOf(it) != "" && untrusted(it)
}

// quality returns what is known of how good a hit is, as seen at now: of pages only,
// for what else is remembered is the user's own, or known by who wrote it. How a page
// came is not remembered, so nothing is said of that.
func quality(h recall.Hit, now time.Time) []ponder.Signal {
	if !ofWeb(h.Item) {
		return nil
	}
	return evidence.Judge(evidence.Piece{
		ID: h.ID, Source: sourceOf(h.Item), URL: urlOf(h.Item), Title: h.Item.Title, Author: h.Item.Author, Text: h.Quote + "\n" + h.Context,
		Kind: string(h.Item.Kind), Published: published(h), Local: true,
	}, now)
}
