package wire

import (
	"fmt"

	"ponder/llm"
)

// Vectors returns an error unless there are n vectors, all of one length.
func Vectors(vectors [][]float32, n int) error {
	if len(vectors) != n {
		return &llm.Error{Class: llm.Malformed, Message: fmt.Sprintf("the answer has %d vectors for %d texts", len(vectors), n)}
	}
	for i, v := range vectors {
		if len(v) == 0 || len(v) != len(vectors[0]) {
			return &llm.Error{Class: llm.Malformed, Message: fmt.Sprintf("the answer has no vector for text %d", i+1)}
		}
	}
	return nil
}
