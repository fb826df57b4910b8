package recall

import (
	"cmp"
	"context"
	"database/sql"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"ponder/internal/textkit"
	"ponder/knowledge/document"
	"ponder/knowledge/recall/index"
)

// ReadOptions are the bytes around a place: by default 600 before and 2,000 after, at
// most 64 KiB.
type ReadOptions struct{ Before, After int }

const (
	readBefore = 600
	readAfter  = 2000
	maxRead    = 64 << 10
)

type Excerpt struct {
	Item       Item   // without Text
	Text       string // exactly bytes Start to End of the item's text
	Start, End int
	TextLength int // length of that text
	Section    string
	Page       int

	// IDs of the adjoining excerpts, or "".
	Earlier, Later string
}

// Read returns the text around an item or a hit, or ErrNone.
func (l *Library) Read(ctx context.Context, id string, o ReadOptions) (Excerpt, error) {
	x, err := l.readExcerpt(ctx, id, o)
	if err != nil {
		return Excerpt{}, fmt.Errorf("read %s: %w", id, err)
	}
	return x, nil
}

func (l *Library) readExcerpt(ctx context.Context, id string, o ReadOptions) (Excerpt, error) {
	it, start, end, err := l.findPlace(ctx, id)
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
	end = min(end, start+maxRead)
	from := max(0, start-clampLength(o.Before, readBefore))
	to := min(size, end+clampLength(o.After, readAfter))
	it.Text, it.Raw = "", ""
	x := Excerpt{Item: it, TextLength: size}
	x.Text, x.Start, x.End = textBetween(passages, from, to)
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

func clampLength(n, dflt int) int {
	n = cmp.Or(n, dflt)
	return min(max(n, 0), maxRead)
}

// textBetween returns the bytes from to to, without cut characters.
func textBetween(passages []index.Passage, from, to int) (text string, start, end int) {
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

// findPlace returns the item of an ID and its range, which is empty for IDs of items.
func (l *Library) findPlace(ctx context.Context, id string) (it Item, start, end int, err error) {
	hash, start, end, ok := document.ParseRangeID(id)
	if !ok {
		it, err = l.findItem(ctx, id)
		return it, 0, 0, err
	}
	list, err := l.queryItems(ctx, `WHERE i.owner = ? AND i.hash >= ? AND i.hash < ? ORDER BY i.id LIMIT 1`, l.owner, hash, hash+"g")
	if err == nil && len(list) == 0 {
		err = ErrNone
	}
	if err != nil {
		return Item{}, 0, 0, err
	}
	return list[0], start, end, nil
}

//go:embed prompts/persona.md
var personaInstructions string

const (
	personaHits     = 10
	maxPersonaItems = 40
	maxMemoryBytes  = 1500 // bytes of a memory
	maxRawBytes     = 1500 // bytes of raw content
)

// PersonaContext returns at most n items (default 10) on a query, formatted for a
// model, and their hits. Memories come first, each with the raw content of its external
// ID; then other posts; then instructions. An unset persona has the items with its
// name. Without items the text is "".
func (l *Library) PersonaContext(ctx context.Context, name, query string, n int) (string, []Hit, error) {
	text, hits, err := l.personaContext(ctx, name, query, n)
	if err != nil {
		return "", nil, fmt.Errorf("read context of persona %q: %w", name, err)
	}
	return text, hits, nil
}

func (l *Library) personaContext(ctx context.Context, name, query string, n int) (string, []Hit, error) {
	if n <= 0 {
		n = personaHits
	}
	p, err := l.findPersona(ctx, name)
	if err != nil {
		p = Persona{Name: name}
	}
	r, err := l.Search(ctx, query, SearchOptions{N: min(n, maxPersonaItems), Persona: name})
	if err != nil || len(r.Hits) == 0 {
		return "", nil, err
	}
	hits := r.Hits
	items, err := l.fullItems(ctx, hits)
	if err != nil {
		return "", nil, err
	}
	raw, err := l.rawOf(ctx, items)
	if err != nil {
		return "", nil, err
	}
	w := personaWriter{persona: p, raw: raw, shown: map[string]bool{}}
	return w.formatContext(hits, items), hits, nil
}

// fullItems returns each item once, with its text; long items have the hit's context
// instead.
func (l *Library) fullItems(ctx context.Context, hits []Hit) ([]Item, error) {
	var nums []int64
	for _, h := range hits {
		nums = append(nums, h.Item.num)
	}
	byNum, err := l.itemsByNumber(ctx, nums)
	if err != nil {
		return nil, err
	}
	var items []Item
	seen := map[int64]int{}
	for _, h := range hits {
		if i, ok := seen[h.Item.num]; ok {
			if it := &items[i]; len(it.Text)+len(h.Context) < maxMemoryBytes && !strings.Contains(it.Text, h.Quote) {
				it.Text += "\n[…]\n" + h.Context
			}
			continue
		}
		it, ok := byNum[h.Item.num]
		if !ok {
			continue
		}
		if it.Text == "" || len(it.Text) > maxMemoryBytes {
			it.Text = h.Context
		}
		seen[h.Item.num] = len(items)
		items = append(items, it)
	}
	return items, nil
}

// rawOf returns the raw content of items: their own, or that of the post with their
// external ID.
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
	posts, err := l.queryItems(ctx, `WHERE i.owner = ? AND i.kind = 'post' AND i.external_id IN (`+placeholders(len(missing))+`)`,
		append([]any{l.owner}, missing...)...)
	if err != nil {
		return nil, err
	}
	for _, it := range items {
		i := slices.IndexFunc(posts, func(p Item) bool { return p.ExternalID == it.ExternalID && p.Persona == it.Persona })
		if raw[it.ID] == "" && it.Kind != KindPost && i >= 0 {
			raw[it.ID] = orDefault(posts[i].Raw, posts[i].Text)
		}
	}
	return raw, nil
}

type personaWriter struct {
	persona Persona
	raw     map[string]string // by item ID
	shown   map[string]bool   // external IDs of shown raw content
	b       strings.Builder
}

const separator = "\n---\n\n"

func (w *personaWriter) formatContext(hits []Hit, items []Item) string {
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
		w.writeItems("Memory", memories, score)
	}
	if len(posts) > 0 {
		fmt.Fprintf(&w.b, "=== WHAT %s WROTE (RAW SOCIAL CONTENT) ===\n\n", strings.ToUpper(name))
		w.writeItems("Post", posts, score)
	}
	w.b.WriteString("=== HOW TO ANSWER ===\n\n")
	w.b.WriteString(strings.ReplaceAll(personaInstructions, "{{NAME}}", name))
	if v := strings.TrimSpace(w.persona.Voice); v != "" {
		fmt.Fprintf(&w.b, "\nThe voice of %s: %s\n", name, v)
	}
	return w.b.String()
}

