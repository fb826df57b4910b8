package server

import (
	"context"
	"fmt"
	"log/slog"
	sockets "net"
	"net/http"
	"os"
	"strconv"
	"time"
)

// tellManager tells the program that looks after this one, such as systemd, how it goes:
// "READY=1" and the like (sd_notify). It does nothing where none wants to know.
func tellManager(ctx context.Context, state string) error {
	name := os.Getenv("NOTIFY_SOCKET")
	if name == "" {
		return nil
	}
	if name[0] == '@' { // an abstract name
		name = "\x00" + name[1:]
	}
	conn, err := new(sockets.Dialer).DialContext(ctx, "unixgram", name)
	if err != nil {
		return fmt.Errorf("tell the service manager: %w", err)
	}
	defer conn.Close()
	if _, err := conn.Write([]byte(state)); err != nil {
		return fmt.Errorf("tell the service manager: %w", err)
	}
	return nil
}

// signOfLife returns how often the service manager wants to hear that this process
// lives: twice in the time after which it would end it. Zero is never.
func signOfLife() time.Duration {
	limit, err := strconv.ParseInt(os.Getenv("WATCHDOG_USEC"), 10, 64)
	if err != nil || limit <= 0 {
		return 0
	}
	if pid := os.Getenv("WATCHDOG_PID"); pid != "" && pid != strconv.Itoa(os.Getpid()) {
		return 0
	}
	return time.Duration(limit) * time.Microsecond / 2
}

// managed tells the service manager that the server answers, as long as it does, and, by
// undo, that it ends.
func (s *Server) managed(ctx context.Context, at string) (undo func()) {
	say := func(state string) {
		if err := tellManager(ctx, state); err != nil {
			slog.Warn("the service manager does not know how it goes", "error", err)
		}
	}
	say("READY=1")
	ctx, stop := context.WithCancel(ctx)
	if every := signOfLife(); every > 0 {
		ask := &http.Client{Timeout: every, Transport: &http.Transport{DisableKeepAlives: true}} // of this machine, so without a proxy
		go liveTold(ctx, every, func() bool { return answers(ctx, ask, at) }, say)
	}
	return func() {
		stop()
		ctx = context.WithoutCancel(ctx)
		say("STOPPING=1")
	}
}

// answers reports whether a server answers anything.
func answers(ctx context.Context, ask *http.Client, at string) bool {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, at+"/healthz", nil)
	if err != nil {
		return false
	}
	resp, err := ask.Do(req)
	if err != nil {
		return false
	}
	return resp.Body.Close() == nil
}

// liveTold says that this process lives, as long as it answers, until ctx is done.
func liveTold(ctx context.Context, every time.Duration, answers func() bool, say func(state string)) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		if answers() {
			say("WATCHDOG=1")
		}
	}
}
