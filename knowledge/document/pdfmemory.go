package document

import "github.com/tetratelabs/wazero/experimental"

// A pdfMemory is the memory of one PDF engine: reserved addresses, of which the engine uses
// a growing part. It grows without a copy, so the engine takes no more than its limit.
type pdfMemory struct {
	reserved []byte
	size     uint64 // bytes in use
}

// Allocate implements [experimental.MemoryAllocator].
func (m *pdfMemory) Allocate(_, limit uint64) experimental.LinearMemory {
	m.reserved = reserveMemory(int(limit))
	return m
}

// Reallocate returns nil if the system has no memory left.
func (m *pdfMemory) Reallocate(size uint64) []byte {
	if size > uint64(len(m.reserved)) {
		return nil
	}
	if size > m.size {
		if commitMemory(m.reserved[m.size:size]) != nil {
			return nil
		}
		m.size = size
	}
	return m.reserved[:size:size]
}

// Free does nothing, because the time limit closes a module while its code runs.
func (m *pdfMemory) Free() {}

// release returns the memory to the system. The engine must not run any more.
func (m *pdfMemory) release() {
	releaseMemory(m.reserved)
	m.reserved = nil
}
