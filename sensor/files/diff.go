package files

import (
	"cmp"
	"context"
	"encoding/hex"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"ponder"
	"ponder/sensor"
)

// A diff computes the changes between a cursor and a snapshot.
type diff struct {
	Options
	rootReader
	snapshot  *snapshot
	before    *parsedCursor // nil in the first look
	next      *parsedCursor
	changes   []change
	folders   []ponder.Observation // missing, returned or overfull folders
	now       time.Time
	postponed bool // a change is postponed
}

type change struct {
	file
	state string
	now   record // zero if gone
	text  string
}

func newDiff(o Options, snap *snapshot, before *parsedCursor, now time.Time) *diff {
	d := &diff{Options: o, snapshot: snap, before: before, now: now, rootReader: rootReader{open: map[string]*os.Root{}, left: maxLookBytes}}
	d.next = &parsedCursor{files: make(map[string]record, len(snap.files)), cursor: cursor{
		Roots: snap.roots, Missing: snap.missing, Floor: snap.floor, Busy: map[string]busyFile{}, Over: snap.floor > 0,
	}}
	if before != nil {
		maps.Copy(d.next.Busy, before.Busy)
		d.next.Over = snap.floor > 0 || before.Over && snap.total > o.MaxFiles*9/10
	}
	return d
}

func (d *diff) run(ctx context.Context) error {
	for _, f := range d.snapshot.files {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		d.compareFile(f)
	}
	if d.before != nil {
		for _, p := range slices.Sorted(maps.Keys(d.before.files)) {
			d.checkAbsent(p)
		}
	}
	d.reportFolders()
	d.updateBusy()
	return nil
}

func (d *diff) compareFile(f file) {
	root := d.snapshot.rootOf(f.path)
	old, known := record{}, false
	if d.before != nil {
		old, known = d.before.files[f.path]
	}
	if known && old.stamp == f.statHash() {
		old.mtime = f.mtime
		d.next.files[f.path] = old
		return
	}
	content := d.readContent(root, f)
	now := newRecord(f, content)
	d.next.files[f.path] = now
	switch {
	case !known && d.isOld(root, f), known && now.hash != [6]byte{} && now.hash == old.hash:
	case !known:
		d.changes = append(d.changes, change{file: f, state: stateNew, now: now, text: summarizeChange(f, content, nil)})
	case d.isPostponed(f.path):
		d.postponed = true
		old.mtime = f.mtime
		d.next.files[f.path] = old
	default:
		d.changes = append(d.changes, change{file: f, state: stateChanged, now: now, text: summarizeChange(f, content, &old)})
	}
}

// isOld reports whether an unknown file is not new: its folder was not watched before, or it was
// beyond the limit.
func (d *diff) isOld(root string, f file) bool {
	return d.before == nil || !slices.Contains(d.before.Roots, root) || d.before.Floor > 0 && f.mtime <= d.before.Floor
}

// checkAbsent handles a known file that is not watched now.
func (d *diff) checkAbsent(p string) {
	old := d.before.files[p]
	_, there := d.next.files[p]
	switch {
	case there, d.snapshot.omitted[p], d.snapshot.rootOf(p) == "", d.isIgnored(d.snapshot.rootOf(p), p):
	case d.snapshot.isUnknown(p):
		d.next.files[p] = old
	default:
		d.changes = append(d.changes, change{file: file{path: p, size: old.size}, state: stateGone, now: record{hash: old.hash, stamp: old.stamp}})
	}
}

// isPostponed reports whether a busy file waits for a later look.
func (d *diff) isPostponed(p string) bool {
	const often, first, last = 3, 10 * time.Minute, 6 * time.Hour
	b := d.before.Busy[p]
	if b.Times < often {
		return false
	}
	pause := min(first<<min(b.Times-often, 10), last)
	return d.now.Sub(time.Unix(b.At, 0)) < pause
}

// updateBusy counts the reports per file and drops quiet files.
func (d *diff) updateBusy() {
	const quiet, limit = 12 * time.Hour, 50
	if len(d.changes) == 0 {
		return
	}
	for p, b := range d.next.Busy {
		if d.now.Sub(time.Unix(b.At, 0)) > quiet {
			delete(d.next.Busy, p)
		}
	}
	for _, c := range d.changes {
		if _, ok := d.next.Busy[c.path]; c.state == stateChanged && len(d.changes) <= maxSingle && len(c.path) <= 200 && (ok || len(d.next.Busy) < limit) {
			d.next.Busy[c.path] = busyFile{Times: d.next.Busy[c.path].Times + 1, At: d.now.Unix()}
		}
	}
}

