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

type file struct {
	path         string
	size         int64
	mtime        int64 // Unix nanoseconds; 0 if a change might not show
	hash         string
	original     string // hash if the archive has the bytes, or ""
	settings     string
	state        fileState
	reason       string
	change       int64 // 0 if unknown
	userNamed    bool  // by the user, once
	options      string
	skippedParts int // unreadable parts; reason is that of the first
}

// A fileState is stored; never rename one.
type fileState string

const (
	fileDone fileState = "done"
	filePart fileState = "part"
	fileBad  fileState = "bad"
	fileLess fileState = "less" // done, but partly forgotten since
)

// looksSame reports whether size and time prove the file unchanged.
func (f file) looksSame(found document.File, settings string) bool {
	return f.isComplete(found.Named) && (f.userNamed || !found.Named) && f.change != 0 && f.settings == settings && f.size == found.Size && f.mtime != 0 && f.mtime == found.ModTime().UnixNano()
}

// isCurrent reports whether bytes with this hash give the stored items.
func (f file) isCurrent(hash, settings string, named bool) bool {
	return f.isComplete(named) && f.change != 0 && f.settings == settings && f.hash == hash
}

// isComplete reports whether all wanted parts are stored. Forgotten parts are wanted only
// if the user names the file again.
func (f file) isComplete(named bool) bool {
	return f.state != filePart && (f.state != fileLess || !named)
}

const fileColumns = `path, size, mtime, hash, original, settings, state, reason, change, named, options, left_out`

func scanFile(row interface{ Scan(...any) error }) (file, error) {
	var f file
	err := row.Scan(&f.path, &f.size, &f.mtime, &f.hash, &f.original, &f.settings, &f.state, &f.reason, &f.change, &f.userNamed, &f.options, &f.skippedParts)
	return f, err
}

// loadFile returns the zero state for an unknown path.
func (l *Library) loadFile(ctx context.Context, path string) (file, error) {
	f, err := scanFile(l.db.Read.QueryRowContext(ctx, l.db.Bind(`SELECT `+fileColumns+` FROM recall_file WHERE owner = ? AND path = ?`), l.owner, path))
	if errors.Is(err, sql.ErrNoRows) {
		return file{path: path}, nil
	}
	return f, err
}

func (l *Library) loadFiles(ctx context.Context, roots []string) (map[string]file, error) {
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
			if isInside(f.path, root) {
				known[f.path] = f
				break
			}
		}
	}
	return known, rows.Err()
}

// isInside reports whether path is root or below it. Both must be clean.
func isInside(path, root string) bool {
	sep := string(filepath.Separator)
	return path == root || strings.HasPrefix(path, strings.TrimSuffix(root, sep)+sep)
}

func (l *Library) putFile(ctx context.Context, tx *preparedTx, f file) error {
	return tx.exec(ctx, l.db.Bind(`INSERT INTO recall_file (owner, path, size, mtime, hash, original, settings, state, reason, change, named, options, left_out)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (owner, path) DO UPDATE SET size = excluded.size, mtime = excluded.mtime,
		hash = excluded.hash, original = excluded.original, settings = excluded.settings, state = excluded.state, reason = excluded.reason, change = excluded.change,
		named = excluded.named, options = excluded.options, left_out = excluded.left_out`),
		l.owner, f.path, f.size, f.mtime, f.hash, f.original, f.settings, string(f.state), textkit.Prefix(f.reason, maxField), f.change, boolToInt(f.userNamed), f.options, f.skippedParts)
}

// A storedItem is an item as it is in the Library.
type storedItem struct {
	num      int64
	id       string
	sum      string
	added    int64
	original string // only without a file
	source   string
	path     string
	part     string
	kind     string
	hash     string
}

// fileItems returns the items of a file by part.
func (l *Library) fileItems(ctx context.Context, path string) (map[string]storedItem, error) {
	rows, err := l.db.Read.QueryContext(ctx, l.db.Bind(`SELECT part, num, id, sum, added, path, kind, hash FROM recall_item WHERE owner = ? AND path = ?`), l.owner, path)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	parts := map[string]storedItem{}
	for rows.Next() {
		var s storedItem
		if err := rows.Scan(&s.part, &s.num, &s.id, &s.sum, &s.added, &s.path, &s.kind, &s.hash); err != nil {
			return nil, err
		}
		parts[s.part] = s
	}
	return parts, rows.Err()
}

func boolToInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

// An archivedOriginal is an archived original.
type archivedOriginal struct{ source, hash string }

const sessionSource = "ponder"

// Factors for finished sessions: they rest on other items and must not replace them.
const (
	sessionFactor = 0.6
	sessionCap    = 0.9 // of the best other score
)

func (it Item) isFinishedSession() bool { return it.Kind == KindThread && it.Source == sessionSource }

// originalsFirst ranks finished sessions below other items and keeps only the best one,
// unless the search wants threads.
func (s *search) originalsFirst(list []*candidate) []*candidate {
	if slices.Contains(s.filter.Kinds, string(KindThread)) || slices.Contains(s.filter.Sources, sessionSource) {
		return list
	}
	best := 0.0
	for _, c := range list {
		if !c.item.isFinishedSession() {
			best = max(best, c.score)
		}
	}
	some := false
	list = slices.DeleteFunc(list, func(c *candidate) bool {
		if !c.item.isFinishedSession() {
			return false
		}
		again := some
		some = true
		c.score *= sessionFactor
		if best > 0 {
			c.score = min(c.score, sessionCap*best)
		}
		return again
	})
	slices.SortStableFunc(list, bestFirst)
	return list
}
