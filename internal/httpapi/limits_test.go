package httpapi

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"

	"ponder/internal/limitio"
	"ponder/internal/stream"
	"ponder/store/memory"
)

// newLimitedAPI returns an API with memory for requests, and POST /other, whose handler do is.
func newLimitedAPI(t *testing.T, total int64, do http.HandlerFunc) http.Handler {
	t.Helper()
	store := memory.New()
	return New(t.Context(), Config{
		Store: store, Hub: stream.New(store), Guard: guardOf(), Memory: limitio.NewMemory(total), Requests: &memoryRequests{},
		More: map[string]http.Handler{"POST /other": do},
	})
}

func sendLimited(h http.Handler, path, body string, change func(*http.Request)) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodPost, "http://127.0.0.1"+path, strings.NewReader(body))
	r.Header.Set("Authorization", "Bearer mine")
	r.Header.Set("Content-Type", "application/json")
	if change != nil {
		change(r)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// TestHostileBodies checks that no handler gets a body that decoders would inflate.
func TestHostileBodies(t *testing.T) {
	reached := 0
	h := newLimitedAPI(t, limitio.DefaultMemory, func(http.ResponseWriter, *http.Request) { reached++ })
	for name, test := range map[string]struct {
		body   string
		change func(*http.Request)
		status int
		why    string
	}{
		"small lists":             {"[" + strings.Repeat("[],", 2<<20) + "0]", nil, http.StatusRequestEntityTooLarge, "too many values"},
		"of no length":            {"[" + strings.Repeat("[],", 2<<20) + "0]", func(r *http.Request) { r.ContentLength = -1 }, http.StatusRequestEntityTooLarge, "too many values"},
		"depth":                   {strings.Repeat(`{"a":`, 1000), nil, http.StatusBadRequest, "levels deep"},
		"a long number":           {strings.Repeat("1", 5000), nil, http.StatusBadRequest, "number"},
		"compressed":              {"\x1f\x8b", func(r *http.Request) { r.Header.Set("Content-Encoding", "gzip") }, http.StatusUnsupportedMediaType, "Content-Encoding"},
		"too large":               {strings.Repeat(" ", MaxBody+1), nil, http.StatusRequestEntityTooLarge, "bytes"},
		"too large, of no length": {strings.Repeat(" ", MaxBody+1), func(r *http.Request) { r.ContentLength = -1 }, http.StatusRequestEntityTooLarge, "bytes"},
	} {
		for _, path := range []string{"/other", "/api/threads", "/api/thinking/start"} {
			if w := sendLimited(h, path, test.body, test.change); w.Code != test.status || !strings.Contains(w.Body.String(), test.why) {
				t.Errorf("%s to %s: %d %s", name, path, w.Code, w.Body)
			}
		}
	}
	if w := sendLimited(h, "/other", "{}", func(r *http.Request) { r.Header.Set("Content-Encoding", "identity") }); w.Code != http.StatusOK || reached != 1 {
		t.Errorf("a good body: %d, reached %d times", w.Code, reached)
	}
}

// TestBusyMemory checks that requests wait for memory, then get 503, and that a started response keeps only its body.
func TestBusyMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const size = 1 << 20
		body := strings.Repeat(" ", size)
		start, end := make(chan struct{}), make(chan struct{})
		h := newLimitedAPI(t, 6*size, func(w http.ResponseWriter, r *http.Request) {
			<-start
			io.WriteString(w, "started")
			<-end
		})
		for range 2 {
			go sendLimited(h, "/other", body, nil)
		}
		synctest.Wait()
		w := sendLimited(h, "/other", body, nil)
		if retry, err := strconv.Atoi(w.Header().Get("Retry-After")); w.Code != http.StatusServiceUnavailable || err != nil || retry < 1 {
			t.Errorf("a third request: %d, Retry-After %q: %s", w.Code, w.Header().Get("Retry-After"), w.Body)
		}
		close(start) // both keep a third
		synctest.Wait()
		third := make(chan int)
		go func() { third <- sendLimited(h, "/other", body, nil).Code }()
		synctest.Wait()
		close(end)
		if got := <-third; got != http.StatusOK {
			t.Errorf("after the others have started: %d", got)
		}
	})
}
