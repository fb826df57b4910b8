package vector

import "math"

// dotsPlain is the portable version of [dotRows].
func dotsPlain(codes []byte, query []int16, out []int32) {
	n := len(query)
	for i := range out {
		row := codes[i*n : i*n+n]
		var a, b, c, d int32
		j := 0
		for ; j+4 <= len(row) && j+4 <= len(query); j += 4 {
			r, q := row[j:j+4], query[j:j+4]
			a += int32(int8(r[0])) * int32(q[0])
			b += int32(int8(r[1])) * int32(q[1])
			c += int32(int8(r[2])) * int32(q[2])
			d += int32(int8(r[3])) * int32(q[3])
		}
		for ; j < n; j++ {
			a += int32(int8(row[j])) * int32(query[j])
		}
		out[i] = a + b + c + d
	}
}

// scaleQuery scales a query so that no product exceeds an int32, and pads it.
func scaleQuery(query []float32) []int16 {
	out := make([]int16, paddedLength(len(query)))
	largest := 0.0
	for _, x := range query {
		largest = max(largest, math.Abs(float64(x)))
	}
	if largest == 0 {
		return out
	}
	limit := float64(min(math.MaxInt16, math.MaxInt32/(math.MaxInt8*len(out))))
	for i, x := range query {
		out[i] = int16(float64(x) / largest * limit) // truncates
	}
	return out
}