func (d *diff) reportFolders() {
	if d.next.Over && (d.before == nil || !d.before.Over) {
		d.folders = append(d.folders, ponder.Observation{
			Content: fmt.Sprintf("There are %d files in the watched folders: the %d that changed last are watched.", d.snapshot.total, d.MaxFiles),
			Subject: "watched files", State: fmt.Sprintf("many %d", d.snapshot.total), Level: 3,
		})
	}
	for _, root := range d.snapshot.roots {
		is := slices.Contains(d.snapshot.missing, root)
		was := d.before != nil && slices.Contains(d.before.Missing, root)
		o := ponder.Observation{Subject: sensor.Subject(root), Source: sensor.Line(root, 500)}
		switch {
		case is && !was:
			o.Content, o.State, o.Level = "The watched folder "+sensor.Line(root, 300)+" is not there.", stateMissing, 5
		case was && !is:
			o.Content, o.State, o.Level = "The watched folder "+sensor.Line(root, 300)+" is there again.", stateBack, 2
		default:
			continue
		}
		d.folders = append(d.folders, o)
	}
}

// hasChanges reports whether anything must be reported or stored.
func (d *diff) hasChanges() bool {
	return len(d.changes) > 0 || len(d.folders) > 0 || d.next.Over != d.before.Over || !slices.Equal(d.next.Roots, d.before.Roots)
}

// buildObservations returns the observations, oldest first.
func (d *diff) buildObservations() []ponder.Observation {
	if len(d.changes) > maxSingle {
		return append(d.folders[:min(len(d.folders), sensor.MaxLook-1)], d.summarizeAll())
	}
	slices.SortStableFunc(d.changes, func(a, b change) int { return cmp.Compare(a.mtime, b.mtime) })
	seen := d.folders
	for _, c := range d.changes {
		name := sensor.Line(d.shortPath(c.path), 200)
		text := map[string]string{stateNew: "New file " + name + ": ", stateChanged: "The file " + name + " changed: ", stateGone: "The file " + name + " is gone."}[c.state]
		var due time.Time
		if c.state != stateGone {
			due, _ = sensor.FindDeadline(strings.ReplaceAll(c.text, lineSeparator, "\n"), d.now.Local())
		}
		seen = append(seen, ponder.Observation{
			Due:     due,
			Content: sensor.Line(text+c.text, sensor.MaxText), Subject: sensor.Subject(c.path),
			State: c.state + " " + c.contentID(), Source: sensor.Line(c.path, 500), Untrusted: !d.Trusted,
		})
	}
	return seen[:min(len(seen), sensor.MaxLook)]
}

// contentID identifies the content of a file.
func (c change) contentID() string {
	if c.now.hash != [6]byte{} {
		return hex.EncodeToString(c.now.hash[:4])
	}
	return hex.EncodeToString(c.now.stamp[:4])
}

// shortPath returns the path from the root's name.
func (d *diff) shortPath(p string) string {
	root := d.snapshot.rootOf(p)
	rel, err := filepath.Rel(filepath.Dir(root), p)
	if root == "" || err != nil {
		return p
	}
	return filepath.ToSlash(rel)
}

func (d *diff) summarizeAll() ponder.Observation {
	counts := map[string]int{}
	dir := filepath.Dir(d.changes[0].path)
	var names []string
	var all strings.Builder
	for i, c := range d.changes {
		counts[c.state]++
		for !isUnder(c.path, dir) {
			dir = filepath.Dir(dir)
		}
		if i%(1+len(d.changes)/5) == 0 {
			names = append(names, sensor.Line(filepath.Base(c.path), 60))
		}
		fmt.Fprintln(&all, c.path, c.state, c.contentID())
	}
	return ponder.Observation{
		Content: sensor.Line(fmt.Sprintf("%d files changed in %s (%d new, %d changed, %d gone), such as %s.", len(d.changes), sensor.Line(d.shortPath(dir), 200),
			counts[stateNew], counts[stateChanged], counts[stateGone], strings.Join(names, ", ")), sensor.MaxText),
		Subject: sensor.Subject(dir), State: stateMany + " " + sensor.Hash(all.String()), Source: sensor.Line(dir, 500), Untrusted: !d.Trusted,
	}
}
