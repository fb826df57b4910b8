package compat

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strconv"

	"ponder"
	"ponder/internal/app"
)

// contentDigest returns a digest of a request, to detect a reused key.
func contentDigest(of any) string {
	var d jsonDigest
	if json.NewEncoder(&d).Encode(of) != nil {
		return ""
	}
	return "post-" + string(d)
}

// A jsonDigest is the hash of the one text that an encoder writes. It saves a copy of the text.
type jsonDigest string

func (d *jsonDigest) Write(js []byte) (int, error) {
	*d = jsonDigest(hexOf(bytes.TrimSuffix(js, []byte("\n"))))
	return len(js), nil
}

const maxKeyText = 1 << 20 // bytes

// KeyText returns text, or a hash of a long one, as a part of a key.
func KeyText(text string) string {
	if len(text) > maxKeyText {
		return hexOf(text)
	}
	return text
}

func hexOf[T string | []byte](parts ...T) string {
	sum := hashParts(parts...)
	return hex.EncodeToString(sum[:16])
}

// hashParts returns the hash of parts, each after its length. It does not copy long parts.
func hashParts[T string | []byte](parts ...T) (sum [sha256.Size]byte) {
	h := sha256.New()
	buf := make([]byte, 0, 1<<10)
	for _, p := range parts {
		buf = append(strconv.AppendInt(buf[:0], int64(len(p)), 10), ':')
		for {
			n := copy(buf[len(buf):cap(buf)], p)
			h.Write(buf[:len(buf)+n])
			if p = p[n:]; len(p) == 0 {
				break
			}
			buf = buf[:0]
		}
	}
	h.Sum(sum[:0])
	return sum
}

func threadOf(parts ...string) ponder.ThreadID {
	return ponder.ThreadID("thr_" + app.Letters(hashParts(parts...)))
}
