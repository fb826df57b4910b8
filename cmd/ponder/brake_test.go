package main

import (
	"context"
	"errors"
	"testing"
)

func TestBrake(t *testing.T) {
	ctx, stop := context.WithCancelCause(t.Context())
	b := &interruptHandler{cancel: stop}
	rested := 0
	b.setGraceful(func() { rested++ })
	b.handlePress()
	if rested != 1 || ctx.Err() != nil {
		t.Fatalf("after one press: %d graceful stops, %v; want once, nil", rested, ctx.Err())
	}
	b.handlePress()
	if rested != 1 || !errors.Is(context.Cause(ctx), errInterrupted) {
		t.Fatalf("after two presses: %d graceful stops, %v; want once, interrupted", rested, context.Cause(ctx))
	}
}

func TestBrakeWithoutRest(t *testing.T) {
	ctx, stop := context.WithCancelCause(t.Context())
	b := &interruptHandler{cancel: stop}
	b.setGraceful(func() { t.Error("the handler of an ended command ran") })()
	b.handlePress()
	if !errors.Is(context.Cause(ctx), errInterrupted) {
		t.Errorf("context: %v, want interrupted", context.Cause(ctx))
	}
}

// Two signals may report one closed terminal; the command then stops gracefully.
func TestBrakeHungUp(t *testing.T) {
	ctx, stop := context.WithCancelCause(t.Context())
	b := &interruptHandler{cancel: stop}
	rested := 0
	b.setGraceful(func() { rested++ })
	b.hangUp()
	b.hangUp()
	if rested != 1 || ctx.Err() != nil || !b.hasHungUp() {
		t.Errorf("after two presses: %d graceful stops, %v, hung %v; want once, nil, true", rested, ctx.Err(), b.hasHungUp())
	}
}
