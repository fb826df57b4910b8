package recall

import (
	"context"
	"database/sql"
	"errors"
	"path/filepath"
	"strings"

	"ponder/document"
)

// A file is what is known of a file since it was read last.
type file struct {
	path     string
	size     int64
	mtime    int64 // nanoseconds since 1970; 0 if it may change without being seen to
	hash     string
	original string // the same if the archive has the bytes, or ""
	settings string
	state    fileState
	reason   string
	change   int64 // 0 if nothing is known of it
}

// A fileState is stored and never renamed.
type fileState string

const (
	fileDone fileState = "done"
	filePart fileState = "part"
	fileBad  fileState = "bad"
)

// looksSame reports whether a file need not be read to know that it is as it was.
func (f file) looksSame(found document.File, settings string) bool {
	return f.state != filePart && f.change != 0 && f.settings == settings && f.size == found.Size && f.mtime != 0 && f.mtime == found.ModTime().UnixNano()
}

// reads reports whether what is known of a file is what bytes with a hash give.
func (f file) reads(hash, settings string) bool {
	return f.state != filePart && f.change != 0 && f.settings == settings && f.hash == hash
}

const fileColumns = `path, size, mtime, hash, original, settings, state, reason, change`

func scanFile(row interface{ Scan(...any) error }) (file, error) {
	var f file
	err := row.Scan(&f.path, &f.size, &f.mtime, &f.hash, &f.original, &f.settings, &f.state, &f.reason, &f.change)
	return f, err
}

// file returns what is known of a path.
func (l *Library) file(ctx context.Context, path string) (file, error) {
	f, err := scanFile(l.db.Read.QueryRowContext(ctx, l.db.Bind(`SELECT `+fileColumns+` FROM recall_file WHERE owner = ? AND path = ?`), l.owner, path))
	if errors.Is(err, sql.ErrNoRows) {
		return file{path: path}, nil
	}
	return f, err
}

// files returns what is known of the files at or below roots, by path.
func (l *Library) files(ctx context.Context, roots []string) (map[string]file, error) {
	known := map[string]file{}
	rows, err := l.db.Read.QueryContext(ctx, l.db.Bind(`SELECT `+fileColumns+` FROM recall_file WHERE owner = ?`), l.owner)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		f, err := scanFile(rows)
		if err != nil {
			return nil, err
		}
		for _, root := range roots {
			if inside(f.path, root) {
				known[f.path] = f
				break
			}
		}
	}
	return known, rows.Err()
}

// inside reports whether a path is root or below it. Both are clean.
func inside(path, root string) bool {
	sep := string(filepath.Separator)
	return path == root || strings.HasPrefix(path, strings.TrimSuffix(root, sep)+sep)
}

// putFile writes what is known of a file.
func (l *Library) putFile(ctx context.Context, tx *prepared, f file) error {
	return tx.exec(ctx, l.db.Bind(`INSERT INTO recall_file (owner, path, size, mtime, hash, original, settings, state, reason, change)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (owner, path) DO UPDATE SET size = excluded.size, mtime = excluded.mtime,
		hash = excluded.hash, original = excluded.original, settings = excluded.settings, state = excluded.state, reason = excluded.reason, change = excluded.change`),
		l.owner, f.path, f.size, f.mtime, f.hash, f.original, f.settings, string(f.state), clip(f.reason, maxField), f.change)
}

// A stored is a part of a file, or another item, as it is in the Library.
type stored struct {
	num      int64
	id       string
	sum      string
	added    int64
	original string // of an item that is of no file
	source   string
}

// parts returns the items of a file, by their part.
func (l *Library) parts(ctx context.Context, path string) (map[string]stored, error) {
	rows, err := l.db.Read.QueryContext(ctx, l.db.Bind(`SELECT part, num, id, sum, added FROM recall_item WHERE owner = ? AND path = ?`), l.owner, path)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	parts := map[string]stored{}
	for rows.Next() {
		part, s := "", stored{}
		if err := rows.Scan(&part, &s.num, &s.id, &s.sum, &s.added); err != nil {
			return nil, err
		}
		parts[part] = s
	}
	return parts, rows.Err()
}

// copies returns the originals that the archive has of a path, but for one.
func (l *Library) copies(ctx context.Context, path, but string) ([]copied, error) {
	if l.archive == nil {
		return nil, nil
	}
	all, err := l.archive.Copies(ctx, path)
	var list []copied
	for _, c := range all {
		if c.Hash != but {
			list = append(list, copied{path, c.Hash})
		}
	}
	return list, err
}

// A copied is an original as the archive has it from a source.
type copied struct{ source, hash string }
