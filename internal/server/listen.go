package server

import (
	"context"
	"errors"
	sockets "net"
	"strings"
	"syscall"

	"ponder/internal/app"
	"ponder/internal/textkit"
)

// Listen returns a listener at an address. The error of a used address names the server there.
func Listen(ctx context.Context, a *app.App, address string) (sockets.Listener, error) {
	l, err := new(sockets.ListenConfig).Listen(ctx, "tcp", address)
	if err == nil {
		return l, nil
	}
	if !errors.Is(err, syscall.EADDRINUSE) {
		return nil, app.Invalidf("", "--listen %s: %w", textkit.Truncate(textkit.OneLine(address), 60), NetworkCause(err))
	}
	for _, s := range LocalServers(a) {
		if strings.HasSuffix(s.Address, address[strings.LastIndexByte(address, ':'):]) {
			return nil, app.Invalidf("", "%s is in use by `ponder serve` (process %d) for %s: choose another address with --listen", address, s.PID, s.Database)
		}
	}
	return nil, app.Invalidf("", "%s is in use by another program: choose another address with --listen", address)
}

// NetworkCause returns the innermost cause of a network error.
func NetworkCause(err error) error {
	var op *sockets.OpError
	if errors.As(err, &op) {
		return op.Err
	}
	return err
}
