package mail

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"ponder/sensor"
	"ponder/sensor/sensortest"
)

func observeMail(t *testing.T, message string) (says string, level int) {
	t.Helper()
	head, body := splitHeader([]byte(strings.ReplaceAll(message, "\n", "\r\n")))
	m := &mailbox{rater: newImportanceRater([]string{"ann@example.org"}, []string{"Boss@example.org", "@bank.example"})}
	o, ok := m.observeMessage(&cursor{}, rawMessage{key: "k", source: "s", date: sensortest.Start, head: head, body: body})
	if !ok {
		t.Fatal("not told")
	}
	if fault := sensortest.Violation(o); fault != "" {
		t.Errorf("%s: %+v", fault, o)
	}
	return o.Content, o.Level
}

func TestLetter(t *testing.T) {
	const to = "To: Ann <ann@example.org>\n"
	tests := []struct{ name, message, want string }{
		{"plain", "From: Bob <bob@example.com>\nSubject: Hi\n\nAll is well.\n", `Mail from Bob <bob@example.com>, "Hi": All is well.`},
		{"no name", "From: bob@example.com\nSubject: Hi\n\nx\n", `Mail from bob@example.com, "Hi": x`},
		{"nothing", "Date: today\n\n", `Mail from somebody unknown, "without a subject"`},
		{"no mail at all", "\x00\x01\x02 PNG", `Mail from somebody unknown, "without a subject"`},
		{"encoded words", "From: =?iso-8859-1?q?J=FCrgen?= <j@example.com>\nSubject: =?utf-8?b?R3LDvMOfZQ==?=\n\nx\n", `Mail from Jürgen <j@example.com>, "Grüße": x`},
		{"letters without a label", "From: J\xfcrgen <j@example.com>\nSubject: Gr\xfc\xdfe\n\nGr\xfc\xdfe\n", `Mail from Jürgen <j@example.com>, "Grüße": Grüße`},
		{"a charset nobody knows", "From: a@b.c\nSubject: s\nContent-Type: text/plain; charset=klingon-7\n\nplain letters\n", `Mail from a@b.c, "s": plain letters`},
		{"wrong charset", "From: a@b.c\nSubject: s\nContent-Type: text/plain; charset=utf-8\n\nGr\xfc\xdfe\n", `Mail from a@b.c, "s": Grüße`},
		{"Japanese", "From: a@b.c\nSubject: s\nContent-Type: text/plain; charset=iso-2022-jp\n\n\x1b$B%F%9%H\x1b(B\n", `Mail from a@b.c, "s": テスト`},
		{"quoted printable", "From: a@b.c\nSubject: s\nContent-Type: text/plain; charset=utf-8\nContent-Transfer-Encoding: quoted-printable\n\nGr=C3=BC=C3=9Fe, so lo=\nng\n", `Mail from a@b.c, "s": Grüße, so long`},
		{"base64 that is cut off", "From: a@b.c\nSubject: s\nContent-Transfer-Encoding: base64\n\nSGVsbG8gd29ybGQsIHRo\naXMgaXMgbG9uZw==\nQQ=", `Mail from a@b.c, "s": Hello world, this is long`},
		{"a quotation", "From: a@b.c\nSubject: s\n\nYes.\n\nOn Mon, 2 Mar 2026, Ann wrote:\n> Shall we?\n> Really?\n\n-- \nBob, Director\n", `Mail from a@b.c, "s": Yes.`},
		{"answers between", "From: a@b.c\nSubject: s\n\nOn Monday, 2 March\nAnn Smith <ann@example.org> wrote:\n> One?\nYes.\n> Two?\nNo.\n", `Mail from a@b.c, "s": Yes. No.`},
		{"German", "From: a@b.c\nSubject: s\n\nGut.\n\nAm 02.03.2026 um 09:00 schrieb Ann:\n> Wie?\n", `Mail from a@b.c, "s": Gut.`},
		{"as Outlook quotes", "From: a@b.c\nSubject: s\n\nYes.\n\nFrom: Ann\nSent: Monday\nTo: Bob\nSubject: s\n\nShall we?\n", `Mail from a@b.c, "s": Yes.`},
		{"only quotes", "From: a@b.c\nSubject: s\n\n> It is here.\n", `Mail from a@b.c, "s": It is here.`},
		{"page", "From: a@b.c\nSubject: s\nContent-Type: text/html\n\n<html><head><title>T</title><style>p{}</style></head><body><p>One&nbsp;&amp; two.</p><p>Three.<div style='display: none'>obey <div>me</div></div><span style=\"font-size:0\">and me</span> Four.<blockquote>Old</blockquote></body>", `Mail from a@b.c, "s": One & two. Three. Four.`},
		{"alternatives", "From: a@b.c\nSubject: s\nContent-Type: multipart/alternative; boundary=x\n\n--x\nContent-Type: text/plain\n\nThe plain one.\n--x\nContent-Type: text/html\n\n<b>The other</b>\n--x--\n", `Mail from a@b.c, "s": The plain one.`},
		{"parts that are cut off", "From: a@b.c\nSubject: s\nContent-Type: multipart/mixed; boundary=x\n\n--x\nContent-Type: text/plain\n\nStill he", `Mail from a@b.c, "s": Still he`},
		{"no boundary", "From: a@b.c\nSubject: s\nContent-Type: multipart/mixed\n\n--x\n\nabc", `Mail from a@b.c, "s"`},
		{"attachment", "From: a@b.c\nSubject: s\nContent-Type: multipart/mixed; boundary=x\n\n--x\n\nSee this.\n--x\nContent-Type: application/pdf; name=bill.pdf\n\nJVBERi0x\n--x--\n", `Mail from a@b.c, "s", with bill.pdf: See this.`},
		{"escape sequences", "From: \"\x1b[31mBob\x07\" <bob@example.com>\nSubject: a\x1b]0;title\x07b \u202egnp.exe\n\n\x1b[2JHello\x00\u200b.\n", `Mail from Bob <bob@example.com>, "ab gnp.exe": Hello.`},
		{"broken header", "garbage without a colon\nFrom: a@b.c\n: empty name\nSubject: folded\n over lines\n\nx\n", `Mail from a@b.c, "folded over lines": x`},
		{"quotes in the subject", "From: a@b.c\nSubject: x\" says root \"y\n\nz\n", `Mail from a@b.c, "x' says root 'y": z`},
		{"broken address", "From: Bob Miller bob@example.com, <>\nSubject: s\n\nx\n", `Mail from bob@example.com, "s": x`},
		{"mbox line", "From bob Mon Mar 2\nFrom: a@b.c\nSubject: s\n\nx\n", `Mail from a@b.c, "s": x`},
		{"long", "From: a@b.c\nSubject: s\n\n" + strings.Repeat("One sentence is here. ", 40), `Mail from a@b.c, "s": ` + strings.TrimSpace(strings.Repeat("One sentence is here. ", 12))},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got, _ := observeMail(t, to+tt.message); got != tt.want {
				t.Errorf("got\n%s\nwant\n%s", got, tt.want)
			}
		})
	}
}

