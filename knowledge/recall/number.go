package recall

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"database/sql"
	"encoding/base32"
	"encoding/binary"
	"encoding/hex"
	"sync"
	"time"

	"ponder/store/sqldb"
)

// numberAllocator issues numbers that are unique among all processes. It reserves blocks in the
// database; unused numbers are lost.
type numberAllocator struct {
	db sqldb.DB

	mu        sync.Mutex
	next, end int64
	blockSize int64
}

func (n *numberAllocator) takeNumber(ctx context.Context) (int64, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.next == n.end {
		n.blockSize = min(max(8, 4*n.blockSize), 8192)
		if err := n.reserveBlock(ctx); err != nil {
			return 0, err
		}
	}
	n.next++
	return n.next - 1, nil
}

func (n *numberAllocator) reserveBlock(ctx context.Context) error {
	return n.db.Tx(ctx, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, n.db.Bind(`UPDATE recall_number SET next = next + ? WHERE name = 'item'`), n.blockSize)
		if err != nil {
			return err
		}
		var end int64
		if err := tx.QueryRowContext(ctx, `SELECT next FROM recall_number WHERE name = 'item'`).Scan(&end); err != nil {
			return err
		}
		n.next, n.end = end-n.blockSize, end
		return nil
	})
}

// newID returns "mem_" and a ULID.
func newID(now time.Time) string {
	var b [16]byte
	rand.Read(b[:]) // never fails
	var ms [8]byte
	binary.BigEndian.PutUint64(ms[:], uint64(now.UnixMilli()))
	copy(b[:6], ms[2:])
	// 128 bits are 26 letters of 5 bits after two zero bits.
	padded := append([]byte{0, 0, 0, 0}, b[:]...)
	return "mem_" + crockford.EncodeToString(padded)[6:]
}

var crockford = base32.NewEncoding("0123456789ABCDEFGHJKMNPQRSTVWXYZ").WithPadding(base32.NoPadding)

// hashOf returns a SHA-256 of strings in hex; lengths separate them.
func hashOf(parts ...string) string {
	h := sha256.New()
	var n [8]byte
	for _, p := range parts {
		binary.BigEndian.PutUint64(n[:], uint64(len(p)))
		h.Write(n[:])
		h.Write([]byte(p))
	}
	return hex.EncodeToString(h.Sum(nil))
}

func toMicros(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMicro()
}

func fromMicros(n int64) time.Time {
	if n == 0 {
		return time.Time{}
	}
	return time.UnixMicro(n).UTC()
}
