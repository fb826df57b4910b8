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

// A Book keeps small records over restarts. It is safe for concurrent use.
type Book interface {
	// Put keeps a record of an owner, in the place of one of the same kind and id.
	Put(ctx context.Context, kind, owner, id string, record []byte) error
	// Drop removes a record; there may be none.
	Drop(ctx context.Context, kind, owner, id string) error
	// Records returns those of a kind, in the order of their ids: of an owner or, if that
	// is empty, of all.
	Records(ctx context.Context, kind, owner string) ([]Record, error)
}

// A Record is one of a [Book].
type Record = app.Record

// The kinds of records.
const (
	endpointKind = "webhook"          // an endpoint
	watchKind    = "webhook.watch"    // a response whose end is to be told
	deliveryKind = "webhook.delivery" // an event that is to be delivered
)

// Hooks tell endpoints of owners how responses of the background have ended, as Standard
// Webhooks does: signed, again until an endpoint takes it, and always with the same
// webhook-id. Set the fields before [New]; then call Run.
type Hooks struct {
	Book   Book
	Client *http.Client // nil: one that reaches public addresses, and this machine for URLs that say so

	api  *api
	mu   sync.Mutex
	ctx  context.Context //nolint:containedctx // of Run; nil before it
	busy map[string]bool // responses that are watched
	due  map[string]*delivery
	wake chan struct{}
	work sync.WaitGroup
}

// A delivery is an event that an endpoint is to be told.
type delivery struct {
	ID       string    `json:"id"` // of the event, which is the webhook-id
	Endpoint string    `json:"endpoint"`
	Owner    string    `json:"owner"`
	Body     string    `json:"body"`
	Tries    int       `json:"tries,omitempty"`
	Due      time.Time `json:"due"`

	sent bool // it is being sent
}

func (d *delivery) key() string { return d.ID + "." + d.Endpoint }

// pauses are how long is waited between tries, as Standard Webhooks recommends.
var pauses = []time.Duration{
	5 * time.Second, 5 * time.Minute, 30 * time.Minute, 2 * time.Hour, 5 * time.Hour, 10 * time.Hour, 14 * time.Hour, 20 * time.Hour, 24 * time.Hour,
}

// Bounds of what is delivered.
const (
	mostDue     = 10_000 // deliveries that wait
	mostSending = 8      // that are sent at once
)

// A hookEvent is what an endpoint is told.
type hookEvent struct {
	ID      string `json:"id"`
	Object  string `json:"object"`
	Created int64  `json:"created_at"`
	Type    string `json:"type"`
	Data    struct {
		ID string `json:"id"`
	} `json:"data"`
}

// Run delivers until ctx is done, and what an earlier server has left first. It returns
// an error if that cannot be read.
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

// expect has the end of a response be told.
func (h *Hooks) expect(ctx context.Context, j job) error {
	if err := h.Book.Put(ctx, watchKind, j.owner, j.id(), []byte("{}")); err != nil {
		return fmt.Errorf("keep what webhooks wait for: %w", err)
	}
	h.watch(j.owner, j.id())
	return nil
}

// watch waits for the end of a response, unless that is waited for already.
func (h *Hooks) watch(owner, id string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.ctx == nil || h.ctx.Err() != nil || h.busy[id] {
		return // Run will
	}
	h.busy[id] = true
	ctx := h.ctx
	h.work.Go(func() {
		err := h.told(ctx, owner, id)
		h.mu.Lock()
		delete(h.busy, id)
		h.mu.Unlock()
		if err != nil && ctx.Err() == nil {
			h.api.desk.FaultOf(err) // which logs it; the next server tries again
		}
	})
}

// told waits for the end of a response, and has the endpoints of its owner told.
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

// announce has an event delivered to the endpoints that want it.
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
	if err != nil { // which texts cannot be
		panic(err)
	}
	return &delivery{ID: name, Endpoint: endpoint, Owner: owner, Body: string(body), Due: time.Now()}
}

// add keeps a delivery, and has it sent.
func (h *Hooks) add(ctx context.Context, d *delivery) error {
	if err := h.put(ctx, d); err != nil {
		return err
	}
	h.mu.Lock()
	if len(h.due) < mostDue { // the others are for the next server
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
	default: // it will look anyway
	}
}

// idle is how long nothing is looked at if nothing is due.
const idle = time.Hour

// next returns a delivery that is due, or how long none will be.
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

// try sends a delivery once, and settles when it is due again, if it is.
func (h *Hooks) try(ctx context.Context, d *delivery) {
	e, err := h.endpoint(ctx, d.Owner, d.Endpoint)
	status := http.StatusGone // if there is no such endpoint
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
		h.api.desk.FaultOf(err) // which logs it: at worst it is sent once more
	}
	h.rouse()
}
