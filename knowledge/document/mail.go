package document

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"iter"
	"net/mail"
	"strings"

	"github.com/emersion/go-message"

	"ponder/internal/textkit"
	"ponder/internal/textkit/charset"
)

const (
	maxHeader   = 1 << 20 // bytes
	maxNesting  = 16      // of nested parts
	maxParts    = 500
	maxMailText = 16 << 20 // bytes of all texts
	maxAddress  = 20       // receivers listed
)

// Mail returns the content of a message: people, text and names of attachments. Quoted
// text and signatures get their own headings, so they are not attributed to the
// author.
func Mail(file []byte) (Content, error) {
	r := &mailReader{}
	head, err := r.readMessage(file, 0)
	if err != nil {
		return Content{}, err
	}
	c := Content{Title: head.subject, Author: head.author, Language: head.language}
	if t, err := mail.ParseDate(head.date); err == nil {
		c.Published = textkit.SaneDate(t)
	} else {
		c.Published = parseDate(head.date)
	}
	c.Blocks = r.blocks
	c.Names = headerNames(head)
	return c, nil
}

func headerNames(head mailHeader) []string {
	var names []string
	for _, n := range append([]string{head.from}, strings.Split(head.to, ", ")...) {
		if n = strings.Trim(n, `" `); n != "" {
			names = append(names, n)
		}
	}
	return names
}

type mailHeader struct{ subject, author, from, to, date, language, id string }

func readMailHeader(h *message.Header) mailHeader {
	text := func(name string) string { return oneLine(decodeWords(h.Get(name))) }
	head := mailHeader{
		subject: text("Subject"), from: text("From"), to: joinAddresses(text("To"), text("Cc")),
		date: text("Date"), language: text("Content-Language"), id: text("Message-Id"),
	}
	head.author = head.from
	if a, err := mail.ParseAddress(head.from); err == nil {
		head.author = cmp.Or(a.Name, a.Address)
	} else if name, _, ok := strings.Cut(head.from, "<"); ok && strings.Trim(name, "\" ") != "" {
		head.author = strings.Trim(name, "\" ")
	}
	return head
}

// joinAddresses joins receiver lists up to maxAddress.
func joinAddresses(lists ...string) string {
	var all []string
	for _, l := range lists {
		for a := range strings.SplitSeq(l, ", ") {
			if a != "" && len(all) < maxAddress {
				all = append(all, a)
			}
		}
	}
	return strings.Join(all, ", ")
}

func decodeWords(s string) string {
	s = charset.DecodeWords(s)
	if text, err := decodeText([]byte(s)); err == nil {
		return text
	}
	return s
}

type mailReader struct {
	blocks []Block
	depth  int // of nested messages
	parts  int
	length int
}

// readMessage reads a message, perhaps an attached one.
func (r *mailReader) readMessage(file []byte, nest int) (mailHeader, error) {
	e, err := message.ReadWithOptions(bytes.NewReader(file), &message.ReadOptions{MaxHeaderBytes: maxHeader})
	if e == nil {
		return mailHeader{}, errors.Join(errMail, err)
	}
	head := readMailHeader(&e.Header)
	if head.from == "" && head.subject == "" && head.date == "" {
		return mailHeader{}, errMail
	}
	r.blocks = append(r.blocks, Block{Kind: Heading, Level: 1 + min(r.depth, 4), Text: head.subject})
	if r.depth > 0 { // identify attached messages
		r.blocks = append(r.blocks, Block{Kind: Code, Text: "From: " + strings.TrimSpace(head.from+" "+head.date)})
	}
	r.readEntity(e, nest)
	return head, nil
}

var errMail = errors.New("not a message")

// readEntity reads a part of a message. It skips undecodable parts.
func (r *mailReader) readEntity(e *message.Entity, nest int) {
	if r.parts++; r.parts > maxParts || nest > maxNesting || r.length > maxMailText {
		return
	}
	kind, params, _ := e.Header.ContentType()
	kind = strings.ToLower(kind)
	disposition, about, _ := e.Header.ContentDisposition()
	name := cmp.Or(about["filename"], params["name"])
	switch {
	case kind == "multipart/alternative":
		r.readAlternative(e, nest)
	case strings.HasPrefix(kind, "multipart/"):
		r.eachPart(e, func(part *message.Entity) { r.readEntity(part, nest+1) })
	case kind == "message/rfc822":
		r.depth++
		_, _ = r.readMessage(r.readBody(e), nest+1) // it may be malformed
		r.depth--
	case strings.EqualFold(disposition, "attachment"), name != "" && !strings.HasPrefix(kind, "text/"):
		if name = oneLine(decodeWords(name)); name != "" {
			r.blocks = append(r.blocks, Block{Kind: Item, Text: "Attachment: " + name})
		}
	case kind == "text/html":
		r.readHTML(e, params["charset"])
	case kind == "text/plain" || !strings.Contains(kind, "/"):
		r.blocks = append(r.blocks, messageBlocks(r.readText(e, params["charset"]), strings.EqualFold(params["format"], "flowed"))...)
	}
}

