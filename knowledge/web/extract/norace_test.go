//go:build !race

package extract

// raced says whether the race detector is on.
const raced = false
