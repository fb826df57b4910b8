package mail

import (
	"bufio"
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"maps"
	"math/big"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/emersion/go-imap/v2"
	"github.com/emersion/go-imap/v2/imapserver"
	"github.com/emersion/go-imap/v2/imapserver/imapmemserver"

	"ponder"
	"ponder/sensor"
	"ponder/sensor/sensortest"
)

const testPassword = "corr3ct-horse"

type mailServer struct {
	address string
	config  *tls.Config // for clients
	mu      sync.Mutex
	user    *imapmemserver.User
	resets  int
	log     bytes.Buffer // all client and server lines
}

// Write records the protocol.
func (w *mailServer) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.log.Write(p)
}

func (w *mailServer) logText() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.log.String()
}

type encryption int

const (
	implicit encryption = iota
	startTLS
	none
)

func newMailServer(t *testing.T, how encryption) *mailServer {
	t.Helper()
	cert, pool := newCertificate(t)
	w := &mailServer{config: &tls.Config{RootCAs: pool}}
	w.reset()
	config := &tls.Config{Certificates: []tls.Certificate{cert}}
	options := &imapserver.Options{
		NewSession: func(*imapserver.Conn) (imapserver.Session, *imapserver.GreetingData, error) {
			w.mu.Lock()
			defer w.mu.Unlock()
			mem := imapmemserver.New()
			mem.AddUser(w.user)
			return mem.NewSession(), nil, nil
		},
		InsecureAuth: how == none, DebugWriter: w, Logger: log.New(io.Discard, "", 0),
	}
	if how == startTLS {
		options.TLSConfig = config
	}
	s := imapserver.New(options)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w.address = l.Addr().String()
	if how == implicit {
		l = tls.NewListener(l, config)
	}
	go func() { _ = s.Serve(l) }()
	t.Cleanup(func() { _ = s.Close() })
	return w
}

