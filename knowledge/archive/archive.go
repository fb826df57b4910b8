// Package archive stores the original bytes of files and pages, so that quotes can be
// checked without the disk or network.
//
// The hash of its bytes identifies an [Original], which is stored once. A [Copy]
// records its source and time; removing the last copy removes the original. Notes are
// small values with a time, for caches. schema/ documents the tables archive_blob,
// archive_copy and archive_note.
package archive

import (
	"bytes"
	"compress/flate"
	"context"
	"crypto/sha256"
	"database/sql"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"ponder/internal/limitio"
	"ponder/store/sqldb"
)

//go:embed schema/*.sql
var schema embed.FS

// ErrNone reports that the archive lacks the requested item.
var ErrNone = errors.New("not in the archive")

// An Archive is a store of originals, safe for concurrent use by several processes.
type Archive struct{ db sqldb.DB }

// Open returns the archive in db and migrates its tables. An Archive needs no Close.
func Open(ctx context.Context, db sqldb.DB) (*Archive, error) {
	scripts, err := fs.Sub(schema, "schema")
	if err != nil {
		return nil, err
	}
	if err := db.Migrate(ctx, "archive", scripts); err != nil {
		return nil, err
	}
	return &Archive{db}, nil
}

// An Original is bytes with their origin.
type Original struct {
	Hash    string // hex SHA-256 of Bytes; set by Put and Pack
	Type    string // media type
	Source  string // path or URL
	Title   string
	Fetched time.Time
	Bytes   []byte
}

// A PackedItem is an original in stored form.
type PackedItem struct {
	Original // Bytes may be nil
	size     int
	packed   bool
	body     []byte
}

// hardly is the length in bytes below which compression is not worthwhile.
const hardly = 128

// Pack compresses an original. Call it outside transactions.
func Pack(o Original) PackedItem {
	sum := sha256.Sum256(o.Bytes)
	o.Hash = hex.EncodeToString(sum[:])
	p := PackedItem{Original: o, size: len(o.Bytes), body: o.Bytes}
	if len(o.Bytes) < hardly {
		return p
	}
	var b bytes.Buffer
	w, err := flate.NewWriter(&b, flate.BestSpeed)
	if err != nil {
		panic(err) // only for an invalid level
	}
	_, err = w.Write(o.Bytes)
	if errors.Join(err, w.Close()) == nil && b.Len() < len(o.Bytes)*9/10 {
		p.packed, p.body = true, b.Bytes()
	}
	p.Bytes = nil // body has them
	return p
}

// Put stores an original and returns its hash. The copy keeps its newest time.
func (a *Archive) Put(ctx context.Context, o Original) (hash string, err error) {
	p := Pack(o)
	if err := a.db.Tx(ctx, func(tx *sql.Tx) error { return a.Add(ctx, tx, p) }); err != nil {
		return "", fmt.Errorf("archive %s: %w", o.Source, err)
	}
	return p.Hash, nil
}

// Add is Put in the caller's transaction.
func (a *Archive) Add(ctx context.Context, tx *sql.Tx, p PackedItem) error {
	_, err := tx.ExecContext(ctx, a.db.Bind(`INSERT INTO archive_blob (hash, size, packed, body) VALUES (?, ?, ?, ?)
		ON CONFLICT (hash) DO NOTHING`), p.Hash, p.size, number(p.packed), p.body)
	if err != nil {
		return err
	}
	_, err = tx.ExecContext(ctx, a.db.Bind(`INSERT INTO archive_copy (source, hash, type, title, fetched) VALUES (?, ?, ?, ?, ?)
		ON CONFLICT (source, hash) DO UPDATE SET type = excluded.type, title = excluded.title, fetched = excluded.fetched
		WHERE excluded.fetched >= archive_copy.fetched`), p.Source, p.Hash, p.Type, p.Title, p.Fetched.UnixMicro())
	return err
}

// Get returns the original with its newest copy, or ErrNone. Corrupt bytes are an
// error.
func (a *Archive) Get(ctx context.Context, hash string) (Original, error) {
	o, err := a.get(ctx, hash)
	if err != nil {
		return Original{}, fmt.Errorf("read original %s: %w", hash, err)
	}
	return o, nil
}

