package wire

import (
	"bytes"
	"math"
	"strconv"
)

// maxCount bounds a count of tokens, so that sums of lies do not overflow.
const maxCount = 1 << 28

// A Count is a number of tokens. What is not one, however it was written, is zero: a whole
// answer is not lost for it.
type Count int

// UnmarshalJSON implements [json.Unmarshaler].
func (c *Count) UnmarshalJSON(b []byte) error {
	f, _ := strconv.ParseFloat(string(bytes.Trim(b, `"`)), 64) // with an error, it is zero or infinite
	if math.IsNaN(f) {
		f = 0
	}
	*c = Count(min(max(f, 0), maxCount))
	return nil
}