// reset empties the server and changes its UIDVALIDITY.
func (w *mailServer) reset() {
	user := imapmemserver.NewUser("ann", testPassword)
	for i := range w.resets { // each new folder has a higher validity
		_ = user.Create(fmt.Sprint("Old", i), nil)
	}
	w.resets++
	for _, box := range []string{"INBOX", "Lists"} {
		if err := user.Create(box, nil); err != nil {
			panic(err)
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.user = user
}

func (w *mailServer) deliverMessage(t *testing.T, box, message string, at time.Time, flags ...imap.Flag) {
	t.Helper()
	message = strings.ReplaceAll(message, "\n", "\r\n")
	if _, err := w.user.Append(box, bytes.NewReader([]byte(message)), &imap.AppendOptions{Time: at, Flags: flags}); err != nil {
		t.Fatal(err)
	}
}

func (w *mailServer) testOptions() Options {
	return Options{Server: w.address, User: "ann", Password: testPassword, TLS: w.config, Folders: []string{"INBOX", "Lists"}, Addresses: []string{"ann@example.org"}}
}

func (w *mailServer) openSensor(t *testing.T) sensor.Sensor {
	t.Helper()
	s, err := New(w.testOptions())
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func newCertificate(t *testing.T) (tls.Certificate, *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AddCert(parsed)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, pool
}

func noteMail(id, subject, text string) string {
	return fmt.Sprintf("From: Bob Miller <bob@example.com>\nTo: ann@example.org\nSubject: %s\nMessage-ID: <%s>\nDate: Mon, 2 Mar 2026 08:00:00 +0000\n\n%s\n", subject, id, text)
}

func TestIMAP(t *testing.T) {
	w := newMailServer(t, implicit)
	now := sensortest.Start
	w.deliverMessage(t, "INBOX", noteMail("old@x", "Old", "Long ago."), now.Add(-25*time.Hour))
	w.deliverMessage(t, "INBOX", noteMail("a@x", "Today", "Shall we meet?"), now.Add(-2*time.Hour))
	sensortest.Run(t, func() sensor.Sensor { return w.openSensor(t) },
		sensortest.Step{Name: "first look", Reports: []string{"new a@x"}},
		sensortest.Step{Name: "time passes", Pass: time.Hour, Reports: []string{}},
		sensortest.Step{Name: "two more", Do: func() {
			w.deliverMessage(t, "INBOX", noteMail("b@x", "Plan", "Here."), now.Add(time.Hour))
			w.deliverMessage(t, "Lists", noteMail("c@x", "List", "There."), now.Add(time.Hour))
		}, Reports: []string{"new b@x", "new c@x"}},
		sensortest.Step{Name: "in another folder too", Do: func() { w.deliverMessage(t, "Lists", noteMail("b@x", "Plan", "Here."), now.Add(time.Hour)) }, Reports: []string{}},
		sensortest.Step{Name: "the same id, another message", Do: func() {
			w.deliverMessage(t, "INBOX", noteMail("b@x", "Pay now", "This is another."), now.Add(time.Hour))
		}, Reports: []string{"new b@x #" + shortHash("b@x", "bob@example.com", "Pay now", "Mon, 2 Mar 2026 08:00:00 +0000", "This is another.\n\n")}},
		sensortest.Step{Name: "no id", Do: func() {
			w.deliverMessage(t, "Lists", "From: x@example.com\nSubject: None\n\nHi\n", now.Add(time.Hour))
		}, Reports: []string{"new imap:Lists/" + folderValidity(t, w, "Lists") + ".3"}},
		sensortest.Step{Name: "many", Do: func() {
			for i := range 120 {
				w.deliverMessage(t, "INBOX", noteMail(fmt.Sprint("many", i, "@x"), "Many", "One of them."), now.Add(time.Hour))
			}
		}},
		sensortest.Step{Name: "numbered anew", Do: func() {
			w.reset()
			w.deliverMessage(t, "INBOX", noteMail("a@x", "Today", "Shall we meet?"), now.Add(-2*time.Hour))
			w.deliverMessage(t, "INBOX", noteMail("new@x", "Since", "After all."), now.Add(time.Hour))
		}, Reports: []string{"new new@x"}},
		sensortest.Step{Name: "long off", Pass: 30 * 24 * time.Hour, Do: func() {
			w.deliverMessage(t, "INBOX", noteMail("missed@x", "Missed", "Weeks ago."), now.Add(10*24*time.Hour))
			w.deliverMessage(t, "INBOX", noteMail("late@x", "Late", "Of this week."), now.Add(29*24*time.Hour))
		}, Reports: []string{"new late@x"}},
	)
	said := w.logText()
	for _, bad := range []string{" SELECT ", "STORE", "EXPUNGE", "APPEND", "COPY", "MOVE", `\Seen`, "BODY[HEADER]<0.65536>", "BODY[TEXT]<"} {
		if lines := clientCommands(said); strings.Contains(lines, bad) {
			t.Errorf("the server got %s", bad)
		}
	}
}

// clientCommands returns the tagged lines of clients.
func clientCommands(said string) string {
	var out []string
	for line := range strings.Lines(said) {
		if strings.HasPrefix(line, "T") && !strings.Contains(line, " OK ") {
			out = append(out, line)
		}
	}
	return strings.Join(out, "")
}

func folderValidity(t *testing.T, w *mailServer, box string) string {
	t.Helper()
	s, err := w.user.Status(box, &imap.StatusOptions{UIDValidity: true})
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprint(s.UIDValidity)
}

func TestIMAPObservation(t *testing.T) {
	for _, how := range []encryption{implicit, startTLS, none} {
		w := newMailServer(t, how)
		o := w.testOptions()
		o.StartTLS, o.Plain = how == startTLS, how == none
		s, err := New(o)
		if err != nil {
			t.Fatal(err)
		}
		w.deliverMessage(t, "INBOX", noteMail("a@x", "Lunch", "Shall we meet at noon?"), sensortest.Start)
		w.deliverMessage(t, "INBOX", noteMail("f@x", "Kept", "A text."), sensortest.Start, imap.FlagFlagged)
		told, _, err := s.Look(t.Context(), sensortest.Start, nil)
		if err != nil {
			t.Fatal(err)
		}
		want := ponder.Observation{
			Content: `Mail from Bob Miller <bob@example.com>, "Lunch": Shall we meet at noon?`,
			Subject: "a@x", State: "new", Level: 5, Source: "imap:INBOX/<a@x>", Untrusted: true,
		}
		if len(told) != 2 || fmt.Sprintf("%+v", told[0]) != fmt.Sprintf("%+v", want) || told[1].Level != 6 {
			t.Errorf("told %+v\nwant %+v", told, want)
		}
	}
}

func TestIMAPPassword(t *testing.T) {
	w := newMailServer(t, implicit)
	o := w.testOptions()
	o.Password = "wr0ng-secret"
	s, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	cursor := json.RawMessage(`{"kept":1}`)
	_, next, err := s.Look(t.Context(), sensortest.Start, cursor)
	if want := "mail: 127.0.0.1 rejects the password of ann; correct the variable named by password_env"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	if !bytes.Equal(next, cursor) {
		t.Errorf("the cursor became %s", next)
	}
}

// answers maps commands to responses; "" is the greeting. TAG is a placeholder of the tag. Other commands
// get no response.
type answers map[string]string

func (a answers) withAnswer(command, answer string) answers {
	out := maps.Clone(a)
	if out[command] = answer; answer == "" {
		delete(out, command)
	}
	return out
}

var usual = answers{
	"": "* OK [CAPABILITY IMAP4rev1] hello\r\n", "LOGIN": "TAG OK [CAPABILITY IMAP4rev1] in\r\n", "CAPABILITY": "* CAPABILITY IMAP4rev1\r\nTAG OK x\r\n",
	"EXAMINE": "* 1 EXISTS\r\n* OK [UIDVALIDITY 1] x\r\n* OK [UIDNEXT 5] x\r\nTAG OK [READ-ONLY] x\r\n",
}

// TestIMAPHangs checks that a look ends if the server hangs at any point.
func TestIMAPHangs(t *testing.T) {
	for name, says := range map[string]answers{
		"greeting": {}, "login": usual.withAnswer("LOGIN", ""), "examine": usual.withAnswer("EXAMINE", ""), "search": usual,
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			address := runScript(t, says, cancel)
			s, err := New(Options{Server: address, User: "ann", Password: testPassword, Plain: true})
			if err != nil {
				t.Fatal(err)
			}
			_, _, err = s.Look(ctx, sensortest.Start, nil)
			if err == nil || !strings.Contains(err.Error(), "context canceled") || strings.Contains(err.Error(), testPassword) {
				t.Errorf("got %v", err)
			}
		})
	}
}

// runScript serves one client and calls silent if it has no response.
func runScript(t *testing.T, says answers, silent func()) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		c, err := l.Accept()
		if err != nil {
			return
		}
		defer c.Close()
		if _, ok := says[""]; !ok {
			silent()
		}
		_, _ = io.WriteString(c, says[""])
		for in := bufio.NewScanner(c); in.Scan(); {
			tag, command, _ := strings.Cut(strings.ReplaceAll(in.Text(), "UID ", ""), " ")
			command, _, _ = strings.Cut(command, " ")
			answer, ok := says[command]
			if !ok {
				silent()
			}
			_, _ = io.WriteString(c, strings.ReplaceAll(answer, "TAG", tag))
		}
	}()
	return l.Addr().String()
}

