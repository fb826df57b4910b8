package compat

import (
	"testing"

	"ponder"
	"ponder/llm"
)

// Errors that a repeat cannot fix have status 4xx.
func TestEndFault(t *testing.T) {
	for trouble, want := range map[llm.Class]int{
		"": 502, llm.Auth: 502, llm.NotFound: 502, llm.Malformed: 502, llm.Transient: 503, llm.Unreachable: 503, llm.RateLimited: 429,
		llm.Payment: 402, llm.TooLong: 400, llm.Filtered: 400, llm.BadRequest: 400,
	} {
		if f := (End{Status: ponder.Failed, Reason: "why", ErrorClass: trouble}).APIError(); f.Status != want || f.Detail != "why" {
			t.Errorf("%q: %+v", trouble, f)
		}
	}
	if f := (End{Status: ponder.Completed}).APIError(); f != nil {
		t.Errorf("of an answer: %+v", f)
	}
}
