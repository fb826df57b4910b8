//go:build !linux

package main

import "ponder"

// thisNode leaves it to silence to tell that a process has ended.
func thisNode() ponder.Node { return ponder.Node{} }

func startOf(int) (start string, running bool) { return "", true }
