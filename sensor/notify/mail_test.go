package notify

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"math/big"
	"net"
	stdmail "net/mail"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/emersion/go-message/mail"
	"github.com/emersion/go-sasl"
	"github.com/emersion/go-smtp"
)

const (
	password = "correct horse"
)

// A mailServer is a mail server that records messages.
type mailServer struct {
	addr  string
	roots *x509.CertPool

	mu    sync.Mutex
	mails []string
	from  string
	to    []string
	users []string
	deny  error
}

type session struct{ *mailServer }

func (s session) Reset()        {}
func (s session) Logout() error { return nil }
func (s session) Mail(from string, _ *smtp.MailOptions) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.from = from
	return s.deny
}
func (s session) Rcpt(to string, _ *smtp.RcptOptions) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.to = append(s.to, to)
	return nil
}
func (s session) Data(r io.Reader) error {
	text, err := io.ReadAll(r)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mails = append(s.mails, string(text))
	return err
}
func (s session) AuthMechanisms() []string { return []string{sasl.Plain} }
func (s session) Auth(string) (sasl.Server, error) {
	return sasl.NewPlainServer(func(_, user, pass string) error {
		s.mu.Lock()
		defer s.mu.Unlock()
		if pass != password {
			return errors.New("wrong: " + pass)
		}
		s.users = append(s.users, user)
		return nil
	}), nil
}

