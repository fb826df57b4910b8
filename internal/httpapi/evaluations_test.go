package httpapi

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"ponder/internal/eval"
	"ponder/internal/stream"
	"ponder/store/memory"
)

func TestEvaluations(t *testing.T) {
	folder, store := t.TempDir(), memory.New()
	right := 0.75
	err := eval.StoreReport(folder, eval.StoredReport{Name: "sums", At: time.Unix(0, 0).UTC(), Report: eval.Report{Questions: 8, Samples: 3,
		Variants:    []eval.Variant{{Name: "plain", Right: &right}, {Name: "think", Right: &right}},
		Comparisons: []eval.Comparison{{Variant: "think", Against: "plain", By: eval.ByChecks, Difference: 0.1, Interval: eval.Interval{Low: -0.1, High: 0.3}}}}})
	if err != nil {
		t.Fatal(err)
	}
	d := &testAPI{store, New(t.Context(), Config{Store: store, Hub: stream.New(store), Requests: &memoryRequests{}, Guard: guardOf(), Evaluations: folder})}
	for _, tt := range []struct {
		token, path, want string
		code              int
	}{
		{"look", "/api/evaluations", `"evaluations":[{"name":"sums","at":"1970-01-01T00:00:00Z","questions":8,"samples":3,"variants":["plain","think"]}]`, 200},
		{"look", "/api/evaluations/sums", `"interval":{"low":-0.1,"high":0.3}`, 200},
		{"look", "/api/evaluations/other", "see /api/evaluations", 404},
		{"look", "/api/evaluations/..%2Fsums", "see /api/evaluations", 404},
		{"hers", "/api/evaluations", `"evaluations":[]`, 200},
		{"hers", "/api/evaluations/sums", "see /api/evaluations", 404},
	} {
		if code, body := d.sendRequest(tt.token, http.MethodGet, tt.path, ""); code != tt.code || !strings.Contains(body, tt.want) {
			t.Errorf("%s %s: %d %s", tt.token, tt.path, code, body)
		}
	}
}
