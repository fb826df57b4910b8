package subconscious

import (
	"crypto/sha256"
	"encoding/base32"

	"ponder"
)

// ThreadOf returns the id of the thread that an owner's subconscious is on. It is made of
// the name, so that there is never a second.
func ThreadOf(owner string) ponder.ThreadID {
	sum := sha256.Sum256([]byte(Name + "\x00" + owner))
	const crockford = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
	text := base32.NewEncoding(crockford).WithPadding(base32.NoPadding).EncodeToString(sum[:])
	return ponder.ThreadID("thr_0" + text[:25])
}
