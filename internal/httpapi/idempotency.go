package httpapi

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"math/big"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"ponder"
)

// An OnceKey is a header of requests that start work: a request that is sent again with
// the same key does what it did, once.
type OnceKey struct {
	Key string `header:"Idempotency-Key" maxLength:"255" doc:"a text of your choice: the same request with the same key is done once, and answered alike; another request with it is refused (422)"`
}

// thread returns the id of the thread that a request makes: a new one, or, if it has a
// key, always the same for the owner, the route and the key.
func (k OnceKey) thread(owner, route string) ponder.ThreadID {
	if k.Key == "" {
		return ponder.ThreadID(ponder.NewID("thr"))
	}
	return ponder.ThreadID("thr_" + crockford(digest(owner, route, k.Key)))
}

// spent is the error of a key that was used for something that is not there any more.
func spent() error {
	return huma.Error409Conflict("what this Idempotency-Key was used for was removed: choose a new one")
}

// unspent refuses a key that has made a thread which was removed since: what its owner has
// removed is not done again because a request comes late.
func (a *api) unspent(ctx context.Context, key string, id ponder.ThreadID) error {
	if key == "" {
		return nil
	}
	if _, err := a.Store.Thread(ctx, id); errors.Is(err, ponder.ErrRemoved) {
		return spent()
	}
	return nil
}

// cause returns the cause of an event that a request appends, which the store takes
// once; empty if the request has no key.
func (k OnceKey) cause(owner, route string) string {
	if k.Key == "" {
		return ""
	}
	sum := digest(owner, route, k.Key)
	return "post-" + hex.EncodeToString(sum[:16])
}

// words returns what tells a request from another one with the same key.
func words(body any) string {
	js, err := json.Marshal(body)
	if err != nil { // which bodies that were read from JSON cannot be
		return ""
	}
	sum := digest(string(js))
	return "post-" + hex.EncodeToString(sum[:16])
}

func digest(parts ...string) [sha256.Size]byte {
	h := sha256.New()
	for _, p := range parts {
		size := len(p)
		h.Write([]byte{byte(size >> 24), byte(size >> 16), byte(size >> 8), byte(size)})
		h.Write([]byte(p))
	}
	return [sha256.Size]byte(h.Sum(nil))
}

// crockford returns the first 128 bits of a sum in the form of a ULID.
func crockford(sum [sha256.Size]byte) string {
	n := new(big.Int).SetBytes(sum[:16])
	text := strings.Map(func(r rune) rune {
		const plain, ours = "0123456789abcdefghijklmnopqrstuv", "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
		return rune(ours[strings.IndexRune(plain, r)])
	}, n.Text(32))
	const letters = 26
	return strings.Repeat("0", max(0, letters-len(text))) + text
}

// otherWords is the error of a key that was used for another request.
func otherWords() error {
	return huma.Error422UnprocessableEntity("validation failed", &huma.ErrorDetail{
		Location: "header.Idempotency-Key", Message: "this key was used for another request: choose a new one",
	})
}
