package metrics

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// Times of sending again what a collector could not take.
const (
	firstPause = time.Second
	longPause  = 15 * time.Second
	mostTries  = 5
)

// work sends spans until the traces are closed.
func (t *Traces) work() {
	defer close(t.done)
	delay := time.NewTimer(t.cfg.Delay)
	defer delay.Stop()
	var batch []span
	for {
		select {
		case s := <-t.queue:
			if batch = append(batch, s); len(batch) < maxBatch {
				continue
			}
		case <-delay.C:
		case <-t.closing:
			t.rest(batch)
			return
		}
		t.send(batch)
		batch = batch[:0]
		delay.Reset(t.cfg.Delay)
	}
}

// rest sends what there is when the traces are closed.
func (t *Traces) rest(batch []span) {
	for {
		select {
		case s := <-t.queue:
			if batch = append(batch, s); len(batch) == maxBatch {
				t.send(batch)
				batch = batch[:0]
			}
		default:
			t.send(batch)
			return
		}
	}
}

// send sends a batch, several times if it must. Once the traces are closed nothing is
// sent again.
func (t *Traces) send(batch []span) {
	if len(batch) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), t.cfg.Timeout)
	for i := range batch {
		batch[i].begin(ctx)
	}
	cancel()
	js, err := json.Marshal(t.document(batch))
	if err != nil {
		t.lose(len(batch), err)
		return
	}
	for n := 0; ; n++ {
		refused, wait, err := t.post(js)
		if err == nil {
			t.sent.Add(int64(len(batch) - refused))
			t.failed = false
			if refused > 0 {
				t.lose(refused, errors.New("the collector refused spans"))
			}
			return
		}
		if wait < 0 || n+1 >= mostTries || !t.pause(max(wait, min(longPause, firstPause<<n))) {
			t.lose(len(batch), err)
			return
		}
	}
}

// lose counts spans that were lost. The first time it is said why.
func (t *Traces) lose(n int, err error) {
	t.dropped.Add(int64(n))
	if !t.failed {
		t.cfg.Logger.Warn("traces are lost", "spans", n, "error", err)
	}
	t.failed = true
}

// pause waits, less a part by chance, and reports whether the traces are still open.
func (t *Traces) pause(d time.Duration) bool {
	timer := time.NewTimer(d - rand.N(d/4+1))
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-t.closing:
		return false
	}
}

// maxReply bounds what is read of a collector's answer, in bytes.
const maxReply = 64 << 10

// post sends a document one time. It returns how many spans were refused, and after an
// error how long to wait at least before another try, which is below zero if there should
// be none. The error has no address in it, which may have secrets.
func (t *Traces) post(js []byte) (refused int, wait time.Duration, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), t.cfg.Timeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, t.cfg.Endpoint, bytes.NewReader(js))
	if err != nil {
		return 0, -1, errors.New("the endpoint is no URL")
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", "ponder/"+cmp.Or(t.cfg.Version, "dev"))
	for name, value := range t.cfg.Headers {
		req.Header.Set(name, value)
	}
	resp, err := cmp.Or(t.cfg.Client, direct).Do(req)
	if err != nil {
		var at *url.Error
		if errors.As(err, &at) {
			err = at.Err
		}
		return 0, 0, fmt.Errorf("the collector was not reached: %w", err)
	}
	defer resp.Body.Close()
	reply, _ := io.ReadAll(io.LimitReader(resp.Body, maxReply)) // what of it came
	switch resp.StatusCode {
	case http.StatusOK, http.StatusAccepted, http.StatusNoContent:
		return refusedOf(reply), 0, nil
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		seconds, _ := strconv.Atoi(resp.Header.Get("Retry-After")) // zero if it is none
		wait = time.Duration(min(max(0, seconds), 60)) * time.Second
	default:
		wait = -1
	}
	return 0, wait, fmt.Errorf("the collector answered %d %s", resp.StatusCode, http.StatusText(resp.StatusCode))
}

// direct follows no redirect, so that the headers go nowhere else.
var direct = &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}

// refusedOf returns how many spans a collector says that it refused.
func refusedOf(reply []byte) int {
	var partial struct {
		PartialSuccess struct {
			Rejected json.RawMessage `json:"rejectedSpans"` // a string, or a number
		} `json:"partialSuccess"`
	}
	if json.Unmarshal(reply, &partial) != nil {
		return 0
	}
	n, err := strconv.Atoi(string(bytes.Trim(partial.PartialSuccess.Rejected, `"`)))
	if err != nil {
		return 0
	}
	return min(max(0, n), maxBatch)
}
