package session

import "ponder/mode/internal/lookup"

// What tools find is read by package hits.
type (
	hit   = lookup.Hit
	found = lookup.Found
)
