package llm

import (
	"encoding/json"
	"math/rand/v2"
	"testing"
	"time"
)

func TestSpeedLearn(t *testing.T) {
	const s = time.Second
	for name, tt := range map[string]struct {
		calls  []CallSample
		bytes  int
		tokens int
		first  time.Duration // expected for bytes
		took   time.Duration // expected for bytes and tokens
		within int           // tokens in 60 s, at most 4096
	}{
		"nothing":         {nil, 8000, 400, 0, 0, 4096},
		"a slow model":    {[]CallSample{{8000, 10 * s, 30 * s, 400, true}}, 8000, 400, 10 * s, 30 * s, 1000},
		"a longer prompt": {[]CallSample{{8000, 10 * s, 30 * s, 400, true}}, 16000, 400, 20 * s, 40 * s, 800},
		"a shorter one":   {[]CallSample{{8000, 10 * s, 30 * s, 400, true}}, 800, 400, 10 * s, 30 * s, 1000},
		"in one piece":    {[]CallSample{{8000, 10 * s, 10 * s, 400, true}}, 8000, 400, 10 * s, 10 * s, 4096},
		"no output":       {[]CallSample{{8000, 90 * s, 90 * s, 0, false}}, 8000, 400, 90 * s, 90 * s, 4096},
		"slower at once":  {[]CallSample{{8000, 2 * s, 4 * s, 40, true}, {8000, 10 * s, 12 * s, 40, true}}, 8000, 20, 10 * s, 11 * s, 1000},
		"faster slowly":   {[]CallSample{{8000, 10 * s, 12 * s, 40, true}, {8000, 2 * s, 4 * s, 40, true}}, 8000, 20, 6 * s, 7 * s, 1080},
		"invalid":         {[]CallSample{{8000, 5 * s, 2 * s, 40, true}, {8000, 0, 2 * s, 40, true}}, 8000, 20, 0, 0, 4096},
	} {
		t.Run(name, func(t *testing.T) {
			var v Speed
			for _, c := range tt.calls {
				v = v.Learn(c)
			}
			if first, took, n := v.FirstOutput(tt.bytes), v.CallTime(tt.bytes, tt.tokens), v.TokensWithin(tt.bytes, time.Minute, 4096); first != tt.first || took != tt.took || n != tt.within {
				t.Errorf("%+v: first output after %v, whole call %v, %d tokens in a minute; want %v, %v, %d", v, first, took, n, tt.first, tt.took, tt.within)
			}
			if v.IsKnown() != (tt.took > 0) {
				t.Errorf("%+v: known %v", v, v.IsKnown())
			}
		})
	}
}

// Any measured calls leave finite estimates that grow with the request and the answer, and a Speed
// survives its JSON.
func TestSpeedProperties(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var v Speed
	for range 2000 {
		first := time.Duration(r.Int64N(int64(time.Hour)))
		v = v.Learn(CallSample{r.IntN(1 << 20), first, first + time.Duration(r.Int64N(int64(time.Hour))) - time.Second, r.IntN(1 << 16), r.IntN(2) == 0})
		bytes, tokens := r.IntN(1<<22), r.IntN(1<<20)
		small, large := v.CallTime(bytes, tokens), v.CallTime(2*bytes, 2*tokens)
		if small < 0 || large < small || v.FirstOutput(bytes) > small {
			t.Fatalf("%+v: %v for %d bytes and %d tokens, %v for twice as many", v, small, bytes, tokens, large)
		}
		if n := v.TokensWithin(bytes, small, tokens); v.Rate > 0 && small < 24*time.Hour && (n > tokens || n < tokens*9/10-int(v.Rate)-1) {
			t.Fatalf("%+v: %d tokens fit in %v, want %d", v, n, small, tokens)
		}
		js, err := json.Marshal(v)
		var back Speed
		if err != nil || json.Unmarshal(js, &back) != nil || back != v {
			t.Fatalf("%+v is stored as %s and read as %+v", v, js, back)
		}
	}
}
