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
	"ponder/internal/netaddr"
)

// A RecordStore stores small records durably and is safe for concurrent use.
type RecordStore interface {
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
	Records RecordStore
	Client  *http.Client  // nil: connects only to public addresses
	Guard   netaddr.Guard // of the addresses of endpoints

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

	inProgress bool // in progress
}

func (d *delivery) deliveryKey() string { return d.ID + "." + d.Endpoint }

// pauses are those of Standard Webhooks.
var pauses = []time.Duration{
	5 * time.Second, 5 * time.Minute, 30 * time.Minute, 2 * time.Hour, 5 * time.Hour, 10 * time.Hour, 14 * time.Hour, 20 * time.Hour, 24 * time.Hour,
}

const (
	maxDue     = 10_000 // in memory
	maxSending = 8      // at once
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
	if err := h.loadPending(ctx); err != nil {
		return err
	}
	defer h.work.Wait()
	slots := make(chan struct{}, maxSending)
	for {
		next, wait := h.nextDelivery(time.Now())
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
			h.tryDelivery(ctx, next)
			<-slots
		})
	}
}

func (h *Hooks) loadPending(ctx context.Context) error {
	watched, err := h.Records.Records(ctx, watchKind, "")
	if err != nil {
		return fmt.Errorf("read watched responses: %w", err)
	}
	waiting, err := h.Records.Records(ctx, deliveryKind, "")
	if err != nil {
		return fmt.Errorf("read pending deliveries: %w", err)
	}
	h.mu.Lock()
	h.ctx, h.wake, h.due, h.busy = ctx, make(chan struct{}, 1), make(map[string]*delivery), make(map[string]bool)
	for _, r := range waiting {
		d := &delivery{}
		if json.Unmarshal(r.JSON, d) == nil {
			h.due[d.deliveryKey()] = d
		}
	}
	h.mu.Unlock()
	for _, r := range watched {
		h.watchResponse(r.Owner, r.ID)
	}
	return nil
}

// expectEnd watches a response across restarts.
func (h *Hooks) expectEnd(ctx context.Context, j job) error {
	if err := h.Records.Put(ctx, watchKind, j.owner, j.id(), []byte("{}")); err != nil {
		return fmt.Errorf("save a watched response: %w", err)
	}
	h.watchResponse(j.owner, j.id())
	return nil
}

// watchResponse starts at most one watcher of a response.
func (h *Hooks) watchResponse(owner, id string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.ctx == nil || h.ctx.Err() != nil || h.busy[id] {
		return // Run starts it
	}
	h.busy[id] = true
	ctx := h.ctx
	h.work.Go(func() {
		err := h.announceEnd(ctx, owner, id)
		h.mu.Lock()
		delete(h.busy, id)
		h.mu.Unlock()
		if err != nil && ctx.Err() == nil {
			h.api.desk.APIErrorOf(err) // logs it; the next server retries
		}
	})
}

// announceEnd announces a response after its end.
func (h *Hooks) announceEnd(ctx context.Context, owner, id string) error {
	j, err := h.api.findJob(ctx, owner, id)
	if err == nil {
		var end compat.End
		if end, err = h.api.streamParts(ctx, j, func(compat.Part) error { return nil }, nil, nil); err == nil {
			err = h.queueEvents(ctx, j, end)
		}
	}
	if err != nil && !h.api.isMissing(err) && !errors.Is(err, ponder.ErrNoThread) {
		return err
	}
	if err := h.Records.Drop(ctx, watchKind, owner, id); err != nil {
		return fmt.Errorf("delete a watched response: %w", err)
	}
	return nil
}

// queueEvents queues events. Their ids depend only on the response, so that a repeat replaces them.
func (h *Hooks) queueEvents(ctx context.Context, j job, end compat.End) error {
	res := j.newResponse()
	res.setStatus(end, end.At.Unix())
	list, err := h.listEndpoints(ctx, j.owner)
	if err != nil {
		return err
	}
	created := end.At
	if created.IsZero() {
		created = time.Now()
	}
	name := "evt_" + strings.ReplaceAll(strings.TrimPrefix(j.id(), prefix), ".", "_") + "_" + res.Status
	for _, e := range list {
		if !e.wantsEvent("response." + res.Status) {
			continue
		}
		if err := h.addDelivery(ctx, newDelivery(name, j.owner, e.ID, "response."+res.Status, j.id(), created)); err != nil {
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

func (h *Hooks) addDelivery(ctx context.Context, d *delivery) error {
	if err := h.storeDelivery(ctx, d); err != nil {
		return err
	}
	h.mu.Lock()
	if len(h.due) < maxDue { // the next server sends the others
		h.due[d.deliveryKey()] = d
	}
	h.mu.Unlock()
	h.wakeSender()
	return nil
}

func (h *Hooks) storeDelivery(ctx context.Context, d *delivery) error {
	js, err := json.Marshal(d)
	if err == nil {
		err = h.Records.Put(ctx, deliveryKind, d.Owner, d.deliveryKey(), js)
	}
	if err != nil {
		return fmt.Errorf("save a pending delivery: %w", err)
	}
	return nil
}

func (h *Hooks) wakeSender() {
	select {
	case h.wake <- struct{}{}:
	default: // a wakeup is pending
	}
}

const idleWait = time.Hour

// nextDelivery returns a due delivery, or the time until one.
func (h *Hooks) nextDelivery(now time.Time) (*delivery, time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	wait := idleWait
	for _, d := range h.due {
		left := d.Due.Sub(now)
		if !d.inProgress && left <= 0 {
			d.inProgress = true
			return d, 0
		}
		if !d.inProgress {
			wait = min(wait, left)
		}
	}
	return nil, wait
}

// tryDelivery sends a delivery, and schedules a retry or drops it.
func (h *Hooks) tryDelivery(ctx context.Context, d *delivery) {
	e, err := h.findEndpoint(ctx, d.Owner, d.Endpoint)
	status := http.StatusGone // for a missing endpoint
	if err == nil {
		status, err = h.sendEvent(ctx, e, d.ID, []byte(d.Body))
	}
	if ctx.Err() != nil {
		return
	}
	again := err != nil && !h.api.isMissing(err) || err == nil && status/100 != 2 && status != http.StatusGone
	h.mu.Lock()
	d.inProgress = false
	if again = again && d.Tries < len(pauses); again {
		d.Due = time.Now().Add(pauses[d.Tries])
		d.Tries++
	} else {
		delete(h.due, d.deliveryKey())
	}
	kept := *d
	h.mu.Unlock()
	if again {
		err = h.storeDelivery(ctx, &kept)
	} else {
		err = h.Records.Drop(ctx, deliveryKind, kept.Owner, kept.deliveryKey())
	}
	if err != nil {
		h.api.desk.APIErrorOf(err) // logs it; the event may repeat
	}
	h.wakeSender()
}
