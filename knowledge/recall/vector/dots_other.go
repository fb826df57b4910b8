//go:build !amd64 || purego

package vector

// dotRows puts the products of rows of codes with the query into out. Rows have the
// query's length. Sums of absolute products must fit an int32.
func dotRows(codes []byte, query []int16, out []int32) { dotsPlain(codes, query, out) }
