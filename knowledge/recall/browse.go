package recall

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"ponder/knowledge/recall/index"
	"ponder/knowledge/recall/query"
)

// hasWords reports whether the query has words to find. If timed, words of time do not
// count.
func (s *search) hasWords(timed bool) bool {
	if len(s.query.Phrases) > 0 {
		return true
	}
	return slices.ContainsFunc(s.query.Words, func(w query.Word) bool { return !w.Not && !(timed && w.Time) })
}

// timeCandidates returns items of the query's time, newest first, then passages that mention
// it.
func (s *search) timeCandidates(ctx context.Context, soft bool) ([]*candidate, error) {
	whole := s.filter
	list, err := s.browseItems(ctx)
	s.filter = whole
	if err != nil || !soft || !s.hasWords(false) {
		return list, err
	}
	best := s.best
	more, err := s.rankPassages(ctx, false)
	if err != nil {
		return nil, err
	}
	if len(list) > 0 {
		s.best = best
	}
	return s.mergeMentions(list, more), nil
}

// mergeMentions merges items of the query's time with passages that mention it. Passages
// with the query's own "before the launch" come first, then items of the time. If
// nothing matches, it returns passages that have the words.
func (s *search) mergeMentions(list, more []*candidate) []*candidate {
	has := map[int64]bool{}
	for _, c := range list {
		has[c.item.num] = true
	}
	var others []*candidate
	for _, c := range more {
		switch {
		case len(c.words) > 0 && s.containsAnchor(c):
			list = slices.DeleteFunc(list, func(other *candidate) bool { return !other.byWords && other.item.num == c.item.num })
			c.score = max(c.score, maxBrowseScore+0.01)
		case s.mentionsTime(c):
			list = slices.DeleteFunc(list, func(other *candidate) bool { return other.item.hasFileTime() && other.item.num == c.item.num })
			if c.score = minBrowseScore; c.item.hasFileTime() {
				c.score = maxBrowseScore - 0.05
			} else if has[c.item.num] {
				continue
			}
		default:
			c.score = min(c.score*outsideFactor, minBrowseScore)
			others = append(others, c)
			continue
		}
		list = append(list, c)
	}
	if len(list) == 0 {
		if list = others; len(list) > 0 {
			s.notes = append(s.notes, "Nothing has a date in that time; these hits mention it.")
		}
	}
	slices.SortStableFunc(list, bestFirst)
	return list
}

// mentionsTime reports whether a sentence or the title names a time within the query's.
func (s *search) mentionsTime(c *candidate) bool {
	if s.query.Anchor != nil {
		return false
	}
	want, written := s.query.Time, c.item.Date
	if written.IsZero() {
		written = s.now
	}
	for _, line := range append(sentenceEnd.Split(c.passage.Text, maxSentences), c.item.Title) {
		r := query.Parse(line, written).Time
		if !r.From.IsZero() && !r.To.IsZero() && !r.From.Before(want.From) && (want.To.IsZero() || !r.To.After(want.To)) {
			return true
		}
	}
	return false
}

const maxSentences = 32

// containsAnchor reports whether the passage has the query's "before the launch"; then its
// date does not matter.
func (s *search) containsAnchor(c *candidate) bool {
	a := s.query.Anchor
	return a != nil && strings.Contains(strings.ToLower(c.passage.Text), strings.ToLower(a.Text))
}

// hasFileTime reports whether only its file or arrival dates the item: written dates have
// no fractions of seconds.
func (it Item) hasFileTime() bool {
	return it.Kind == KindDocument && (it.Date.Equal(it.Added) || it.Path != "" && it.Date.Nanosecond() != 0)
}

func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}

const (
	maxBrowseScore = 0.6
	minBrowseScore = 0.3
)

// browseItems lists items by time or other filters, newest first; items with file times come
// last.
func (s *search) browseItems(ctx context.Context) ([]*candidate, error) {
	f := s.filter
	if !s.query.Time.IsZero() {
		s.restrictTime(s.query.Time)
		f = s.filter
	}
	if f.From.IsZero() && f.To.IsZero() && len(f.Kinds)+len(f.Sources)+len(f.Tags) == 0 && !s.query.Recent {
		return nil, nil
	}
	filter := Filter{Sources: f.Sources, From: f.From, To: f.To}
	for _, k := range f.Kinds {
		filter.Kinds = append(filter.Kinds, Kind(k))
	}
	for _, t := range f.Tags {
		if p, ok := strings.CutPrefix(t, personaTag); ok {
			filter.Persona = p
			continue
		}
		filter.Tags = append(filter.Tags, t)
	}
	where, args := filter.whereClause(f.Owner)
	items, err := s.l.queryItems(ctx, where+` ORDER BY i.date DESC, i.id DESC LIMIT ?`, append(args, maxBrowsed)...)
	if err != nil {
		return nil, err
	}
	s.plan.addNames("newest first")
	items = filterTags(items, filter.Tags)
	slices.SortStableFunc(items, func(a, b Item) int { return compareBool(a.hasFileTime(), b.hasFileTime()) })
	return s.firstPassages(ctx, items)
}

// maxBrowsed limits the items of a query without words.
const maxBrowsed = 1000

func filterTags(items []Item, tags []string) []Item {
	return slices.DeleteFunc(items, func(it Item) bool {
		return slices.ContainsFunc(tags, func(t string) bool { return !slices.Contains(it.Tags, t) })
	})
}

