package llm

import (
	"context"
	"time"
)

// An Allowance is what a provider says, beside an answer or a refusal, that it will
// still take before it limits the rate. It is a hint: the provider is the judge.
type Allowance struct {
	Requests int           // that it takes, not negative
	After    time.Duration // until it takes more, positive
	Steady   bool          // it takes one more each time After has passed; else as many as ever after it
}

type allowanceKey struct{}

// WithAllowance returns a context with which adapters tell what a provider says it will
// still take, each time it says so and before the answer is read.
func WithAllowance(ctx context.Context, tell func(Allowance)) context.Context {
	return context.WithValue(ctx, allowanceKey{}, tell)
}

// AllowanceOf returns whom to tell what a provider will still take, or nil if nobody
// wants to know.
func AllowanceOf(ctx context.Context) func(Allowance) {
	tell, _ := ctx.Value(allowanceKey{}).(func(Allowance))
	return tell
}
