// Package git implements the sensor of a git repository: new commits on local branches and on
// remote branches as last fetched, new branches and tags, and work that is uncommitted for a day.
//
// It runs git read-only: without fetching, hooks, pagers, filters or other programs of the
// repository, and without locks. A State starts with "new" or "stale", then an identifier.
//
// The cursor is a [cursor]: the refs and their commits.
package git

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"ponder"
	"ponder/sensor"
)

// Options configure the sensor.
type Options struct {
	Path    string // of the repository
	Git     string // program; default "git"
	Trusted bool   // no untrusted commits
}

// Limits.
const (
	maxRefs    = 1000 // newest first
	maxNames   = 60 << 10
	maxCommits = 20 // that are reported individually
	maxNewRefs = 10 // new refs that are reported individually
	staleAfter = 24 * time.Hour
	staleEvery = time.Hour // interval of checks for uncommitted work
)

type cursor struct {
	Refs   map[string]string `json:"refs"`             // commits by full ref name
	Newest int64             `json:"newest,omitempty"` // time of the newest ref, Unix seconds
	Stale  int64             `json:"stale,omitempty"`  // last change of the reported uncommitted work
}

type repository struct {
	Options
	mu            sync.Mutex
	lastCheck     time.Time // last check of uncommitted work
	checkedCursor string    // cursor at that check
}

// New returns the sensor "git".
func New(o Options) sensor.Sensor {
	o.Git = cmp.Or(o.Git, "git")
	return sensor.Sensor{Name: "git", Look: (&repository{Options: o}).look}
}

func (r *repository) look(ctx context.Context, now time.Time, raw json.RawMessage) ([]ponder.Observation, json.RawMessage, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	seen, next, err := r.readChanges(ctx, now, raw)
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("read the repository %s: %w", sensor.Line(r.Path, 200), err)
	}
	return seen, next, nil
}

func (r *repository) readChanges(ctx context.Context, now time.Time, raw json.RawMessage) ([]ponder.Observation, json.RawMessage, error) {
	before, known := readCursor(raw)
	refs, err := r.listRefs(ctx)
	if err != nil {
		return nil, nil, err
	}
	next := cursor{Refs: map[string]string{}, Newest: before.Newest, Stale: before.Stale}
	for _, ref := range refs {
		next.Refs[ref.name] = ref.hash
		next.Newest = max(next.Newest, ref.at)
	}
	var seen []ponder.Observation
	if known && !maps.Equal(before.Refs, next.Refs) {
		if seen, err = r.newCommits(ctx, before, refs); err != nil {
			return nil, nil, err
		}
		seen = append(seen, r.newRefs(before, refs)...)
	}
	if !r.wasChecked(raw, now) {
		if o, at := r.staleWork(ctx, now); at > 0 && at != before.Stale {
			next.Stale = at
			seen = append(seen, o)
		}
		r.lastCheck, r.checkedCursor = now, string(raw)
	}
	if known && len(seen) == 0 && maps.Equal(before.Refs, next.Refs) {
		return nil, raw, nil
	}
	encoded, err := json.Marshal(next)
	return seen, encoded, err
}

// wasChecked reports whether uncommitted work was checked within the hour for this cursor.
func (r *repository) wasChecked(raw json.RawMessage, now time.Time) bool {
	return len(raw) > 0 && r.checkedCursor == string(raw) && !now.Before(r.lastCheck) && now.Sub(r.lastCheck) < staleEvery
}

var hashPattern = regexp.MustCompile(`^[0-9a-f]{40}(?:[0-9a-f]{24})?$`)

func readCursor(raw json.RawMessage) (cursor, bool) {
	var c cursor
	if json.Unmarshal(raw, &c) != nil || c.Refs == nil || len(c.Refs) > 2*maxRefs {
		return cursor{}, false
	}
	for _, hash := range c.Refs {
		if !hashPattern.MatchString(hash) { // it becomes an argument
			return cursor{}, false
		}
	}
	return c, true
}

// A ref is a branch, remote branch or tag.
type ref struct {
	name, hash string
	at         int64 // Unix seconds
}

func (r *repository) listRefs(ctx context.Context) ([]ref, error) {
	text, err := r.runGit(ctx, "for-each-ref", "--sort=-creatordate", fmt.Sprintf("--count=%d", maxRefs),
		"--format=%(objectname)%09%(creatordate:unix)%09%(symref)%09%(refname)", "refs/heads", "refs/remotes", "refs/tags")
	if err != nil {
		return nil, err
	}
	var refs []ref
	room := maxNames
	for line := range strings.Lines(text) {
		fields := strings.SplitN(strings.TrimSuffix(line, "\n"), "\t", 4)
		if len(fields) != 4 || fields[2] != "" || !hashPattern.MatchString(fields[0]) || len(fields[3]) > room {
			continue
		}
		one := ref{hash: fields[0], name: fields[3]}
		_, _ = fmt.Sscan(fields[1], &one.at) // may be unknown
		room -= len(one.name) + 20
		refs = append(refs, one)
	}
	return refs, nil
}

