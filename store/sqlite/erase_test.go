package sqlite_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ponder"
	"ponder/llm"
)

// TestEraseIsSecure searches the bytes of the files for erased content.
func TestEraseIsSecure(t *testing.T) {
	file := filepath.Join(t.TempDir(), "ponder.db")
	s := openStore(t, file)
	const secret = "the-secret-of-the-thread"
	long := strings.Repeat(secret, 1000)
	appendMessages(t, s, "thr_1", secret, long, "stays")
	if err := s.Join(t.Context(), ponder.Node{ID: "nod_1"}); err != nil {
		t.Fatal(err)
	}
	lease, err := s.Take(t.Context(), "thr_1", "nod_1")
	if err != nil {
		t.Fatal(err)
	}
	call := ponder.CallStarted{Role: ponder.Fast, Model: "p/m", Request: &llm.Request{System: long}}
	_, err = s.Append(t.Context(), "thr_1", lease.Fence, ponder.Event{Run: "run_1", Cause: "k#1", Body: call},
		ponder.Event{Body: ponder.TitleGenerated{Content: secret}}, ponder.Event{Body: ponder.Thought{Content: long, Cites: []string{secret}}})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.SaveCheckpoint(t.Context(), "thr_1", "f", "1", 1, []byte(long)); err != nil {
		t.Fatal(err)
	}
	if !containsText(t, file, secret) {
		t.Fatal("the test finds nothing")
	}
	if err := s.Erase(t.Context(), "thr_1", 1, 2, 4, 5, 6); err != nil {
		t.Fatal(err)
	}
	if err := s.SaveCheckpoint(t.Context(), "thr_1", "f", "1", 1, []byte(long)); err != nil {
		t.Fatal(err)
	}
	if containsText(t, file, secret) {
		t.Error("it is still there")
	}
	if !containsText(t, file, "stays") {
		t.Error("more was erased than was to be")
	}
}

// TestTornErase truncates the WAL at every page of an erasure of many rows. Either all rows
// are erased or none.
func TestTornErase(t *testing.T) {
	file := filepath.Join(t.TempDir(), "ponder.db")
	s := openStore(t, file)
	appendMessages(t, s, "thr_1")
	const rows = 8
	for i := range rows {
		line := strings.Repeat(fmt.Sprint(i, " "), 3000)
		if _, err := s.Append(t.Context(), "thr_1", 0, userMessage(line), userMessage("kept"+line)); err != nil {
			t.Fatal(err)
		}
	}
	defer pinSnapshot(t, file)()
	before := len(readFile(t, file+"-wal"))
	var gone []ponder.Seq
	for seq := ponder.Seq(1); seq <= 2*rows; seq += 2 {
		gone = append(gone, seq)
	}
	if err := s.Erase(t.Context(), "thr_1", gone...); err != nil {
		t.Fatal(err)
	}
	db, wal := readFile(t, file), readFile(t, file+"-wal")
	if len(wal) < before+rows*2048 {
		t.Fatalf("the log grew from %d to %d bytes", before, len(wal))
	}
	outcomes := make(map[int]int)
	for at := before; at <= len(wal); at += 512 {
		outcomes[erasedIn(t, db, wal[:at])]++
	}
	outcomes[erasedIn(t, db, wal)]++
	if len(outcomes) != 2 || outcomes[0] == 0 || outcomes[rows] == 0 {
		t.Errorf("how many events were erased, how often: %v", outcomes)
	}
}

// erasedIn returns the number of erased events in a truncated database.
func erasedIn(t *testing.T, db, wal []byte) (n int) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "ponder.db")
	for name, content := range map[string][]byte{file: db, file + "-wal": wal} {
		if err := os.WriteFile(name, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s := openStore(t, file)
	for ev, err := range s.Events(t.Context(), "thr_1", 0) {
		if err != nil {
			t.Fatal(err)
		}
		if ev.Erased != (ev.Body.(ponder.UserMessage).Content == "") {
			t.Fatalf("event %d is half erased", ev.Seq)
		}
		if ev.Erased {
			n++
		}
	}
	return n
}
