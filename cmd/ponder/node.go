package main

import (
	"context"
	"fmt"
	"log/slog"

	"ponder"
)

// bury takes the threads back from processes of this machine that have ended
// without a word, so that they can go on at once.
func bury(ctx context.Context, nodes ponder.Nodes) error {
	all, err := nodes.AllNodes(ctx)
	if err != nil {
		return fmt.Errorf("look for ended processes: %w", err)
	}
	here := thisNode()
	for _, n := range all {
		if !hasEnded(n, here) {
			continue
		}
		if err := nodes.Bury(ctx, n.ID); err != nil {
			return fmt.Errorf("take over from %s: %w", n.ID, err)
		}
		slog.Info("a process has ended without a word", "node", n.ID, "pid", n.PID)
	}
	return nil
}

// anyEnded reports whether there is something to bury.
func anyEnded(ctx context.Context, nodes ponder.Nodes) bool {
	all, err := nodes.AllNodes(ctx)
	if err != nil {
		return false
	}
	here := thisNode()
	for _, n := range all {
		if hasEnded(n, here) {
			return true
		}
	}
	return false
}

// hasEnded reports whether a process has certainly ended. Of other machines
// nothing is certain but their silence.
func hasEnded(n, here ponder.Node) bool {
	switch {
	case n.Host == "" || n.Host != here.Host:
		return false
	case n.Boot != here.Boot:
		return true
	}
	start, running := startOf(n.PID)
	return !running || start != n.Start
}