func (f ref) kindAndName() (kind, name string) {
	for _, k := range []struct{ prefix, kind string }{{"refs/heads/", "branch"}, {"refs/remotes/", "remote branch"}, {"refs/tags/", "tag"}} {
		if name, ok := strings.CutPrefix(f.name, k.prefix); ok {
			return k.kind, sensor.Line(name, 150)
		}
	}
	return "ref", sensor.Line(f.name, 150)
}

func (r *repository) shortName() string {
	abs, err := filepath.Abs(r.Path)
	if err != nil {
		abs = r.Path
	}
	return sensor.Line(filepath.Base(abs), 80)
}

func (r *repository) newObservation(subject, state, content string) ponder.Observation {
	return ponder.Observation{Content: sensor.Line(content, sensor.MaxText), Subject: sensor.Subject(subject), State: state,
		Source: sensor.Line(r.Path, 500), Untrusted: !r.Trusted}
}

func (r *repository) newRefs(before cursor, refs []ref) []ponder.Observation {
	var fresh []ref
	for _, f := range refs {
		_, known := before.Refs[f.name]
		if !known && (len(before.Refs) < maxRefs*9/10 || f.at >= before.Newest) { // otherwise it may be an old ref beyond the limit
			fresh = append(fresh, f)
		}
	}
	slices.Reverse(fresh)
	if len(fresh) > maxNewRefs {
		var names, all []string
		for _, f := range fresh {
			_, name := f.kindAndName()
			names, all = append(names, name), append(all, f.name+f.hash)
		}
		return []ponder.Observation{r.newObservation("refs of "+r.shortName(), "new "+sensor.Hash(strings.Join(all, " ")),
			fmt.Sprintf("%d new branches and tags in %s, such as %s.", len(fresh), r.shortName(), strings.Join(names[len(names)-5:], ", ")))}
	}
	var seen []ponder.Observation
	for _, f := range fresh {
		kind, name := f.kindAndName()
		seen = append(seen, r.newObservation(f.name+" of "+r.shortName(), "new "+f.hash[:12], fmt.Sprintf("New %s in %s: %s.", kind, r.shortName(), name)))
	}
	return seen
}

type commit struct {
	hash, author, subject, branch string
}

// newCommits reports commits that no ref reached before.
func (r *repository) newCommits(ctx context.Context, before cursor, refs []ref) ([]ponder.Observation, error) {
	args := []string{"log", "--ignore-missing", "--no-show-signature", "--no-color", "--no-notes", "--no-mailmap", "--no-decorate", "-z", "--source",
		"--max-count=1001", "--format=%H%x09%S%x09%an%x09%s"}
	branches := map[string]string{}
	for _, f := range refs {
		kind, name := f.kindAndName()
		if kind == "tag" || before.Refs[f.name] == f.hash {
			continue
		}
		if _, ok := branches[f.hash]; !ok || kind == "branch" {
			branches[f.hash] = name
		}
	}
	if len(branches) == 0 {
		return nil, nil
	}
	args = append(args, slices.Sorted(maps.Keys(branches))...)
	args = append(args, "--not")
	args = append(args, slices.Compact(slices.Sorted(maps.Values(before.Refs)))...)
	text, err := r.runGit(ctx, append(args, "--")...)
	if err != nil {
		return nil, err
	}
	var all []commit
	for line := range strings.SplitSeq(text, "\x00") {
		if f := strings.SplitN(line, "\t", 4); len(f) == 4 && hashPattern.MatchString(f[0]) {
			all = append(all, commit{hash: f[0], branch: branches[f[1]], author: sensor.Line(f[2], 80), subject: sensor.Line(f[3], 300)})
		}
	}
	slices.Reverse(all)
	return r.reportCommits(all), nil
}

func (r *repository) reportCommits(all []commit) []ponder.Observation {
	if len(all) > maxCommits {
		var authors []string
		for _, c := range all {
			if !slices.Contains(authors, c.author) && len(authors) < 5 {
				authors = append(authors, c.author)
			}
		}
		last := all[len(all)-1]
		return []ponder.Observation{r.newObservation("commits of "+r.shortName(), "new "+last.hash[:12],
			fmt.Sprintf("%d new commits in %s by %s, the last on %s: %s", len(all), r.shortName(), strings.Join(authors, ", "), last.branch, last.subject))}
	}
	var seen []ponder.Observation
	for _, c := range all {
		seen = append(seen, r.newObservation("commit "+c.hash[:12]+" of "+r.shortName(), "new",
			fmt.Sprintf("%s committed to %s of %s: %s", c.author, c.branch, r.shortName(), c.subject)))
	}
	return seen
}

var errNoGit = errors.New("git is not installed; install it, or turn this sensor off")
