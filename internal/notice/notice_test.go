package notice

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"ponder"
)

var now = time.Date(2026, 11, 26, 8, 0, 0, 0, time.UTC)

func TestParseChannels(t *testing.T) {
	configured := []string{"webhook-phone", "webhook-desk", "email-me"}
	for name, test := range map[string]struct {
		words      []string
		configured []string
		want       []string
		err        string
	}{
		"without a configuration": {[]string{"desktop,bell"}, nil, []string{"bell", "desktop"}, ""},
		"a kind":                  {[]string{"webhook"}, configured, []string{"webhook-desk", "webhook-phone"}, ""},
		"mail":                    {[]string{"Mail", "email"}, configured, []string{"email-me"}, ""},
		"a name":                  {[]string{"webhook-phone", "desktop"}, configured, []string{"desktop", "webhook-phone"}, ""},
		"all":                     {[]string{"all"}, configured, []string{"desktop", "email-me", "webhook-desk", "webhook-phone"}, ""},
		"no webhook":              {[]string{"webhook"}, []string{"email-me"}, nil, "[mind.notify.webhook.NAME]"},
		"unknown":                 {[]string{"pigeon"}, configured, nil, "use bell, desktop, webhook, mail, all, webhook-phone"},
		"empty":                   {[]string{""}, nil, nil, "is unknown"},
		"none":                    {nil, nil, nil, "no channel"},
	} {
		got, err := ParseChannels(test.words, test.configured)
		if diff := cmp.Diff(test.want, got); diff != "" || (err == nil) != (test.err == "") || err != nil && !strings.Contains(err.Error(), test.err) {
			t.Errorf("%s: error %v %s", name, err, diff)
		}
	}
}

func ended(seq ponder.Seq) End {
	return End{Seq: seq, At: now, Thread: "thr_1", Kind: ponder.KindResearch, Title: "Why?", Status: ponder.Completed, Reason: "the question is simple", Answer: "Because [e1]."}
}

// A notice is sent once on each channel. A failed one is repeated with growing waits, and given up.
func TestClaim(t *testing.T) {
	r, at := Request{Channels: []string{"a", "b"}}, now
	r, ok := r.Claim(ended(9), at)
	if !ok {
		t.Fatal("nothing to send")
	}
	if _, again := r.Claim(ended(9), at.Add(time.Minute)); again {
		t.Error("two senders claim it")
	}
	if _, again := r.Claim(ended(9), at.Add(3*time.Minute)); !again {
		t.Error("a dead sender keeps it")
	}
	r, gone := r.Settle(ended(9), map[string]error{"a": nil, "b": errors.New("no\nanswer")}, at)
	if diff := cmp.Diff([]string{"b"}, r.Unsent()); diff != "" || gone || r.Error != "no answer" {
		t.Errorf("%+v, obsolete %v", r, gone)
	}
	if _, early := r.Claim(ended(9), at.Add(time.Second)); early {
		t.Error("no wait after a failure")
	}
	n, waited := 1, time.Duration(0)
	for !gone {
		if n++; n > 100 {
			t.Fatal("it is never given up")
		}
		wait := r.Next.Sub(at)
		if wait < waited || wait > longWait {
			t.Errorf("waits %s after %s", wait, waited)
		}
		at, waited = r.Next, wait
		if r, ok = r.Claim(ended(9), at); !ok {
			t.Fatal("not due")
		}
		r, gone = r.Settle(ended(9), map[string]error{"b": errors.New("no")}, at)
	}
	if n != maxTries {
		t.Errorf("%d tries", n)
	}
}

// After a pause, the request stays for the end.
func TestClaimPauseThenEnd(t *testing.T) {
	waits := ended(4)
	waits.Status, waits.Reason = ponder.Paused, "the plan waits for approval"
	r, ok := Request{Channels: []string{"a"}}.Claim(waits, now)
	r, gone := r.Settle(waits, map[string]error{"a": nil}, now)
	if !ok || gone {
		t.Errorf("sent %v, obsolete %v", ok, gone)
	}
	if _, again := r.Claim(waits, now.Add(time.Hour)); again {
		t.Error("the pause causes two messages")
	}
	r, ok = r.Claim(ended(20), now.Add(time.Second))
	_, gone = r.Settle(ended(20), map[string]error{"a": nil}, now)
	if !ok || !gone {
		t.Errorf("sent %v, obsolete %v", ok, gone)
	}
}

// A message has the title and the reason, and the answer only on request.
func TestMessage(t *testing.T) {
	m, ok := Request{}.Message(ended(9))
	if !ok || m.ID != "ntc_1_9" || m.Type != "work.completed" || m.Title != "Research completed" || m.Text != "Why?\nThe question is simple.\n\nponder session show thr_1" || m.Untrusted {
		t.Errorf("%v %+v", ok, m)
	}
	m, _ = Request{Answer: true}.Message(ended(9))
	if !strings.Contains(m.Text, "Because [e1].") || !m.Untrusted {
		t.Errorf("%+v", m)
	}
	e := ended(9)
	e.Changes = "no changes"
	if _, ok := (Request{Changes: true}).Message(e); ok {
		t.Error("a message without changes")
	}
	if _, ok := (Request{}).Message(e); !ok {
		t.Error("no message")
	}
	e.Changes, e.Differs = "1 new claim", true
	if m, ok := (Request{Changes: true}).Message(e); !ok || !strings.Contains(m.Text, "Changes: 1 new claim.") {
		t.Errorf("%v %+v", ok, m)
	}
	e.Status, e.Changes, e.Differs, e.Reason = ponder.Failed, "", false, ""
	if m, ok := (Request{Changes: true}).Message(e); !ok || !strings.Contains(m.Text, "It is failed.") {
		t.Errorf("%v %+v", ok, m)
	}
}
