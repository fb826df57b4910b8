package compat

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"ponder"
	"ponder/internal/app"
	"ponder/llm"
)

// After a restart, clients repeat requests without answers. The new server finds unfinished recent work with
// the same words in the log, which needs no extra writes.

// maxLost limits the searched threads of each kind.
const maxLost = 1000

// findLost returns unanswered work of the same request from before the restart. If the client declares a retry, it
// also returns completed work.
func (d *Dispatcher) findLost(ctx context.Context, r *http.Request, a Request) (w Job, found bool, err error) {
	now := time.Now()
	if d.Since.IsZero() || now.Sub(d.Since) > retryTime || a.check() != nil {
		return w, false, nil //nolint:nilerr // the caller that starts it reports the error
	}
	if busy, err := d.wasBusy(ctx, a.Owner); err != nil || !busy {
		return w, false, err
	}
	if a.jobKind() == Chat {
		w, found, err = d.lostTurn(ctx, a)
	} else {
		w, found, err = d.lostThread(ctx, a)
	}
	if err != nil || !found || now.Sub(w.Started) > retryTime || !w.Started.Before(d.Since) {
		return Job{}, false, err
	}
	_, end, err := d.Result(ctx, w)
	if err != nil {
		return Job{}, false, err
	}
	answered := end.Status.Ended() && end.At.Before(d.Since)
	if answered && (!isRetry(r) || end.Status != ponder.Completed) {
		return Job{}, false, nil
	}
	w.info, w.log = ponder.Info{}, nil // the work is kept for long
	return w, true, nil
}

// wasBusy reports whether owner may have had active threads before the start. It caches the result.
func (d *Dispatcher) wasBusy(ctx context.Context, owner string) (bool, error) {
	d.deduper.lookup.Lock()
	defer d.deduper.lookup.Unlock()
	if busy, ok := d.deduper.busy[owner]; ok {
		return busy, nil
	}
	threads, err := d.Store.List(ctx, ponder.Filter{Owner: owner, Before: ponder.Position{Created: d.Since}, Limit: maxLost})
	if err != nil {
		return false, fmt.Errorf("look for earlier work: %w", err)
	}
	busy := len(threads) == maxLost || slices.ContainsFunc(threads, func(t ponder.Info) bool { return d.Since.Sub(t.Updated) < retryTime })
	if d.deduper.busy == nil {
		d.deduper.busy = make(map[string]bool)
	}
	d.deduper.busy[owner] = busy
	return busy, nil
}

func (d *Dispatcher) lostThread(ctx context.Context, a Request) (w Job, found bool, err error) {
	kind, cause := ponder.KindExchange, ""
	switch way := a.jobKind(); way {
	case Exchange:
		cause = a.toExchange().Cause
	default:
		st := a.toStart(way)
		kind, cause = st.Kind, st.Cause
	}
	list, err := d.lostCauses(ctx, a.Owner, kind)
	if err != nil || list[cause] == "" {
		return w, false, err
	}
	if w, err = d.FindJob(ctx, a.Owner, strings.TrimPrefix(string(list[cause]), "thr_")); err != nil {
		return Job{}, false, ignoreNotFound(err)
	}
	return w, true, nil
}

// lostTurn returns the last turn of a candidate conversation with the same message.
func (d *Dispatcher) lostTurn(ctx context.Context, a Request) (w Job, found bool, err error) {
	list, err := d.lostChats(ctx, a)
	if err != nil {
		return w, false, ignoreNotFound(err)
	}
	for _, id := range list {
		info, err := d.Store.Thread(ctx, id)
		if err != nil || !info.Created.Before(d.Since) { // such as no thread
			continue
		}
		w, err := d.Newest(ctx, a.Owner, id)
		if err == nil && w.Kind == Chat {
			var asked string
			if asked, err = d.readQuestion(ctx, w); err == nil && Alphanumeric(asked) == Alphanumeric(a.questionText()) {
				return w, true, nil
			}
		}
		if ignoreNotFound(err) != nil {
			return Job{}, false, err
		}
	}
	return Job{}, false, nil
}

// lostChats returns candidate conversations. The stopped server may not have noted the last digest.
func (d *Dispatcher) lostChats(ctx context.Context, a Request) (list []ponder.ThreadID, err error) {
	switch {
	case a.Thread != "":
		return []ponder.ThreadID{a.Thread}, nil
	case a.After.Thread != "":
		return []ponder.ThreadID{a.After.Thread}, nil
	case a.Chat != "":
		return []ponder.ThreadID{threadOf(a.Owner, "chat", a.Chat)}, nil
	}
	for _, messages := range [][]llm.Message{a.Messages, toLastUser(a.earlierMessages())} {
		id, err := d.Service.FindChat(ctx, a.Owner, saidDigest(messages))
		if err != nil {
			return nil, err
		}
		list = append(list, id)
	}
	first, err := d.lostCauses(ctx, a.Owner, ponder.KindConversation)
	return append(list, first[Alphanumeric(a.questionText())]), err
}

// ignoreNotFound drops NotFound errors.
func ignoreNotFound(err error) error {
	if app.CodeOf(err) == app.NotFound {
		return nil
	}
	return err
}

// lostCauses maps causes, or first messages of conversations, to threads that began shortly before the start. It
// caches the result.
func (d *Dispatcher) lostCauses(ctx context.Context, owner string, kind ponder.Kind) (map[string]ponder.ThreadID, error) {
	d.deduper.lookup.Lock()
	defer d.deduper.lookup.Unlock()
	key := owner + " " + string(kind)
	if list, ok := d.deduper.causes[key]; ok {
		return list, nil
	}
	threads, err := d.Store.List(ctx, ponder.Filter{Kind: kind, Owner: owner, Before: ponder.Position{Created: d.Since}, Limit: maxLost})
	if err != nil {
		return nil, fmt.Errorf("look for earlier work: %w", err)
	}
	list := make(map[string]ponder.ThreadID)
	for _, t := range slices.Backward(threads) { // the newest wins
		if d.Since.Sub(t.Created) > retryTime {
			continue
		}
		for ev, err := range d.Store.Events(ctx, t.ID, 0) {
			if err != nil {
				return nil, fmt.Errorf("read %s: %w", t.ID, err)
			}
			if told := lostCause(kind, ev); told != "" {
				list[told] = t.ID
				break
			}
		}
	}
	if d.deduper.causes == nil {
		d.deduper.causes = make(map[string]map[string]ponder.ThreadID)
	}
	d.deduper.causes[key] = list
	return list, nil
}

// lostCause returns the cause or message that identifies the request of a thread, or "".
func lostCause(kind ponder.Kind, ev ponder.Event) string {
	switch b := ev.Body.(type) {
	case ponder.RunStarted:
		if kind != ponder.KindConversation {
			return ev.Cause
		}
	case ponder.UserMessage:
		return Alphanumeric(b.Content)
	}
	return ""
}

// findByKey returns the conversation for the key of a, or a zero Info.
func (d *Dispatcher) findByKey(ctx context.Context, a Request) (info ponder.Info, err error) {
	id := a.newThread()
	noted, err := d.Service.FindChat(ctx, a.Owner, a.keyDigest())
	if err != nil {
		return info, err
	}
	info, err = d.ownedThread(ctx, a.Owner, cmp.Or(noted, id))
	return info, ignoreNotFound(err)
}

func (a Request) keyDigest() string { return "key " + hexOf(a.Key) }
