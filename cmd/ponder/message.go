package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"ponder"
	"ponder/internal/app"
	"ponder/internal/textkit"
	"ponder/knowledge/document"
	"ponder/llm"
)

// Limits of one message.
const (
	mostFile  = mostAttached
	mostText  = 1 << 20 // bytes of the text in a file
	mostImage = 5 << 20 // bytes
	mostFiles = 16
)

type message struct {
	text  string
	files []ponder.AttachmentAdded
	raw   [][]byte
	media []llm.Media
}

func (m message) name() string {
	switch {
	case m.text != "":
		return m.text
	case len(m.files) > 0:
		return m.files[0].Name
	case len(m.media) > 0:
		return m.media[0].Name
	}
	return ""
}

// events returns the events of the message, its text last.
func (m message) events() (list []ponder.Event) {
	for _, f := range m.files {
		list = append(list, ponder.Event{Body: f})
	}
	return append(list, ponder.Event{Body: ponder.UserMessage{Content: m.text, Media: m.media}})
}

// leftOut lists the parts that the model will not see, one a line.
func (m message) leftOut(o app.ChatOptions) (lines []string) {
	add := func(what, text string) {
		if n := o.LeftOut(text); n > 0 {
			lines = append(lines, fmt.Sprintf("%s is longer than the model can be shown: %s bytes in its middle are left out", what, textkit.Number(n)))
		}
	}
	for _, f := range m.files {
		add(f.Name, f.Content)
	}
	add("the message", m.text)
	return lines
}

// message returns a message with files. Text "-" reads standard input.
func (a *cli) message(ctx context.Context, text string, files []string) (message, error) {
	if text == "-" {
		b, err := io.ReadAll(io.LimitReader(a.stdin(ctx), app.MaxMessage+1))
		if err != nil {
			return message{}, fmt.Errorf("read the message from standard input: %w", err)
		}
		text = string(b)
	}
	text, err := app.Saying(text)
	if err != nil {
		return message{}, err
	}
	m := message{text: text}
	if len(files) > mostFiles {
		return m, usagef("--attach: at most %d files", mostFiles)
	}
	for _, file := range files {
		if err := m.attach(file); err != nil {
			return m, usagef("--attach %w", err)
		}
	}
	if m.text == "" && len(files) == 0 {
		return m, app.Invalidf("content", "there is nothing to answer: write a message, as in: ponder ask \"Why is the sky blue?\"")
	}
	return m, nil
}

// attach adds a file: an image unchanged, of others the text. Its error begins with the file.
func (m *message) attach(file string) error {
	info, err := os.Stat(file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%s: there is no such file", file)
	case err != nil:
		return fmt.Errorf("%s: %w", file, errors.Unwrap(err))
	case !info.Mode().IsRegular():
		return fmt.Errorf("%s: it is not a file; folders can be given with --docs", file)
	case info.Size() > mostFile:
		return fmt.Errorf("%s: it has more than %s: pass --docs, and it is searched", file, textkit.Bytes(mostFile))
	}
	raw, err := document.ReadFile(file, mostFile)
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	name := oneLine(filepath.Base(file))
	kind, _, _ := strings.Cut(http.DetectContentType(raw), ";")
	if slices.Contains([]string{"image/png", "image/jpeg", "image/gif", "image/webp"}, kind) {
		if len(raw) > mostImage {
			return fmt.Errorf("%s: the image has more than %s", file, textkit.Bytes(mostImage))
		}
		m.media = append(m.media, llm.Media{Type: kind, Data: raw, Name: name})
		return nil
	}
	text, err := textOf(file, raw)
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	sum := sha256.Sum256(raw)
	m.files, m.raw = append(m.files, ponder.AttachmentAdded{
		Content: text, Name: name, Media: kind, Hash: hex.EncodeToString(sum[:]), Bytes: int64(len(raw)),
	}), append(m.raw, raw)
	return nil
}

// withMarkup lists endings of text files whose text needs extraction: pages and mail.
var withMarkup = []string{".htm", ".html", ".xhtml", ".eml", ".mbox", ".mbx"}

// isPlain reports whether a file is text without markup.
func isPlain(file string, raw []byte) bool {
	return strings.HasPrefix(http.DetectContentType(raw), "text/plain") && utf8.Valid(raw) && len(raw) <= mostText &&
		len(bytes.TrimSpace(raw)) > 0 && !slices.Contains(withMarkup, strings.ToLower(filepath.Ext(file)))
}

func textOf(file string, raw []byte) (string, error) {
	if isPlain(file, raw) {
		return string(raw), nil
	}
	var texts []string
	length := 0
	for doc, err := range document.Read(file, raw, document.Formats(), true) {
		if err != nil {
			return "", err
		}
		if length += len(doc.Text); length > mostText {
			return "", fmt.Errorf("its text has more than %s: pass --docs, and it is searched", textkit.Bytes(mostText))
		}
		texts = append(texts, doc.Text)
	}
	if length == 0 {
		return "", document.ErrNothing
	}
	return strings.Join(texts, "\n\n"), nil
}
