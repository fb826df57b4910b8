package knowledge

import (
	"context"
	"fmt"
	"strings"
	"time"

	"ponder/internal/textkit"
	"ponder/knowledge/document"
	"ponder/knowledge/lookup"
	"ponder/knowledge/recall"
)

// searchMemory adds the hits in the memory.
func (s *searcher) searchMemory(ctx context.Context, in input, r *lookup.Found) error {
	o, err := in.searchOptions()
	if err != nil {
		return err
	}
	found, err := s.opts.Library.Search(ctx, in.Query, o)
	if err != nil {
		return err
	}
	r.Memory = &lookup.Memory{Documents: found.Documents, Confidence: roundScore(found.Confidence), Says: textkit.Line(found.Reason, maxReason)}
	for _, h := range found.Hits {
		if h.End-h.Start == len(h.Quote) && h.Quote != "" {
			r.Hits = append(r.Hits, memoryHit(h, s.opts.Now()))
		}
	}
	return nil
}

// searchOptions returns the options for a search of the memory.
func (in input) searchOptions() (o recall.SearchOptions, err error) {
	o = recall.SearchOptions{N: in.Limit, Exclude: in.Exclude, Sources: in.Sources, Tags: in.Tags, Prefer: in.Prefer, ExcludeSources: in.Without, Topics: maxTopics}
	for _, k := range in.Kinds {
		o.Kinds = append(o.Kinds, recall.Kind(k))
	}
	if in.From != "" {
		if o.From, _, err = parseDateRange(in.From); err != nil {
			return o, fmt.Errorf("from: %w", err)
		}
	}
	if in.To != "" {
		if _, o.To, err = parseDateRange(in.To); err != nil {
			return o, fmt.Errorf("to: %w", err)
		}
	}
	return o, nil
}

// parseDateRange returns the start and the end of the year, month or day in a text. The end is
// exclusive.
func parseDateRange(text string) (from, to time.Time, err error) {
	for _, f := range []struct {
		layout              string
		years, months, days int
	}{{"2006", 1, 0, 0}, {"2006-01", 0, 1, 0}, {time.DateOnly, 0, 0, 1}} {
		if t, err := time.Parse(f.layout, text); err == nil {
			return t, t.AddDate(f.years, f.months, f.days), nil
		}
	}
	return from, to, fmt.Errorf("%.40q is not a date: write it as 2024, 2024-03 or 2024-03-01", text)
}

func memoryHit(h recall.Hit, now time.Time) lookup.Hit {
	return lookup.Hit{
		ID: h.ID, Kind: string(h.Item.Kind), Source: sourceOf(h.Item), Title: textkit.Line(h.Item.Title, maxLabel), Section: textkit.Line(h.Section, maxLabel), Page: h.Page,
		Quote: h.Quote, Start: h.Start, End: h.End, Hash: h.Item.Hash, Score: roundScore(min(1, max(0, h.Score))),
		Terms: append([]string{}, h.Terms...), Topics: append([]string{}, h.Topics[:min(len(h.Topics), maxTopics)]...), Context: contextOf(h),
		Item: h.Item.ID, URL: urlOf(h.Item), Author: textkit.Line(h.Item.Author, maxLabel), Speaker: textkit.Line(h.Speaker, maxLabel), Published: storedTime(publicationTime(h)),
		Tags: h.Item.Tags[:min(len(h.Item.Tags), maxTopics)], Original: h.Item.Original, Similar: h.Similar, Quality: qualitySignals(h, now), Untrusted: isUntrusted(h.Item),
	}
}

// contextOf returns the passage with the quote, or "" if it is only the quote.
func contextOf(h recall.Hit) string {
	if text := textkit.CleanTrim(h.Context); len(text) <= maxContext && text != h.Quote && strings.Contains(text, h.Quote) {
		return text
	}
	return ""
}

// sourceOf returns the citable source of an item, which is not empty and readable. A post has the name of
// its source, such as "twitter", and its address in the URL.
func sourceOf(it recall.Item) string {
	list := []string{it.Path, urlOf(it), it.Source}
	if it.Kind == recall.KindPost && it.Source != it.Path {
		list = append([]string{it.Source}, list...)
	}
	for _, s := range list {
		if s = textkit.Line(document.QuotePath(s), maxSource); s != "" {
			return s
		}
	}
	return "memory:" + it.ID
}

// maxSource limits a path or a URL, in bytes.
const maxSource = 2000

// urlOf returns the web address of an item, or "".
func urlOf(it recall.Item) string {
	for _, s := range []string{it.Link, it.Source} {
		if s = strings.TrimSpace(s); strings.HasPrefix(s, "https://") || strings.HasPrefix(s, "http://") {
			return textkit.Line(s, maxSource)
		}
	}
	return ""
}

// isUntrusted reports whether strangers wrote an item: a web page or mail, or a memory that a
// model made of such text.
func isUntrusted(it recall.Item) bool {
	return it.Meta[recall.UntrustedMeta] != "" || it.Path == "" && it.Kind == recall.KindDocument && urlOf(it) != "" || isMail(it.Path)
}

// storedTime returns a time in its stored form: in UTC, to the second. It returns the zero time
// for years that JSON cannot encode.
func storedTime(t time.Time) time.Time {
	if t.IsZero() || t.Year() < 1 || t.Year() > 9999 {
		return time.Time{}
	}
	return t.UTC().Truncate(time.Second)
}
