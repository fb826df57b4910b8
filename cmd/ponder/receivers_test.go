package main

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"sync"

	"github.com/emersion/go-smtp"
	"github.com/rogpeppe/go-internal/testscript"
)

// cmdReceive starts a receiver of webhooks at $HOOK and a mail server at $SMTP. They append a line for each
// message to hooks.txt and mails.txt.
func cmdReceive(ts *testscript.TestScript, _ bool, _ []string) {
	var mu sync.Mutex
	note := func(file, line string) {
		mu.Lock()
		defer mu.Unlock()
		f, err := os.OpenFile(ts.MkAbs(file), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			return // the script has ended
		}
		defer f.Close()
		fmt.Fprintln(f, line)
	}
	hook := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err == nil {
			note("hooks.txt", r.Header.Get("Webhook-Id")+" "+string(body))
		}
	}))
	ts.Defer(hook.Close)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	ts.Check(err)
	s := smtp.NewServer(smtp.BackendFunc(func(*smtp.Conn) (smtp.Session, error) { return mailSession(note), nil }))
	go s.Serve(l) //nolint:errcheck // it ends with the script
	ts.Defer(func() { s.Close() })
	ts.Setenv("HOOK", hook.URL)
	ts.Setenv("SMTP", l.Addr().String())
}

type mailSession func(file, line string)

func (mailSession) Reset()                               {}
func (mailSession) Logout() error                        { return nil }
func (mailSession) Mail(string, *smtp.MailOptions) error { return nil }
func (mailSession) Rcpt(string, *smtp.RcptOptions) error { return nil }

var mailHeaders = regexp.MustCompile(`(?mi)^(?:message-id|subject): *(.*?)\r?$`)

func (m mailSession) Data(r io.Reader) error {
	text, err := io.ReadAll(r)
	line := ""
	for _, header := range mailHeaders.FindAllSubmatch(text, -1) {
		line += string(header[1]) + " "
	}
	m("mails.txt", line)
	return err
}
