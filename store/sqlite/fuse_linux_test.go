package sqlite_test

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// TestWeakDisk loses the power of a disk whose syncs fail, while a process writes. Each acknowledged
// event survives, once.
func TestWeakDisk(t *testing.T) {
	fails := 0
	for seed := range uint64(5) {
		disk, dir, err := mountWeakDisk(t, seed)
		if err != nil {
			t.Logf("no FUSE here: %v", err) // TestPowerLoss covers the log alone
			return
		}
		cmd, stdout := startChild(t, "persist", filepath.Join(dir, "ponder.db"))
		var acked []string
		for lines := bufio.NewScanner(stdout); len(acked) < 100*int(seed+1) && lines.Scan(); {
			acked = append(acked, lines.Text())
		}
		image := disk.losePower(t)
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait()
		s := openStore(t, filepath.Join(image, "ponder.db"))
		seen := make(map[string]bool)
		for i := range procThreads {
			for _, text := range threadTexts(t, s, procThread(i)) {
				key, _, _ := strings.Cut(text, " ")
				if seen[key] {
					t.Errorf("seed %d: %s is there twice", seed, key)
				}
				seen[key] = true
			}
		}
		for _, key := range acked {
			if !seen[key] {
				t.Errorf("seed %d: %s was acknowledged, but it is lost", seed, key)
			}
		}
		if len(acked) < 100 {
			t.Errorf("seed %d: only %d events were acknowledged", seed, len(acked))
		}
		fails += disk.fails
	}
	if fails == 0 {
		t.Error("no sync failed: the test tests nothing")
	}
}

// A weakDisk is a file system in FUSE with one folder. It keeps the sectors of each file that a
// successful sync has covered, as a disk does. A sync may fail: the sectors then count as
// written, but the disk does not have them.
type weakDisk struct {
	fd  int // of /dev/fuse
	rnd *rand.Rand

	mu    sync.Mutex
	names map[string]uint64 // node by name
	files map[uint64]*weakFile
	last  uint64         // node or handle
	seen  map[uint64]int // errors of its file that a handle got
	syncs int
	fails int
}

type weakFile struct {
	content []byte
	durable []byte
	dirty   map[int]bool // sectors that the disk may have or not
	errors  int          // failed syncs; as in Linux, each open handle gets each of them once
}

const (
	sectorSize   = 512
	firstSyncs   = 20 // that do not fail, so that the database opens
	failingSyncs = 8  // one of so many syncs fails
	maxFuseWrite = 128 << 10
)

// mountWeakDisk mounts a disk, or reports why the kernel does not allow it.
func mountWeakDisk(t *testing.T, seed uint64) (d *weakDisk, dir string, err error) {
	t.Helper()
	d = &weakDisk{rnd: rand.New(rand.NewPCG(seed, 1)), names: make(map[string]uint64), files: make(map[uint64]*weakFile), last: fuseRoot, seen: make(map[uint64]int)}
	if d.fd, err = syscall.Open("/dev/fuse", syscall.O_RDWR|syscall.O_CLOEXEC, 0); err != nil {
		return nil, "", fmt.Errorf("open /dev/fuse: %w", err)
	}
	dir = t.TempDir()
	options := fmt.Sprintf("fd=%d,rootmode=40700,user_id=%d,group_id=%d", d.fd, os.Getuid(), os.Getgid())
	if err := syscall.Mount("weak", dir, "fuse", syscall.MS_NOSUID|syscall.MS_NODEV, options); err != nil {
		syscall.Close(d.fd)
		return nil, "", fmt.Errorf("mount fuse: %w", err)
	}
	served := make(chan struct{})
	go func() {
		defer close(served)
		d.serve()
	}()
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
		<-served
		syscall.Close(d.fd)
	})
	return d, dir, nil
}