func (r *mailReader) eachPart(e *message.Entity, f func(*message.Entity)) {
	parts := e.MultipartReader()
	for parts != nil && r.parts <= maxParts {
		part, err := parts.NextPart()
		if part == nil || err != nil && !message.IsUnknownCharset(err) && !message.IsUnknownEncoding(err) {
			return
		}
		f(part)
	}
}

// readAlternative reads the plainest non-empty form of a multipart/alternative.
func (r *mailReader) readAlternative(e *message.Entity, nest int) {
	var best []Block
	r.eachPart(e, func(part *message.Entity) {
		before := len(r.blocks)
		r.readEntity(part, nest+1)
		got := r.blocks[before:]
		if textLength(best) == 0 {
			best = append([]Block(nil), got...)
		}
		r.blocks = r.blocks[:before]
	})
	r.blocks = append(r.blocks, best...)
}

func textLength(blocks []Block) int {
	n := 0
	for _, b := range blocks {
		n += len(strings.TrimSpace(b.Text))
	}
	return n
}

// readBody returns the content of a part, or its readable beginning.
func (r *mailReader) readBody(e *message.Entity) []byte {
	b, _ := io.ReadAll(io.LimitReader(e.Body, int64(max(maxMailText-r.length, 0)))) // damaged: the readable part
	r.length += len(b)
	return b
}

func (r *mailReader) readText(e *message.Entity, label string) string {
	b := r.readBody(e)
	if out, ok := charset.DecodeLabel(b, label); ok {
		b = out
	}
	s, err := decodeText(b)
	if err != nil {
		return ""
	}
	return s
}

func (r *mailReader) readHTML(e *message.Entity, label string) {
	blocks, quoted := []byte(r.readText(e, label)), []byte(nil)
	if at := quoteStart(blocks); at >= 0 {
		blocks, quoted = blocks[:at], blocks[at:]
	}
	if c, err := htmlText(blocks); err == nil {
		r.blocks = append(r.blocks, splitSignature(c.Blocks)...)
	}
	if c, err := htmlText(quoted); err == nil && len(c.Blocks) > 0 {
		r.blocks = append(r.blocks, Block{Kind: Heading, Level: 6, Text: quotedTitle})
		r.blocks = append(r.blocks, c.Blocks...)
	}
}

// quoteStart returns the offset where a mail program began to quote, or -1.
func quoteStart(page []byte) int {
	low := bytes.ToLower(page)
	best := -1
	for _, mark := range []string{`class="gmail_quote`, `class=gmail_quote`, `type="cite"`, `type=cite`, `id="divrplyfwdmsg"`, `class="moz-cite-prefix"`, `class="yahoo_quoted"`, `name="quote"`} {
		at := bytes.Index(low, []byte(mark))
		if at < 0 {
			continue
		}
		if at = bytes.LastIndexByte(low[:at], '<'); at >= 0 && (best < 0 || at < best) {
			best = at
		}
	}
	return best
}

var mboxMark = []byte("From ")

// isMailbox reports whether a file begins with a "From " line and a header.
func isMailbox(head []byte) bool {
	line, rest, ok := bytes.Cut(head[:min(len(head), 1024)], []byte("\n"))
	name, _, colon := bytes.Cut(rest, []byte(":"))
	return ok && bytes.HasPrefix(line, mboxMark) && len(bytes.Fields(line)) > 2 &&
		colon && len(name) > 0 && !bytes.ContainsAny(name, " \n\r\t")
}

// Mailbox yields the messages of a mailbox, read by [Mail]. Keys are message IDs, or
// else hash prefixes.
func Mailbox(file []byte) iter.Seq2[Part, error] {
	return func(yield func(Part, error) bool) {
		if !isMailbox(file) {
			yield(Part{}, errMailbox)
			return
		}
		seen := keys{}
		for len(file) > 0 {
			var one []byte
			one, file = cutMessage(file)
			key := seen.uniqueKey(messageKey(one))
			c, err := Mail(bytes.ReplaceAll(one, []byte("\n>From "), []byte("\nFrom ")))
			if !yield(Part{key, c}, err) {
				return
			}
		}
	}
}

// cutMessage returns the first message without its "From " line, and the rest.
func cutMessage(file []byte) (one, rest []byte) {
	begin := bytes.IndexByte(file, '\n') + 1
	if begin == 0 {
		return nil, nil
	}
	for at := begin; ; {
		i := bytes.Index(file[at:], []byte("\nFrom "))
		if i < 0 {
			return file[begin:], nil
		}
		at += i + 1
		blank := at-1 == begin || file[at-2] == '\n' || bytes.HasSuffix(file[:at-1], []byte("\n\r"))
		if blank && isMailbox(file[at:]) {
			return file[begin:at], file[at:]
		}
	}
}

func messageKey(one []byte) string {
	e, _ := message.ReadWithOptions(bytes.NewReader(one), &message.ReadOptions{MaxHeaderBytes: maxHeader}) // parts are not needed
	if e != nil {
		if id := strings.Trim(oneLine(e.Header.Get("Message-Id")), "<> "); id != "" && len(id) <= 200 {
			return id
		}
	}
	sum := sha256.Sum256(one)
	return hex.EncodeToString(sum[:6])
}
