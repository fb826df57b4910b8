package server

import (
	"context"
	"errors"
	sockets "net"
	"os"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"ponder"
)

func TestReadyNeedsBeat(t *testing.T) {
	now := time.Now()
	self := ponder.Node{Host: "here", PID: 7, Start: "100"}
	beat := func(n ponder.Node, ago time.Duration) ponder.Node {
		n.Beat = now.Add(-ago)
		return n
	}
	other := ponder.Node{Host: "here", PID: 7, Start: "50"}
	tests := []struct {
		name  string
		nodes []ponder.Node
		want  bool
	}{
		{"nobody", nil, false},
		{"just now", []ponder.Node{beat(self, time.Second)}, true},
		{"long ago", []ponder.Node{beat(self, ponder.DeadAfter)}, false},
		{"as an earlier node, too", []ponder.Node{beat(self, time.Hour), beat(self, time.Second)}, true},
		{"only another process", []ponder.Node{beat(other, 0)}, false},
		{"before the clock was set back", []ponder.Node{beat(self, -time.Hour)}, true},
	}
	for _, tt := range tests {
		if got := hasBeat(tt.nodes, self, now); got != tt.want {
			t.Errorf("%s: got %v, want %v", tt.name, got, tt.want)
		}
	}
}

// TestDatabaseLost checks that a brief move of the database is no loss.
func TestDatabaseLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var lost atomic.Bool
		ended := make(chan error, 1)
		go func() {
			ended <- watchLost(t.Context(), func() error {
				if lost.Load() {
					return ponder.ErrLost
				}
				return nil
			}, fileEvery)
		}()
		time.Sleep(fileEvery / 2) // between two checks
		for range 3 {
			time.Sleep(time.Hour)
			lost.Store(true)
			time.Sleep(fileEvery)
			lost.Store(false)
		}
		synctest.Wait()
		if len(ended) > 0 {
			t.Fatalf("it is lost before: %v", <-ended)
		}
		lost.Store(true)
		time.Sleep(2 * fileEvery)
		synctest.Wait()
		if err := <-ended; !errors.Is(err, ponder.ErrLost) {
			t.Errorf("got %v", err)
		}
	})
}

func TestDatabaseKept(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	checkOK(t, watchLost(ctx, func() error { return ponder.ErrLost }, time.Hour))
}

func TestNotifyManager(t *testing.T) {
	checkOK(t, notifyManager(t.Context(), "READY=1")) // without a service manager
	name := filepath.Join(t.TempDir(), "notify")
	conn, err := sockets.ListenUnixgram("unixgram", &sockets.UnixAddr{Net: "unixgram", Name: name})
	if err != nil {
		t.Skipf("this machine has no such sockets: %v", err)
	}
	defer conn.Close()
	t.Setenv("NOTIFY_SOCKET", name)
	received := func() string {
		b := make([]byte, 100)
		n, err := conn.Read(b)
		checkOK(t, err)
		return string(b[:n])
	}
	undo := new(Server).notifyWhileReady(t.Context(), "http://127.0.0.1:1")
	if got := received(); got != "READY=1" {
		t.Errorf("it says %q when it begins", got)
	}
	undo()
	if got := received(); got != "STOPPING=1" {
		t.Errorf("it says %q when it ends", got)
	}
	t.Setenv("NOTIFY_SOCKET", name+".other")
	if err := notifyManager(t.Context(), "READY=1"); err == nil {
		t.Error("it is told where nobody listens")
	}
}

func TestWatchdogInterval(t *testing.T) {
	for _, tt := range []struct {
		limit, pid string
		want       time.Duration
	}{
		{"", "", 0},
		{"nonsense", "", 0},
		{"-5", "", 0},
		{"60000000", "", 30 * time.Second},
		{"60000000", strconv.Itoa(os.Getpid()), 30 * time.Second},
		{"60000000", "1", 0},
	} {
		t.Setenv("WATCHDOG_USEC", tt.limit)
		t.Setenv("WATCHDOG_PID", tt.pid)
		if got := watchdogInterval(); got != tt.want {
			t.Errorf("%+v: got %s", tt, got)
		}
	}
}

func TestWatchdogNeedsResponse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		var said atomic.Int32
		var well atomic.Bool
		well.Store(true)
		go sendWatchdog(ctx, time.Second, well.Load, func(string) { said.Add(1) })
		time.Sleep(3500 * time.Millisecond)
		synctest.Wait()
		if said.Load() != 3 {
			t.Errorf("notified %d times in 3.5 s", said.Load())
		}
		well.Store(false)
		time.Sleep(5 * time.Second)
		cancel()
		synctest.Wait()
		if said.Load() != 3 {
			t.Errorf("notified without an answer")
		}
	})
}

func checkOK(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
