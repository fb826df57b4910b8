package httpapi

import (
	"encoding/json"
	"regexp"
	"slices"
	"testing"
)

// huma ignores embedded structs with unexported names, so handlers would get empty parameters. All read
// parameters are documented.
func TestParametersAreRead(t *testing.T) {
	d := newAPI(t, nil)
	code, body := d.sendRequest("mine", "GET", "/openapi.json", "")
	var doc struct {
		Paths map[string]map[string]struct {
			Parameters []struct{ Name, In string }
		}
	}
	if err := json.Unmarshal([]byte(body), &doc); err != nil || code != 200 || len(doc.Paths) < 10 {
		t.Fatalf("%d %.200s (%v)", code, body, err)
	}
	for path, operations := range doc.Paths {
		for _, m := range regexp.MustCompile(`\{(\w+)\}`).FindAllStringSubmatch(path, -1) {
			for method, op := range operations {
				if !slices.ContainsFunc(op.Parameters, func(p struct{ Name, In string }) bool { return p.Name == m[1] && p.In == "path" }) {
					t.Errorf("%s %s never reads {%s}: is the struct that it is in embedded by a name which is not exported?", method, path, m[1])
				}
			}
		}
	}
}
