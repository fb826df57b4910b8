package document

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"ponder/internal/racetest"
)

const letterHead = "From: Anna Meier <anna@x.org>\nTo: Ben <ben@x.org>\nDate: Tue, 5 Mar 2024 10:00:00 +0100\nSubject: Tides\nMessage-ID: <1@x.org>\n"

const headOutline = "T Tides\nH1 Tides\n"

func TestMail(t *testing.T) {
	const plain = letterHead + "\n"
	cases := []formatCase{
		{"plain", plain + "Hello Ben,\n\nthe tide came in.\n", "P Hello Ben,\nP the tide came in.\n"},
		{"signature", plain + "It came in.\n\n-- \nAnna Meier\nHarbour 1\n", "P It came in.\nH6 Signature\nI Anna Meier\nI Harbour 1\n"},
		{
			"a reply", plain + "At seven.\n\nOn Mon, Mar 4, 2024 at 9:00 AM Ben <ben@x.org>\nwrote:\n\n> When does the tide\n> come in?\n>> earlier\n",
			"P At seven.\nH6 Quoted\nP On Mon, Mar 4, 2024 at 9:00 AM Ben <ben@x.org> wrote:\nP When does the tide come in? earlier\n",
		},
		{
			"answers between", plain + "Ben wrote:\n> When does it come in?\n\nAt seven.\n\n> And out?\n\nAt one.\n",
			"P Ben wrote:\nI > When does it come in?\nP At seven.\nI > And out?\nP At one.\n",
		},
		{
			"forwarded", plain + "See below.\n\n-----Original Message-----\nFrom: Cleo\nSent: Monday\n\nThe pier is gone.\n",
			"P See below.\nH6 Quoted\nI -----Original Message-----\nI From: Cleo\nI Sent: Monday\nP The pier is gone.\n",
		},
		{
			"quoted-printable, Latin-1", letterHead + "Content-Type: text/plain; charset=iso-8859-1\nContent-Transfer-Encoding: quoted-printable\n\nGr=FC=DFe =\naus Graz\n",
			"P Grüße aus Graz\n",
		},
		{"base64", letterHead + "Content-Type: text/plain; charset=utf-8\nContent-Transfer-Encoding: base64\n\nR3LDvMOfZQ==\n", "P Grüße\n"},
		{"no charset", letterHead + "\ncaf\xe9\n", "P café\n"},
		{"wrong charset", letterHead + "Content-Type: text/plain; charset=x-nobody-knows\n\nyes\n", "P yes\n"},
		{"flowed", letterHead + "Content-Type: text/plain; format=flowed\n\nIt is \nlong.\nNew.\n", "I It is long.\nI New.\n"},
		{
			"HTML", letterHead + "Content-Type: text/html; charset=windows-1252\n\n<p>The <b>tide</b> \x96 high.</p><p>--</p><p>Anna</p><div class=\"gmail_quote\"><blockquote>When?</blockquote></div>\n",
			"P The tide – high.\nH6 Signature\nP Anna\nH6 Quoted\nP When?\n",
		},
		{
			"alternatives", letterHead + "Content-Type: multipart/alternative; boundary=b\n\n--b\nContent-Type: text/plain\n\nplain\n--b\nContent-Type: text/html\n\n<p>html</p>\n--b--\n",
			"P plain\n",
		},
		{
			"empty alternative", letterHead + "Content-Type: multipart/alternative; boundary=b\n\n--b\nContent-Type: text/plain\n\n\n--b\nContent-Type: text/html\n\n<p>html</p>\n--b--\n",
			"P html\n",
		},
		{
			"attachments", letterHead + "Content-Type: multipart/mixed; boundary=b\n\n--b\n\ntext\n--b\nContent-Type: application/pdf; name=\"a.pdf\"\nContent-Transfer-Encoding: base64\n\nAAAA\n--b\n" +
				"Content-Type: message/rfc822\n\nFrom: c@x.org\nSubject: Old\n\nthe pier\n--b--\n",
			"P text\nI Attachment: a.pdf\nH2 Old\nC From: c@x.org\nP the pier\n",
		},
		{"cut off", letterHead + "Content-Type: multipart/mixed; boundary=b\n\n--b\n\nhalf of a te", "P half of a te\n"},
		{"damaged base64", letterHead + "Content-Transfer-Encoding: base64\n\nYWJj!!!!", "P abc\n"},
	}
	for i := range cases {
		cases[i].want = headOutline + cases[i].want
	}
	checkFormat(t, cases, func(s string) (Content, error) { return Mail([]byte(strings.ReplaceAll(s, "\n", "\r\n"))) })
}

func TestMailHead(t *testing.T) {
	c, err := Mail([]byte("From: =?utf-8?q?J=C3=BCrgen?= <j@x.org>\nSubject: =?iso-8859-1?q?Gr=FC=DFe?=\n =?utf-8?b?IGFuIEJlbg==?=\nDate: nonsense\n\nx\n"))
	must(t, err)
	if c.Author != "Jürgen" || c.Title != "Grüße an Ben" || !c.Published.IsZero() {
		t.Errorf("author %q, title %q, published %v", c.Author, c.Title, c.Published)
	}
	if _, err := Mail([]byte("just some text\n")); err == nil {
		t.Error("what is no message was read")
	}
}

