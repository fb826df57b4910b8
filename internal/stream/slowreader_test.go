package stream

import (
	"bytes"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// A deadlineConn connection has deadlines. Each write takes a while.
type deadlineConn struct {
	*httptest.ResponseRecorder
	takes time.Duration

	mu          sync.Mutex
	read, write time.Time
	over        chan struct{} // closed when the write deadline has passed
}

func newConn(takes time.Duration) *deadlineConn {
	return &deadlineConn{ResponseRecorder: httptest.NewRecorder(), takes: takes, read: time.Now(), write: time.Now(), over: make(chan struct{})}
}

func (c *deadlineConn) SetReadDeadline(t time.Time) error { c.read = t; return nil }

func (c *deadlineConn) SetWriteDeadline(t time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.write = t; !t.IsZero() && t.Before(time.Now()) {
		close(c.over)
	}
	return nil
}

func (c *deadlineConn) Write(b []byte) (int, error) {
	select {
	case <-time.After(c.takes):
		return c.ResponseRecorder.Write(b)
	case <-c.over:
		return 0, os.ErrDeadlineExceeded
	}
}

// The writer ends the connection of a stalled reader, but not of a slow one, however long
// an event is.
func TestSlowAndStalledReaders(t *testing.T) {
	for _, tt := range []struct {
		name  string
		takes time.Duration // per piece
		gone  bool
	}{
		{"at once", 0, false},
		{"slowly", writeTimeout - time.Second, false},
		{"never", time.Hour, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newConn(tt.takes)
				w, began, data := NewWriter(c), time.Now(), bytes.Repeat([]byte("x"), 5*pieceSize)
				w.Event(1, "", data)
				err := w.Flush()
				if gone := err != nil; gone != tt.gone {
					t.Fatalf("after %v: %v", time.Since(began), err)
				}
				if tt.gone && time.Since(began) != writeTimeout {
					t.Errorf("it was waited for %v", time.Since(began))
				}
				if !tt.gone && !strings.Contains(c.Body.String(), string(data)) {
					t.Error("not all has come")
				}
			})
		})
	}
}

// No deadline stays on the connection, because events may be far apart.
func TestDeadlineIsCleared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newConn(writeTimeout / 2)
		w := NewWriter(c)
		for range 3 {
			w.Comment("keep-alive")
			if err := w.Flush(); err != nil {
				t.Fatal(err)
			}
			time.Sleep(2 * writeTimeout)
		}
		if !c.read.IsZero() || !c.write.IsZero() {
			t.Errorf("reads until %v, writes until %v", c.read, c.write)
		}
	})
}

// A process that stood still gives its readers their time again.
func TestLateWatchdog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var given atomic.Int32
		d := &watchdog{giveUp: func() { given.Add(1) }}
		d.startWrite()
		d.mu.Lock()
		d.due = d.due.Add(-writeTimeout - 2*lateness) // the timer is late by this much
		d.mu.Unlock()
		time.Sleep(writeTimeout)
		synctest.Wait()
		if given.Load() > 0 {
			t.Error("it was the reader's fault")
		}
		time.Sleep(writeTimeout)
		synctest.Wait()
		if given.Load() != 1 {
			t.Errorf("given up %d times", given.Load())
		}
		d.endWrite()
	})
}
