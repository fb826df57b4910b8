package recall

import (
	"context"
	_ "embed"
	"fmt"
	"ponder/internal/textkit"
	"slices"
	"strings"
	"time"
)

//go:embed persona.md
var instructions string

// Bounds on the context of a persona.
const (
	personaHits = 10
	personaMost = 40
	memoryMost  = 1500 // bytes of a memory
	rawMost     = 1500 // bytes of raw content
)

// PersonaContext returns what a persona remembers of a query, at most n items (10
// if zero), as it is put before a model: memories first, each with the raw content
// that has its external id; then the raw posts that belong to no memory; then how
// to answer. Hits are what it was made of. A persona that is not set has items if
// some have its name. The text is "" if nothing is remembered.
func (l *Library) PersonaContext(ctx context.Context, name, query string, n int) (string, []Hit, error) {
	text, hits, err := l.personaContext(ctx, name, query, n)
	if err != nil {
		return "", nil, fmt.Errorf("context of persona %q: %w", name, err)
	}
	return text, hits, nil
}

func (l *Library) personaContext(ctx context.Context, name, query string, n int) (string, []Hit, error) {
	if n <= 0 {
		n = personaHits
	}
	p, err := l.persona(ctx, name)
	if err != nil {
		p = Persona{Name: name}
	}
	r, err := l.Search(ctx, query, SearchOptions{N: min(n, personaMost), Persona: name})
	if err != nil || len(r.Hits) == 0 {
		return "", nil, err
	}
	hits := r.Hits
	items, err := l.full(ctx, hits)
	if err != nil {
		return "", nil, err
	}
	raw, err := l.rawOf(ctx, items)
	if err != nil {
		return "", nil, err
	}
	w := personaWriter{persona: p, raw: raw, shown: map[string]bool{}}
	return w.text(hits, items), hits, nil
}

// full returns the items of hits with their texts, each once. Of what is long,
// the text is the context of the hit.
func (l *Library) full(ctx context.Context, hits []Hit) ([]Item, error) {
	var nums []int64
	for _, h := range hits {
		nums = append(nums, h.Item.num)
	}
	byNum, err := l.byNumber(ctx, nums)
	if err != nil {
		return nil, err
	}
	var items []Item
	seen := map[int64]int{}
	for _, h := range hits {
		if i, ok := seen[h.Item.num]; ok {
			if it := &items[i]; len(it.Text)+len(h.Context) < memoryMost && !strings.Contains(it.Text, h.Quote) {
				it.Text += "\n[…]\n" + h.Context
			}
			continue
		}
		it, ok := byNum[h.Item.num]
		if !ok {
			continue
		}
		if it.Text == "" || len(it.Text) > memoryMost {
			it.Text = h.Context
		}
		seen[h.Item.num] = len(items)
		items = append(items, it)
	}
	return items, nil
}

// rawOf returns the raw content of items: what they have themselves, or the post
// with their external id.
func (l *Library) rawOf(ctx context.Context, items []Item) (map[string]string, error) {
	raw := map[string]string{}
	var missing []any
	for _, it := range items {
		switch {
		case it.Raw != "":
			raw[it.ID] = it.Raw
		case it.Kind != KindPost && it.ExternalID != "":
			missing = append(missing, it.ExternalID)
		}
	}
	if len(missing) == 0 {
		return raw, nil
	}
	posts, err := l.items(ctx, `WHERE i.owner = ? AND i.kind = 'post' AND i.external_id IN (`+marks(len(missing))+`)`,
		append([]any{l.owner}, missing...)...)
	if err != nil {
		return nil, err
	}
	for _, it := range items {
		i := slices.IndexFunc(posts, func(p Item) bool { return p.ExternalID == it.ExternalID && p.Persona == it.Persona })
		if raw[it.ID] == "" && it.Kind != KindPost && i >= 0 {
			raw[it.ID] = dflt(posts[i].Raw, posts[i].Text)
		}
	}
	return raw, nil
}

// A personaWriter writes the context of a persona.
type personaWriter struct {
	persona Persona
	raw     map[string]string // by the id of an item
	shown   map[string]bool   // external ids whose raw content is shown
	b       strings.Builder
}

const separator = "\n---\n\n"

// text writes items: memories, then raw posts, then how to answer.
func (w *personaWriter) text(hits []Hit, items []Item) string {
	score := map[string]float64{}
	for _, h := range hits {
		score[h.Item.ID] = max(score[h.Item.ID], h.Score)
	}
	name := w.persona.Name
	var memories, posts []Item
	for _, it := range items {
		if it.Kind == KindPost && w.raw[it.ID] == "" {
			posts = append(posts, it)
		} else {
			memories = append(memories, it)
			if it.ExternalID != "" && w.raw[it.ID] != "" {
				w.shown[it.ExternalID] = true
			}
		}
	}
	posts = slices.DeleteFunc(posts, func(it Item) bool { return w.shown[it.ExternalID] })
	if len(memories) > 0 {
		fmt.Fprintf(&w.b, "=== WHAT %s REMEMBERS ===\n\n", strings.ToUpper(name))
		w.items("Memory", memories, score)
	}
	if len(posts) > 0 {
		fmt.Fprintf(&w.b, "=== WHAT %s WROTE (RAW SOCIAL CONTENT) ===\n\n", strings.ToUpper(name))
		w.items("Post", posts, score)
	}
	w.b.WriteString("=== HOW TO ANSWER ===\n\n")
	w.b.WriteString(strings.ReplaceAll(instructions, "{{NAME}}", name))
	if v := strings.TrimSpace(w.persona.Voice); v != "" {
		fmt.Fprintf(&w.b, "\nThe voice of %s: %s\n", name, v)
	}
	return w.b.String()
}

func (w *personaWriter) items(what string, items []Item, score map[string]float64) {
	for i, it := range items {
		if i > 0 {
			w.b.WriteString(separator)
		}
		fmt.Fprintf(&w.b, "%s %d (%s)\n%s", what, i+1, about(it, score[it.ID]), quoted(it.Text, memoryMost))
		if raw := w.raw[it.ID]; raw != "" {
			w.b.WriteString("Raw content")
			if it.ExternalID != "" {
				w.b.WriteString(" of external_id " + it.ExternalID)
			}
			w.b.WriteString(":\n" + quoted(raw, rawMost))
		}
	}
	w.b.WriteString("\n")
}

// about returns what is known of an item: source, date, link and so on.
func about(it Item, score float64) string {
	var parts []string
	add := func(name, value string) {
		if value != "" {
			parts = append(parts, name+": "+value)
		}
	}
	add("id", it.ID)
	add("kind", string(it.Kind))
	add("source", it.Source)
	if !it.Date.IsZero() {
		add("date", it.Date.Format(time.DateOnly))
	}
	add("author", it.Author)
	if it.Kind != KindMemory && it.Kind != KindPost {
		add("title", it.Title)
	}
	add("link", it.Link)
	add("external_id", it.ExternalID)
	add("tags", strings.Join(it.Tags, ", "))
	add("relevance", fmt.Sprintf("%.2f", score))
	return strings.Join(parts, " · ")
}

// quoted returns a text whose lines begin with a mark, so that nothing in it can
// be taken for what stands around it.
func quoted(text string, most int) string {
	short := textkit.Prefix(text, most)
	var b strings.Builder
	for l := range strings.SplitSeq(strings.TrimSpace(short), "\n") {
		b.WriteString(strings.TrimRight("> "+l, " \r") + "\n")
	}
	if len(short) < len(text) {
		b.WriteString("> […]\n")
	}
	return b.String()
}