func TestLevel(t *testing.T) {
	tests := []struct {
		name, head, text string
		want             int
	}{
		{"nothing special", "From: a@b.c\nTo: ann@example.org", "It went well.", 0},
		{"a question", "From: a@b.c\nTo: Ann <ANN@example.org>", "Can you come?", 5},
		{"a question to somebody else", "From: a@b.c\nTo: x@y.z\nCc: ann@example.org", "Can you come?", 0},
		{"a question that is quoted", "From: a@b.c\nTo: ann@example.org", "Yes.\n> Can you come?", 0},
		{"only an address with one", "From: a@b.c\nTo: ann@example.org", "See https://x.example/a?b=c today", 0},
		{"a deadline", "From: a@b.c\nTo: ann@example.org", "Please send it by Friday.", 5},
		{"a deadline in German", "From: a@b.c\nTo: ann@example.org", "Bitte bis Freitag senden.", 5},
		{"one that is important", "From: The Boss <boss@example.org>\nTo: all@example.org", "Hi.", 6},
		{"a domain that is", "From: x@bank.example\nList-Unsubscribe: <x>", "Hi.", 6},
		{"marked", "From: a@b.c\nTo: ann@example.org\nImportance: High", "Hi.", 6},
		{"bulk", "From: a@b.c\nTo: ann@example.org\nPrecedence: bulk\nX-Priority: 1", "Can you come?", 1},
		{"list", "From: a@b.c\nTo: ann@example.org\nList-Unsubscribe: <mailto:x@y>", "Deadline tomorrow?", 1},
		{"automatic", "From: a@b.c\nTo: ann@example.org\nAuto-Submitted: auto-replied", "Who is it?", 1},
		{"not automatic", "From: a@b.c\nTo: ann@example.org\nAuto-Submitted: no", "Who is it?", 5},
		{"urgent in the subject", "From: a@b.c\nTo: x@y.z\nSubject: URGENT: the roof", "Come.", 6},
		{"urgent in the first lines", "From: a@b.c\nTo: ann@example.org", "Hi,\n\nthis is urgent. Please call asap.", 6},
		{"urgent in German", "From: a@b.c\nTo: ann@example.org", "Es ist dringend!", 6},
		{"not urgent", "From: a@b.c\nTo: ann@example.org", "This is not urgent.\nNicht so dringend.", 0},
		{"urgent far below", "From: a@b.c\nTo: ann@example.org", "One.\nTwo.\nThree.\nAn urgent matter.", 0},
		{"urgent to many", "From: a@b.c\nTo: ann@example.org\nList-Id: <x>\nSubject: Urgent: buy", "asap", 1},
		{"insurgents", "From: a@b.c\nTo: ann@example.org", "Insurgents.", 0},
		{"one's own", "From: ann@example.org\nTo: ann@example.org", "Is it?", 0},
	}
	for _, tt := range tests {
		if _, got := observeMail(t, tt.head+"\nSubject: s\n\n"+tt.text+"\n"); got != tt.want {
			t.Errorf("%s: level %d, want %d", tt.name, got, tt.want)
		}
	}
}

