package notify

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	stdmail "net/mail"
	"net/smtp"
	"strings"
	"time"

	"ponder/internal/netaddr"
	"ponder/internal/textkit"

	"github.com/emersion/go-message/mail"
)

// MailOptions configure a mail channel.
type MailOptions struct {
	Name     string   // of the channel; default "mail"
	Server   string   // host:port
	Plain    bool     // no encryption, only for a server on this machine; same as Security "none"
	Security string   // "tls", "starttls" or "none"; default "tls" for port 465, otherwise "starttls"
	User     string   // login; none if empty
	Password string   // required with User
	From     string   // address
	To       []string // addresses
	TLS      *tls.Config
}

// mailTime limits the delivery of a message.
const mailTime = 30 * time.Second

type smtpSender struct {
	MailOptions
	host string
	from *mail.Address
	to   []*mail.Address
}

// Mail returns a channel that sends messages by SMTP. The Message-ID derives from the message ID,
// so that mail programs recognise duplicates.
func Mail(o MailOptions) (Channel, error) {
	o.Name = cmp.Or(o.Name, "mail")
	p, err := newSMTPSender(o)
	if err != nil {
		return Channel{}, fmt.Errorf("%s: %w", o.Name, err)
	}
	return Channel{Name: o.Name, Send: p.send}, nil
}

func newSMTPSender(o MailOptions) (*smtpSender, error) {
	p := &smtpSender{MailOptions: o}
	host, port, err := net.SplitHostPort(o.Server)
	if err != nil || host == "" {
		return nil, fmt.Errorf("server %q must be host:port", o.Server)
	}
	p.host = host
	if p.Plain && p.Security != "" && p.Security != "none" {
		return nil, fmt.Errorf("plain = true conflicts with security = %q; remove one of them", p.Security)
	}
	if p.Plain {
		p.Security = "none"
	}
	if p.Security == "" {
		p.Security = map[bool]string{true: "tls", false: "starttls"}[port == "465"]
	}
	switch {
	case p.Security == "none" && !netaddr.IsLoopback(host):
		return nil, errors.New(`plain = true (security "none") is for a server on this machine only: use "tls" or "starttls"`)
	case p.Security != "none" && p.Security != "tls" && p.Security != "starttls":
		return nil, fmt.Errorf(`security %q must be "tls" or "starttls"`, p.Security)
	}
	if p.User != "" && p.Password == "" {
		return nil, fmt.Errorf("password_env must name the variable with the password of %s", p.User)
	}
	return p, p.parseAddresses()
}

func (p *smtpSender) parseAddresses() error {
	from, err := parseAddress(p.From)
	if err != nil {
		return fmt.Errorf("from: %w", err)
	}
	p.from = from
	for _, text := range p.To {
		to, err := parseAddress(text)
		if err != nil {
			return fmt.Errorf("to: %w", err)
		}
		p.to = append(p.to, to)
	}
	if len(p.to) == 0 {
		return errors.New("to must have an address")
	}
	return nil
}

func parseAddress(text string) (*mail.Address, error) {
	a, err := stdmail.ParseAddress(text)
	if err != nil || strings.ContainsAny(text, "\r\n") {
		return nil, fmt.Errorf("%q is not an address", textkit.OneLine(textkit.Visible(text)))
	}
	return &mail.Address{Name: a.Name, Address: a.Address}, nil
}

// send implements [Channel.Send].
func (p *smtpSender) send(ctx context.Context, m Message) error {
	text, err := p.formatMail(m.sanitizeMessage())
	if err != nil {
		return fmt.Errorf("write a mail: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, mailTime)
	defer cancel()
	err = p.deliverMail(ctx, text)
	switch {
	case ctx.Err() != nil:
		return fmt.Errorf("the mail server %s does not answer in time", p.Server)
	case err != nil:
		return fmt.Errorf("send mail by %s: %w", p.Server, p.hidePassword(err))
	}
	return nil
}

// hidePassword removes the password from an error, because a server may quote it.
func (p *smtpSender) hidePassword(err error) error {
	text := err.Error()
	if p.Password != "" {
		text = strings.ReplaceAll(text, p.Password, "***")
	}
	return errors.New(textkit.VisibleLine(text, maxSource))
}

// formatMail formats a cleaned message as mail. It encodes all header texts, so that a text cannot add
// header lines.
func (p *smtpSender) formatMail(m Message) ([]byte, error) {
	var h mail.Header
	h.SetDate(m.At)
	h.SetAddressList("From", []*mail.Address{p.from})
	h.SetAddressList("To", p.to)
	h.SetSubject("Ponder: " + textkit.OneLine(textkit.Visible(m.Title)))
	_, domain, _ := strings.Cut(p.from.Address, "@")
	h.SetMessageID(headerToken(m.ID) + "@" + domain)
	h.Set("Auto-Submitted", "auto-generated")
	h.SetContentType("text/plain", map[string]string{"charset": "utf-8"})
	h.Set("Content-Transfer-Encoding", "quoted-printable")
	var b bytes.Buffer
	w, err := mail.CreateSingleInlineWriter(&b, h)
	if err != nil {
		return nil, err
	}
	if _, err := io.WriteString(w, strings.ReplaceAll(m.formatBody(), "\n", "\r\n")+"\r\n"); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// deliverMail sends a mail to the server.
func (p *smtpSender) deliverMail(ctx context.Context, text []byte) error {
	conn, err := p.dialServer(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	stop := context.AfterFunc(ctx, func() { conn.Close() }) // unblocks pending operations
	defer stop()
	c, err := smtp.NewClient(conn, p.host)
	if err != nil {
		return err
	}
	if p.Security == "starttls" {
		if ok, _ := c.Extension("STARTTLS"); !ok {
			return errors.New("the server has no STARTTLS: use security = \"tls\", or plain = true for a server on this machine")
		}
		if err := c.StartTLS(p.tlsConfig()); err != nil {
			return err
		}
	}
	if p.User != "" {
		if err := c.Auth(smtp.PlainAuth("", p.User, p.Password, p.host)); err != nil {
			return err
		}
	}
	return p.transmitMail(c, text)
}

// transmitMail sends the envelope and the mail.
func (p *smtpSender) transmitMail(c *smtp.Client, text []byte) error {
	if err := c.Mail(p.from.Address); err != nil {
		return err
	}
	for _, to := range p.to {
		if err := c.Rcpt(to.Address); err != nil {
			return err
		}
	}
	w, err := c.Data()
	if err != nil {
		return err
	}
	if _, err := w.Write(text); err != nil {
		return err
	}
	if err := w.Close(); err != nil {
		return err
	}
	_ = c.Quit() // the server has accepted the mail
	return nil
}

func (p *smtpSender) dialServer(ctx context.Context) (net.Conn, error) {
	if p.Security == "tls" {
		return (&tls.Dialer{Config: p.tlsConfig()}).DialContext(ctx, "tcp", p.Server)
	}
	return (&net.Dialer{}).DialContext(ctx, "tcp", p.Server)
}

func (p *smtpSender) tlsConfig() *tls.Config {
	c := &tls.Config{MinVersion: tls.VersionTLS12}
	if p.TLS != nil {
		c = p.TLS.Clone()
	}
	c.ServerName = p.host
	return c
}
