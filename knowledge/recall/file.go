package recall

import (
	"context"
	"database/sql"
	"errors"
	"path/filepath"
	"slices"
	"strings"

	"ponder/internal/textkit"
	"ponder/knowledge/document"
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
	named    bool  // the user named it itself, once
	options  string
	left     int // parts that cannot be read; reason is that of the first
}

// A fileState is stored and never renamed.
type fileState string

const (
	fileDone fileState = "done"
	filePart fileState = "part"
	fileBad  fileState = "bad"
	fileLess fileState = "less" // done, and something of it was forgotten since
)

// looksSame reports whether a file need not be read to know that it is as it was.
func (f file) looksSame(found document.File, settings string) bool {
	return f.settled(found.Named) && (f.named || !found.Named) && f.change != 0 && f.settings == settings && f.size == found.Size && f.mtime != 0 && f.mtime == found.ModTime().UnixNano()
}

// reads reports whether what is known of a file is what bytes with a hash give.
func (f file) reads(hash, settings string, named bool) bool {
	return f.settled(named) && f.change != 0 && f.settings == settings && f.hash == hash
}

// settled reports whether all of a file is there that is wanted. What was
// forgotten of it is not, unless the user names the file again.
func (f file) settled(named bool) bool {
	return f.state != filePart && (f.state != fileLess || !named)
}

const fileColumns = `path, size, mtime, hash, original, settings, state, reason, change, named, options, left_out`

func scanFile(row interface{ Scan(...any) error }) (file, error) {
	var f file
	err := row.Scan(&f.path, &f.size, &f.mtime, &f.hash, &f.original, &f.settings, &f.state, &f.reason, &f.change, &f.named, &f.options, &f.left)
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
	return tx.exec(ctx, l.db.Bind(`INSERT INTO recall_file (owner, path, size, mtime, hash, original, settings, state, reason, change, named, options, left_out)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (owner, path) DO UPDATE SET size = excluded.size, mtime = excluded.mtime,
		hash = excluded.hash, original = excluded.original, settings = excluded.settings, state = excluded.state, reason = excluded.reason, change = excluded.change,
		named = excluded.named, options = excluded.options, left_out = excluded.left_out`),
		l.owner, f.path, f.size, f.mtime, f.hash, f.original, f.settings, string(f.state), textkit.Prefix(f.reason, maxField), f.change, b2i(f.named), f.options, f.left)
}

// A stored is a part of a file, or another item, as it is in the Library.
type stored struct {
	num      int64
	id       string
	sum      string
	added    int64
	original string // of an item that is of no file
	source   string
	path     string
	part     string
	kind     string
	hash     string // of its text
}

// parts returns the items of a file, by their part.
func (l *Library) parts(ctx context.Context, path string) (map[string]stored, error) {
	rows, err := l.db.Read.QueryContext(ctx, l.db.Bind(`SELECT part, num, id, sum, added, path, kind, hash FROM recall_item WHERE owner = ? AND path = ?`), l.owner, path)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	parts := map[string]stored{}
	for rows.Next() {
		var s stored
		if err := rows.Scan(&s.part, &s.num, &s.id, &s.sum, &s.added, &s.path, &s.kind, &s.hash); err != nil {
			return nil, err
		}
		parts[s.part] = s
	}
	return parts, rows.Err()
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

// A copied is an original as the archive has it from a source.
type copied struct{ source, hash string }

// sessionSource is the source of items that are thinking which has ended.
const sessionSource = "ponder"

// What is left of the score of what was thought before: it rests on what else is
// remembered, and must not stand in the place of that.
const (
	thought      = 0.6
	belowWhatWas = 0.9 // of the score of the best that is no such thing
)

// finished reports whether an item is thinking that has ended.
func (it Item) finished() bool { return it.Kind == KindThread && it.Source == sessionSource }

// originalsFirst ranks finished sessions below what they may rest on, and leaves
// out all but the best of them, unless threads are asked for.
func (s *search) originalsFirst(list []*candidate) []*candidate {
	if slices.Contains(s.filter.Kinds, string(KindThread)) || slices.Contains(s.filter.Sources, sessionSource) {
		return list
	}
	best := 0.0
	for _, c := range list {
		if !c.item.finished() {
			best = max(best, c.score)
		}
	}
	some := false
	list = slices.DeleteFunc(list, func(c *candidate) bool {
		if !c.item.finished() {
			return false
		}
		again := some
		some = true
		c.score *= thought
		if best > 0 {
			c.score = min(c.score, belowWhatWas*best)
		}
		return again
	})
	slices.SortStableFunc(list, bestFirst)
	return list
}
