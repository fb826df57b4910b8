package main

import (
	"bufio"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	_ "modernc.org/sqlite" // to count rows
)

type profile struct {
	goroutines int
	stacks     map[string]int // number of goroutines by stack
	heap       float64        // live heap in MiB
}

// readProfile forces a collection and reads the profiles over a temporary connection.
func (s *serveProcess) readProfile(ctx context.Context) (p profile, err error) {
	text, err := s.fetchText(ctx, "/debug/pprof/goroutine?debug=1")
	if err != nil {
		return p, err
	}
	p.goroutines, p.stacks = parseStacks(text)
	if text, err = s.fetchText(ctx, "/debug/pprof/heap?gc=1&debug=1"); err != nil {
		return p, err
	}
	_, rest, _ := strings.Cut(text, "# HeapAlloc = ")
	number, _, _ := strings.Cut(rest, "\n")
	bytes, err := strconv.ParseFloat(number, 64)
	if err != nil {
		return p, fmt.Errorf("read the profile of the heap: %w", err)
	}
	p.heap = bytes / (1 << 20)
	return p, nil
}

// parseStacks parses a goroutine profile.
func parseStacks(text string) (all int, stacks map[string]int) {
	stacks = make(map[string]int)
	for group := range strings.SplitSeq(text, "\n\n") {
		n, where := 0, ""
		for line := range strings.Lines(group) {
			if rest, ok := strings.CutPrefix(line, "goroutine profile: total "); ok {
				all, _ = strconv.Atoi(strings.TrimSpace(rest)) // not a number: 0
			} else if number, _, ok := strings.Cut(line, " @ "); ok {
				n, _ = strconv.Atoi(number)
			} else if f := strings.Fields(line); len(f) > 2 {
				name, _, _ := strings.Cut(f[2], "+0x")
				where += name + " "
			}
		}
		stacks[where] += n
	}
	return all, stacks
}

// grownStacks lists the stacks with more goroutines than before.
func (p profile) grownStacks(before profile) (list []string) {
	for where, n := range p.stacks {
		if more := n - before.stacks[where]; more > 0 {
			list = append(list, fmt.Sprintf("%d more in %s", more, where))
		}
	}
	slices.Sort(list)
	return list
}

// fetchText requests a text over a temporary connection.
func (s *serveProcess) fetchText(ctx context.Context, path string) (string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.base+path, nil)
	if err != nil {
		return "", err
	}
	req.Header.Set("Authorization", "Bearer "+s.token)
	req.Close = true
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		return "", errors.Join(err, fmt.Errorf("GET %s: answered %s", path, resp.Status))
	}
	return string(text), nil
}

// countFiles returns the number of open files and connections, except those of the bounded database
// pools.
func (s *serveProcess) countFiles() (n int) {
	dir := fmt.Sprintf("/proc/%d/fd", s.pid)
	list, err := os.ReadDir(dir)
	if err != nil {
		return 0
	}
	for _, f := range list {
		to, err := os.Readlink(filepath.Join(dir, f.Name()))
		if err == nil && !strings.HasPrefix(to, s.databasePath()) { // otherwise it was closed meanwhile
			n++
		}
	}
	return n
}

func (s *serveProcess) databasePath() string { return filepath.Join(s.dir, "bench.db") }

// databaseSizes returns the size of the database and of its log in MiB.
func (s *serveProcess) databaseSizes() (db, log float64) {
	size := func(file string) float64 {
		info, err := os.Stat(file)
		if err != nil {
			return 0
		}
		return float64(info.Size()) / (1 << 20)
	}
	return size(s.databasePath()), size(s.databasePath() + "-wal")
}

// A rowCounts holds the number of rows by table.
type rowCounts map[string]int

// countRows counts the rows of all tables without traces of removed threads and without the undeletable
// subconscious threads.
func (s *serveProcess) countRows(ctx context.Context) (rowCounts, error) {
	db, err := sql.Open("sqlite", "file:"+s.databasePath()+"?mode=ro&_pragma=busy_timeout(10000)")
	if err != nil {
		return nil, err
	}
	defer db.Close()
	names, err := db.QueryContext(ctx, "SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")
	if err != nil {
		return nil, err
	}
	defer names.Close()
	n := make(rowCounts)
	for names.Next() {
		var name string
		if err := names.Scan(&name); err != nil {
			return nil, err
		}
		n[name] = 0
	}
	if err := names.Err(); err != nil {
		return nil, err
	}
	const beneath = "(SELECT num FROM ponder_thread WHERE removed = 0 AND kind = 'subconscious')"
	queries := map[string]string{
		existingThreads: "SELECT count(*) FROM ponder_thread WHERE removed = 0 AND num NOT IN " + beneath,
		leasesHeld:      "SELECT count(*) FROM ponder_thread WHERE node <> ''",
		eventWrites:     "SELECT count(*) FROM ponder_batch WHERE length(lines) > 0 AND num NOT IN " + beneath,
	}
	for name := range n {
		queries[name] = `SELECT count(*) FROM "` + name + `"`
		if slices.Contains(threadTables, name) {
			queries[name] += " WHERE num NOT IN " + beneath
		}
	}
	for name, query := range queries {
		var count int
		if err := db.QueryRowContext(ctx, query).Scan(&count); err != nil {
			return nil, fmt.Errorf("count %s: %w", name, err)
		}
		n[name] = count
	}
	return n, nil
}

// threadTables are the tables with rows per thread.
var threadTables = []string{"ponder_thread", "ponder_batch", "ponder_key", "ponder_usage", "ponder_fold"}

// Names of other counts.
const (
	existingThreads = "threads"
	leasesHeld      = "held leases"
	eventWrites     = "writes with events"
)

// machineLoad returns the load average of the last minute, the context of latencies.
func machineLoad() float64 {
	f, err := os.Open("/proc/loadavg")
	if err != nil {
		return 0
	}
	defer f.Close()
	words := bufio.NewScanner(f)
	words.Split(bufio.ScanWords)
	words.Scan()
	load, err := strconv.ParseFloat(words.Text(), 64)
	if err != nil {
		return 0
	}
	return load
}
