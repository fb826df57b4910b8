package knowledge

import (
	"time"

	"ponder"
	"ponder/knowledge/evidence"
	"ponder/knowledge/recall"
)

// readDelay is the time after its date within which a page must be added for its date to count
// as the time of reading.
const readDelay = time.Minute

// publicationTime returns the publication time of a hit, or zero if it is unknown. A page without
// its own date has the time at which it was read, which does not count.
func publicationTime(h recall.Hit) time.Time {
	date := h.Date
	if date.IsZero() {
		date = h.Item.Date
	}
	if isWebPage(h.Item) && h.Item.Added.Sub(date).Abs() < readDelay {
		return time.Time{}
	}
	return date
}

// isWebPage reports whether an item is a page that strangers wrote.
func isWebPage(it recall.Item) bool {
	return it.Kind == recall.KindDocument && urlOf(it) != "" && isUntrusted(it)
}

// qualitySignals returns the signals of a hit at a time. Only pages have signals, because the user
// knows the authors of other items. The memory does not store which provider found a page,
// so there is no signal for that.
func qualitySignals(h recall.Hit, now time.Time) []ponder.Signal {
	if !isWebPage(h.Item) {
		return nil
	}
	return evidence.Judge(evidence.Piece{
		ID: h.ID, Source: sourceOf(h.Item), URL: urlOf(h.Item), Title: h.Item.Title, Author: h.Item.Author, Text: h.Quote + "\n" + h.Context,
		Kind: string(h.Item.Kind), Published: publicationTime(h), Local: true,
	}, now)
}
