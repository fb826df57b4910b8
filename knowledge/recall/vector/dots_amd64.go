//go:build !purego

package vector

import "golang.org/x/sys/cpu"

// dotRows puts the products of rows of codes with the query into out. Rows have the
// query's length, a multiple of unit. Sums of absolute products must fit an int32.
func dotRows(codes []byte, query []int16, out []int32) {
	if len(out) == 0 || len(query) == 0 || len(query)%lengthUnit != 0 || len(codes) < len(out)*len(query) || !cpu.X86.HasAVX2 {
		dotsPlain(codes, query, out)
		return
	}
	dotsAVX2(&codes[0], &query[0], &out[0], len(out), len(query))
}

//go:noescape
func dotsAVX2(codes *byte, query *int16, out *int32, rows, stride int)