// TestIMAPHostile checks that hostile responses give short errors without the password.
func TestIMAPHostile(t *testing.T) {
	for name, says := range map[string]answers{
		"no protocol": usual.withAnswer("", "HTTP/1.1 400 Bad Request\r\n\r\n"),
		"bye":         usual.withAnswer("", "* BYE "+testPassword+" go away\r\n"),
		"echo":        usual.withAnswer("LOGIN", "* BAD "+testPassword+"\x1b[2J\r\n)))\r\n"),
		"refuses":     usual.withAnswer("EXAMINE", "TAG NO "+testPassword+"\x1b[2J"+strings.Repeat("x", 100_000)+"\r\n"),
		"wide search": usual.withAnswer("SEARCH", "* ESEARCH (TAG \"TAG\") UID ALL 1:4294967295\r\nTAG OK x\r\n").withAnswer("FETCH", "TAG BAD no\r\n"),
		"long line":   usual.withAnswer("EXAMINE", "* OK "+strings.Repeat("x", 1<<20)+"\r\n???\r\n"),
		"huge":        usual.withAnswer("SEARCH", "* SEARCH 1\r\nTAG OK x\r\n").withAnswer("FETCH", "* 1 FETCH (UID 1 BODY[HEADER]<0> {99999999999}\r\n"+strings.Repeat("y", 40<<20)),
	} {
		t.Run(name, func(t *testing.T) {
			s, err := New(Options{Server: runScript(t, says, func() { t.Error("there is no answer") }), User: "ann", Password: testPassword, Plain: true})
			if err != nil {
				t.Fatal(err)
			}
			_, _, err = s.Look(t.Context(), sensortest.Start, nil)
			if err == nil {
				t.Fatal("no error")
			}
			if msg := err.Error(); len(msg) > 400 || strings.Contains(msg, testPassword) || strings.ContainsAny(msg, "\n\x1b") {
				t.Errorf("the error is %q", msg)
			}
		})
	}
}

func TestOptions(t *testing.T) {
	for want, o := range map[string]Options{
		"set a server":            {},
		"not both":                {Server: "a", Maildir: "b"},
		"user missing":            {Server: "mail.example.org"},
		"password of ann missing": {Server: "mail.example.org", User: "ann"},
		"is not on this machine":  {Server: "mail.example.org", User: "ann", Password: "x", Plain: true},
	} {
		if _, err := New(o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: got %v, want %s", o, err, want)
		}
	}
	s, err := newServer(Options{Server: "mail.example.org", User: "a", Password: "b"})
	if err != nil || s.address != "mail.example.org:993" {
		t.Errorf("%v %v", s, err)
	}
}
