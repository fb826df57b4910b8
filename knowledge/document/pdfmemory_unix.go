//go:build linux || darwin || freebsd || netbsd || openbsd

package document

import (
	"fmt"
	"os"
	"syscall"
)

// reserveMemory returns addresses without memory, or nil.
func reserveMemory(n int) []byte {
	b, err := syscall.Mmap(-1, 0, n, syscall.PROT_NONE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		return nil
	}
	return b
}

func commitMemory(b []byte) error { return syscall.Mprotect(b, syscall.PROT_READ|syscall.PROT_WRITE) }

func releaseMemory(b []byte) {
	if b != nil {
		_ = syscall.Munmap(b)
	}
}

// checkExecutable makes a page executable, as wazero's compiler does with its code. It
// returns the error of the system where that is not allowed, such as under systemd's
// MemoryDenyWriteExecute.
func checkExecutable() error {
	page, err := syscall.Mmap(-1, 0, os.Getpagesize(), syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		return fmt.Errorf("allocate a page: %w", err)
	}
	defer releaseMemory(page)
	page[0] = 0xc3 // wazero writes before it protects
	if err := syscall.Mprotect(page, syscall.PROT_READ|syscall.PROT_EXEC); err != nil {
		return fmt.Errorf("make memory executable: %w", err)
	}
	return nil
}
