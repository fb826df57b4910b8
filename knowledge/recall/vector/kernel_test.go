package vector

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func randomVector(rng *rand.Rand, length int) []float32 {
	v := make([]float32, length)
	for i := range v {
		v[i] = float32(rng.NormFloat64())
	}
	return v
}

func TestDotsAreThoseOfPlainCode(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, length := range []int{1, 31, 32, 33, 384, 1536, 3072, maxLength} {
		for _, rows := range []int{1, 2, 64} {
			n := paddedLength(length)
			codes := make([]byte, rows*n)
			for i := range codes {
				codes[i] = byte(int8(rng.IntN(255) - 127))
			}
			q := scaleQuery(randomVector(rng, length))
			got, want := make([]int32, rows), make([]int32, rows)
			dotRows(codes, q, got)
			dotsPlain(codes, q, want)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%d rows of %d: %s", rows, length, diff)
			}
		}
	}
}

func TestDotsDoNotOverflow(t *testing.T) {
	for _, length := range []int{32, 384, maxLength} {
		q := make([]float32, length)
		codes := make([]byte, length)
		for i := range q {
			q[i], codes[i] = 0.1, 127
		}
		sharp, out := scaleQuery(q), []int32{0}
		dotRows(codes, sharp, out)
		if want := int64(length) * 127 * int64(sharp[0]); int64(out[0]) != want || sharp[0] < 1000 {
			t.Errorf("length %d: %d, want %d; the query is %d", length, out[0], want, sharp[0])
		}
	}
}

func TestDotsOfNothing(t *testing.T) {
	out := []int32{7}
	dotRows(nil, nil, out)
	dotRows([]byte{1}, make([]int16, 32), nil)
	if out[0] != 0 {
		t.Errorf("got %d", out[0])
	}
}

func TestQuantiseKeepsTwelveBits(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for _, length := range []int{1, 2, 31, 33, 384} {
		v, q := randomVector(rng, length), randomVector(rng, length)
		r, err := quantizeVector(v)
		if err != nil {
			t.Fatal(err)
		}
		unit, _ := unitVector(q)
		want, vv := 0.0, 0.0
		for i := range v {
			want += float64(v[i]) * float64(unit[i])
			vv += float64(v[i]) * float64(v[i])
		}
		want /= math.Sqrt(vv)
		if got := r.dotProduct(unit); math.Abs(got-want) > 0.001 {
			t.Errorf("length %d: cosine is %v, want %v", length, got, want)
		}
	}
}

func TestQuantiseExtremes(t *testing.T) {
	tests := []struct {
		name string
		v    []float32
		self float64 // product with itself at length 1
		bad  bool
	}{
		{"zero", make([]float32, 5), 0, false},
		{"one", []float32{-3}, 1, false},
		{"tiny", []float32{math.SmallestNonzeroFloat32, 0, 0}, 1, false},
		{"huge", []float32{math.MaxFloat32, -math.MaxFloat32}, 1, false},
		{"no number", []float32{1, float32(math.NaN())}, 0, true},
		{"endless", []float32{1, float32(math.Inf(-1))}, 0, true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			r, err := quantizeVector(test.v)
			if (err != nil) != test.bad {
				t.Fatalf("error is %v", err)
			}
			if err != nil {
				return
			}
			u, err := unitVector(test.v)
			if err != nil {
				t.Fatal(err)
			}
			if got := r.dotProduct(u); math.Abs(got-test.self) > 0.001 {
				t.Errorf("product is %v, want %v", got, test.self)
			}
		})
	}
}

func FuzzDecode(f *testing.F) {
	r, _ := quantizeVector([]float32{1, 2, 3})
	b := (&block{}).withRows(map[int]row{0: r, 63: r}, 32)
	f.Add(b.present, b.encode())
	f.Add(uint64(3), []byte("short"))
	f.Fuzz(func(t *testing.T, present uint64, data []byte) {
		b, err := decodeBlock(5, present, data, 32)
		if err != nil {
			return
		}
		if diff := cmp.Diff(data, b.encode()); diff != "" && len(data) > 0 {
			t.Error(diff)
		}
		s := &snapshot{modelRow: modelRow{length: 3}, blocks: []*block{b}}
		for _, hit := range s.nearestHits(t.Context(), []float32{1, 0, 0}, 70, nil) {
			if n, bit := splitPassage(hit.Passage); n != 5 || present>>bit&1 == 0 {
				t.Errorf("found passage %d", hit.Passage)
			}
		}
	})
}
