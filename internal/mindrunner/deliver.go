package mindrunner

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"ponder"
	"ponder/mode/subconscious"
	"ponder/sensor"
	"ponder/sensor/notify"
)

// What is noted of attempts to tell something.
const (
	whatSending = "sending"
	whatSent    = "sent"
	whatFailed  = "failed"
)

// Numbers of delivery.
const (
	decideTime = 5 * time.Minute
	sendTime   = 45 * time.Second // that a channel has for a message
	claimTime  = 2 * time.Minute  // after which an attempt that nothing came of is made again
	firstWait  = time.Minute      // after the first failure, and twice as long after each
	longWait   = 12 * time.Hour
	maxTitle   = 100 // bytes
	maxSends   = 20  // messages of a channel in a round
)

// Deliver tells the user, on each channel, what is decided to be told and was not yet.
// What could not be sent is tried again, with ever longer waits, until a week after it was
// decided; in quiet hours only what is urgent is told, and the rest when they are over.
// Each attempt is noted before it is made, so that no two processes make it; one that a
// process did not survive is made again two minutes later, with the same id, by which
// whoever gets it knows what they have.
func (m *Minder) Deliver(ctx context.Context) (sent, unsent int, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.read(ctx); err != nil {
		return 0, 0, err
	}
	return m.deliver(ctx)
}

// deliver implements Deliver. The caller holds m.mu.
func (m *Minder) deliver(ctx context.Context) (sent, unsent int, err error) {
	results := make([]sending, len(m.Channels))
	var wg sync.WaitGroup
	for i, ch := range m.Channels {
		due := m.dueOn(ch.Name)
		wg.Go(func() { results[i] = m.sendAll(ctx, ch, due) })
	}
	wg.Wait()
	var errs []error
	for _, r := range results {
		sent, unsent = sent+r.sent, unsent+r.failed
		errs = append(errs, r.err)
	}
	errs = append(errs, m.read(ctx))
	return sent, unsent, errors.Join(errs...)
}

// A due is a telling and the number of the attempt to make.
type due struct {
	telling
	try int
}

// dueOn returns what a channel is to tell now.
func (m *Minder) dueOn(channel string) (list []due) {
	now := m.Now()
	for _, t := range m.course.told {
		s := m.course.sent[t.ID][channel]
		if s.done || now.Sub(t.at) > tellTime || len(list) == maxSends {
			continue
		}
		if m.Quiet.Contain(now) && !IsUrgent(t.Escalation) {
			continue
		}
		if s.tries > 0 && now.Before(s.next()) && !now.Before(s.last) { // a clock may have been set back
			continue
		}
		list = append(list, due{t, s.tries + 1})
	}
	return list
}

// next returns when the next attempt is made.
func (s sent) next() time.Time {
	if s.fails < s.tries {
		return s.last.Add(claimTime)
	}
	return s.last.Add(min(firstWait<<min(s.tries-1, 10), longWait))
}

// A sending is what came of what a channel was to tell.
type sending struct {
	sent, failed int
	err          error
}

// sendAll tells what is due on a channel, until one fails.
func (m *Minder) sendAll(ctx context.Context, ch notify.Channel, list []due) (r sending) {
	for _, d := range list {
		if ctx.Err() != nil {
			return r
		}
		mine, err := m.noteSend(ctx, ch.Name, d, whatSending, "")
		if err != nil {
			r.err = err
			return r
		}
		if !mine {
			continue // another process tells it
		}
		sendErr := send(ctx, ch, messageOf(d.telling))
		what, why := whatSent, ""
		if sendErr != nil {
			what, why = whatFailed, sensor.Line(sendErr.Error(), sensor.MaxText)
			m.Logger.Warn("the user could not be told", "channel", ch.Name, "escalation", d.ID, "attempt", d.try, "error", why)
		}
		if _, r.err = m.noteSend(ctx, ch.Name, d, what, why); r.err != nil {
			return r
		}
		if sendErr != nil {
			r.failed++
			return r // and the others would fail likewise
		}
		r.sent++
	}
	return r
}

// noteSend notes what became of an attempt, and returns false if that is noted already.
func (m *Minder) noteSend(ctx context.Context, channel string, d due, what, why string) (bool, error) {
	cause := strings.Join([]string{deliveryCause, channel, strconv.Itoa(d.try), what, d.ID}, ":")
	o := ponder.Observation{Content: why, Sensor: attemptName, Subject: d.ID, State: channel + ":" + what}
	if what == whatSent {
		o.Sensor, o.State = subconscious.Delivery, channel
	}
	return m.note(ctx, cause, o, true)
}

// send calls a channel, within bounds of time, and takes a panic for an error.
func send(ctx context.Context, ch notify.Channel, msg notify.Message) error {
	ctx, cancel := context.WithTimeout(ctx, sendTime)
	defer cancel()
	result := make(chan error, 1)
	go func() {
		defer func() {
			if p := recover(); p != nil {
				result <- fmt.Errorf("%s panicked: %.200v", ch.Name, p)
			}
		}()
		result <- ch.Send(ctx, msg)
	}()
	select {
	case err := <-result:
		return err
	case <-ctx.Done():
	}
	late := time.NewTimer(grace)
	defer late.Stop()
	select {
	case err := <-result:
		return err
	case <-late.C:
		return fmt.Errorf("%s did not return within %s", ch.Name, sendTime)
	}
}

// messageOf returns what the user is told.
func messageOf(t telling) notify.Message {
	title, _, _ := strings.Cut(t.Content, "\n")
	if i := strings.Index(title, ". "); i > 0 {
		title = title[:i+1]
	}
	return notify.Message{
		ID: t.ID, Title: sensor.Line(title, maxTitle), Text: t.Content,
		Importance: t.Importance, Untrusted: t.Untrusted, Sources: t.Sources, At: t.at,
	}
}
