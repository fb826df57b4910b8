package placement

import (
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"runtime"
	"slices"
	"testing"
	"time"

	"ponder"
	"ponder/store/sqlite"
)

func benchPlace(b *testing.B, file string, work func(context.Context, ponder.ThreadID) error) *Placement {
	b.Helper()
	store, err := sqlite.Open(b.Context(), file)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { store.Close() })
	p, err := Open(b.Context(), Config{
		Store: store, DB: store.DB(), Node: CurrentNode(), Work: work, Serve: true, Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		b.Fatal(err)
	}
	return p
}

// BenchmarkStart measures from Start to the call of Work, with rows written meanwhile, and the
// memory per waiting thread.
func BenchmarkStart(b *testing.B) {
	began := make(chan time.Time)
	p := benchPlace(b, filepath.Join(b.TempDir(), "ponder.db"), func(ctx context.Context, _ ponder.ThreadID) error {
		began <- time.Now()
		<-ctx.Done()
		return ctx.Err()
	})
	if _, err := p.keeper.awaitDBOS(b.Context()); err != nil {
		b.Fatal(err)
	}
	before := bytesInUse()
	var took []time.Duration
	n := 0
	for b.Loop() {
		start := time.Now()
		if err := p.Start(b.Context(), ponder.ThreadID(fmt.Sprint("thr_", n))); err != nil {
			b.Fatal(err)
		}
		took = append(took, (<-began).Sub(start))
		n++
	}
	written := make(chan struct{})
	p.keeper.addJob(func() { close(written) })
	<-written
	b.ReportMetric(float64(bytesInUse()-before)/float64(n), "bytes/thread")
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2])/1e3, "p50-µs")
	b.ReportMetric(float64(took[len(took)*99/100])/1e3, "p99-µs")
	if err := p.Close(context.Background()); err != nil {
		b.Error(err)
	}
}

// bytesInUse returns the heap in use after a collection.
func bytesInUse() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapInuse + m.StackInuse)
}

// BenchmarkOpen measures Open, and the time until DBOS has launched.
func BenchmarkOpen(b *testing.B) {
	for _, fresh := range []bool{true, false} {
		b.Run(fmt.Sprintf("fresh=%t", fresh), func(b *testing.B) {
			dir, n := b.TempDir(), 0
			var opened, launched time.Duration
			for b.Loop() {
				if fresh {
					n++
				}
				file := filepath.Join(dir, fmt.Sprint(n, ".db"))
				store, err := sqlite.Open(b.Context(), file)
				if err != nil {
					b.Fatal(err)
				}
				start := time.Now()
				p, err := Open(b.Context(), Config{Store: store, DB: store.DB(), Node: CurrentNode(), Work: workNothing, Logger: slog.New(slog.DiscardHandler)})
				if err != nil {
					b.Fatal(err)
				}
				opened += time.Since(start)
				if _, err := p.keeper.awaitDBOS(b.Context()); err != nil {
					b.Fatal(err)
				}
				launched += time.Since(start)
				if err := p.Close(b.Context()); err != nil {
					b.Fatal(err)
				}
				store.Close()
			}
			b.ReportMetric(float64(opened)/float64(b.N)/1e3, "open-µs")
			b.ReportMetric(float64(launched)/float64(b.N)/1e3, "launched-µs")
		})
	}
}

func workNothing(context.Context, ponder.ThreadID) error { return nil }
