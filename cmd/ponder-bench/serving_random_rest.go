package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	"ponder/client"
)

// A resourceUsage lists the resources of an idle server.
type resourceUsage struct {
	profile
	files int
	rows  rowCounts
	took  time.Duration // time until it was stable
}

const (
	restTime     = 4 * time.Minute   // to release temporary resources
	idleLifetime = 100 * time.Second // lifetime of unused model connections and minds
)

// awaitRest waits until a server holds no more than before or, without before, until its holding is
// stable. It uses the minimum, because the measurement itself needs a connection.
func (s *serveProcess) awaitRest(ctx context.Context, before *resourceUsage) (*resourceUsage, error) {
	began, since, smallest := time.Now(), time.Now(), (*resourceUsage)(nil)
	for {
		h, err := s.readUsage(ctx)
		if err != nil {
			return nil, err
		}
		if smallest == nil || h.goroutines < smallest.goroutines || h.files < smallest.files {
			since = time.Now()
		}
		if smallest != nil {
			h.files = min(h.files, smallest.files)
			if h.goroutines > smallest.goroutines {
				h.profile = smallest.profile
			}
		}
		smallest, h.took = h, time.Since(began)
		enough := time.Since(since) > idleLifetime
		if before != nil {
			enough = h.goroutines <= before.goroutines && h.files <= before.files && h.rows[leasesHeld] == 0 && h.rowsLeft(before, nil) == 0
		}
		if enough || time.Since(began) > restTime {
			return h, nil
		}
		time.Sleep(time.Second)
	}
}

func (s *serveProcess) readUsage(ctx context.Context) (h *resourceUsage, err error) {
	h = &resourceUsage{}
	if h.profile, err = s.readProfile(ctx); err != nil {
		return nil, err
	}
	h.files = s.countFiles()
	h.rows, err = s.countRows(ctx)
	return h, err
}

// Rows that remain on purpose after removals: a fence and a tombstone per thread, one row per
// attempt for costs, token usage per token and day for a week, vector usage per owner, model and
// quarter of an hour, and idempotency keys for a while.
var keptRows = []string{"ponder_thread", "ponder_usage", "ponder_batch", "serve_day", "serve_used", "serve_once"}

func (h *resourceUsage) compareUsage(before *resourceUsage) []figure {
	list := []figure{
		{Name: "additional goroutines", Value: float64(h.goroutines - before.goroutines), Goal: zeroGoal},
		{Name: "additional open files", Value: float64(h.files - before.files), Goal: zeroGoal},
		{Name: "time until both were stable", Value: h.took.Seconds(), Unit: "s"},
	}
	for _, name := range slices.Sorted(maps.Keys(h.rows)) {
		switch {
		case slices.Contains(keptRows, name):
			list = append(list, figure{Name: "rows of " + name + ", which stay", Value: float64(h.rows[name] - before.rows[name])})
		case name == leasesHeld:
			list = append(list, figure{Name: name, Value: float64(h.rows[name]), Goal: zeroGoal})
		}
	}
	left := h.rowsLeft(before, func(name string, more int) { fmt.Fprintf(os.Stderr, "left: %d of %s\n", more, name) })
	if h.goroutines > before.goroutines {
		fmt.Fprintln(os.Stderr, strings.Join(h.grownStacks(before.profile), "\n"))
	}
	return append(list,
		figure{Name: "remaining rows", Value: float64(left), Goal: zeroGoal},
		figure{Name: "additional heap", Value: h.heap - before.heap, Unit: "MiB"},
		figure{Name: "goroutines before", Value: float64(before.goroutines)},
		figure{Name: "open files before", Value: float64(before.files)},
	)
}

// rowsLeft returns the number of added rows in tables that keep none on purpose, and reports them.
func (h *resourceUsage) rowsLeft(before *resourceUsage, say func(name string, more int)) (left int) {
	for _, name := range slices.Sorted(maps.Keys(h.rows)) {
		more := h.rows[name] - before.rows[name]
		if more <= 0 || name == leasesHeld || slices.Contains(keptRows, name) {
			continue
		}
		left += more
		if say != nil {
			say(name, more)
		}
	}
	return left
}

// deletePass deletes all deletable objects and returns their number.
func (o *owner) deletePass(ctx context.Context) (n int, err error) {
	threads, err := o.fetchList(ctx, "/api/threads?limit=100")
	if err != nil {
		return 0, err
	}
	for _, t := range threads {
		if t.Kind == "subconscious" {
			continue // cannot be deleted
		}
		if err := o.deleteObject(ctx, "/api/threads/"+t.Thread); err != nil {
			return n, err
		}
		n++
	}
	memories, err := o.fetchList(ctx, "/api/memory?limit=100")
	if err != nil {
		return n, err
	}
	for _, m := range memories {
		if err := o.deleteObject(ctx, "/api/memory/"+m.ID); err != nil {
			return n, err
		}
		n++
	}
	return n, nil
}

// A listItem is a thread or a memory.
type listItem struct {
	Thread string `json:"thread_id"`
	ID     string `json:"id"`
	Kind   string `json:"kind"`
}

// fetchList returns the first page of a list.
func (o *owner) fetchList(ctx context.Context, path string) ([]listItem, error) {
	text, err := o.fetchText(ctx, path)
	if err != nil {
		return nil, err
	}
	var page struct {
		Threads  []listItem `json:"threads"`
		Memories []listItem `json:"memories"`
	}
	if err := json.Unmarshal([]byte(text), &page); err != nil {
		return nil, err
	}
	return slices.Concat(page.Threads, page.Memories), nil
}

// deleteObject deletes an object that may be gone.
func (o *owner) deleteObject(ctx context.Context, path string) error {
	req, err := newRequest(ctx, o.serveProcess, http.MethodDelete, path, "", "application/json")
	if err != nil {
		return err
	}
	req.Close = true
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK && resp.StatusCode != http.StatusNotFound {
		return errors.Join(errors.New("some objects cannot be deleted"), fmt.Errorf("DELETE %s: %w", path, &client.Problem{Status: resp.StatusCode}))
	}
	return nil
}
