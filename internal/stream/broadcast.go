package stream

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"ponder"
	"ponder/internal/fileio"
)

// Broadcasts sends the deltas of threads that this process holds to other processes of the
// same user, so that answers stream in all of them. A process that misses deltas gets the
// answer from the log. It is safe for concurrent use.
//
// Each thread has a socket in a folder, named after the thread and the process. The socket
// sends one [deltaFrame] per line, first the whole text of the current call.
type Broadcasts struct {
	dir   string
	shows func(key string) bool

	mu   sync.Mutex
	open map[ponder.ThreadID]*broadcast
}

// NewBroadcasts returns broadcasts of the actions for which shows returns true, with
// sockets in dir. It creates dir on demand. If a socket cannot be created, nothing is sent.
func NewBroadcasts(dir string, shows func(key string) bool) *Broadcasts {
	return &Broadcasts{dir: dir, shows: shows, open: make(map[ponder.ThreadID]*broadcast)}
}

// A broadcast sends the deltas of one thread.
type broadcast struct {
	timer *time.Timer
	ready chan struct{} // closed when it listens, or cannot

	mu       sync.Mutex
	listener net.Listener // nil until it listens
	call     deltaFrame   // the current call, by its first frame
	written  []byte       // the text of the current call
	subs     map[chan deltaFrame]bool
	closed   bool
}

// A deltaFrame is the form of a [ponder.Delta] on a socket.
type deltaFrame struct {
	Key     string     `json:"key"`
	Piece   string     `json:"piece"`
	Began   ponder.Seq `json:"began,omitempty"`
	Attempt int        `json:"attempt,omitempty"`
	Offset  int        `json:"offset,omitempty"`
}

// Limits of broadcasts.
const (
	maxSocket     = 100 // bytes of a socket's path; systems allow slightly more
	maxWritten    = 1 << 20
	frameBuffer   = 1024 // frames per reader; further ones are dropped
	readerTimeout = time.Second
)

func (b *Broadcasts) socketPath(thread ponder.ThreadID, process string) string {
	return filepath.Join(b.dir, string(thread)+"."+process)
}

// Open starts the broadcast of a thread until stop. It creates the socket after a delay.
func (b *Broadcasts) Open(thread ponder.ThreadID, after time.Duration) (stop func()) {
	one := &broadcast{ready: make(chan struct{}), subs: make(map[chan deltaFrame]bool)}
	one.timer = time.AfterFunc(after, func() {
		defer close(one.ready)
		file := b.socketPath(thread, fmt.Sprint(os.Getpid()))
		if len(file) > maxSocket || fileio.MakeStateDir(b.dir) != nil {
			return
		}
		if l, err := new(net.ListenConfig).Listen(context.Background(), "unix", file); err == nil {
			_ = os.Chmod(file, 0o600) // the folder is private already
			one.listener = l
			go one.acceptReaders(l)
		}
	})
	b.mu.Lock()
	defer b.mu.Unlock()
	b.open[thread] = one
	return func() {
		b.mu.Lock()
		if b.open[thread] == one {
			delete(b.open, thread)
		}
		b.mu.Unlock()
		one.close()
	}
}

// Add sends a delta. It does not block.
func (b *Broadcasts) Add(d ponder.Delta) {
	if d.Text == "" || !b.shows(d.Key) {
		return
	}
	b.mu.Lock()
	one := b.open[d.Thread]
	b.mu.Unlock()
	if one != nil {
		one.addFrame(deltaFrame{d.Key, d.Text, d.Began, d.Attempt, d.Offset})
	}
}

func (b *broadcast) addFrame(f deltaFrame) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if f.Key != b.call.Key || f.Attempt != b.call.Attempt {
		b.call, b.written = f, b.written[:0]
	}
	if len(b.written) < maxWritten {
		b.written = append(b.written, f.Piece...)
	}
	for sub := range b.subs {
		select {
		case sub <- f:
		default:
		}
	}
}

// acceptReaders accepts readers.
func (b *broadcast) acceptReaders(l net.Listener) {
	for {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		sub := make(chan deltaFrame, frameBuffer)
		b.mu.Lock()
		if b.closed {
			b.mu.Unlock()
			conn.Close()
			return
		}
		first := b.call
		first.Piece = string(b.written)
		sub <- first
		b.subs[sub] = true
		b.mu.Unlock()
		go b.sendFrames(conn, sub)
	}
}

// sendFrames sends frames until sub is closed or the reader blocks.
func (b *broadcast) sendFrames(conn net.Conn, sub chan deltaFrame) {
	defer conn.Close()
	out := json.NewEncoder(conn)
	for f := range sub {
		if conn.SetWriteDeadline(time.Now().Add(readerTimeout)) != nil || out.Encode(f) != nil {
			b.mu.Lock()
			delete(b.subs, sub)
			b.mu.Unlock()
			return
		}
	}
}

// close ends the broadcast and removes the socket, so that the next broadcast can use its
// path.
func (b *broadcast) close() {
	if b.timer.Stop() {
		close(b.ready)
	}
	<-b.ready
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	if b.listener != nil {
		b.listener.Close()
	}
	for sub := range b.subs {
		close(sub)
		delete(b.subs, sub)
	}
}

// Receive calls take with the deltas of other processes on a thread, until ctx is done.
func (b *Broadcasts) Receive(ctx context.Context, thread ponder.ThreadID, take func(ponder.Delta)) {
	files, _ := filepath.Glob(b.socketPath(thread, "*")) // a bad pattern gives none
	for _, file := range files {
		if strings.HasSuffix(file, fmt.Sprintf(".%d", os.Getpid())) {
			continue
		}
		conn, err := new(net.Dialer).DialContext(ctx, "unix", file)
		if err != nil { // its process was killed
			os.Remove(file)
			continue
		}
		context.AfterFunc(ctx, func() { conn.Close() })
		go func() {
			defer conn.Close()
			in := json.NewDecoder(conn)
			for {
				var f deltaFrame
				if in.Decode(&f) != nil {
					return
				}
				d := ponder.Delta{Thread: thread, Key: f.Key, Began: f.Began, Attempt: f.Attempt, Offset: f.Offset}
				d.Text = f.Piece
				take(d)
			}
		}()
	}
}
