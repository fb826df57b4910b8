//go:build !amd64 || purego

package vector

// dots puts the product of each row of codes with the query into out. A row has
// as many codes as the query has numbers; no sum of absolute products may exceed
// an int32.
func dots(codes []byte, query []int16, out []int32) { dotsPlain(codes, query, out) }
