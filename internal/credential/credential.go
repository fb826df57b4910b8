// Package credential stores the sign-ins of browsers and the links to shared reports, each by the hash
// of its secret. A copy of the database grants nothing.
//
// The tables are credential_sign_in and credential_share: see schema. Expired rows stay until the next
// cleanup, and no method returns them.
package credential

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"ponder/internal/auth"
	"ponder/store/sqldb"
)

//go:embed schema/*.sql
var schema embed.FS

// Maximum rows. A new row replaces the oldest.
const (
	maxSignIns = 100 // of a token
	maxShares  = 500 // of an owner
)

// useInterval is the resolution of the time of the last use.
const useInterval = time.Hour

// A Store stores credentials. It is safe for concurrent use by several processes.
type Store struct{ db sqldb.DB }

// Open creates missing tables.
func Open(ctx context.Context, db sqldb.DB) (*Store, error) {
	scripts, err := fs.Sub(schema, "schema")
	if err != nil {
		return nil, err
	}
	return &Store{db}, db.Migrate(ctx, "credential", scripts)
}

func hashOf(secret string) string {
	sum := sha256.Sum256([]byte(secret))
	return hex.EncodeToString(sum[:])
}

// AddSignIn implements [auth.SignIns].
func (s *Store) AddSignIn(ctx context.Context, secret string, in auth.SignIn) error {
	err := s.db.Tx(ctx, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, s.db.Bind(`DELETE FROM credential_sign_in WHERE token = ? AND hash NOT IN
			(SELECT hash FROM credential_sign_in WHERE token = ? ORDER BY used DESC LIMIT ?)`), in.Token, in.Token, maxSignIns-1)
		if err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, s.db.Bind(`INSERT INTO credential_sign_in (hash, token, digest, created, used) VALUES (?, ?, ?, ?, ?)`),
			hashOf(secret), in.Token, hex.EncodeToString(in.Digest[:]), in.Created.Unix(), in.Used.Unix())
		return err
	})
	if err != nil {
		return fmt.Errorf("store a sign-in: %w", err)
	}
	return nil
}

// FindSignIn implements [auth.SignIns].
func (s *Store) FindSignIn(ctx context.Context, secret string, now time.Time) (in auth.SignIn, ok bool, err error) {
	var digest string
	var created, used int64
	hash := hashOf(secret)
	err = s.db.Read.QueryRowContext(ctx, s.db.Bind(`SELECT token, digest, created, used FROM credential_sign_in WHERE hash = ?`), hash).
		Scan(&in.Token, &digest, &created, &used)
	if errors.Is(err, sql.ErrNoRows) {
		return in, false, nil
	}
	if err != nil {
		return in, false, fmt.Errorf("read a sign-in: %w", err)
	}
	sum, err := hex.DecodeString(digest)
	if err != nil || len(sum) != len(in.Digest) {
		return in, false, fmt.Errorf("read a sign-in: invalid digest of the token %s", in.Token)
	}
	copy(in.Digest[:], sum)
	in.Created, in.Used = time.Unix(created, 0), time.Unix(used, 0)
	if !now.Before(in.Expires()) {
		return in, false, nil
	}
	if now.Sub(in.Used) >= useInterval {
		in.Used = now
		err = s.db.Exec(ctx, `UPDATE credential_sign_in SET used = ? WHERE hash = ?`, now.Unix(), hash)
	}
	return in, true, err
}

// RemoveSignIn implements [auth.SignIns].
func (s *Store) RemoveSignIn(ctx context.Context, secret string) error {
	if err := s.db.Exec(ctx, `DELETE FROM credential_sign_in WHERE hash = ?`, hashOf(secret)); err != nil {
		return fmt.Errorf("remove a sign-in: %w", err)
	}
	return nil
}

// A Share is a link to read the report of a thread.
type Share struct {
	ID      string
	Owner   string
	Thread  string
	Created time.Time
	Expires time.Time
	Opened  int // number of times
}

