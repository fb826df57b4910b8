package document

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"iter"
	"strings"

	"github.com/emersion/go-message"
)

var mboxMark = []byte("From ")

// looksMailbox reports whether a file begins as a mailbox does: a line "From ",
// and then a header.
func looksMailbox(head []byte) bool {
	line, rest, ok := bytes.Cut(head[:min(len(head), 1024)], []byte("\n"))
	name, _, colon := bytes.Cut(rest, []byte(":"))
	return ok && bytes.HasPrefix(line, mboxMark) && len(bytes.Fields(line)) > 2 &&
		colon && len(name) > 0 && !bytes.ContainsAny(name, " \n\r\t")
}

// Mailbox yields the messages of a mailbox, as [Mail] takes them apart. Their
// keys are their ids, or else the beginnings of the hashes of their bytes.
func Mailbox(file []byte) iter.Seq2[Part, error] {
	return func(yield func(Part, error) bool) {
		if !looksMailbox(file) {
			yield(Part{}, errMailbox)
			return
		}
		seen := keys{}
		for len(file) > 0 {
			var one []byte
			one, file = cutMessage(file)
			key := seen.fresh(messageKey(one))
			c, err := Mail(bytes.ReplaceAll(one, []byte("\n>From "), []byte("\nFrom ")))
			if !yield(Part{key, c}, err) {
				return
			}
		}
	}
}

// cutMessage returns the first message of a mailbox, without the line before it,
// and the rest.
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
		if blank && looksMailbox(file[at:]) {
			return file[begin:at], file[at:]
		}
	}
}

// messageKey returns what tells a message from others.
func messageKey(one []byte) string {
	e, _ := message.ReadWithOptions(bytes.NewReader(one), &message.ReadOptions{MaxHeaderBytes: maxHeader}) // its parts are of no interest
	if e != nil {
		if id := strings.Trim(oneLine(e.Header.Get("Message-Id")), "<> "); id != "" && len(id) <= 200 {
			return id
		}
	}
	sum := sha256.Sum256(one)
	return hex.EncodeToString(sum[:6])
}
