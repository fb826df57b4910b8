package recall

import (
	"context"
	"fmt"
	"regexp"
	"time"

	"ponder/internal/textkit"
	"ponder/internal/textkit/lexical"
	"ponder/knowledge/recall/index"
	"ponder/knowledge/recall/query"
)

const (
	anchorHits         = 8
	minAnchorRelevance = 0.35 // least relevance, to date by the item
	minDatedRelevance  = 0.25 // to date by a date beside the event
	anchorShare        = 0.4  // relative to the best
	anchorSpan         = 14 * 24 * time.Hour
)

// resolveAnchor dates the event of "before the launch". Without a date, search uses its words.
func (s *search) resolveAnchor(ctx context.Context) error {
	a := s.query.Anchor
	if a == nil || s.empty {
		return nil
	}
	when, by, err := s.eventDate(ctx, a.Event)
	if err != nil {
		return err
	}
	if when.IsZero() {
		s.notes = append(s.notes, fmt.Sprintf("The date of %q is unknown.", a.Event))
		return nil
	}
	day := when.Truncate(24 * time.Hour)
	r := query.Range{Text: a.Text}
	switch a.Relation {
	case "before":
		r.To = day
	case "after":
		r.From = day.Add(24 * time.Hour)
	default:
		r.From, r.To = day.Add(-anchorSpan), day.Add(anchorSpan)
	}
	s.query.Time = r
	s.plan.addNames("event as anchor", "time range")
	s.notes = append(s.notes, fmt.Sprintf("Assumed date of %q: %s, from %q.", a.Event, day.Format("2 January 2006"), textkit.Prefix(by, 100)))
	return nil
}

// eventDate returns the event's date in the best passage, or that of its item.
func (s *search) eventDate(ctx context.Context, event string) (when time.Time, by string, err error) {
	q := index.Query{Filter: s.filter, Typos: true}
	lexical.Tokens(event, func(t lexical.Token) {
		w := event[t.Start:t.End]
		q.Terms = append(q.Terms, index.Term{Word: w})
	})
	if len(q.Terms) == 0 {
		return time.Time{}, "", nil
	}
	hits, err := s.l.index.Search(ctx, q, anchorHits)
	if err != nil || len(hits) == 0 {
		return time.Time{}, "", err
	}
	list, err := s.loadCandidates(ctx, hits)
	if err != nil {
		return time.Time{}, "", err
	}
	wanted := len(stemSet(event, "en"))
	for _, c := range list { // a date beside the event
		if c.relevance < minDatedRelevance || c.relevance < list[0].relevance*anchorShare {
			break
		}
		if len(c.words)*2 <= wanted && wanted > 1 {
			continue
		}
		if t := s.sentenceDate(c.passage.Text, event, c.item.Date); !t.IsZero() {
			return t, c.item.Title, nil
		}
	}
	for _, c := range list {
		if c.relevance < minAnchorRelevance || c.relevance < list[0].relevance*0.6 {
			break
		}
		if len(c.words)*2 <= wanted && wanted > 1 || c.item.Date.IsZero() || c.item.isFinishedSession() || s.containsAnchor(c) {
			continue
		}
		if guessed, err := s.isFileDated(ctx, c.item); err != nil || guessed {
			if err != nil {
				return time.Time{}, "", err
			}
			continue
		}
		return c.item.Date, c.item.Title, nil
	}
	return time.Time{}, "", nil
}

// isFileDated reports whether only its file dates the item, which says nothing of the event.
func (s *search) isFileDated(ctx context.Context, it Item) (bool, error) {
	if it.Path == "" || it.Kind != KindDocument || it.hasFileTime() {
		return it.hasFileTime(), nil
	}
	f, err := s.l.loadFile(ctx, it.Path)
	return err == nil && f.mtime != 0 && toMicros(time.Unix(0, f.mtime)) == toMicros(it.Date), err
}

var sentenceEnd = regexp.MustCompile(`[.!?]\s|\n`)

func (s *search) sentenceDate(text, event string, written time.Time) time.Time {
	if written.IsZero() {
		written = s.now
	}
	wanted := stemSet(event, "en")
	start := 0
	for start < len(text) {
		end := len(text)
		if m := sentenceEnd.FindStringIndex(text[start:]); m != nil {
			end = start + m[1]
		}
		sentence := text[start:end]
		start = end
		has := stemSet(sentence, "en")
		n := 0
		for w := range wanted {
			if has[w] {
				n++
			}
		}
		if n == 0 || n*2 < len(wanted) {
			continue
		}
		r := query.Parse(sentence, written).Time
		if !r.From.IsZero() && !r.To.IsZero() && r.To.Sub(r.From) <= 32*24*time.Hour {
			return r.From
		}
	}
	return time.Time{}
}

func stemSet(text string, lang lexical.Language) map[string]bool {
	out := map[string]bool{}
	lexical.Tokens(text, func(t lexical.Token) {
		if w := text[t.Start:t.End]; !lexical.Stop(w, lang) {
			out[lexical.Stem(w, lang)] = true
		}
	})
	return out
}