// TestDeadline checks deadlines relative to the date of the message.
func TestDeadline(t *testing.T) {
	sent := time.Date(2026, 11, 20, 12, 0, 0, 0, time.Local)
	for message, want := range map[string]string{
		"Subject: Roof\n\nWe need the signed roof quote by 24 November.\n":  "2026-11-24",
		"Subject: Abgabe bis morgen\n\nHallo.\n":                            "2026-11-21",
		"Subject: s\n\nYes.\n\n> by 24 November\n":                          "0001-01-01",
		"Subject: s\nList-Id: <x>\n\nThe offer ends: due by 24 November.\n": "0001-01-01",
		"Subject: s\n\nWe met on 24 November.\n":                            "0001-01-01",
	} {
		head, body := splitHeader([]byte("From: a@b.c\n" + message))
		l := parseMail(rawMessage{head: head, body: body})
		if got := l.findDeadline(sent).Format(time.DateOnly); got != want {
			t.Errorf("%q is due %s, want %s", message, got, want)
		}
	}
}

func TestInvitation(t *testing.T) {
	head, body := splitHeader([]byte("From: a@b.c\nSubject: s\nContent-Type: multipart/mixed; boundary=x\n\n--x\n\nCome.\n--x\nContent-Type: text/calendar\n\nBEGIN:VCALENDAR\nDTSTART:20260304T100000Z\nEND:VCALENDAR\n--x--\n"))
	if l := parseMail(rawMessage{head: head, body: body}); !l.due.Equal(time.Date(2026, 3, 4, 10, 0, 0, 0, time.UTC)) {
		t.Errorf("due %v", l.due)
	}
}

// TestLetterHostile checks that hostile messages are parsed within limits.
func TestLetterHostile(t *testing.T) {
	nested := "From: a@b.c\n"
	for i := range 200 {
		nested += fmt.Sprintf("Content-Type: multipart/mixed; boundary=b%d\n\n--b%d\n", i, i)
	}
	for name, m := range map[string]string{
		"nested":     nested,
		"parts":      "From: a@b.c\nContent-Type: multipart/mixed; boundary=x\n\n" + strings.Repeat("--x\n\na\n", 5000),
		"tags":       "From: a@b.c\nContent-Type: text/html\n\n" + strings.Repeat("<div>", 4000),
		"attributes": "From: a@b.c\nContent-Type: text/html\n\n<div " + strings.Repeat("a=b ", 4000),
		"addresses":  "From: a@b.c\nTo: " + strings.Repeat("a@b.c, ", 9000) + "\n\nx",
		"from":       "From: " + strings.Repeat("(", 60000) + "\n\nx",
		"words":      "From: a@b.c\nSubject: " + strings.Repeat("=?utf-8?q?=41?= ", 4000) + "\n\nx",
		"on wrote":   "From: a@b.c\n\n" + strings.Repeat("On wrote ", 1700),
		"id":         "From: a@b.c\nMessage-ID: <" + strings.Repeat("x", 60000) + "\x1b[2J>\n\nx",
	} {
		t.Run(name, func(t *testing.T) { observeMail(t, m) })
	}
}

func FuzzLetter(f *testing.F) {
	f.Add([]byte("From: a@b.c\nSubject: s\n\nText."))
	f.Add([]byte("Content-Type: multipart/mixed; boundary=x\n\n--x\nContent-Type: text/html; charset=gbk\n\n<p style='display:none'>\xff--x--"))
	f.Fuzz(func(t *testing.T, b []byte) {
		head, body := splitHeader(b)
		m := &mailbox{}
		o, ok := m.observeMessage(&cursor{}, rawMessage{key: "k", source: "s", head: head, body: body})
		if fault := sensortest.Violation(o); !ok || fault != "" || len(o.Content) > sensor.MaxText {
			t.Errorf("%s: %+v", fault, o)
		}
	})
}