func (s *search) firstPassages(ctx context.Context, items []Item) ([]*candidate, error) {
	var list []*candidate
	for i, it := range items[:min(len(items), s.poolSize())] {
		passages, err := s.l.index.Passages(ctx, it.num)
		if err != nil && !errors.Is(err, index.ErrNone) {
			return nil, err
		}
		if len(passages) == 0 {
			continue
		}
		score := maxBrowseScore - (maxBrowseScore-minBrowseScore)*float64(i)/float64(i+20)
		list = append(list, &candidate{num: it.num, item: it, passage: passages[0], relevance: score, score: score})
		s.best = max(s.best, score)
	}
	return slices.DeleteFunc(list, s.isUnwanted), nil
}

// A Filter selects items; the zero value selects all.
type Filter struct {
	Kinds    []Kind
	Sources  []string // any of them: exact, or a prefix and "*"
	Tags     []string // all of them
	Persona  string
	From, To time.Time // From <= date < To
	Path     string    // a file, or a folder above it

	N     int    // default 100; negative: all
	After string // an item ID; selects items added before it
}

const defaultListSize = 100

// List returns items, the last added first. Text is set only where it was given; see
// [Library.Item].
func (l *Library) List(ctx context.Context, f Filter) ([]Item, error) {
	f.N = cmp.Or(f.N, defaultListSize)
	where, args := f.whereClause(l.owner)
	query := where + ` ORDER BY i.id DESC`
	if f.N > 0 && len(f.Tags) == 0 {
		query += ` LIMIT ?`
		args = append(args, f.N)
	}
	list, err := l.queryItems(ctx, query, args...)
	if err != nil {
		return nil, fmt.Errorf("list items: %w", err)
	}
	list = slices.DeleteFunc(list, func(it Item) bool {
		return slices.ContainsFunc(f.Tags, func(t string) bool { return !slices.Contains(it.Tags, t) })
	})
	if f.N > 0 {
		list = list[:min(len(list), f.N)]
	}
	return list, nil
}

// whereClause leaves tags out.
func (f Filter) whereClause(owner string) (string, []any) {
	conds, args := []string{`i.owner = ?`}, []any{owner}
	add := func(cond string, values ...any) {
		conds = append(conds, cond)
		args = append(args, values...)
	}
	if len(f.Kinds) > 0 {
		var kinds []any
		for _, k := range f.Kinds {
			kinds = append(kinds, string(k))
		}
		add(`i.kind IN (`+placeholders(len(kinds))+`)`, kinds...)
	}
	var any []string
	for _, s := range f.Sources {
		if prefix, ok := strings.CutSuffix(s, "*"); ok {
			any = append(any, `substr(i.source, 1, ?) = ?`)
			args = append(args, len([]rune(prefix)), prefix)
			continue
		}
		any = append(any, `i.source = ?`)
		args = append(args, s)
	}
	if len(any) > 0 {
		conds = append(conds, `(`+strings.Join(any, ` OR `)+`)`)
	}
	if f.Persona != "" {
		add(`i.persona = ?`, f.Persona)
	}
	if !f.From.IsZero() {
		add(`i.date >= ?`, toMicros(f.From))
	}
	if !f.To.IsZero() {
		add(`i.date < ? AND i.date <> 0`, toMicros(f.To))
	}
	if f.Path != "" {
		below := strings.TrimSuffix(f.Path, "/") + "/"
		add(`(i.path = ? OR substr(i.path, 1, ?) = ?)`, f.Path, len([]rune(below)), below)
	}
	if f.After != "" {
		add(`i.id < ?`, f.After)
	}
	return `WHERE ` + strings.Join(conds, ` AND `), args
}

func placeholders(n int) string { return strings.TrimSuffix(strings.Repeat("?, ", n), ", ") }

// ErrAmbiguous reports an ambiguous ID prefix.
var ErrAmbiguous = errors.New("ambiguous item ID; add more characters")

// Item returns an item with its text, or ErrNone. A unique ID prefix suffices.
func (l *Library) Item(ctx context.Context, id string) (Item, error) {
	it, err := l.findItem(ctx, id)
	if err == nil && it.Text == "" {
		it.Text, err = l.index.Text(ctx, it.num)
	}
	if err != nil {
		return Item{}, fmt.Errorf("read item %s: %w", id, err)
	}
	return it, nil
}

func (l *Library) findItem(ctx context.Context, id string) (Item, error) {
	if len(id) < 5 {
		return Item{}, ErrNone
	}
	list, err := l.queryItems(ctx, `WHERE i.owner = ? AND i.id >= ? AND i.id < ? LIMIT 2`, l.owner, id, id+"~")
	switch {
	case err != nil:
		return Item{}, err
	case len(list) == 0:
		return Item{}, ErrNone
	case len(list) > 1 && list[0].ID != id:
		return Item{}, ErrAmbiguous
	}
	return list[0], nil
}

func (l *Library) itemsByNumber(ctx context.Context, nums []int64) (map[int64]Item, error) {
	out := make(map[int64]Item, len(nums))
	for len(nums) > 0 {
		group := nums[:min(len(nums), 500)]
		nums = nums[len(group):]
		args := make([]any, len(group))
		for i, n := range group {
			args[i] = n
		}
		list, err := l.queryItems(ctx, `WHERE i.num IN (`+placeholders(len(group))+`)`, args...)
		if err != nil {
			return nil, err
		}
		for _, it := range list {
			out[it.num] = it
		}
	}
	return out, nil
}
