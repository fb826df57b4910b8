package index

import (
	"context"
	"database/sql"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"ponder/internal/textkit/lexical"
)

// A prose makes texts with word frequencies of a language: the nth word has about a
// tenth of 1/n.
type prose struct {
	*rand.Rand
	vocabulary []string
	sums       []float64
	known      []string
}

func newProse(words int) *prose {
	p := &prose{Rand: rand.New(rand.NewPCG(1, 2))}
	sum := 0.0
	stops := strings.Fields(`the of and to in a is that for it was on with as are be this at from by an or have not which but
		had were been has their they would who more will if there can what when so about out its them than some could these then`)
	for i := range words {
		var b strings.Builder
		for n := i + 7; n > 0; n /= 14 {
			b.WriteByte("bcdfghklmnprst"[n%14])
			b.WriteByte("aeiou"[(n/7+i)%5])
		}
		word := b.String() + []string{"", "s", "ing", "er"}[i%4]
		if i < len(stops) {
			word = stops[i]
		}
		p.vocabulary = append(p.vocabulary, word)
		sum += 1 / math.Pow(float64(i)+2.7, 1.05)
		p.sums = append(p.sums, sum)
	}
	return p
}

func (p *prose) nextWord() string {
	i, _ := slices.BinarySearch(p.sums, p.Float64()*p.sums[len(p.sums)-1])
	return p.vocabulary[min(i, len(p.vocabulary)-1)]
}

func (p *prose) nextText(n int) string {
	var b strings.Builder
	for range n {
		b.WriteString(p.nextWord())
		b.WriteByte(' ')
	}
	return b.String()
}

// nextPassage returns one of 20,000 texts of 80 words on average, plus a few words.
func (p *prose) nextPassage() string {
	if len(p.known) < 20_000 {
		p.known = append(p.known, p.nextText(36+p.IntN(81)))
		return p.known[len(p.known)-1]
	}
	return p.known[p.IntN(len(p.known))] + p.nextText(4)
}

func (p *prose) nextQuery() (q Query) {
	for n := 2 + p.IntN(4); n > 0; {
		w := p.nextWord()
		q.Terms = append(q.Terms, Term{Word: w})
		if !lexical.Stop(w, "en") {
			n--
		}
	}
	return q
}

const benchPassages = 200_000

func (p *prose) nextDocs(first int64, n int) (docs []Doc) {
	for i := range n / 10 {
		d := Doc{ID: first + int64(i), Language: "en", Title: p.nextText(4), Kind: "document", Source: fmt.Sprintf("/notes/%d.md", first+int64(i)),
			Date: time.Unix(1_700_000_000+int64(i), 0)}
		for range 10 {
			d.Passages = append(d.Passages, Passage{Text: p.nextPassage()})
		}
		docs = append(docs, d)
	}
	return docs
}

// fillIndex indexes batches of 500 passages while merging, as programs do.
func fillIndex(b testing.TB, x *Index, p *prose, passages int) (took, slowest time.Duration) {
	for len(p.known) < 20_000 {
		p.nextPassage()
	}
	start := time.Now()
	done := make(chan struct{})
	var wait sync.WaitGroup
	wait.Go(func() { mergeUntil(b, x, done) })
	batches := make(chan Batch, 2)
	wait.Go(func() {
		for i := 0; i < passages; i += 500 {
			batches <- x.Prepare(p.nextDocs(int64(i+1), 500))
		}
		close(batches)
	})
	for batch := range batches {
		at := time.Now()
		if err := x.db.Tx(b.Context(), addInTx(b.Context(), x, batch)); err != nil {
			b.Fatal(err)
		}
		slowest = max(slowest, time.Since(at))
	}
	close(done)
	wait.Wait()
	return time.Since(start), slowest
}

func mergeUntil(b testing.TB, x *Index, done chan struct{}) {
	for {
		more, err := x.Merge(context.Background())
		if err != nil {
			b.Error(err)
			return
		}
		if more {
			continue
		}
		select {
		case <-done:
			return
		case <-time.After(20 * time.Millisecond):
		}
	}
}

