package files

import (
	"bytes"
	"cmp"
	"compress/flate"
	"encoding/binary"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"

	"ponder/internal/limitio"
	"ponder/sensor"
)

// Limits of the unpacked cursor.
const (
	maxUnpacked = 4 << 20
	maxPath     = 4096
	maxSketch   = 100 // lines per file
	packedBytes = sensor.MaxCursor*3/4 - 12<<10
)

type cursor struct {
	Roots   []string            `json:"roots"`
	Missing []string            `json:"missing,omitempty"` // of the roots
	Over    bool                `json:"over,omitempty"`    // not all files are watched
	Floor   int64               `json:"floor,omitempty"`   // oldest time of a watched file
	Busy    map[string]busyFile `json:"busy,omitempty"`    // frequently changing files, at most 50
	Files   []byte              `json:"files"`             // see pack
}

type busyFile struct {
	Times int   `json:"n"`
	At    int64 `json:"at"` // Unix seconds
}

// A record is the known state of a file.
type record struct {
	path   string
	stamp  [5]byte // of the content; zero if unread
	hash   [6]byte // of its content; zero if it was not read
	size   int64
	mtime  int64    // known only for existing files; orders sketches
	sketch []uint16 // hashes of lines, or nil
}

type parsedCursor struct {
	cursor
	raw   json.RawMessage
	files map[string]record
}

// parseCursor parses a cursor. It returns nil if it is invalid.
func parseCursor(raw json.RawMessage) *parsedCursor {
	if len(raw) == 0 || len(raw) > sensor.MaxCursor {
		return nil
	}
	d := &parsedCursor{raw: bytes.Clone(raw)}
	if json.Unmarshal(raw, &d.cursor) != nil || len(d.Roots) == 0 {
		return nil
	}
	files, err := unpackRecords(d.Files)
	if err != nil {
		return nil
	}
	d.files = make(map[string]record, len(files))
	for _, r := range files {
		d.files[r.path] = r
	}
	return d
}

// encodeCursor encodes a cursor. If not all files fit, it keeps the newest.
func (d *parsedCursor) encodeCursor() (json.RawMessage, error) {
	var all []record
	for _, r := range d.files {
		all = append(all, r)
	}
	byPath := func(a, b record) int { return strings.Compare(a.path, b.path) }
	byAge := func(a, b record) int { return cmp.Or(cmp.Compare(b.mtime, a.mtime), byPath(a, b)) }
	slices.SortStableFunc(all, byAge)
	for sketches := 100; ; sketches /= 2 {
		for i := range all {
			if i >= sketches {
				all[i].sketch = nil
			}
		}
		sorted := slices.SortedStableFunc(slices.Values(all), byPath)
		d.Files = packRecords(sorted)
		switch {
		case len(d.Files) <= packedBytes:
			return json.Marshal(d.cursor)
		case sketches == 0 && len(all) == 0:
			return nil, errors.New("the cursor is too long: set fewer paths")
		case sketches == 0:
			rest := all[len(all)*9/10:]
			all, d.Floor = all[:len(all)-len(rest)], max(d.Floor, rest[0].mtime) // the omitted files must not count as new later
		}
	}
}

// packRecords encodes records sorted by path, with common prefixes of paths, and compresses them.
func packRecords(sorted []record) []byte {
	var plain []byte
	last := ""
	for _, r := range sorted {
		n := 0
		for n < min(len(last), len(r.path)) && last[n] == r.path[n] {
			n++
		}
		plain = binary.AppendUvarint(plain, uint64(n))
		plain = binary.AppendUvarint(plain, uint64(len(r.path)-n))
		plain = append(plain, r.path[n:]...)
		plain = append(plain, r.stamp[:]...)
		plain = append(plain, r.hash[:]...)
		plain = binary.AppendUvarint(plain, uint64(r.size))
		plain = binary.AppendUvarint(plain, uint64(len(r.sketch)))
		for _, line := range r.sketch {
			plain = binary.BigEndian.AppendUint16(plain, line)
		}
		last = r.path
	}
	var out bytes.Buffer
	w, _ := flate.NewWriter(&out, 6) // the level is valid
	w.Write(plain)
	w.Close()
	return out.Bytes()
}

var errDamaged = errors.New("the cursor is damaged")

func unpackRecords(packed []byte) ([]record, error) {
	plain, err := limitio.ReadAll(flate.NewReader(bytes.NewReader(packed)), maxUnpacked)
	if err != nil {
		return nil, errDamaged
	}
	in := bytes.NewReader(plain)
	var all []record
	last := ""
	for in.Len() > 0 {
		r, err := readRecord(in, last)
		if err != nil || r.path <= last || len(all) > maxMaxFiles {
			return nil, errDamaged
		}
		all = append(all, r)
		last = r.path
	}
	return all, nil
}

func readRecord(in *bytes.Reader, last string) (record, error) {
	shared, err1 := binary.ReadUvarint(in)
	own, err2 := binary.ReadUvarint(in)
	if err1 != nil || err2 != nil || shared > uint64(len(last)) || own > maxPath {
		return record{}, errDamaged
	}
	name := make([]byte, own)
	var r record
	_, err1 = io.ReadFull(in, name)
	_, err2 = io.ReadFull(in, r.stamp[:])
	_, err3 := io.ReadFull(in, r.hash[:])
	size, err4 := binary.ReadUvarint(in)
	lines, err5 := binary.ReadUvarint(in)
	if err := errors.Join(err1, err2, err3, err4, err5); err != nil || lines > maxSketch || size > 1<<62 {
		return record{}, errDamaged
	}
	r.path, r.size = last[:shared]+string(name), int64(size)
	if lines > 0 {
		r.sketch = make([]uint16, lines)
		if err := binary.Read(in, binary.BigEndian, r.sketch); err != nil {
			return record{}, errDamaged
		}
	}
	return r, nil
}
