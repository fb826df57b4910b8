// Package notice decides when to notify a user of work that has ended, and writes the message. It
// sends nothing itself.
//
// A [Request] is stored as JSON until its notice is sent or given up. Each sender claims it first, so
// that one process sends at a time.
package notice

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"ponder"
	"ponder/internal/textkit"
	"ponder/sensor/notify"
)

// Names of channels that need no configuration.
const (
	Bell    = "bell"
	Desktop = "desktop"
)

// A Request asks for a message to the user at the end of a thread's work.
type Request struct {
	Channels []string `json:"channels"`          // names
	Answer   bool     `json:"answer,omitempty"`  // include the answer
	Changes  bool     `json:"changes,omitempty"` // only if a report differs from the one that it updates
	Terminal string   `json:"terminal,omitempty"`

	// The state of sending.
	Seq     ponder.Seq `json:"seq,omitempty"`  // of the end that Sent and Tries are about
	Sent    []string   `json:"sent,omitempty"` // channels
	Tries   int        `json:"tries,omitempty"`
	Claimed time.Time  `json:"claimed_at,omitzero"`
	Next    time.Time  `json:"next_at,omitzero"`
	Error   string     `json:"error,omitempty"`
}

// An End is how the work of a thread ended, or why it pauses until the user acts.
type End struct {
	Seq     ponder.Seq // of the event
	At      time.Time
	Thread  ponder.ThreadID
	Kind    ponder.Kind
	Title   string
	Status  ponder.Status
	Reason  string
	Answer  string
	Changes string // the differences from the report that it updates, in a line; empty: it updates none
	Differs bool
}

const (
	maxTries   = 8
	firstWait  = time.Minute
	longWait   = time.Hour
	claimLasts = 2 * time.Minute
	maxAnswer  = 6 << 10 // bytes
	maxError   = 300     // bytes
)

// Claim returns the request as claimed by a sender for an end, and whether there is something to send now.
func (r Request) Claim(e End, now time.Time) (Request, bool) {
	if e.Seq != r.Seq {
		r.Seq, r.Sent, r.Tries, r.Next, r.Claimed, r.Error = e.Seq, nil, 0, time.Time{}, time.Time{}, ""
	}
	busy := now.Sub(r.Claimed) < claimLasts && !now.Before(r.Claimed)
	if busy || now.Before(r.Next) || r.isDone() {
		return r, false
	}
	r.Claimed, r.Tries = now, r.Tries+1
	return r, true
}

func (r Request) isDone() bool { return r.Tries >= maxTries || len(r.Unsent()) == 0 }

// Unsent returns the channels without a sent notice of this end.
func (r Request) Unsent() []string {
	return slices.DeleteFunc(slices.Clone(r.Channels), func(name string) bool { return slices.Contains(r.Sent, name) })
}

// Settle returns a claimed request after its attempt, with the error of each channel or nil. It reports
// whether the request is obsolete.
func (r Request) Settle(e End, results map[string]error, now time.Time) (Request, bool) {
	var failed []string
	for _, name := range r.Unsent() {
		err, tried := results[name]
		switch {
		case !tried:
		case err == nil:
			r.Sent = append(slices.Clip(r.Sent), name)
		default:
			failed = append(failed, err.Error())
		}
	}
	r.Claimed, r.Error = time.Time{}, textkit.Line(strings.Join(failed, "; "), maxError)
	r.Next = now.Add(min(firstWait<<max(0, r.Tries-1), longWait))
	return r, r.isDone() && e.Status.Ended()
}

// Message returns the message about an end, or false if the user did not ask for it.
func (r Request) Message(e End) (notify.Message, bool) {
	if r.Changes && e.Status == ponder.Completed && e.Changes != "" && !e.Differs {
		return notify.Message{}, false
	}
	m := notify.Message{
		ID: "ntc_" + strings.TrimPrefix(string(e.Thread), "thr_") + "_" + strconv.FormatInt(int64(e.Seq), 10), Type: "work." + string(e.Status), At: e.At,
		Title: capitalize(string(e.Kind)) + " " + string(e.Status),
	}
	lines := []string{textkit.Truncate(textkit.OneLine(e.Title), 120), statusText(e)}
	if e.Changes != "" {
		lines = append(lines, "Changes: "+textkit.OneLine(e.Changes)+".")
	}
	if r.Answer && e.Answer != "" {
		lines = append(lines, "", textkit.TruncateBytes(textkit.CleanTrim(e.Answer), maxAnswer))
		m.Untrusted = e.Kind == ponder.KindResearch
	}
	m.Text = strings.Join(append(lines, "", "ponder session show "+string(e.Thread)), "\n")
	return m, true
}

func statusText(e End) string {
	text := strings.TrimRight(textkit.OneLine(e.Reason), ".")
	if text == "" {
		text = "it is " + string(e.Status)
	}
	return capitalize(text) + "."
}

func capitalize(text string) string {
	r, n := utf8.DecodeRuneInString(text)
	if n == 0 {
		return text
	}
	return string(unicode.ToUpper(r)) + text[n:]
}

// ParseChannels returns the names of the channels that a user means: bell, desktop, a configured
// name, webhook or mail for all of that kind, or all.
func ParseChannels(words, configured []string) (names []string, err error) {
	add := func(list ...string) {
		for _, name := range list {
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	ofKind := func(prefix string) []string {
		return slices.DeleteFunc(slices.Clone(configured), func(name string) bool { return !strings.HasPrefix(name, prefix) })
	}
	for _, list := range words {
		for word := range strings.SplitSeq(list, ",") {
			word = strings.ToLower(strings.TrimSpace(word))
			kind := map[string]string{"webhook": "webhook-", "mail": "email-", "email": "email-"}[word]
			switch {
			case word == Bell || word == Desktop || slices.Contains(configured, word):
				add(word)
			case word == "all":
				add(append([]string{Desktop}, configured...)...)
			case kind != "" && len(ofKind(kind)) > 0:
				add(ofKind(kind)...)
			case kind != "":
				return nil, fmt.Errorf("no %s is configured: add a table [mind.notify.%s.NAME], or use desktop or bell", word, strings.TrimSuffix(kind, "-"))
			default:
				return nil, fmt.Errorf("%q is unknown: use %s", textkit.Truncate(textkit.OneLine(word), 40), strings.Join(append([]string{Bell, Desktop, "webhook", "mail", "all"}, configured...), ", "))
			}
		}
	}
	if len(names) == 0 {
		return nil, errors.New("no channel is named: use bell, desktop, webhook, mail or all")
	}
	slices.SortFunc(names, cmp.Compare)
	return names, nil
}
