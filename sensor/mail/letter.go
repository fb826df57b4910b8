package mail

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/base64"
	"io"
	"net/mail"
	"regexp"
	"strings"
	"time"

	"github.com/emersion/go-message"

	"ponder/internal/guard"
	"ponder/internal/textkit/charset"
	"ponder/sensor"
)

type parsedMail struct {
	id       string // Message-ID without brackets
	name     string // of the sender
	from     string // address of the sender
	subject  string
	date     string
	to       []string // lower-case addresses
	text     string   // without quotations and signature
	attached []string // file names
	due      time.Time
	bulk     bool // sent to many or by a program
	urgent   bool // marked by the sender
}

// Limits in bytes.
const (
	maxName     = 80
	maxAddress  = 100
	maxTitle    = 150
	maxFile     = 60
	maxFiles    = 3
	maxTo       = 50 // addresses
	maxSentence = 280
)

func (l *parsedMail) formatSummary() string {
	from := l.name
	switch {
	case l.from == "":
		from = cmp.Or(from, "somebody unknown")
	case from == "" || strings.EqualFold(from, l.from):
		from = l.from
	default:
		from += " <" + l.from + ">"
	}
	says := "Mail from " + from + ", " + quoteText(cmp.Or(l.subject, "without a subject"))
	if len(l.attached) > 0 {
		says += ", with " + strings.Join(l.attached, ", ")
	}
	if text := firstSentences(l.text, maxSentence); text != "" {
		says += ": " + text
	}
	return sensor.Line(says, sensor.MaxText)
}

// findDeadline returns the start of an invitation, or the deadline in the text; zero for bulk mail.
func (l *parsedMail) findDeadline(sent time.Time) time.Time {
	if !l.due.IsZero() || l.bulk || sent.IsZero() {
		return l.due
	}
	at, _ := sensor.FindDeadline(l.subject+"\n"+l.text, sent.Local())
	return at
}

func quoteText(s string) string { return `"` + strings.ReplaceAll(s, `"`, "'") + `"` }

// parseMail parses a message as far as possible. A message whose parser panics is empty, so
// that it does not hide the others.
func parseMail(r rawMessage) *parsedMail {
	l, err := guard.Call(func() (*parsedMail, error) { return readMail(r), nil })
	if err != nil {
		return &parsedMail{}
	}
	return l
}

func readMail(r rawMessage) *parsedMail {
	l := &parsedMail{}
	file := append(append(validHeader(r.head), "\r\n"...), r.body...)
	e, _ := message.ReadWithOptions(bytes.NewReader(file), &message.ReadOptions{MaxHeaderBytes: 2 * maxHead}) // nil if unreadable
	if e == nil {
		return l
	}
	l.readHead(&e.Header)
	b := &body{}
	b.readPart(e, 0)
	l.text, l.attached, l.due = ownText(b.readableText()), b.attached, b.due
	return l
}

// validHeader keeps the valid lines of a header, because one bad line would invalidate all.
func validHeader(head []byte) []byte {
	var out []byte
	good := false
	for line := range bytes.Lines(head) {
		line = bytes.TrimRight(line, "\r\n")
		if folded := len(line) > 0 && (line[0] == ' ' || line[0] == '\t'); !folded {
			good = headerPattern.Match(line)
		}
		if good {
			out = append(append(out, line...), "\r\n"...)
		}
	}
	return out
}

var headerPattern = regexp.MustCompile(`^[!-9;-~]{1,100}:`)

func (l *parsedMail) readHead(h *message.Header) {
	text := func(name string, limit int) string { return sensor.Line(decodeWords(h.Get(name)), limit) }
	l.id = strings.Trim(text("Message-Id", sensor.MaxSubject), "<> ")
	l.subject, l.date = text("Subject", maxTitle), text("Date", maxName)
	l.name, l.from = parseSender(h.Get("From"))
	to := h.Get("To")
	for _, a := range addressPattern.FindAllString(to[:min(len(to), maxBody)], maxTo) {
		l.to = append(l.to, strings.ToLower(a))
	}
	auto := strings.ToLower(text("Auto-Submitted", maxName))
	switch strings.ToLower(text("Precedence", maxName)) {
	case "bulk", "list", "junk":
		l.bulk = true
	}
	l.bulk = l.bulk || h.Has("List-Unsubscribe") || h.Has("List-Id") || auto != "" && auto != "no"
	l.urgent = strings.EqualFold(text("Importance", 10), "high") || strings.HasPrefix(text("X-Priority", 10), "1") ||
		strings.EqualFold(text("Priority", 10), "urgent")
}

var addressPattern = regexp.MustCompile(`[^\s<>,;:"'()]{1,64}@[^\s<>,;:"'()]{1,100}`)

// parseSender returns the claimed name and address of the sender.
func parseSender(from string) (name, address string) {
	p := mail.AddressParser{WordDecoder: charset.WordDecoder()}
	if list, err := p.ParseList(from); err == nil && len(list) > 0 {
		return sensor.Line(list[0].Name, maxName), sensor.Line(list[0].Address, maxAddress)
	}
	from = decodeWords(from)
	address = addressPattern.FindString(from[:min(len(from), maxBody)])
	name, _, _ = strings.Cut(from, "<")
	if name = strings.Trim(name, "\" \t"); strings.Contains(name, "@") {
		name = ""
	}
	return sensor.Line(name, maxName), sensor.Line(address, maxAddress)
}

func decodeWords(s string) string { return decodeText([]byte(charset.DecodeWords(s)), "") }

// decodeText converts a text from its charset, or from the likeliest if the label is wrong or missing.
func decodeText(b []byte, label string) string {
	if text, ok := charset.DecodeLabel(b, label); ok {
		return string(text)
	}
	if text, err := charset.Decode(b); err == nil {
		return text
	}
	return strings.ToValidUTF8(string(b), "\uFFFD")
}

// shortHash returns eleven letters that identify texts.
func shortHash(texts ...string) string {
	h := sha256.New()
	for _, t := range texts {
		_, _ = io.WriteString(h, t+"\x00") // never fails
	}
	return base64.RawURLEncoding.EncodeToString(h.Sum(nil)[:8])
}
