package sqlite

import (
	"bytes"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"ponder"
)

// A failingDisk keeps what a power failure leaves of the write-ahead log: the part that a
// successful sync covered, and any mixture of the sectors after it. A sync may fail. The kernel
// then drops the pages, and reports success next time.
type failingDisk struct {
	file string
	rnd  *rand.Rand

	mu      sync.Mutex
	durable []byte // of the log
	dropped bool
	fails   int
}

func (d *failingDisk) sync() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.rnd.IntN(12) == 0 {
		d.dropped = true
		d.fails++
		return &os.PathError{Op: "fsync", Path: d.file, Err: syscall.EIO}
	}
	if d.dropped {
		return nil // but the pages are gone
	}
	content, err := os.ReadFile(d.file + "-wal")
	if err == nil {
		d.durable = content
	}
	return err
}

// rewrite writes the dropped pages again and syncs them.
func (d *failingDisk) rewrite() error {
	d.mu.Lock()
	d.dropped = false
	d.mu.Unlock()
	return d.sync()
}

// losePower returns the files after a power failure.
func (d *failingDisk) losePower(t *testing.T) string {
	t.Helper()
	d.mu.Lock()
	defer d.mu.Unlock()
	db, err := os.ReadFile(d.file)
	if err != nil {
		t.Fatal(err)
	}
	wal, err := os.ReadFile(d.file + "-wal")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.HasPrefix(wal, d.durable) {
		t.Fatal("the log was rewritten below a sync")
	}
	const sector = 512
	for at := len(d.durable); at < len(wal); at += sector {
		part := wal[at:min(at+sector, len(wal))]
		switch d.rnd.IntN(4) {
		case 0:
			clear(part)
		case 1:
			for i := range part {
				part[i] = byte(d.rnd.Uint32())
			}
		}
	}
	if rest := len(wal) - len(d.durable); rest > 0 && d.rnd.IntN(3) == 0 {
		wal = wal[:len(d.durable)+d.rnd.IntN(rest)]
	}
	file := filepath.Join(t.TempDir(), "ponder.db")
	for name, content := range map[string][]byte{file: db, file + "-wal": wal} {
		if err := os.WriteFile(name, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return file
}

// TestPowerLoss loses the power while appends and failing syncs run. Each acknowledged event
// survives, and the rest is a part of the appended events in their order.
func TestPowerLoss(t *testing.T) {
	failed, lost := 0, 0
	for seed := uint64(0); seed < 12; seed++ {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			f, l := losePowerOnce(t, seed)
			failed, lost = failed+f, lost+l
		})
	}
	if failed == 0 || lost == 0 {
		t.Errorf("%d syncs failed and %d events were lost: the test tests nothing", failed, lost)
	}
}

func losePowerOnce(t *testing.T, seed uint64) (failed, lost int) {
	s := openWith(t, "thr_0")
	if err := s.Create(t.Context(), ponder.Thread{ID: "thr_1"}); err != nil {
		t.Fatal(err)
	}
	release := pinReader(t, s.file)
	disk := &failingDisk{file: s.file, rnd: rand.New(rand.NewPCG(seed, 30))}
	if seed%6 == 1 {
		s.sync, s.rewrite = disk.sync, disk.rewrite
	} else { // without failures
		s.sync = func() error {
			for {
				if err := disk.sync(); err == nil {
					return nil
				}
				disk.dropped = false
			}
		}
	}
	if err := s.makeDurable(0); err != nil {
		disk.dropped = true
	}
	var texts, acked [2][]string
	var mu sync.Mutex // guards acked
	var writers sync.WaitGroup
	ended := make(chan bool, 24) // appends
	for k := range texts {
		rnd := rand.New(rand.NewPCG(seed, uint64(k)))
		writers.Go(func() {
			for i := range 12 {
				text := fmt.Sprintf("%d.%d%s", k, i, strings.Repeat(" x", rnd.IntN(3000)))
				texts[k] = append(texts[k], text)
				_, err := s.Append(t.Context(), ponder.ThreadID(fmt.Sprint("thr_", k)), 0, ponder.Event{Body: ponder.UserMessage{Content: text}})
				if err == nil {
					mu.Lock()
					acked[k] = append(acked[k], text)
					mu.Unlock()
				}
				ended <- true
			}
		})
	}
	for range 2 * seed {
		<-ended
	}
	mu.Lock()
	survivors := [2][]string{slices.Clone(acked[0]), slices.Clone(acked[1])} // later ones need not survive
	mu.Unlock()
	image := disk.losePower(t)
	writers.Wait()
	again, err := Open(t.Context(), image)
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	for k := range texts {
		got := messagesOf(t, again, ponder.ThreadID(fmt.Sprint("thr_", k)))
		checkSurvived(t, got, survivors[k], texts[k])
		lost += len(texts[k]) - len(got)
	}
	release()
	if _, err := s.Append(t.Context(), "thr_0", 0, ponder.Event{Body: ponder.UserMessage{Content: "later"}}); err != nil {
		disk.mu.Lock()
		disk.rnd, disk.dropped = rand.New(rand.NewPCG(seed, 31)), false
		disk.mu.Unlock()
	}
	checkSurvived(t, messagesOf(t, s, "thr_0"), acked[0], append(texts[0], "later"))
	return disk.fails, lost
}

// pinReader keeps all commits in the log, by a reader of an older snapshot.
func pinReader(t *testing.T, file string) (release func()) {
	t.Helper()
	db, err := sql.Open("sqlite", file)
	if err != nil {
		t.Fatal(err)
	}
	tx, err := db.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	if err := tx.QueryRowContext(t.Context(), `SELECT count(*) FROM ponder_batch`).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return sync.OnceFunc(func() {
		_ = tx.Rollback()
		db.Close()
	})
}

func messagesOf(t *testing.T, s *Store, id ponder.ThreadID) (list []string) {
	t.Helper()
	for ev, err := range s.Events(t.Context(), id, 0) {
		if err != nil {
			t.Fatal(err)
		}
		if ev.Seq != ponder.Seq(len(list)+1) {
			t.Errorf("event %d follows %d", ev.Seq, len(list))
		}
		list = append(list, ev.Body.(ponder.UserMessage).Content)
	}
	return list
}

// checkSurvived checks that got has each acknowledged text, and a part of all texts in order.
func checkSurvived(t *testing.T, got, acked, all []string) {
	t.Helper()
	rest := all
	for _, text := range got {
		i := slices.Index(rest, text)
		if i < 0 {
			t.Errorf("%.20q is doubled, out of order or was never appended", text)
			return
		}
		rest = rest[i+1:]
	}
	for _, text := range acked {
		if !slices.Contains(got, text) {
			t.Error(errors.New("an acknowledged event is lost"), text[:min(20, len(text))])
		}
	}
}