func reportTimes(b *testing.B, name string, n int, search func()) {
	list := make([]time.Duration, n)
	for i := range list {
		start := time.Now()
		search()
		list[i] = time.Since(start)
	}
	slices.Sort(list)
	ms := func(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
	b.ReportMetric(ms(list[n/2]), name+"-p50-ms")
	b.ReportMetric(ms(list[n*99/100]), name+"-p99-ms")
}

func BenchmarkIndex(b *testing.B) {
	for b.Loop() {
		file := filepath.Join(b.TempDir(), "bench.db")
		x, _ := openIndex(b, file)
		p := newProse(200_000)
		stop := startBackfill(b, file)
		took, slowest := fillIndex(b, x, p, benchPassages)
		b.ReportMetric(benchPassages/took.Seconds(), "passages/s")
		b.ReportMetric(float64(slowest.Milliseconds()), "slowest-batch-ms")
		ask := func(q func() Query) func() {
			return func() {
				if _, err := x.Search(b.Context(), q(), 10); err != nil {
					b.Fatal(err)
				}
			}
		}
		reportTimes(b, "search", 2000, ask(p.nextQuery))
		reportTimes(b, "feedback", 300, ask(func() Query { q := p.nextQuery(); q.Feedback = true; return q }))
		reportTimes(b, "talk", 300, ask(func() Query { q := p.nextQuery(); q.Neighbours, q.Whole = 0.4, 0.5; return q }))
		reportTimes(b, "typo", 300, ask(func() Query {
			q := p.nextQuery()
			w := q.Terms[0].Word
			q.Terms[0].Word, q.Typos = w+"q", true
			return q
		}))
		start := time.Now()
		if _, err := Open(b.Context(), x.db); err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(time.Since(start).Milliseconds()), "open-ms")
		benchmarkConcurrent(b, x, p, ask(p.nextQuery))
		stop()
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		b.ReportMetric(float64(m.HeapAlloc>>20), "heap-MiB")
		b.ReportMetric(residentMiB(), "peak-MiB")
		s, err := x.Stats(b.Context())
		if err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(s.Segments), "segments")
		for name, suffix := range map[string]string{"file-MiB": "", "wal-MiB": "-wal"} {
			if info, err := os.Stat(file + suffix); err == nil {
				b.ReportMetric(float64(info.Size()>>20), name)
			}
		}
	}
}

func benchmarkConcurrent(b *testing.B, x *Index, p *prose, search func()) {
	more := newProse(200_000)
	stop := make(chan struct{})
	var wait sync.WaitGroup
	wait.Go(func() { mergeUntil(b, x, stop) })
	wait.Go(func() {
		for i := int64(benchPassages); ; i += 50 {
			select {
			case <-stop:
				return
			default:
			}
			batch := x.Prepare(more.nextDocs(i+1, 500))
			if err := x.db.Tx(context.Background(), addInTx(context.Background(), x, batch)); err != nil {
				b.Error(err)
				return
			}
		}
	})
	reportTimes(b, "beside", 1000, search)
	close(stop)
	wait.Wait()
}

// startBackfill runs checkpoints of the write-ahead log, as the store does.
func startBackfill(b *testing.B, file string) (stop func()) {
	db, err := sql.Open("sqlite", file+"?_pragma=busy_timeout(10000)&_pragma=secure_delete(on)")
	if err != nil {
		b.Fatal(err)
	}
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for {
			select {
			case <-done:
				return
			case <-time.After(500 * time.Millisecond):
				if _, err := db.Exec(`PRAGMA wal_checkpoint(PASSIVE)`); err != nil {
					b.Error(err)
				}
			}
		}
	}()
	return func() {
		close(done)
		<-ended
		db.Close()
	}
}

// residentMiB returns the peak memory in MiB, or 0 if unknown.
func residentMiB() (mib float64) {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(status)) {
		if _, err := fmt.Sscanf(line, "VmHWM: %f kB", &mib); err == nil {
			return mib / 1024
		}
	}
	return 0
}
