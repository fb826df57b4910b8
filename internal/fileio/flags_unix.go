//go:build unix

package fileio

import "syscall"

// openFlags open pipes and terminals without waiting, and without taking over a terminal.
const openFlags = syscall.O_NONBLOCK | syscall.O_NOCTTY | syscall.O_CLOEXEC

// errNoReader is the error of a pipe that no program reads.
const errNoReader = syscall.ENXIO
