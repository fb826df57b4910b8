package main

import (
	"context"
	"encoding/json"
	"fmt"
	sockets "net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"ponder"
)

// A caster tells other processes of the same user what is being written on a thread
// that this one holds, so that an answer streams wherever it is waited for. It is a
// courtesy: whoever hears nothing, or not all, has the answer from the log.
//
// It listens on a socket in ponder/live of the folder for state, which is named after
// the thread and the process, and sends a JSON object a line: {"key", "piece"}, first
// what the call that goes on has written so far.
type caster struct {
	mu       sync.Mutex
	listener sockets.Listener // nil until others may hear
	key      string           // of the call that goes on
	written  []byte           // by it
	subs     map[chan casting]bool
	over     bool
}

// A casting is a piece of what a call writes.
type casting struct {
	Key   string `json:"key"`
	Piece string `json:"piece"`
}

// Bounds of casting.
const (
	maxSocket   = 100 // bytes of a socket's name, which systems allow
	maxCast     = 1 << 20
	castBuffer  = 1024 // pieces that wait for who hears them; then pieces are left out
	castPatient = time.Second
)

// liveDir is where the sockets are.
func (a *cli) liveDir() (string, error) {
	dir, err := a.Settings.StateDir()
	return filepath.Join(dir, "live"), err
}

// cast begins to tell what is written on a thread. Where that cannot be, it returns
// nil, which tells nothing.
func (a *cli) cast(ctx context.Context, id ponder.ThreadID) *caster {
	l := a.castOn(ctx, id)
	if l == nil {
		return nil
	}
	c := &caster{subs: make(map[chan casting]bool)}
	c.begin(l)
	return c
}

// castOn listens for those who want to hear what is written on a thread. Where that
// cannot be, it returns nil.
func (a *cli) castOn(ctx context.Context, id ponder.ThreadID) sockets.Listener {
	dir, err := a.liveDir()
	if err != nil || os.MkdirAll(dir, 0o700) != nil {
		return nil
	}
	file := filepath.Join(dir, fmt.Sprintf("%s.%d", id, os.Getpid()))
	if len(file) > maxSocket {
		return nil
	}
	l, err := new(sockets.ListenConfig).Listen(ctx, "unix", file)
	if err != nil {
		return nil
	}
	return l
}

// begin lets others hear from now on, unless it is over.
func (c *caster) begin(l sockets.Listener) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.over {
		l.Close()
		return
	}
	c.listener = l
	go c.serve(l)
}

// add takes in what a model writes. It does not wait.
func (c *caster) add(d ponder.Delta) {
	if c == nil || d.Text == "" || !strings.HasPrefix(d.Key, turnKey) {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if d.Key != c.key {
		c.key, c.written = d.Key, c.written[:0]
	}
	if len(c.written) < maxCast {
		c.written = append(c.written, d.Text...)
	}
	for sub := range c.subs {
		select {
		case sub <- casting{d.Key, d.Text}:
		default:
		}
	}
}

// serve lets others hear.
func (c *caster) serve(l sockets.Listener) {
	for {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		sub := make(chan casting, castBuffer)
		c.mu.Lock()
		if c.over {
			c.mu.Unlock()
			conn.Close()
			return
		}
		sub <- casting{c.key, string(c.written)}
		c.subs[sub] = true
		c.mu.Unlock()
		go c.tell(conn, sub)
	}
}

// tell sends pieces until there are no more, or nobody takes them.
func (c *caster) tell(conn sockets.Conn, sub chan casting) {
	defer conn.Close()
	out := json.NewEncoder(conn)
	for piece := range sub {
		if conn.SetWriteDeadline(time.Now().Add(castPatient)) != nil || out.Encode(piece) != nil {
			c.mu.Lock()
			delete(c.subs, sub)
			c.mu.Unlock()
			return
		}
	}
}

// close ends it, and takes the socket away.
func (c *caster) close() {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.over = true
	if c.listener != nil {
		c.listener.Close()
	}
	for sub := range c.subs {
		close(sub)
		delete(c.subs, sub)
	}
}

// overhear hears what another process writes on a thread, until ctx is done.
func (a *cli) overhear(ctx context.Context, id ponder.ThreadID, hear func(ponder.Delta)) {
	dir, err := a.liveDir()
	if err != nil {
		return
	}
	files, _ := filepath.Glob(filepath.Join(dir, string(id)+".*")) // of a bad pattern, none
	for _, file := range files {
		if strings.HasSuffix(file, fmt.Sprintf(".%d", os.Getpid())) {
			continue
		}
		conn, err := new(sockets.Dialer).DialContext(ctx, "unix", file)
		if err != nil { // of a process that was killed
			os.Remove(file)
			continue
		}
		context.AfterFunc(ctx, func() { conn.Close() })
		go func() {
			defer conn.Close()
			in := json.NewDecoder(conn)
			for {
				var piece casting
				if in.Decode(&piece) != nil {
					return
				}
				d := ponder.Delta{Thread: id, Key: piece.Key}
				d.Text = piece.Piece
				hear(d)
			}
		}()
	}
}
