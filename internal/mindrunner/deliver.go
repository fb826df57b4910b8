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

// The stored outcomes of an attempt to send a message.
const (
	whatSending = "sending"
	whatSent    = "sent"
	whatFailed  = "failed"
)

const (
	decideTime   = 5 * time.Minute
	sendTime     = 45 * time.Second // for one message
	reclaimAfter = 2 * time.Minute  // an attempt without an outcome is repeated after this time
	firstWait    = time.Minute      // after the first failure; the wait doubles with each
	longWait     = 12 * time.Hour
	maxTitle     = 100 // bytes
	maxSends     = 20  // messages of a channel per call
)

// Deliver sends the messages to the user that a channel has not sent yet, on each channel.
// It returns the numbers of sent and failed messages. It retries a failed message with
// growing waits, until a week after its decision. In quiet hours it sends urgent messages
// only.
//
// Deliver notes each attempt before it makes it, so that no two processes make the same
// attempt. If a process dies during an attempt, another attempt with the same id follows
// two minutes later. Receivers can detect the repetition by the id.
func (m *Runner) Deliver(ctx context.Context) (sent, unsent int, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.readThread(ctx); err != nil {
		return 0, 0, err
	}
	return m.deliverDue(ctx)
}

func (m *Runner) deliverDue(ctx context.Context) (sent, unsent int, err error) {
	results := make([]sendResult, len(m.Channels))
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
	errs = append(errs, m.readThread(ctx))
	return sent, unsent, errors.Join(errs...)
}

// A dueMessage is a message and the number of the next attempt.
type dueMessage struct {
	delivery
	try int
}

// dueOn returns the messages that a channel must send now.
func (m *Runner) dueOn(channel string) (list []dueMessage) {
	now := m.Now()
	for _, t := range m.fold.deliveries {
		s := m.fold.sent[t.ID][channel]
		if s.done || now.Sub(t.at) > deliveryTime || len(list) == maxSends {
			continue
		}
		if m.Quiet.Contain(now) && !IsUrgent(t.Escalation) {
			continue
		}
		if s.tries > 0 && now.Before(s.nextAttempt()) && !now.Before(s.last) { // the clock may have been set back
			continue
		}
		list = append(list, dueMessage{t, s.tries + 1})
	}
	return list
}

// nextAttempt returns the time of the next attempt.
func (s sendState) nextAttempt() time.Time {
	if s.fails < s.tries {
		return s.last.Add(reclaimAfter)
	}
	return s.last.Add(min(firstWait<<min(s.tries-1, 10), longWait))
}

// A sendResult is the result of a channel.
type sendResult struct {
	sent, failed int
	err          error
}

// sendAll sends the due messages on a channel, until one fails.
func (m *Runner) sendAll(ctx context.Context, ch notify.Channel, list []dueMessage) (r sendResult) {
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
			continue // another process sends it
		}
		sendErr := sendMessage(ctx, ch, messageOf(d.delivery))
		what, why := whatSent, ""
		if sendErr != nil {
			what, why = whatFailed, sensor.Line(sendErr.Error(), sensor.MaxText)
			m.Logger.Warn("cannot notify the user", "channel", ch.Name, "escalation", d.ID, "attempt", d.try, "error", why)
		}
		if _, r.err = m.noteSend(ctx, ch.Name, d, what, why); r.err != nil {
			return r
		}
		if sendErr != nil {
			r.failed++
			return r // the next ones would fail too
		}
		r.sent++
	}
	return r
}

// noteSend notes the outcome of an attempt. It returns false if the thread has the note
// already.
func (m *Runner) noteSend(ctx context.Context, channel string, d dueMessage, what, why string) (bool, error) {
	cause := strings.Join([]string{deliveryCause, channel, strconv.Itoa(d.try), what, d.ID}, ":")
	o := ponder.Observation{Content: why, Sensor: attemptName, Subject: d.ID, State: channel + ":" + what}
	if what == whatSent {
		o.Sensor, o.State = subconscious.Delivery, channel
	}
	return m.appendNote(ctx, cause, o, true)
}

// sendMessage calls a channel with a time limit. It returns a panic as an error.
func sendMessage(ctx context.Context, ch notify.Channel, msg notify.Message) error {
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

func messageOf(t delivery) notify.Message {
	title, _, _ := strings.Cut(t.Content, "\n")
	if i := strings.Index(title, ". "); i > 0 {
		title = title[:i+1]
	}
	return notify.Message{
		ID: t.ID, Title: sensor.Line(title, maxTitle), Text: t.Content,
		Importance: t.Importance, Untrusted: t.Untrusted, Sources: t.Sources, At: t.at,
	}
}
