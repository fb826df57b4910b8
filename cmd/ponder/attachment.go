package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"time"

	"ponder"
	"ponder/internal/app"
	"ponder/internal/textkit"
	"ponder/knowledge/archive"
	"ponder/store/sqlite"
)

// maxAttachedBytes is the maximal size of a file whose bytes are kept with a conversation, in
// bytes.
const maxAttachedBytes = 20 << 20

// saveFile stores the bytes of an attachment and returns it with the hash for
// [archive.Archive.Get]. Call it before appending the attachment: orphaned bytes are removed
// with the thread.
func saveFile(ctx context.Context, store *sqlite.Store, id ponder.ThreadID, b ponder.AttachmentAdded, raw []byte) (ponder.AttachmentAdded, error) {
	if len(raw) > maxAttachedBytes {
		return b, usagef("%s: the file has %s; the limit is %s", oneLine(b.Name), textkit.Bytes(int64(len(raw))), textkit.Bytes(maxAttachedBytes))
	}
	sum := sha256.Sum256(raw)
	b.Hash, b.Bytes = hex.EncodeToString(sum[:]), int64(len(raw))
	files, err := archive.Open(ctx, store.SQL())
	if err != nil {
		return b, err
	}
	_, err = files.Put(ctx, archive.Original{Type: b.Media, Source: app.FilesOf(id), Title: b.Name, Fetched: time.Now(), Bytes: raw})
	return b, err
}