func (w *personaWriter) writeItems(what string, items []Item, score map[string]float64) {
	for i, it := range items {
		if i > 0 {
			w.b.WriteString(separator)
		}
		fmt.Fprintf(&w.b, "%s %d (%s)\n%s", what, i+1, describeItem(it, score[it.ID]), quoteLines(it.Text, maxMemoryBytes))
		if raw := w.raw[it.ID]; raw != "" {
			w.b.WriteString("Raw content")
			if it.ExternalID != "" {
				w.b.WriteString(" of external_id " + it.ExternalID)
			}
			w.b.WriteString(":\n" + quoteLines(raw, maxRawBytes))
		}
	}
	w.b.WriteString("\n")
}

func describeItem(it Item, score float64) string {
	var parts []string
	add := func(name, value string) {
		if value != "" {
			parts = append(parts, name+": "+value)
		}
	}
	add("id", it.ID)
	add("kind", string(it.Kind))
	if add("source", it.Source); it.Source == it.Path && it.Path != "" {
		parts[len(parts)-1] = "source: " + filepath.Base(it.Path) // models need no folders
	}
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

// quoteLines prefixes each line with ">", so that no line looks like an instruction.
func quoteLines(text string, maxBytes int) string {
	short := textkit.Prefix(text, maxBytes)
	var b strings.Builder
	for l := range strings.SplitSeq(strings.TrimSpace(short), "\n") {
		b.WriteString(strings.TrimRight("> "+l, " \r") + "\n")
	}
	if len(short) < len(text) {
		b.WriteString("> […]\n")
	}
	return b.String()
}

// A Persona is a voice that answers from stored items.
type Persona struct {
	Name  string `json:"name"`
	Voice string `json:"voice,omitempty"` // guidance on style

	// Items of Owner (default that of the Library), from any of Sources, with all Tags.
	// Without both, items with the persona's name.
	Owner   string   `json:"-"`
	Sources []string `json:"sources,omitempty"`
	Tags    []string `json:"tags,omitempty"`

	Created time.Time `json:"created_at,omitzero"`
}

const maxVoice = 64 << 10

// SetPersona stores or replaces a persona.
func (l *Library) SetPersona(ctx context.Context, p Persona) error {
	p.Name = textkit.PrefixLine(p.Name, maxTag)
	if p.Name == "" || len(p.Voice) > maxVoice {
		return fmt.Errorf("set persona %q: use a name and a voice of at most %d KiB", p.Name, maxVoice>>10)
	}
	if p.Created.IsZero() {
		p.Created = l.now()
	}
	if p.Owner != "" && p.Owner != l.owner {
		return fmt.Errorf("set persona %q: it belongs to %s", p.Name, p.Owner)
	}
	err := l.db.Exec(ctx, `INSERT INTO recall_persona (owner, name, voice, sources, tags, created) VALUES (?, ?, ?, ?, ?, ?)
			ON CONFLICT (owner, name) DO UPDATE SET voice = excluded.voice, sources = excluded.sources, tags = excluded.tags`,
		l.owner, p.Name, strings.ToValidUTF8(p.Voice, "\uFFFD"), asJSON(p.Sources, "[]"), asJSON(p.Tags, "[]"), toMicros(p.Created))
	if err != nil {
		return fmt.Errorf("set persona %q: %w", p.Name, err)
	}
	return nil
}

func (l *Library) Persona(ctx context.Context, name string) (Persona, error) {
	p, err := l.findPersona(ctx, name)
	if err != nil {
		return Persona{}, fmt.Errorf("read persona %q: %w", name, err)
	}
	return p, nil
}

func (l *Library) findPersona(ctx context.Context, name string) (Persona, error) {
	list, err := l.queryPersonas(ctx, `AND name = ?`, name)
	if err != nil {
		return Persona{}, err
	}
	if len(list) == 0 {
		return Persona{}, ErrNone
	}
	return list[0], nil
}

func (l *Library) Personas(ctx context.Context) ([]Persona, error) {
	list, err := l.queryPersonas(ctx, `ORDER BY name`)
	if err != nil {
		return nil, fmt.Errorf("list personas: %w", err)
	}
	return list, nil
}

func (l *Library) queryPersonas(ctx context.Context, and string, args ...any) ([]Persona, error) {
	rows, err := l.db.Read.QueryContext(ctx, l.db.Bind(`SELECT name, voice, sources, tags, created FROM recall_persona WHERE owner = ? `+and),
		append([]any{l.owner}, args...)...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var list []Persona
	for rows.Next() {
		p, sources, tags, created := Persona{Owner: l.owner}, "", "", int64(0)
		if err := rows.Scan(&p.Name, &p.Voice, &sources, &tags, &created); err != nil {
			return nil, err
		}
		p.Created = fromMicros(created)
		if err := errors.Join(json.Unmarshal([]byte(sources), &p.Sources), json.Unmarshal([]byte(tags), &p.Tags)); err != nil {
			return nil, err
		}
		list = append(list, p)
	}
	return list, rows.Err()
}

// RemovePersona removes a persona, or returns ErrNone. The items stay.
func (l *Library) RemovePersona(ctx context.Context, name string) error {
	err := l.db.Tx(ctx, func(tx *sql.Tx) error {
		r, err := tx.ExecContext(ctx, l.db.Bind(`DELETE FROM recall_persona WHERE owner = ? AND name = ?`), l.owner, name)
		if err != nil {
			return err
		}
		if n, err := r.RowsAffected(); err != nil || n == 0 {
			return errors.Join(err, ErrNone)
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("remove persona %q: %w", name, err)
	}
	return nil
}
