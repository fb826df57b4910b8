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

// notifyManager sends a state such as "READY=1" to the service manager, such as systemd
// (sd_notify). It does nothing without one.
func notifyManager(ctx context.Context, state string) error {
	name := os.Getenv("NOTIFY_SOCKET")
	if name == "" {
		return nil
	}
	if name[0] == '@' { // abstract socket
		name = "\x00" + name[1:]
	}
	conn, err := new(sockets.Dialer).DialContext(ctx, "unixgram", name)
	if err != nil {
		return fmt.Errorf("notify the service manager: %w", err)
	}
	defer conn.Close()
	if _, err := conn.Write([]byte(state)); err != nil {
		return fmt.Errorf("notify the service manager: %w", err)
	}
	return nil
}

// watchdogInterval returns half of the service manager's watchdog timeout, 0 without a watchdog.
func watchdogInterval() time.Duration {
	limit, err := strconv.ParseInt(os.Getenv("WATCHDOG_USEC"), 10, 64)
	if err != nil || limit <= 0 {
		return 0
	}
	if pid := os.Getenv("WATCHDOG_PID"); pid != "" && pid != strconv.Itoa(os.Getpid()) {
		return 0
	}
	return time.Duration(limit) * time.Microsecond / 2
}

// notifyWhileReady reports READY and, while the server responds, watchdog signals to the service
// manager. undo reports STOPPING.
func (s *Server) notifyWhileReady(ctx context.Context, at string) (undo func()) {
	say := func(state string) {
		if err := notifyManager(ctx, state); err != nil {
			slog.Warn("cannot notify the service manager", "error", err)
		}
	}
	say("READY=1")
	ctx, stop := context.WithCancel(ctx)
	if every := watchdogInterval(); every > 0 {
		ask := &http.Client{Timeout: every, Transport: &http.Transport{DisableKeepAlives: true}} // local, so no proxy
		go sendWatchdog(ctx, every, func() bool { return isResponding(ctx, ask, at) }, say)
	}
	return func() {
		stop()
		ctx = context.WithoutCancel(ctx)
		say("STOPPING=1")
	}
}

func isResponding(ctx context.Context, ask *http.Client, at string) bool {
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

// sendWatchdog sends watchdog signals while responds returns true, until ctx ends.
func sendWatchdog(ctx context.Context, every time.Duration, answers func() bool, say func(state string)) {
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