// newMailServer starts a mail server with an encryption mode.
func newMailServer(t *testing.T, security string) *mailServer {
	t.Helper()
	b := &mailServer{roots: x509.NewCertPool()}
	s := smtp.NewServer(smtp.BackendFunc(func(*smtp.Conn) (smtp.Session, error) { return session{b}, nil }))
	s.Domain, s.AllowInsecureAuth = "localhost", security == "none"
	s.ErrorLog = quiet{}
	if security != "none" {
		s.TLSConfig = &tls.Config{Certificates: []tls.Certificate{newCertificate(t, b.roots)}}
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	b.addr = l.Addr().String()
	if security == "tls" {
		l = tls.NewListener(l, s.TLSConfig)
	}
	go s.Serve(l)
	t.Cleanup(func() { s.Close() })
	return b
}

type quiet struct{}

func (quiet) Printf(string, ...any) {}
func (quiet) Println(...any)        {}

// newCertificate creates a certificate for this machine.
func newCertificate(t *testing.T, roots *x509.CertPool) tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	roots.AddCert(cert)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

func (b *mailServer) mailOptions(security string) MailOptions {
	return MailOptions{
		Server: b.addr, Security: security, User: "anna", Password: password, From: "Ponder <ponder@example.org>",
		To: []string{"anna@example.org", "Ben <ben@example.org>"}, TLS: &tls.Config{RootCAs: b.roots},
	}
}

func TestMail(t *testing.T) {
	for _, security := range []string{"tls", "starttls", "none"} {
		t.Run(security, func(t *testing.T) {
			b := newMailServer(t, security)
			ch, err := Mail(b.mailOptions(security))
			if err != nil {
				t.Fatal(err)
			}
			for range 2 {
				if err := ch.Send(t.Context(), message); err != nil {
					t.Fatal(err)
				}
			}
			if len(b.mails) != 2 || len(b.users) != 2 || b.from != "ponder@example.org" || len(b.to) != 4 {
				t.Fatalf("%d mails, users %q, from %q, to %q", len(b.mails), b.users, b.from, b.to)
			}
			if b.mails[0] != b.mails[1] {
				t.Error("the second copy differs from the first")
			}
			checkMail(t, b.mails[0])
		})
	}
}

func checkMail(t *testing.T, text string) {
	t.Helper()
	r, err := mail.CreateReader(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	part, err := r.NextPart()
	if err != nil {
		t.Fatal(err)
	}
	body, _ := io.ReadAll(part.Body)
	subject, _ := r.Header.Subject()
	id, _ := r.Header.MessageID()
	if subject != "Ponder: "+message.Title || id != "esc_1@example.org" {
		t.Errorf("subject %q, id %q", subject, id)
	}
	for _, want := range []string{message.Text, "8 of 10", "- /var", untrustedNote} {
		if !strings.Contains(string(body), want) {
			t.Errorf("%q is not in\n%s", want, body)
		}
	}
}

// TestMailInjection sends texts that try to add header lines.
func TestMailInjection(t *testing.T) {
	b := newMailServer(t, "none")
	o := b.mailOptions("none")
	o.User = ""
	ch, err := Mail(o)
	if err != nil {
		t.Fatal(err)
	}
	evil := "x\r\nBcc: eve@example.org\r\n\r\nbody\r\n.\r\nMAIL FROM:<eve@example.org>\x00\u2028"
	err = ch.Send(t.Context(), Message{ID: evil, Title: evil, Text: evil, Sources: []string{evil}})
	if err != nil {
		t.Fatal(err)
	}
	if len(b.mails) != 1 || len(b.to) != 2 {
		t.Fatalf("%d mails to %q", len(b.mails), b.to)
	}
	m, err := stdmail.ReadMessage(strings.NewReader(b.mails[0]))
	if err != nil {
		t.Fatal(err)
	}
	if m.Header.Get("Bcc") != "" || strings.ContainsAny(m.Header.Get("Message-Id"), " \r\n:") {
		t.Errorf("header is %v", m.Header)
	}
}

func TestMailFailures(t *testing.T) {
	b := newMailServer(t, "tls")
	send := func(o MailOptions, ctx context.Context) error {
		ch, err := Mail(o)
		if err != nil {
			t.Fatal(err)
		}
		return ch.Send(ctx, message)
	}
	o := b.mailOptions("tls")
	o.Password = "swordfish"
	if err := send(o, t.Context()); err == nil || strings.Contains(err.Error(), "swordfish") {
		t.Errorf("a wrong password: %v", err)
	}
	o.TLS = nil
	if err := send(o, t.Context()); err == nil || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("a certificate without a known issuer: %v", err)
	}
	plain := newMailServer(t, "none")
	if err := send(plain.mailOptions("starttls"), t.Context()); err == nil || !strings.Contains(err.Error(), "STARTTLS") || len(plain.users) > 0 {
		t.Errorf("no STARTTLS: %v", err)
	}
	plain.deny = &smtp.SMTPError{Code: 451, Message: "\x1b[31mlater"}
	o = plain.mailOptions("none")
	o.User = ""
	if err := send(o, t.Context()); err == nil || !strings.Contains(err.Error(), "later") || strings.Contains(err.Error(), "\x1b") {
		t.Errorf("a server that says no: %v", err)
	}
}

func TestMailHangs(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close() // accepts connections and stays silent
	ch, err := Mail(MailOptions{Server: l.Addr().String(), Plain: true, From: "a@b.example", To: []string{"c@d.example"}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := ch.Send(ctx, message); err == nil || !strings.Contains(err.Error(), "in time") {
		t.Errorf("error is %v", err)
	}
}

func TestMailOptions(t *testing.T) {
	good := MailOptions{Server: "mail.example.org:465", From: "a@b.example", To: []string{"c@d.example"}}
	for name, test := range map[string]struct {
		change func(*MailOptions)
		want   string
	}{
		"good":        {func(*MailOptions) {}, ""},
		"no port":     {func(o *MailOptions) { o.Server = "mail.example.org" }, "host:port"},
		"none":        {func(o *MailOptions) { o.Security = "none" }, "this machine"},
		"plain":       {func(o *MailOptions) { o.Plain = true }, "this machine"},
		"plain, tls":  {func(o *MailOptions) { o.Plain, o.Security = true, "tls" }, "remove one of them"},
		"ssl":         {func(o *MailOptions) { o.Security = "ssl" }, "starttls"},
		"password":    {func(o *MailOptions) { o.User = "u" }, "password_env"},
		"from":        {func(o *MailOptions) { o.From = "nobody" }, "from"},
		"to":          {func(o *MailOptions) { o.To = nil }, "to"},
		"to injected": {func(o *MailOptions) { o.To = []string{"c@d.example\r\nRCPT TO:<e@f.example>"} }, "address"},
	} {
		o := good
		test.change(&o)
		_, err := Mail(o)
		if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
			t.Errorf("%s: error is %v, want %q", name, err, test.want)
		}
	}
}
