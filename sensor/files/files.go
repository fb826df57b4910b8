// Package files implements the sensor of folders: new, changed and deleted files.
//
// Each look compares the files with the cursor. File system events only save scans: for some
// minutes the sensor trusts that silence means no change. It skips hidden files, files of version
// control, package managers and editors, and follows no link out of a folder.
//
// A State starts with "new", "changed" or "gone", then a hash of the content. One observation with
// the state "many" summarises many changes. The sensor reports a busy file more and more rarely. A
// folder that does not exist is "missing"; its files do not count as gone.
//
// The cursor is a [cursor]: the folders, each file's path, size, time and hash, and line hashes of
// recently changed files.
package files

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"ponder"
	"ponder/sensor"
)

// Options configure the sensor.
type Options struct {
	Paths    []string      // folders or files, at most 20
	Ignore   []string      // path.Match patterns for names or relative paths
	MaxFiles int           // watched files, the newest; default 3,000, at most 5,000
	Rescan   time.Duration // time to trust silent events; default 20 minutes, negative: never
	Trusted  bool          // no untrusted text in the files
}

// Limits.
const (
	maxPaths        = 20
	defaultMaxFiles = 3000
	maxMaxFiles     = 5000
	maxSingle       = 20 // changes that are reported individually
	defaultRescan   = 20 * time.Minute
)

// First words of states.
const (
	stateNew     = "new"
	stateChanged = "changed"
	stateGone    = "gone"
	stateMany    = "many"
	stateMissing = "missing"
	stateBack    = "back"
)

type watcher struct {
	Options
	mu         sync.Mutex
	events     *fsEvents
	looks      int
	last       *snapshot
	lastCursor *parsedCursor // the last parsed cursor
	unchanged  *snapshot     // snapshot without changes to memo
}

// New returns the sensor "files".
func New(o Options) sensor.Sensor {
	if o.MaxFiles <= 0 {
		o.MaxFiles = defaultMaxFiles
	}
	o.MaxFiles = min(o.MaxFiles, maxMaxFiles)
	o.Rescan = cmp.Or(o.Rescan, defaultRescan)
	w := &watcher{Options: o}
	return sensor.Sensor{Name: "files", Look: w.look, Close: w.close}
}

func (w *watcher) close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	defer func() { w.events = nil }()
	w.looks = -1 << 30 // disables events
	return w.events.close()
}

func (w *watcher) look(ctx context.Context, now time.Time, raw json.RawMessage) ([]ponder.Observation, json.RawMessage, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	snap, err := w.currentSnapshot(ctx, now)
	if err != nil {
		return nil, nil, err
	}
	before := w.parseCursor(raw)
	if before != nil && w.unchanged == snap {
		return nil, raw, nil
	}
	if before == nil && len(snap.missing) == len(snap.roots) {
		return nil, nil, fmt.Errorf("watch files: %s does not exist; create it, or set other paths", sensor.Line(snap.roots[0], 200))
	}
	d := newDiff(w.Options, snap, before, now)
	defer d.closeRoots()
	if err := d.run(ctx); err != nil {
		return nil, nil, fmt.Errorf("watch files: %w", err)
	}
	if before != nil && !d.hasChanges() && !d.postponed {
		w.unchanged = snap
	}
	if before != nil && !d.hasChanges() {
		return nil, raw, nil
	}
	next, err := d.next.encodeCursor()
	if err != nil {
		return nil, nil, fmt.Errorf("watch files: %w", err)
	}
	return d.buildObservations(), next, nil
}

// parseCursor parses a cursor and caches the result.
func (w *watcher) parseCursor(raw json.RawMessage) *parsedCursor {
	if w.lastCursor == nil || string(w.lastCursor.raw) != string(raw) {
		w.lastCursor, w.unchanged = parseCursor(raw), nil
	}
	return w.lastCursor
}

// currentSnapshot returns the current files, or the last snapshot if no event occurred.
func (w *watcher) currentSnapshot(ctx context.Context, now time.Time) (*snapshot, error) {
	w.looks++
	if w.looks == 2 && w.Rescan > 0 { // a single look needs no events
		w.events = newFSEvents(w.Options.isIgnored)
		w.last = nil
	}
	if w.last != nil && w.events.isQuiet() && !now.Before(w.last.at) && now.Sub(w.last.at) < w.Rescan {
		return w.last, nil
	}
	w.events.reset()
	roots, err := absoluteRoots(w.Paths)
	if err != nil {
		return nil, err
	}
	w.last = nil
	snap, err := scanRoots(ctx, roots, w.Options, w.events)
	if err != nil {
		return nil, fmt.Errorf("watch files: %w", err)
	}
	snap.at = now
	w.last = snap
	return snap, nil
}

// absoluteRoots returns sorted absolute paths without nested ones.
func absoluteRoots(paths []string) ([]string, error) {
	if len(paths) == 0 || len(paths) > maxPaths {
		return nil, fmt.Errorf("watch files: %d paths are set; set 1 to %d", len(paths), maxPaths)
	}
	var all []string
	for _, p := range paths {
		abs, err := filepath.Abs(p)
		if p == "" || err != nil {
			return nil, errors.New("watch files: a path is empty; set folders")
		}
		if real, err := filepath.EvalSymlinks(abs); err == nil {
			abs = real
		}
		all = append(all, abs)
	}
	slices.Sort(all)
	all = slices.Compact(all)
	return slices.DeleteFunc(slices.Clone(all), func(p string) bool {
		return slices.ContainsFunc(all, func(q string) bool { return p != q && isUnder(p, q) })
	}), nil
}
