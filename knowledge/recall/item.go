package recall

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"ponder/internal/textkit"
	"strings"
	"time"
	"unicode/utf8"
)

type Kind string

// Stored; never rename them.
const (
	KindMemory   Kind = "memory"   // a short fact
	KindDocument Kind = "document" // a file or a page
	KindPost     Kind = "post"     // published or sent
	KindJournal  Kind = "journal"  // a dated note
	KindThread   Kind = "thread"   // a conversation or a finished session
)

func Kinds() []Kind { return []Kind{KindMemory, KindDocument, KindPost, KindJournal, KindThread} }

func (k Kind) isKnown() bool {
	switch k {
	case KindMemory, KindDocument, KindPost, KindJournal, KindThread:
		return true
	}
	return false
}

// An Item is a stored memory.
type Item struct {
	ID      string `json:"id"` // "mem_" and a ULID; stays when the item is replaced
	Kind    Kind   `json:"kind"`
	Owner   string `json:"-"`
	Persona string `json:"persona,omitempty"`

	Title string `json:"title,omitempty"`
	Text  string `json:"text,omitempty"` // as given; for a file or page, its text
	Raw   string `json:"raw,omitempty"`  // the verbatim source of Text, or ""

	Source     string    `json:"source,omitempty"`      // a path, a URL, or a name such as "twitter"
	ExternalID string    `json:"external_id,omitempty"` // its ID at Source, or ""
	Link       string    `json:"link,omitempty"`
	Author     string    `json:"author,omitempty"`
	Tags       []string  `json:"tags,omitempty"`
	Date       time.Time `json:"date,omitzero"` // of writing or of the event; zero if unknown
	Added      time.Time `json:"added"`         // first time it was stored

	Path     string            `json:"path,omitempty"`     // its file, or ""
	Part     string            `json:"-"`                  // of the file, or ""
	Hash     string            `json:"hash,omitempty"`     // SHA-256 of the text, hex; see [Library.Read]
	Original string            `json:"original,omitempty"` // hash in the archive, or ""
	Size     int               `json:"size"`
	Passages int               `json:"passages"` // number of them
	Meta     map[string]string `json:"meta,omitempty"`

	num           int64 // document in the index
	defaultSource string
}

// Bounds. Longer input of callers is refused, that of files truncated.
const (
	maxText  = 16 << 20
	maxField = 2000 // bytes of a title, a link and so on
	maxTags  = 64
	maxTag   = 200
	maxMeta  = 64
)

var errNoText = errors.New("it has no text")

// UntrustedMeta is the key in Meta of a memory that a model made of text of strangers. Its value is
// "true".
const UntrustedMeta = "untrusted"

func (it Item) validate() error {
	switch {
	case strings.TrimSpace(it.Text) == "" && strings.TrimSpace(it.Raw) == "":
		return errNoText
	case !it.Kind.isKnown():
		return fmt.Errorf("unknown kind %q", it.Kind)
	case len(it.Text) > maxText || len(it.Raw) > maxText:
		return fmt.Errorf("its text has more than %d MiB", maxText>>20)
	case len(it.Tags) > maxTags:
		return fmt.Errorf("it has more than %d tags", maxTags)
	case len(it.Meta) > maxMeta:
		return fmt.Errorf("it has more than %d values besides its text", maxMeta)
	case !utf8.ValidString(it.Text) || !utf8.ValidString(it.Raw):
		return errors.New("its text is not UTF-8")
	}
	return nil
}

func (it Item) truncateFields() Item {
	for _, f := range []*string{&it.Title, &it.Source, &it.ExternalID, &it.Link, &it.Author, &it.Persona} {
		*f = textkit.PrefixLine(*f, maxField)
	}
	var tags []string
	seen := map[string]bool{}
	for _, t := range it.Tags {
		if t = textkit.PrefixLine(t, maxTag); t != "" && !seen[t] && len(tags) < maxTags {
			seen[t] = true
			tags = append(tags, t)
		}
	}
	it.Tags = tags
	return it
}

// itemColumns are the columns for scanItem. Items of a file have the file's original.
const itemColumns = `i.num, i.id, i.owner, i.kind, i.persona, i.title, i.source, i.external_id, i.link, i.author, i.tags, i.date, i.added,
	i.path, i.part, i.hash, CASE WHEN i.path = '' THEN i.original ELSE COALESCE((SELECT f.original FROM recall_file f
	WHERE f.owner = i.owner AND f.path = i.path), '') END, i.size, i.passages, i.said, i.raw, i.meta`

func scanItem(row interface{ Scan(...any) error }) (Item, error) {
	var it Item
	var tags, meta string
	var date, added int64
	err := row.Scan(&it.num, &it.ID, &it.Owner, &it.Kind, &it.Persona, &it.Title, &it.Source, &it.ExternalID, &it.Link, &it.Author,
		&tags, &date, &added, &it.Path, &it.Part, &it.Hash, &it.Original, &it.Size, &it.Passages, &it.Text, &it.Raw, &meta)
	if err != nil {
		return Item{}, err
	}
	it.Date, it.Added = fromMicros(date), fromMicros(added)
	if err := json.Unmarshal([]byte(tags), &it.Tags); err != nil {
		return Item{}, fmt.Errorf("read tags of %s: %w", it.ID, err)
	}
	if err := json.Unmarshal([]byte(meta), &it.Meta); err != nil {
		return Item{}, fmt.Errorf("read values of %s: %w", it.ID, err)
	}
	return it, nil
}

// queryItems appends where, which begins with WHERE.
func (l *Library) queryItems(ctx context.Context, where string, args ...any) ([]Item, error) {
	rows, err := l.statements.Query(ctx, l.db.Read, l.db.Bind(`SELECT `+itemColumns+` FROM recall_item i `+where), args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var list []Item
	for rows.Next() {
		it, err := scanItem(rows)
		if err != nil {
			return nil, err
		}
		list = append(list, it)
	}
	return list, rows.Err()
}

func (l *Library) insertItem(ctx context.Context, tx *preparedTx, e *entry) error {
	it := e.item
	tags, meta := asJSON(it.Tags, "[]"), asJSON(it.Meta, "{}")
	return tx.exec(ctx, l.db.Bind(`INSERT INTO recall_item (num, id, owner, identity, sum, kind, persona, title, source, external_id,
		link, author, tags, date, added, path, part, hash, original, size, passages, said, raw, meta)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`),
		it.num, it.ID, l.owner, e.identity, e.sum, string(it.Kind), it.Persona, it.Title, it.Source, it.ExternalID,
		it.Link, it.Author, tags, toMicros(it.Date), toMicros(it.Added), it.Path, it.Part, it.Hash, it.Original, it.Size, it.Passages,
		e.givenText, it.Raw, meta)
}

func asJSON[T []string | map[string]string](v T, empty string) string {
	if len(v) == 0 {
		return empty
	}
	b, err := json.Marshal(v)
	if err != nil {
		return empty // strings always encode
	}
	return string(b)
}
