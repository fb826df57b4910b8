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
	maxFileBytes  = maxAttachedBytes
	maxTextBytes  = 1 << 20 // bytes of the text in a file
	maxImageBytes = 5 << 20 // bytes
	maxFiles      = 16
)

type message struct {
	text  string
	files []ponder.AttachmentAdded
	raw   [][]byte
	media []llm.Media

	decisions []ponder.ApprovalDecision
}

func (m message) titleText() string {
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

// inputEvents returns the events of the message, its text last.
func (m message) inputEvents() (list []ponder.Event) {
	for _, f := range m.files {
		list = append(list, ponder.Event{Body: f})
	}
	return append(list, ponder.Event{Body: ponder.UserMessage{Content: m.text, Media: m.media, Decisions: m.decisions}})
}

// omittedParts lists the parts that the model will not see, one a line.
func (m message) omittedParts(o app.ChatOptions) (lines []string) {
	add := func(what, text string) {
		if n := o.OmittedBytes(text); n > 0 {
			lines = append(lines, fmt.Sprintf("%s is too long for the model: %s bytes in its middle are left out", what, textkit.Number(n)))
		}
	}
	for _, f := range m.files {
		add(f.Name, f.Content)
	}
	add("the message", m.text)
	return lines
}

// readMessage returns a message with files. Text "-" reads standard input.
func (a *cli) readMessage(ctx context.Context, text string, files []string) (message, error) {
	if text == "-" {
		b, err := io.ReadAll(io.LimitReader(a.cancelableInput(ctx), app.MaxMessage+1))
		if err != nil {
			return message{}, fmt.Errorf("read the message from standard input: %w", err)
		}
		text = string(b)
	}
	text, err := app.CleanMessage(text)
	if err != nil {
		return message{}, err
	}
	m := message{text: text}
	if len(files) > maxFiles {
		return m, usagef("--attach: too many files: attach at most %d", maxFiles)
	}
	for _, file := range files {
		if err := m.attachFile(file); err != nil {
			return m, usagef("--attach %w", err)
		}
	}
	if m.text == "" && len(files) == 0 {
		return m, app.Invalidf("content", "the message is empty: write one, as in: ponder ask \"Why is the sky blue?\"")
	}
	return m, nil
}

// attachFile adds a file: an image unchanged, of others the text. Its error begins with the file.
func (m *message) attachFile(file string) error {
	info, err := os.Stat(file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%s: no such file", file)
	case err != nil:
		return fmt.Errorf("%s: %w", file, errors.Unwrap(err))
	case !info.Mode().IsRegular():
		return fmt.Errorf("%s: not a file: use --docs for folders", file)
	case info.Size() > maxFileBytes:
		return fmt.Errorf("%s: the file has more than %s: use --docs to search it", file, textkit.Bytes(maxFileBytes))
	}
	raw, err := document.ReadFile(file, maxFileBytes)
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	name := oneLine(filepath.Base(file))
	kind, _, _ := strings.Cut(http.DetectContentType(raw), ";")
	if slices.Contains([]string{"image/png", "image/jpeg", "image/gif", "image/webp"}, kind) {
		if len(raw) > maxImageBytes {
			return fmt.Errorf("%s: the image has more than %s: use a smaller one", file, textkit.Bytes(maxImageBytes))
		}
		m.media = append(m.media, llm.Media{Type: kind, Data: raw, Name: name})
		return nil
	}
	text, err := extractText(file, raw)
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	sum := sha256.Sum256(raw)
	m.files, m.raw = append(m.files, ponder.AttachmentAdded{
		Content: text, Name: name, Media: kind, Hash: hex.EncodeToString(sum[:]), Bytes: int64(len(raw)),
	}), append(m.raw, raw)
	return nil
}

// markupExtensions lists endings of text files whose text needs extraction: pages and mail.
var markupExtensions = []string{".htm", ".html", ".xhtml", ".eml", ".mbox", ".mbx"}

// isPlain reports whether a file is text without markup.
func isPlain(file string, raw []byte) bool {
	return strings.HasPrefix(http.DetectContentType(raw), "text/plain") && utf8.Valid(raw) && len(raw) <= maxTextBytes &&
		len(bytes.TrimSpace(raw)) > 0 && !slices.Contains(markupExtensions, strings.ToLower(filepath.Ext(file)))
}

func extractText(file string, raw []byte) (string, error) {
	if isPlain(file, raw) {
		return string(raw), nil
	}
	var texts []string
	length := 0
	for doc, err := range document.Read(file, raw, document.Formats(), true) {
		if err != nil {
			return "", err
		}
		if length += len(doc.Text); length > maxTextBytes {
			return "", fmt.Errorf("its text has more than %s: use --docs to search it", textkit.Bytes(maxTextBytes))
		}
		texts = append(texts, doc.Text)
	}
	if length == 0 {
		return "", document.ErrNothing
	}
	return strings.Join(texts, "\n\n"), nil
}
