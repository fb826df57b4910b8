package main

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"strings"
	"time"
)

func newRequest(ctx context.Context, s *serveProcess, method, path, body, accept string) (*http.Request, error) {
	req, err := http.NewRequestWithContext(ctx, method, s.base+path, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Authorization", "Bearer "+s.token)
	req.Header.Set("Accept", accept)
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	return req, nil
}

type sample struct {
	at     time.Duration // since the first sample
	values []float64     // in the order of measures
}

// measures are the values of a sample with their printed names.
var measures = []struct{ name, unit, short string }{
	{"resident memory", "MiB", "rss"},
	{"heap after a collection", "MiB", "heap"},
	{"goroutines", "", "goroutines"},
	{"open files", "", "files"},
	{"a GET, p50", "ms", "GET p50"},
	{"a GET, p99", "ms", "GET p99"},
	{"a POST, p50", "ms", "POST p50"},
	{"a POST, p99", "ms", "POST p99"},
	{"a GET of a bare server, p50", "ms", "bare p50"},
	{"a GET of a bare server, p99", "ms", "bare p99"},
	{"database", "MiB", "database"},
	{"log of the database", "MiB", "wal"},
	{"CPU, of one core", "%", "cpu %"},
	{"requests per second", "", "requests/s"},
	{"load of the machine", "", "load"},
}

// takeSamples samples a server after a warm-up until the time is up.
func (h *mixedLoad) takeSamples(ctx context.Context, lasts time.Duration) (list []sample, err error) {
	every := min(max(lasts/60, 5*time.Second), time.Minute)
	tick := time.NewTicker(every)
	defer tick.Stop()
	warm := min(max(lasts/20, 20*time.Second), 3*time.Minute)
	fmt.Fprintf(os.Stderr, "process %d, after %v of warming up, every %v:\n%8s", h.pid, warm, every, "minute")
	for _, m := range measures {
		fmt.Fprintf(os.Stderr, "%12s", m.short)
	}
	fmt.Fprintln(os.Stderr)
	began, seen, spent, first := time.Now(), time.Now(), h.cpuTime(), time.Time{}
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		now, used := time.Now(), h.cpuTime()
		one, err := h.takeSample(ctx, now.Sub(seen), used-spent)
		if err != nil {
			return nil, err
		}
		seen, spent = now, used
		if now.Sub(began) < warm {
			continue
		}
		if first.IsZero() {
			first = now
		}
		one.at = now.Sub(first)
		list = append(list, one)
		fmt.Fprintf(os.Stderr, "%8.1f", one.at.Minutes())
		for _, v := range one.values {
			fmt.Fprintf(os.Stderr, "%12.2f", v)
		}
		fmt.Fprintln(os.Stderr)
		if one.at >= lasts {
			return list, nil
		}
	}
}

// takeSample measures a server and the requests since the last sample.
func (h *mixedLoad) takeSample(ctx context.Context, since, cpu time.Duration) (one sample, err error) {
	h.mu.Lock()
	gets, posts, bare, n := h.gets, h.posts, h.bare, h.requests
	h.gets, h.posts, h.bare, h.requests = nil, nil, nil, 0
	h.mu.Unlock()
	rss := h.residentMemory() // before the collection of garbage
	p, err := h.readProfile(ctx)
	if err != nil {
		return one, err
	}
	db, log := h.databaseSizes()
	one.values = []float64{
		rss, p.heap, float64(p.goroutines), float64(h.countFiles()),
		quantileMillis(gets, 0.5), quantileMillis(gets, 0.99), quantileMillis(posts, 0.5), quantileMillis(posts, 0.99), quantileMillis(bare, 0.5), quantileMillis(bare, 0.99),
		db, log, 100 * cpu.Seconds() / since.Seconds(), float64(n) / since.Seconds(), machineLoad(),
	}
	return one, nil
}

// compareThirds compares the first and the last third of the samples and computes the slope of a fitted
// line.
func (h *mixedLoad) compareThirds(list []sample) (figures []figure) {
	third := len(list) / 3
	if third == 0 {
		return []figure{{Name: "samples", Value: float64(len(list))}}
	}
	for i, m := range measures {
		var x, y []float64
		for _, s := range list {
			x, y = append(x, s.at.Hours()), append(y, s.values[i])
		}
		first, _ := meanAndError(y[:third])
		last, _ := meanAndError(y[len(y)-third:])
		figures = append(figures,
			figure{Name: m.name + ": first third", Value: first, Unit: m.unit},
			figure{Name: m.name + ": last third", Value: last, Unit: m.unit},
			figure{Name: m.name + ": slope", Value: fitSlope(x, y), Unit: strings.TrimSpace(m.unit + " an hour")},
		)
	}
	failed := 0
	for _, n := range h.failed {
		failed += n
	}
	return append(figures, figure{Name: "samples", Value: float64(len(list))}, figure{Name: "requests refused without reason, or failed", Value: float64(failed)})
}

// fitSlope returns the least-squares slope of y over x.
func fitSlope(x, y []float64) float64 {
	mx, _ := meanAndError(x)
	my, _ := meanAndError(y)
	var xy, xx float64
	for i := range x {
		xy += (x[i] - mx) * (y[i] - my)
		xx += (x[i] - mx) * (x[i] - mx)
	}
	if xx == 0 {
		return 0
	}
	return xy / xx
}
