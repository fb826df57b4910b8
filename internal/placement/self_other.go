//go:build !linux

package placement

// On other systems nothing is known about other processes. Their threads become free after
// [ponder.DeadAfter] without a beat.

func machineID() string { return "" }

func bootID() string { return "" }

func startTime(int) (start string, there liveness) { return "", processUnknown }