func (a *Archive) get(ctx context.Context, hash string) (Original, error) {
	o, size, packed, fetched := Original{Hash: hash}, 0, 0, int64(0)
	var body []byte
	err := a.db.Read.QueryRowContext(ctx, a.db.Bind(`SELECT b.size, b.packed, b.body, c.source, c.type, c.title, c.fetched
		FROM archive_blob b JOIN archive_copy c ON c.hash = b.hash WHERE b.hash = ? ORDER BY c.fetched DESC, c.source LIMIT 1`), hash).
		Scan(&size, &packed, &body, &o.Source, &o.Type, &o.Title, &fetched)
	if errors.Is(err, sql.ErrNoRows) {
		return o, ErrNone
	}
	if err != nil {
		return o, err
	}
	o.Fetched, o.Bytes = time.UnixMicro(fetched).UTC(), body
	if packed == 1 {
		o.Bytes, err = limitio.ReadAll(flate.NewReader(bytes.NewReader(body)), int64(size))
	}
	if sum := sha256.Sum256(o.Bytes); err != nil || hex.EncodeToString(sum[:]) != hash {
		return o, errors.New("it is damaged")
	}
	return o, nil
}

func number(b bool) int {
	if b {
		return 1
	}
	return 0
}

// A Copy records that a source had an original at a time.
type Copy struct {
	Hash    string
	Type    string
	Title   string
	Source  string // path or URL
	Fetched time.Time
}

// Copies returns the copies of a source, newest first.
func (a *Archive) Copies(ctx context.Context, source string) ([]Copy, error) {
	rows, err := a.db.Read.QueryContext(ctx, a.db.Bind(`SELECT hash, type, title, fetched FROM archive_copy
		WHERE source = ? ORDER BY fetched DESC, hash`), source)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var list []Copy
	for rows.Next() {
		c, fetched := Copy{Source: source}, int64(0)
		if err := rows.Scan(&c.Hash, &c.Type, &c.Title, &fetched); err != nil {
			return nil, err
		}
		c.Fetched = time.UnixMicro(fetched).UTC()
		list = append(list, c)
	}
	return list, rows.Err()
}

// Remove removes a copy in the caller's transaction, and its original without other
// copies. A missing copy is no error.
func (a *Archive) Remove(ctx context.Context, tx *sql.Tx, source, hash string) error {
	_, err := tx.ExecContext(ctx, a.db.Bind(`DELETE FROM archive_copy WHERE source = ? AND hash = ?`), source, hash)
	if err != nil {
		return err
	}
	_, err = tx.ExecContext(ctx, a.db.Bind(`DELETE FROM archive_blob WHERE hash = ?
		AND NOT EXISTS (SELECT 1 FROM archive_copy c WHERE c.hash = archive_blob.hash)`), hash)
	return err
}

// Note returns a note and its time, or ErrNone.
func (a *Archive) Note(ctx context.Context, kind, name string) (value []byte, at time.Time, err error) {
	micros := int64(0)
	err = a.db.Read.QueryRowContext(ctx, a.db.Bind(`SELECT value, at FROM archive_note WHERE kind = ? AND name = ?`), kind, name).Scan(&value, &micros)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return nil, time.Time{}, ErrNone
	case err != nil:
		return nil, time.Time{}, fmt.Errorf("look up %s: %w", kind, err)
	}
	return value, time.UnixMicro(micros).UTC(), nil
}

// SetNote stores or replaces a note.
func (a *Archive) SetNote(ctx context.Context, kind, name string, value []byte, at time.Time) error {
	err := a.exec(ctx, `INSERT INTO archive_note (kind, name, at, value) VALUES (?, ?, ?, ?)
		ON CONFLICT (kind, name) DO UPDATE SET at = excluded.at, value = excluded.value`, kind, name, at.UnixMicro(), value)
	if err != nil {
		return fmt.Errorf("record %s: %w", kind, err)
	}
	return nil
}

// Forget removes the notes of a kind older than before.
func (a *Archive) Forget(ctx context.Context, kind string, before time.Time) error {
	if err := a.exec(ctx, `DELETE FROM archive_note WHERE kind = ? AND at < ?`, kind, before.UnixMicro()); err != nil {
		return fmt.Errorf("forget %s: %w", kind, err)
	}
	return nil
}

func (a *Archive) exec(ctx context.Context, query string, args ...any) error {
	return a.db.Exec(ctx, query, args...)
}
