package wire

import "testing"

func TestVectors(t *testing.T) {
	for _, tt := range []struct {
		vectors [][]float32
		ok      bool
	}{
		{[][]float32{{1, 2}, {3, 4}}, true},
		{[][]float32{{1, 2}}, false},
		{[][]float32{{1, 2}, {}}, false},
		{[][]float32{{1, 2}, {1}}, false},
	} {
		if err := CheckVectors(tt.vectors, 2); (err == nil) != tt.ok {
			t.Errorf("Vectors(%v, 2) = %v", tt.vectors, err)
		}
	}
}
