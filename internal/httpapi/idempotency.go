package httpapi

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"

	"github.com/danielgtaylor/huma/v2"

	"ponder"
	"ponder/internal/app"
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
	return ponder.ThreadID("thr_" + app.Letters(app.Sum(owner, route, k.Key)))
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
	sum := app.Sum(owner, route, k.Key)
	return "post-" + hex.EncodeToString(sum[:16])
}

// words returns what tells a request from another one with the same key.
func words(body any) string {
	js, err := json.Marshal(body)
	if err != nil { // which bodies that were read from JSON cannot be
		return ""
	}
	sum := app.Sum(string(js))
	return "post-" + hex.EncodeToString(sum[:16])
}

// otherWords is the error of a key that was used for another request.
func otherWords() error {
	return huma.Error422UnprocessableEntity("validation failed", &huma.ErrorDetail{
		Location: "header.Idempotency-Key", Message: "this key was used for another request: choose a new one",
	})
}
