package llm

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

func TestHold(t *testing.T) {
	for _, gated := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			var asked []time.Duration
			begun := time.Now()
			m := Model(fakeModel{"p/m", func(context.Context, *Request) error {
				asked = append(asked, time.Since(begun))
				return nil
			}})
			if gated {
				m = NewGate(GateConfig{}).Model(m)
			}
			released := make(chan struct{})
			time.AfterFunc(time.Second, func() { close(released) })
			answered := false
			for d, err := range Prepare(t.Context(), m, released, &Request{}) {
				answered = err == nil && d.Done != nil
			}
			if !answered || len(asked) != 1 || asked[0] != time.Second {
				t.Errorf("gated %v: asked %v, answered: %v", gated, asked, answered)
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			for _, err := range Prepare(ctx, m, make(chan struct{}), &Request{}) {
				if ClassOf(err) != Cancelled {
					t.Errorf("gated %v: an unreleased request ended with %v", gated, err)
				}
			}
			if len(asked) != 1 {
				t.Errorf("gated %v: the model was asked %d times", gated, len(asked))
			}
		})
	}
}
