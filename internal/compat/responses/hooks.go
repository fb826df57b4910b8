package responses

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"ponder"
	"ponder/internal/app"
	"ponder/internal/compat"
)

// A Book stores small records durably and is safe for concurrent use.
type Book interface {
	// Put replaces a record with the same kind, owner and id.
	Put(ctx context.Context, kind, owner, id string, record []byte) error
	Drop(ctx context.Context, kind, owner, id string) error
	// Records returns the records of a kind by id; an empty owner means all.
	Records(ctx context.Context, kind, owner string) ([]Record, error)
}

type Record = app.Record

const (
	endpointKind = "webhook"          // an endpoint
	watchKind    = "webhook.watch"    // a response in progress
	deliveryKind = "webhook.delivery" // an undelivered event
)

// Hooks announces ended background responses as Standard Webhooks specifies: signed, retried, with a constant
// webhook-id. Set the fields before [New], then call Run.
type Hooks struct {
	Book   Book
	Client *http.Client // nil: hookClient

	api  *api
	mu   sync.Mutex
	ctx  context.Context //nolint:containedctx // of Run; nil before it
	busy map[string]bool
	due  map[string]*delivery
	wake chan struct{}
	work sync.WaitGroup
}

type delivery struct {
	ID       string    `json:"id"` // the webhook-id
	Endpoint string    `json:"endpoint"`
	Owner    string    `json:"owner"`
	Body     string    `json:"body"`
	Tries    int       `json:"tries,omitempty"`
	Due      time.Time `json:"due"`

	sent bool // in progress
}

func (d *delivery) key() string { return d.ID + "." + d.Endpoint }

// pauses are those of Standard Webhooks.
var pauses = []time.Duration{
	5 * time.Second, 5 * time.Minute, 30 * time.Minute, 2 * time.Hour, 5 * time.Hour, 10 * time.Hour, 14 * time.Hour, 20 * time.Hour, 24 * time.Hour,
}

const (
	mostDue     = 10_000 // in memory
	mostSending = 8      // at once
)

type hookEvent struct {
	ID      string `json:"id"`
	Object  string `json:"object"`
	Created int64  `json:"created_at"`
	Type    string `json:"type"`
	Data    struct {
		ID string `json:"id"`
	} `json:"data"`
}

// Run delivers events, also those of an earlier server, until ctx is done. It returns an error if it cannot
// read the stored records.
func (h *Hooks) Run(ctx context.Context) error {
	if err := h.load(ctx); err != nil {
		return err
	}
	defer h.work.Wait()
	slots := make(chan struct{}, mostSending)
	for {
		next, wait := h.next(time.Now())
		if next == nil {
			select {
			case <-h.wake:
			case <-time.After(wait):
			case <-ctx.Done():
				return nil
			}
			continue
		}
		select {
		case slots <- struct{}{}:
		case <-ctx.Done():
			return nil
		}
		h.work.Go(func() {
			h.try(ctx, next)
			<-slots
		})
	}
}

func (h *Hooks) load(ctx context.Context) error {
	watched, err := h.Book.Records(ctx, watchKind, "")
	if err != nil {
		return fmt.Errorf("read what webhooks wait for: %w", err)
	}
	waiting, err := h.Book.Records(ctx, deliveryKind, "")
	if err != nil {
		return fmt.Errorf("read what webhooks are to be told: %w", err)
	}
	h.mu.Lock()
	h.ctx, h.wake, h.due, h.busy = ctx, make(chan struct{}, 1), make(map[string]*delivery), make(map[string]bool)
	for _, r := range waiting {
		d := &delivery{}
		if json.Unmarshal(r.JSON, d) == nil {
			h.due[d.key()] = d
		}
	}
	h.mu.Unlock()
	for _, r := range watched {
		h.watch(r.Owner, r.ID)
	}
	return nil
}

// expect watches a response across restarts.
func (h *Hooks) expect(ctx context.Context, j job) error {
	if err := h.Book.Put(ctx, watchKind, j.owner, j.id(), []byte("{}")); err != nil {
		return fmt.Errorf("keep what webhooks wait for: %w", err)
	}
	h.watch(j.owner, j.id())
	return nil
}

// watch starts at most one watcher of a response.
func (h *Hooks) watch(owner, id string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.ctx == nil || h.ctx.Err() != nil || h.busy[id] {
		return // Run starts it
	}
	h.busy[id] = true
	ctx := h.ctx
	h.work.Go(func() {
		err := h.told(ctx, owner, id)
		h.mu.Lock()
		delete(h.busy, id)
		h.mu.Unlock()
		if err != nil && ctx.Err() == nil {
			h.api.desk.FaultOf(err) // logs it; the next server retries
		}
	})
}

