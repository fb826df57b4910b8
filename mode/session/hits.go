package session

import "ponder/mode/internal/hits"

// What tools find is read by package hits.
type (
	hit    = hits.Hit
	found  = hits.Found
	origin = hits.Origin
)
