//go:build !linux

package placement

// Elsewhere, nothing is certain about other processes: their threads are free when
// their nodes have not beaten for [ponder.DeadAfter].

func machine() string { return "" }

func bootID() string { return "" }

func started(int) (start string, there answer) { return "", unknown }
