package recall

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// A Filter says which items are meant. The zero value means all.
type Filter struct {
	Kinds    []Kind
	Sources  []string // any of them: exact, or the beginning of it and "*"
	Tags     []string // all of them
	Persona  string
	From, To time.Time // From <= date < To
	Path     string    // of a file, or a folder that it is in

	N     int    // at most; 100 if zero, all if negative
	After string // the id of an item: those added before it
}

const listMost = 100

// List returns items, those added last first. Their texts are there only if they
// were given as such, see [Library.Item].
func (l *Library) List(ctx context.Context, f Filter) ([]Item, error) {
	f.N = cmp.Or(f.N, listMost)
	where, args := f.where(l.owner)
	query := where + ` ORDER BY i.id DESC`
	if f.N > 0 && len(f.Tags) == 0 {
		query += ` LIMIT ?`
		args = append(args, f.N)
	}
	list, err := l.items(ctx, query, args...)
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

// where returns the condition of a filter, but for tags.
func (f Filter) where(owner string) (string, []any) {
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
		add(`i.kind IN (`+marks(len(kinds))+`)`, kinds...)
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
		add(`i.date >= ?`, micros(f.From))
	}
	if !f.To.IsZero() {
		add(`i.date < ? AND i.date <> 0`, micros(f.To))
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

// marks returns n question marks with commas between.
func marks(n int) string { return strings.TrimSuffix(strings.Repeat("?, ", n), ", ") }

// ErrMany says that an id is the beginning of several.
var ErrMany = errors.New("several items have ids that begin so")

// Item returns the item with an id, with its text, or ErrNone. The id may be
// shortened to a beginning that no other has.
func (l *Library) Item(ctx context.Context, id string) (Item, error) {
	it, err := l.item(ctx, id)
	if err == nil && it.Text == "" {
		it.Text, err = l.index.Text(ctx, it.num)
	}
	if err != nil {
		return Item{}, fmt.Errorf("item %s: %w", id, err)
	}
	return it, nil
}

func (l *Library) item(ctx context.Context, id string) (Item, error) {
	if len(id) < 5 {
		return Item{}, ErrNone
	}
	list, err := l.items(ctx, `WHERE i.owner = ? AND i.id >= ? AND i.id < ? LIMIT 2`, l.owner, id, id+"~")
	switch {
	case err != nil:
		return Item{}, err
	case len(list) == 0:
		return Item{}, ErrNone
	case len(list) > 1 && list[0].ID != id:
		return Item{}, ErrMany
	}
	return list[0], nil
}

// byNumber returns the items of documents of the index, by their number.
func (l *Library) byNumber(ctx context.Context, nums []int64) (map[int64]Item, error) {
	out := make(map[int64]Item, len(nums))
	for len(nums) > 0 {
		group := nums[:min(len(nums), 500)]
		nums = nums[len(group):]
		args := make([]any, len(group))
		for i, n := range group {
			args[i] = n
		}
		list, err := l.items(ctx, `WHERE i.num IN (`+marks(len(group))+`)`, args...)
		if err != nil {
			return nil, err
		}
		for _, it := range list {
			out[it.num] = it
		}
	}
	return out, nil
}
