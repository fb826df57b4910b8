package recall

import (
	"cmp"
	"context"
	"database/sql"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"ponder/internal/textkit"
	"ponder/knowledge/document"
	"ponder/knowledge/recall/index"
)

// ReadOptions say how much is read around a place, in bytes: 600 before and 2,000
// behind if zero; 64 KiB at most.
type ReadOptions struct{ Before, After int }

// Bounds on what is read at once.
const (
	readBefore = 600
	readAfter  = 2000
	readMost   = 64 << 10
)

// An Excerpt is what stands at a place.
type Excerpt struct {
	Item       Item   // without its text
	Text       string // exactly the bytes Start to End of the text of Item
	Start, End int
	Of         int // bytes that the text has
	Section    string
	Page       int

	// Earlier and Later are the ids to read what is before and behind; "" if
	// there is nothing.
	Earlier, Later string
}

// Read returns what is at a place, which is the id of an item or of a hit, with
// some of what stands around it. What is not there is ErrNone.
func (l *Library) Read(ctx context.Context, id string, o ReadOptions) (Excerpt, error) {
	x, err := l.read(ctx, id, o)
	if err != nil {
		return Excerpt{}, fmt.Errorf("read %s: %w", id, err)
	}
	return x, nil
}

func (l *Library) read(ctx context.Context, id string, o ReadOptions) (Excerpt, error) {
	it, start, end, err := l.locate(ctx, id)
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
	end = min(end, start+readMost)
	from := max(0, start-within(o.Before, readBefore))
	to := min(size, end+within(o.After, readAfter))
	it.Text, it.Raw = "", ""
	x := Excerpt{Item: it, Of: size}
	x.Text, x.Start, x.End = between(passages, from, to)
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

func within(n, dflt int) int {
	n = cmp.Or(n, dflt)
	return min(max(n, 0), readMost)
}

// between returns the bytes from to to of passages, at whole letters.
func between(passages []index.Passage, from, to int) (text string, start, end int) {
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

// locate returns the item that an id means, and the range: all of it for the id
// of an item.
func (l *Library) locate(ctx context.Context, id string) (it Item, start, end int, err error) {
	hash, start, end, ok := document.ParsePlace(id)
	if !ok {
		it, err = l.item(ctx, id)
		return it, 0, 0, err
	}
	list, err := l.items(ctx, `WHERE i.owner = ? AND i.hash >= ? AND i.hash < ? ORDER BY i.id LIMIT 1`, l.owner, hash, hash+"g")
	if err == nil && len(list) == 0 {
		err = ErrNone
	}
	if err != nil {
		return Item{}, 0, 0, err
	}
	return list[0], start, end, nil
}

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

// A Persona is a voice that answers from what somebody remembers.
type Persona struct {
	Name  string `json:"name"`
	Voice string `json:"voice,omitempty"` // guidance: how they speak, what they care for

	// Whose items it speaks from: of an owner, that of the Library if "", from
	// any of some sources and with all of some tags. Without sources and tags,
	// the items that have the persona's name as theirs.
	Owner   string   `json:"-"`
	Sources []string `json:"sources,omitempty"`
	Tags    []string `json:"tags,omitempty"`

	Created time.Time `json:"created_at,omitzero"`
}

// maxVoice is how long the guidance of a persona may be, in bytes.
const maxVoice = 64 << 10

// SetPersona keeps a persona, in the place of the one with its name.
func (l *Library) SetPersona(ctx context.Context, p Persona) error {
	p.Name = textkit.PrefixLine(p.Name, maxTag)
	if p.Name == "" || len(p.Voice) > maxVoice {
		return fmt.Errorf("set persona %q: it needs a name, and a voice of at most %d KiB", p.Name, maxVoice>>10)
	}
	if p.Created.IsZero() {
		p.Created = l.now()
	}
	if p.Owner != "" && p.Owner != l.owner {
		return fmt.Errorf("set persona %q: what belongs to %s is not yours", p.Name, p.Owner)
	}
	err := l.db.Exec(ctx, `INSERT INTO recall_persona (owner, name, voice, sources, tags, created) VALUES (?, ?, ?, ?, ?, ?)
			ON CONFLICT (owner, name) DO UPDATE SET voice = excluded.voice, sources = excluded.sources, tags = excluded.tags`,
		l.owner, p.Name, strings.ToValidUTF8(p.Voice, "\uFFFD"), asJSON(p.Sources, "[]"), asJSON(p.Tags, "[]"), micros(p.Created))
	if err != nil {
		return fmt.Errorf("set persona %q: %w", p.Name, err)
	}
	return nil
}

// Persona returns the persona with a name, or ErrNone.
func (l *Library) Persona(ctx context.Context, name string) (Persona, error) {
	p, err := l.persona(ctx, name)
	if err != nil {
		return Persona{}, fmt.Errorf("persona %q: %w", name, err)
	}
	return p, nil
}

func (l *Library) persona(ctx context.Context, name string) (Persona, error) {
	list, err := l.personas(ctx, `AND name = ?`, name)
	if err != nil {
		return Persona{}, err
	}
	if len(list) == 0 {
		return Persona{}, ErrNone
	}
	return list[0], nil
}

// Personas returns all personas, by name.
func (l *Library) Personas(ctx context.Context) ([]Persona, error) {
	list, err := l.personas(ctx, `ORDER BY name`)
	if err != nil {
		return nil, fmt.Errorf("list personas: %w", err)
	}
	return list, nil
}

func (l *Library) personas(ctx context.Context, and string, args ...any) ([]Persona, error) {
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

// RemovePersona removes a persona; the items stay. Without one it is ErrNone.
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
