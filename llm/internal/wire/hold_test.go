package wire

import (
	"context"
	"errors"
	"io"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"ponder/llm"
)

// A request that ends before its release has no usage.
func TestUnsent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newClient()
		c.HTTP.Transport = roundTripFunc(func(r *http.Request) (*http.Response, error) {
			data, err := io.ReadAll(r.Body)
			if len(data) > 0 {
				t.Errorf("%q was sent", data)
			}
			return nil, err
		})
		ctx, cancel := context.WithCancel(PrepareContext(t.Context(), make(chan struct{})))
		time.AfterFunc(time.Hour, cancel) // longer than HeaderTimeout
		_, err := postBody(ctx, c, "http://h/", struct{}{})
		var e *llm.Error
		if !errors.As(RequestInfo{Size: 36}.AttributeCut(err, llm.Usage{}), &e) || e.Class != llm.Cancelled || e.Usage != (llm.Usage{}) {
			t.Errorf("got %+v", e)
		}
	})
}
