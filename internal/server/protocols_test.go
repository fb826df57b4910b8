package server

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"ponder/internal/app"

	"ponder/internal/auth"
)

// TestSaidBefore checks that the last messages of a long conversation are known.
func TestSaidBefore(t *testing.T) {
	got := app.SaidBefore("user: first\n\n" + strings.Repeat("ö", app.MaxSaid) + "\n\nuser: last")
	if !strings.HasSuffix(got, "user: last") || strings.Contains(got, "first") || len(got) > app.MaxSaid+200 || strings.ContainsRune(got, '\ufffd') {
		t.Errorf("%d bytes, that end with %q", len(got), got[len(got)-20:])
	}
	if app.SaidBefore(" \n") != "" {
		t.Error("nothing was said, and told")
	}
}

// TestMounted checks that a refusal has the format of the route's protocol.
func TestMounted(t *testing.T) {
	hi := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.Write([]byte("hi")) })
	says := func(text string) func(http.ResponseWriter, int, string) {
		return func(w http.ResponseWriter, status int, detail string) { http.Error(w, text+detail, status) }
	}
	routes, refuse := MountProtocols([]Protocol{{map[string]http.Handler{"POST /a": hi, "GET /same": hi}, says("a: ")}, {map[string]http.Handler{"GET /b/{id}": hi, "GET /same": hi}, says("b: ")}})
	if len(routes) != 3 {
		t.Errorf("%d routes", len(routes))
	}
	for request, want := range map[string]string{"POST /a": "a: no\n", "GET /b/7": "b: no\n", "GET /same": "a: no\n", "GET /a": "", "GET /c": ""} {
		method, path, _ := strings.Cut(request, " ")
		w := httptest.NewRecorder()
		did := refuse(w, httptest.NewRequestWithContext(t.Context(), method, path, http.NoBody), &auth.Refusal{Status: 401, Detail: "no"})
		if got := w.Body.String(); got != want || did != (want != "") {
			t.Errorf("%s: %t %q", request, did, got)
		}
	}
}