func TestMailbox(t *testing.T) {
	file := "From anna@x.org Tue Mar  5 10:00:00 2024\n" + letterHead + "\nOne.\n>From here on\n\n" +
		"From ben@x.org Tue Mar  5 11:00:00 2024\n" + letterHead + "\nFrom the sea:\n\nFrom nowhere\n\n" +
		"From - x y\nX-Nothing: here\n\nwhat\n\n" +
		"From c Tue Mar  5 12:00:00 2024\nFrom: c@x.org\nSubject: Last\n\nEnd."
	want := "= 1@x.org (Anna Meier, 2024-03-05)\n" + headOutline + "I One.\nI From here on\n" +
		"= 1@x.org~2 (Anna Meier, 2024-03-05)\n" + headOutline + "P From the sea:\nP From nowhere\n" +
		"! 909807c82bab not a message\n" +
		"= 5bf313328851 (c@x.org, 0001-01-01)\nT Last\nH1 Last\nP End.\n"
	if diff := cmp.Diff(want, partsOutline(Mailbox([]byte(file)))); diff != "" {
		t.Errorf("outline (-want +got):\n%s", diff)
	}
	crlf := partsOutline(Mailbox([]byte(strings.ReplaceAll(file, "\n", "\r\n"))))
	if got := strings.Count(crlf, "= "); got != 3 {
		t.Errorf("%d messages with carriage returns, want 3:\n%s", got, crlf)
	}
}

func TestHostileMail(t *testing.T) {
	racetest.Skip(t, "one goroutine, which reads hostile files")
	const n = 1 << 20
	var nested strings.Builder
	for i := range 2000 {
		fmt.Fprintf(&nested, "Content-Type: multipart/mixed; boundary=b%d\n\n--b%d\n", i, i)
	}
	for name, file := range map[string]string{
		"nested parts":    letterHead + nested.String(),
		"nested messages": letterHead + strings.Repeat("Content-Type: message/rfc822\n\n"+letterHead, 2000),
		"parts":           letterHead + "Content-Type: multipart/mixed; boundary=b\n\n" + strings.Repeat("--b\n\nx\n", n/6),
		"alternatives":    letterHead + "Content-Type: multipart/alternative; boundary=b\n\n" + strings.Repeat("--b\n\nx\n", n/6),
		"header":          "Subject: " + strings.Repeat("x", 2*n) + "\n\n",
		"fields":          letterHead + strings.Repeat("X: y\n", n/5) + "\n",
		"folded":          "Subject: a" + strings.Repeat("\n b", n/3) + "\n\n",
		"words":           "Subject: " + strings.Repeat("=?utf-8?q?a?= ", n/16) + "\n\n",
		"receivers":       "To: " + strings.Repeat("a@b, ", n/6) + "\nSubject: x\n\n",
		"quotes":          letterHead + "\n" + strings.Repeat("> a\nb\n", n/6),
		"deep quotes":     letterHead + "\n" + strings.Repeat(">", n),
		"marks":           letterHead + "\n" + strings.Repeat("\n-- \n", n/5),
		"no boundary":     letterHead + "Content-Type: multipart/mixed\n\nx",
		"gmail":           letterHead + "Content-Type: text/html\n\n" + strings.Repeat("class=gmail_quote ", n/18),
	} {
		t.Run(name, func(t *testing.T) {
			began := time.Now()
			if c, err := Mail([]byte(file)); err == nil {
				checkDocument(t, NewDocument("/f.eml", "f", c))
			}
			if took := time.Since(began); took > 20*time.Second {
				t.Errorf("it took %v", took)
			} else if took > time.Second {
				t.Logf("it took %v", took)
			}
		})
	}
	t.Run("froms", func(t *testing.T) {
		began := time.Now()
		checkAllParts(t, Mailbox([]byte("From a b c\nX: y\n"+strings.Repeat("\nFrom a b c\nX: y\n", n/16))))
		if took := time.Since(began); took > 20*time.Second {
			t.Errorf("it took %v", took)
		}
	})
}

func FuzzMail(f *testing.F) {
	f.Add([]byte(letterHead + "Content-Type: multipart/alternative; boundary=b\n\n--b\n\n> a\nb\n-- \nc\n--b\nContent-Type: text/html\n\n<p>d\n--b--\n"))
	f.Add([]byte(letterHead + "Content-Transfer-Encoding: base64\n\nYWJj"))
	f.Fuzz(func(t *testing.T, file []byte) {
		if c, err := Mail(file); err == nil {
			checkDocument(t, NewDocument("/f.eml", "f", c))
		}
		checkAllParts(t, Mailbox(append([]byte("From a b c\n"), file...)))
	})
}