// losePower writes the files that a power failure leaves now. Each unsynced sector has its old
// or its new content, or is torn.
func (d *weakDisk) losePower(t *testing.T) (dir string) {
	t.Helper()
	d.mu.Lock()
	defer d.mu.Unlock()
	dir = t.TempDir()
	for name, node := range d.names {
		f := d.files[node]
		left := slices.Clone(f.durable)
		for n := range f.dirty {
			from, to := n*sectorSize, min((n+1)*sectorSize, len(f.content))
			if from >= to || d.rnd.IntN(2) == 0 {
				continue
			}
			if d.rnd.IntN(4) == 0 {
				to = from + d.rnd.IntN(to-from)
			}
			left = append(left, make([]byte, max(0, to-len(left)))...)
			copy(left[from:], f.content[from:to])
		}
		if err := os.WriteFile(filepath.Join(dir, name), left, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// write changes the content of a file. The caller holds d.mu.
func (f *weakFile) write(at int, data []byte) {
	f.resize(max(len(f.content), at+len(data)))
	copy(f.content[at:], data)
	for n := at / sectorSize; n*sectorSize < at+len(data); n++ {
		f.dirty[n] = true
	}
}

func (f *weakFile) resize(size int) {
	if size < len(f.content) {
		f.content = f.content[:size]
	}
	f.content = append(f.content, make([]byte, size-len(f.content))...)
}

// sync makes the file durable for a handle, or fails and forgets which sectors the disk lacks. The caller
// holds d.mu.
func (d *weakDisk) sync(f *weakFile, handle uint64) syscall.Errno {
	if d.syncs++; d.syncs > firstSyncs && len(f.dirty) > 0 && d.rnd.IntN(failingSyncs) == 0 {
		clear(f.dirty)
		f.errors++
		d.fails++
	}
	if d.seen[handle] < f.errors {
		d.seen[handle] = f.errors
		return syscall.EIO
	}
	size := len(f.content)
	f.durable = append(f.durable, make([]byte, max(0, size-len(f.durable)))...)[:size]
	for n := range f.dirty {
		if from := n * sectorSize; from < size {
			copy(f.durable[from:], f.content[from:min(from+sectorSize, size)])
		}
	}
	clear(f.dirty)
	return 0
}

// The parts of the protocol of FUSE that SQLite needs, see linux/fuse.h.
const (
	fuseRoot = 1

	opLookup      = 1
	opForget      = 2
	opGetattr     = 3
	opSetattr     = 4
	opUnlink      = 10
	opOpen        = 14
	opRead        = 15
	opWrite       = 16
	opRelease     = 18
	opFsync       = 20
	opFlush       = 25
	opInit        = 26
	opOpendir     = 27
	opReleasedir  = 29
	opFsyncdir    = 30
	opAccess      = 34
	opCreate      = 35
	opInterrupt   = 36
	opBatchForget = 42

	setSize = 8
)

type (
	fuseHeader struct {
		Len, Op          uint32
		Unique, Node     uint64
		UID, GID, PID, _ uint32
	}
	fuseReply struct {
		Len    uint32
		Error  int32
		Unique uint64
	}
	fuseInit struct {
		Major, Minor, Readahead, Flags uint32
		Background, Congestion         uint16
		MaxWrite, Granularity          uint32
		MaxPages, _                    uint16
		Unused                         [8]uint32
	}
	fuseAttr struct {
		Ino, Size, Blocks, Atime, Mtime, Ctime       uint64
		AtimeNsec, MtimeNsec, CtimeNsec, Mode, Nlink uint32
		UID, GID, Rdev, Blksize, Flags               uint32
	}
	fuseAttrOut struct {
		Valid   uint64
		Nsec, _ uint32
		Attr    fuseAttr
	}
	fuseEntry struct {
		Node, Generation, Valid, AttrValid uint64
		Nsec, AttrNsec                     uint32
		Attr                               fuseAttr
	}
	fuseOpen struct {
		Handle   uint64
		Flags, _ uint32
	}
	fuseIO struct { // of reads and writes
		Handle, Offset uint64
		Size, IOFlags  uint32
		Owner          uint64
		Flags, _       uint32
	}
	fuseWritten struct{ Size, _ uint32 }
	fuseSetattr struct {
		Valid, _     uint32
		Handle, Size uint64
	}
)

// serve answers the kernel until the disk is unmounted.
func (d *weakDisk) serve() {
	buffer := make([]byte, maxFuseWrite+4096)
	for {
		n, err := syscall.Read(d.fd, buffer)
		switch {
		case errors.Is(err, syscall.EINTR), errors.Is(err, syscall.ENOENT), errors.Is(err, syscall.EAGAIN):
			continue
		case err != nil:
			return // ENODEV: unmounted
		}
		var h fuseHeader
		body := decodeFuse(buffer[:n], &h)
		out, errno, replies := d.handle(h, body)
		if !replies {
			continue
		}
		var payload []byte
		for _, part := range out {
			if payload, err = binary.Append(payload, binary.NativeEndian, part); err != nil {
				panic(err)
			}
		}
		reply, err := binary.Append(nil, binary.NativeEndian, fuseReply{uint32(16 + len(payload)), -int32(errno), h.Unique})
		if err != nil {
			panic(err)
		}
		_, _ = syscall.Write(d.fd, append(reply, payload...)) // fails if the caller was killed
	}
}

// decodeFuse decodes the first part of a message and returns the rest.
func decodeFuse(message []byte, to any) []byte {
	n, err := binary.Decode(message, binary.NativeEndian, to)
	if err != nil {
		panic(err)
	}
	return message[n:]
}

func cutName(body []byte) string {
	name, _, _ := bytes.Cut(body, []byte{0})
	return string(name)
}

func (d *weakDisk) handle(h fuseHeader, body []byte) (out []any, errno syscall.Errno, replies bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	f := d.files[h.Node]
	switch h.Op {
	case opForget, opBatchForget, opInterrupt:
		return nil, 0, false
	case opInit:
		return []any{fuseInit{Major: 7, Minor: 31, MaxWrite: maxFuseWrite, Background: 16, Congestion: 12, Granularity: 1}}, 0, true
	case opGetattr:
		return []any{fuseAttrOut{Attr: d.attr(h.Node)}}, 0, true
	case opReleasedir, opFsyncdir, opAccess, opRelease, opFlush:
		return nil, 0, true
	case opLookup:
		node := d.names[cutName(body)]
		if node == 0 {
			return nil, syscall.ENOENT, true
		}
		return []any{fuseEntry{Node: node, Attr: d.attr(node)}}, 0, true
	case opCreate:
		name := cutName(body[16:])
		if d.names[name] == 0 {
			d.last++
			d.names[name], d.files[d.last] = d.last, &weakFile{dirty: make(map[int]bool)}
		}
		node := d.names[name]
		return []any{fuseEntry{Node: node, Attr: d.attr(node)}, d.open(d.files[node])}, 0, true
	case opUnlink:
		delete(d.names, cutName(body))
		return nil, 0, true
	case opOpendir:
		return []any{fuseOpen{}}, 0, true
	}
	if f == nil {
		return nil, syscall.ENOSYS, true
	}
	switch h.Op {
	case opOpen:
		return []any{d.open(f)}, 0, true
	case opSetattr:
		var in fuseSetattr
		decodeFuse(body, &in)
		if in.Valid&setSize != 0 {
			f.resize(int(in.Size))
		}
		return []any{fuseAttrOut{Attr: d.attr(h.Node)}}, 0, true
	case opRead:
		var in fuseIO
		decodeFuse(body, &in)
		from := min(int(in.Offset), len(f.content))
		return []any{f.content[from:min(from+int(in.Size), len(f.content))]}, 0, true
	case opWrite:
		var in fuseIO
		data := decodeFuse(body, &in)[:in.Size]
		f.write(int(in.Offset), data)
		return []any{fuseWritten{Size: in.Size}}, 0, true
	case opFsync:
		var in struct{ Handle uint64 }
		decodeFuse(body, &in)
		return nil, d.sync(f, in.Handle), true
	}
	return nil, syscall.ENOSYS, true
}

// open returns a new handle of a file. The caller holds d.mu.
func (d *weakDisk) open(f *weakFile) fuseOpen {
	d.last++
	d.seen[d.last] = f.errors
	return fuseOpen{Handle: d.last}
}

// attr returns the attributes of a node. The caller holds d.mu.
func (d *weakDisk) attr(node uint64) fuseAttr {
	a := fuseAttr{Ino: node, Nlink: 1, Mode: syscall.S_IFDIR | 0o700, UID: uint32(os.Getuid()), GID: uint32(os.Getgid()), Blksize: 4096}
	if f := d.files[node]; f != nil {
		a.Mode, a.Size, a.Blocks = syscall.S_IFREG|0o600, uint64(len(f.content)), uint64(len(f.content)+511)/512
	}
	return a
}