// AddShare stores a share under a secret.
func (s *Store) AddShare(ctx context.Context, secret string, sh Share) error {
	err := s.db.Tx(ctx, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, s.db.Bind(`DELETE FROM credential_share WHERE owner = ? AND id NOT IN
			(SELECT id FROM credential_share WHERE owner = ? ORDER BY created DESC, id DESC LIMIT ?)`), sh.Owner, sh.Owner, maxShares-1)
		if err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, s.db.Bind(`INSERT INTO credential_share (id, hash, owner, thread, created, expires, opened) VALUES (?, ?, ?, ?, ?, ?, 0)`),
			sh.ID, hashOf(secret), sh.Owner, sh.Thread, sh.Created.Unix(), sh.Expires.Unix())
		return err
	})
	if err != nil {
		return fmt.Errorf("store a share: %w", err)
	}
	return nil
}

// OpenShare returns the share of a secret, and counts the use.
func (s *Store) OpenShare(ctx context.Context, secret string, now time.Time) (sh Share, ok bool, err error) {
	list, err := s.queryShares(ctx, `hash = ? AND expires > ?`, hashOf(secret), now.Unix())
	if err != nil || len(list) == 0 {
		return sh, false, err
	}
	sh = list[0]
	sh.Opened++
	if err := s.db.Exec(ctx, `UPDATE credential_share SET opened = opened + 1 WHERE id = ?`, sh.ID); err != nil {
		return sh, false, fmt.Errorf("count a use of a share: %w", err)
	}
	return sh, true, nil
}

// Shares returns the shares of an owner, newest first.
func (s *Store) Shares(ctx context.Context, owner string, now time.Time) ([]Share, error) {
	return s.queryShares(ctx, `owner = ? AND expires > ?`, owner, now.Unix())
}

// RemoveShare reports whether the owner had the share.
func (s *Store) RemoveShare(ctx context.Context, owner, id string) (had bool, err error) {
	err = s.db.Tx(ctx, func(tx *sql.Tx) error {
		res, err := tx.ExecContext(ctx, s.db.Bind(`DELETE FROM credential_share WHERE owner = ? AND id = ?`), owner, id)
		if err != nil {
			return err
		}
		n, err := res.RowsAffected()
		had = n > 0
		return err
	})
	if err != nil {
		return false, fmt.Errorf("remove a share: %w", err)
	}
	return had, nil
}

// Cleanup deletes expired rows.
func (s *Store) Cleanup(ctx context.Context, now time.Time) error {
	err := errors.Join(
		s.db.Exec(ctx, `DELETE FROM credential_sign_in WHERE created <= ? OR used <= ?`, now.Add(-auth.SignInLife).Unix(), now.Add(-auth.SignInIdle).Unix()),
		s.db.Exec(ctx, `DELETE FROM credential_share WHERE expires <= ?`, now.Unix()))
	if err != nil {
		return fmt.Errorf("delete expired credentials: %w", err)
	}
	return nil
}

// queryShares returns the shares that match a condition, newest first.
func (s *Store) queryShares(ctx context.Context, where string, args ...any) (list []Share, err error) {
	rows, err := s.db.Read.QueryContext(ctx, s.db.Bind(`SELECT id, owner, thread, created, expires, opened FROM credential_share WHERE `+where+` ORDER BY created DESC, id DESC`), args...)
	if err != nil {
		return nil, fmt.Errorf("read shares: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		var sh Share
		var created, expires int64
		if err := rows.Scan(&sh.ID, &sh.Owner, &sh.Thread, &created, &expires, &sh.Opened); err != nil {
			return nil, fmt.Errorf("read shares: %w", err)
		}
		sh.Created, sh.Expires = time.Unix(created, 0).UTC(), time.Unix(expires, 0).UTC()
		list = append(list, sh)
	}
	return list, rows.Err()
}
