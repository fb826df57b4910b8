package placement

import (
	"context"
	"crypto/sha256"
	"fmt"
	"os"

	"ponder"
)

// CurrentNode returns this process as a new node.
func CurrentNode() ponder.Node {
	name, err := os.Hostname()
	if err != nil {
		name = "unknown"
	}
	n := ponder.Node{
		ID:   ponder.NodeID(ponder.NewID("nod")),
		Host: name + machineID(),
		Boot: bootID(),
		PID:  os.Getpid(),
	}
	if start, alive := startTime(n.PID); alive == processAlive {
		n.Start = start
	}
	return n
}

// IsProcessGone reports whether the process of another node has certainly ended. It can know this only for
// the same machine and PID namespace.
func IsProcessGone(self, other ponder.Node) bool { return isGone(self, other, startTime) }

// A liveness is the knowledge about a process.
type liveness int

const (
	processUnknown liveness = iota
	processAlive
	processGone
)

// isGone is [IsProcessGone] with an injected process look-up.
func isGone(self, other ponder.Node, started func(pid int) (start string, there liveness)) bool {
	switch {
	case other.ID == self.ID || other.Host != self.Host || self.Boot == "" || other.Boot == "":
		return false
	case other.Boot != self.Boot:
		return true
	case other.PID <= 0:
		return false
	}
	start, there := started(other.PID)
	return there == processGone || there == processAlive && start != "" && other.Start != "" && start != other.Start
}

// MarkDeadNodes marks nodes dead whose processes have certainly ended, which frees their threads, and
// returns their number. Callers that may need a thread of a killed process call it first;
// [Placement.Recover] does.
func MarkDeadNodes(ctx context.Context, nodes ponder.Nodes, self ponder.Node) (int, error) {
	all, err := nodes.AllNodes(ctx)
	if err != nil {
		return 0, fmt.Errorf("list nodes: %w", err)
	}
	buried := 0
	for _, n := range all {
		if !IsProcessGone(self, n) {
			continue
		}
		if err := nodes.MarkDead(ctx, n.ID); err != nil {
			return buried, fmt.Errorf("mark node %s dead: %w", n.ID, err)
		}
		buried++
	}
	return buried, nil
}

// hashID hashes machine identifiers so that they are not stored.
func hashID(s string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(s)))[:8] }
