//go:build !linux

package placement

// On other systems nothing is known about other processes. Their threads become free after
// [ponder.DeadAfter] without a beat.

func machine() string { return "" }

func bootID() string { return "" }

func started(int) (start string, there answer) { return "", unknown }
