package recall

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"ponder/internal/textkit"
)

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