// told announces a response after its end.
func (h *Hooks) told(ctx context.Context, owner, id string) error {
	j, err := h.api.job(ctx, owner, id)
	if err == nil {
		var end compat.End
		if end, err = h.api.tell(ctx, j, func(compat.Part) error { return nil }, nil, nil); err == nil {
			err = h.announce(ctx, j, end)
		}
	}
	if err != nil && !h.api.missing(err) && !errors.Is(err, ponder.ErrNoThread) {
		return err
	}
	if err := h.Book.Drop(ctx, watchKind, owner, id); err != nil {
		return fmt.Errorf("drop what webhooks wait for: %w", err)
	}
	return nil
}

// announce queues events. Their ids depend only on the response, so that a repeat replaces them.
func (h *Hooks) announce(ctx context.Context, j job, end compat.End) error {
	res := j.response()
	res.stand(end, end.At.Unix())
	list, err := h.endpoints(ctx, j.owner)
	if err != nil {
		return err
	}
	created := end.At
	if created.IsZero() {
		created = time.Now()
	}
	name := "evt_" + strings.ReplaceAll(strings.TrimPrefix(j.id(), prefix), ".", "_") + "_" + res.Status
	for _, e := range list {
		if !e.wants("response." + res.Status) {
			continue
		}
		if err := h.add(ctx, newDelivery(name, j.owner, e.ID, "response."+res.Status, j.id(), created)); err != nil {
			return err
		}
	}
	return nil
}

func newDelivery(name, owner, endpoint, kind, id string, at time.Time) *delivery {
	ev := hookEvent{ID: name, Object: "event", Created: at.Unix(), Type: kind}
	ev.Data.ID = id
	body, err := json.Marshal(ev)
	if err != nil { // strings encode
		panic(err)
	}
	return &delivery{ID: name, Endpoint: endpoint, Owner: owner, Body: string(body), Due: time.Now()}
}

func (h *Hooks) add(ctx context.Context, d *delivery) error {
	if err := h.put(ctx, d); err != nil {
		return err
	}
	h.mu.Lock()
	if len(h.due) < mostDue { // the next server sends the others
		h.due[d.key()] = d
	}
	h.mu.Unlock()
	h.rouse()
	return nil
}

func (h *Hooks) put(ctx context.Context, d *delivery) error {
	js, err := json.Marshal(d)
	if err == nil {
		err = h.Book.Put(ctx, deliveryKind, d.Owner, d.key(), js)
	}
	if err != nil {
		return fmt.Errorf("keep what a webhook is to be told: %w", err)
	}
	return nil
}

func (h *Hooks) rouse() {
	select {
	case h.wake <- struct{}{}:
	default: // a wakeup is pending
	}
}

const idle = time.Hour

// next returns a due delivery, or the time until one.
func (h *Hooks) next(now time.Time) (*delivery, time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	wait := idle
	for _, d := range h.due {
		left := d.Due.Sub(now)
		if !d.sent && left <= 0 {
			d.sent = true
			return d, 0
		}
		if !d.sent {
			wait = min(wait, left)
		}
	}
	return nil, wait
}

// try sends a delivery, and schedules a retry or drops it.
func (h *Hooks) try(ctx context.Context, d *delivery) {
	e, err := h.endpoint(ctx, d.Owner, d.Endpoint)
	status := http.StatusGone // for a missing endpoint
	if err == nil {
		status, err = h.send(ctx, e, d.ID, []byte(d.Body))
	}
	if ctx.Err() != nil {
		return
	}
	again := err != nil && !h.api.missing(err) || err == nil && status/100 != 2 && status != http.StatusGone
	h.mu.Lock()
	d.sent = false
	if again = again && d.Tries < len(pauses); again {
		d.Due = time.Now().Add(pauses[d.Tries])
		d.Tries++
	} else {
		delete(h.due, d.key())
	}
	kept := *d
	h.mu.Unlock()
	if again {
		err = h.put(ctx, &kept)
	} else {
		err = h.Book.Drop(ctx, deliveryKind, kept.Owner, kept.key())
	}
	if err != nil {
		h.api.desk.FaultOf(err) // logs it; the event may repeat
	}
	h.rouse()
}
