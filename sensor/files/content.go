package files

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"ponder/internal/fileio"
	"ponder/internal/limitio"
	"ponder/sensor"
)

// Limits of reading.
const (
	maxRead      = 256 << 10 // bytes per file; larger files are compared by size and time
	maxLookBytes = 64 << 20  // bytes per look
)

// A rootReader reads files below folders. It follows no link out of them.
type rootReader struct {
	open map[string]*os.Root
	left int64
}

func (r *rootReader) closeRoots() {
	for _, root := range r.open {
		_ = root.Close()
	}
}

// readContent returns the content of a file, or nil if it is too large or unreadable.
func (r *rootReader) readContent(root string, f file) []byte {
	if f.size > maxRead || r.left < f.size {
		return nil
	}
	dir, err := r.openRoot(root)
	if err != nil {
		return nil
	}
	rel, err := filepath.Rel(dir.Name(), f.path)
	if err != nil {
		return nil
	}
	in, err := fileio.OpenIn(dir, rel)
	if err != nil {
		return nil
	}
	defer in.Close()
	text, err := limitio.ReadAll(in, maxRead)
	r.left -= int64(len(text))
	if err != nil {
		return nil
	}
	return append([]byte{}, text...) // an empty file is not nil
}

func (r *rootReader) openRoot(root string) (*os.Root, error) {
	if dir, ok := r.open[root]; ok {
		return dir, nil
	}
	name := root
	if info, err := os.Stat(root); err == nil && !info.IsDir() {
		name = filepath.Dir(root)
	}
	dir, err := os.OpenRoot(name)
	if err != nil {
		return nil, err
	}
	r.open[root] = dir
	return dir, nil
}

// statHash identifies the size and time of a file.
func (f file) statHash() (out [5]byte) {
	b := binary.BigEndian.AppendUint64(nil, uint64(f.size))
	sum := sha256.Sum256(binary.BigEndian.AppendUint64(b, uint64(f.mtime)))
	copy(out[:], sum[:])
	return out
}

// newRecord returns the record of a file. The content is nil if unknown.
func newRecord(f file, content []byte) record {
	r := record{path: f.path, stamp: f.statHash(), size: f.size, mtime: f.mtime}
	if content != nil {
		r.size = int64(len(content))
		r.hash = contentHash(content)
		if isText(content) && !isSecret(f.path) {
			r.sketch = hashLines(content)
		}
	}
	return r
}

func contentHash(content []byte) (out [6]byte) {
	sum := sha256.Sum256(content)
	copy(out[:], sum[:])
	return out
}

// hashLines returns the hashes of the lines, or nil for too many lines.
func hashLines(content []byte) []uint16 {
	var out []uint16
	for line := range bytes.Lines(content) {
		if line = bytes.TrimSpace(line); len(line) == 0 {
			continue
		}
		if len(out) == maxSketch {
			return nil
		}
		out = append(out, lineHash(line))
	}
	return out
}

func lineHash(line []byte) uint16 {
	h := fnv.New32a()
	h.Write(line)
	sum := h.Sum32()
	return uint16(sum>>16) ^ uint16(sum)
}

func isText(content []byte) bool {
	head := content[:min(len(content), 8<<10)]
	for cut := 0; cut < utf8.UTFMax && len(content) > len(head) && len(head) > 0 && !utf8.Valid(head); cut++ {
		head = head[:len(head)-1]
	}
	return len(content) > 0 && utf8.Valid(head) && bytes.IndexByte(head, 0) < 0
}

// isSecret reports whether the file name suggests a secret.
func isSecret(path string) bool {
	name := strings.ToLower(filepath.Base(path))
	switch filepath.Ext(name) {
	case ".pem", ".key", ".p12", ".pfx", ".kdbx", ".gpg", ".asc", ".jks", ".keystore", ".env", ".ovpn":
		return true
	}
	return strings.HasPrefix(name, "id_") || strings.Contains(name, "password") || strings.Contains(name, "secret") || strings.Contains(name, "credential")
}

const lineSeparator = " / "

// summarizeChange returns new lines of a file, or its start if before is nil.
func summarizeChange(f file, content []byte, before *record) string {
	if content == nil || isSecret(f.path) || !isText(content) {
		return "(" + formatSize(f.size) + ")"
	}
	lines := newLines(content, before)
	if len(lines) == 0 && before == nil {
		return "(" + formatSize(f.size) + ")"
	}
	if len(lines) == 0 {
		return "(lines were taken out)"
	}
	return strings.Join(lines, lineSeparator)
}

// newLines returns the first lines that are new.
func newLines(content []byte, before *record) []string {
	const maxLines, width = 3, 160
	rest := content
	known := map[uint16]bool{}
	switch {
	case before == nil:
	case before.hash != [6]byte{} && before.size <= int64(len(content)) && contentHash(content[:before.size]) == before.hash:
		rest = content[before.size:] // appended
	default:
		for _, h := range before.sketch {
			known[h] = true
		}
	}
	var lines []string
	for line := range bytes.Lines(rest) {
		line = bytes.TrimSpace(line)
		if len(line) == 0 || known[lineHash(line)] {
			continue
		}
		if shown := sensor.Line(strings.TrimLeft(string(line[:min(len(line), 4*width)]), "# "), width); shown != "" {
			lines = append(lines, shown)
		}
		if len(lines) == maxLines {
			break
		}
	}
	return lines
}

// formatSize formats a number of bytes.
func formatSize(n int64) string {
	switch {
	case n < 1000:
		return fmt.Sprintf("%d bytes", n)
	case n < 1000_000:
		return fmt.Sprintf("%.0f kB", float64(n)/1e3)
	case n < 1000_000_000:
		return fmt.Sprintf("%.1f MB", float64(n)/1e6)
	}
	return fmt.Sprintf("%.1f GB", float64(n)/1e9)
}
