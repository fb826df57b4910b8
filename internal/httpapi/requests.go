package httpapi

import (
	"context"
	"encoding/hex"

	"ponder/internal/app"
)

// Requests keep which requests were made with an Idempotency-Key that is in no event of a
// thread, for a week at least. They are safe for concurrent use, by several processes.
type Requests interface {
	// Enter notes a request, and returns what is known of it if it was made before. The id
	// stands for the owner, the route and the key, words for what is asked for.
	Enter(ctx context.Context, id, words string) (before Request, known bool, err error)
	// Answer notes what a request came to, as JSON.
	Answer(ctx context.Context, id, answer string) error
	// Leave forgets a request that came to nothing.
	Leave(ctx context.Context, id string) error
}

// A Request is a request that a client made under an idempotency key.
type Request = app.SentRequest

// once does a request once, also where another process of the same database has done it,
// and returns its answer. A request that was started and never answered is done again, and
// so is each request without a key.
func (a *api) once(ctx context.Context, id onceID, words string, do func() (string, error)) (string, error) {
	if id.key == "" {
		return do()
	}
	unlock, err := a.onces.lock(ctx, id)
	if err != nil {
		return "", err
	}
	defer unlock()
	sum := app.Sum(id.owner, id.route, id.key)
	key := hex.EncodeToString(sum[:])
	before, known, err := a.Requests.Enter(ctx, key, words)
	switch {
	case err != nil:
		return "", err
	case known && before.Words != words:
		return "", otherWords()
	case known && before.Answer != "":
		return before.Answer, nil
	}
	answer, err := do()
	ctx = context.WithoutCancel(ctx)
	if err != nil {
		if left := a.Requests.Leave(ctx, key); left != nil {
			a.Logger.Warn("a request that failed stays noted", "error", left)
		}
		return "", err
	}
	return answer, a.Requests.Answer(ctx, key, answer)
}
