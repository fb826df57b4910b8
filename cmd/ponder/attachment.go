package main

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"fmt"
	"time"

	"ponder"
	"ponder/knowledge/archive"
	"ponder/store/sqlite"
)

// mostAttached is how big a file may be whose bytes are kept beside a conversation.
const mostAttached = 20 << 20

// filesOf is where the archive has the files from that are beside a thread.
func filesOf(id ponder.ThreadID) string { return "thread:" + string(id) }

// keepFile keeps the bytes of a file that is put beside a thread, and returns
// the attachment with its hash, by which [archive.Archive.Get] finds them. It is called
// before the attachment is appended: bytes without one do no harm, and are removed
// with the thread.
func keepFile(ctx context.Context, store *sqlite.Store, id ponder.ThreadID, b ponder.AttachmentAdded, raw []byte) (ponder.AttachmentAdded, error) {
	if len(raw) > mostAttached {
		return b, usagef("%s: it has %s, and may have %s", oneLine(b.Name), size(int64(len(raw))), size(mostAttached))
	}
	sum := sha256.Sum256(raw)
	b.Hash, b.Bytes = hex.EncodeToString(sum[:]), int64(len(raw))
	files, err := archive.Open(ctx, store.SQL())
	if err != nil {
		return b, err
	}
	_, err = files.Put(ctx, archive.Original{Type: b.Media, Source: filesOf(id), Title: b.Name, Fetched: time.Now(), Bytes: raw})
	return b, err
}

// forgetFiles removes the bytes of the files beside a thread, unless they are kept for
// something else too, and returns how many files there were.
func forgetFiles(ctx context.Context, store *sqlite.Store, id ponder.ThreadID) (int, error) {
	db := store.SQL()
	files, err := archive.Open(ctx, db)
	if err != nil {
		return 0, err
	}
	copies, err := files.Copies(ctx, filesOf(id))
	if err != nil || len(copies) == 0 {
		return 0, err
	}
	err = db.Tx(ctx, func(tx *sql.Tx) error {
		for _, c := range copies {
			if err := files.Remove(ctx, tx, filesOf(id), c.Hash); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return 0, fmt.Errorf("remove the files of %s: %w", id, err)
	}
	return len(copies), nil
}
