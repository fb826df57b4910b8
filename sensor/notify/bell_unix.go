//go:build unix

package notify

import "syscall"

// noControl keeps a terminal from becoming that of the process.
const noControl = syscall.O_NOCTTY
