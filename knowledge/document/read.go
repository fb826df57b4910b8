package document

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"ponder/internal/textkit/charset"
)

// Read yields the documents that the bytes of a file are: one, or, of a file of
// many, one for each part, whose Source is path#key, with a [Legible] path. What cannot be read is an
// error of its own, and the rest goes on. It tries formats, or [Formats] if that
// is nil; named says that the user named the file, so that it is looked into if
// nothing else says what it is. The same bytes give the same documents.
func Read(path string, raw []byte, formats []Format, named bool) iter.Seq2[*Document, error] {
	return func(yield func(*Document, error) bool) {
		if formats == nil {
			formats = Formats()
		}
		format := formatOf(formats, path, raw, named)
		if format == nil {
			yield(nil, errFormat)
			return
		}
		for part, err := range format.parts(raw) {
			if !yield(partDocument(path, part, err)) {
				return
			}
		}
	}
}

// parts yields what a file is made of; of most it is the one part that has no
// key.
func (f *Format) parts(raw []byte) iter.Seq2[Part, error] {
	return func(yield func(Part, error) bool) {
		if !f.Binary {
			text, err := decode(raw)
			if err != nil {
				yield(Part{}, err)
				return
			}
			raw = []byte(text)
		}
		if f.Parts != nil {
			f.Parts(raw)(yield)
			return
		}
		c, err := f.Extract(raw)
		yield(Part{Content: c}, err)
	}
}

// partDocument returns the document that a part of the file at path is.
func partDocument(path string, part Part, err error) (*Document, error) {
	source := Legible(path)
	name := baseName(source)
	if part.Key != "" {
		source += "#" + part.Key
		name += " " + part.Key
	}
	if err == nil {
		doc := NewDocument(source, name, part.Content)
		if doc.Text != "" {
			return doc, nil
		}
		err = errEmpty
	}
	if part.Key != "" {
		err = fmt.Errorf("%s: %w", part.Key, err)
	}
	return nil, err
}

// Legible returns a path as people can read it and JSON can have it: one that is no
// UTF-8, or has a line break or the like in it, is written as Go writes text, such as
// "a\nb" or "\xff". The name that [strconv.Unquote] makes of it is the file's own.
func Legible(path string) string {
	if utf8.ValidString(path) && !strings.ContainsFunc(path, unicode.IsControl) {
		return path
	}
	quoted := strconv.Quote(path)
	return quoted[1 : len(quoted)-1]
}

// baseName returns the name of a file without its extension.
func baseName(path string) string {
	base := filepath.Base(path)
	return strings.TrimSuffix(base, filepath.Ext(base))
}

// ReadFile returns the bytes of a file that is no longer than most. Nothing else
// is opened for reading: no pipe, no device, no folder.
func ReadFile(path string, most int64) ([]byte, error) {
	f, info, err := open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	buf := bytes.NewBuffer(make([]byte, 0, min(info.Size(), most)+bytes.MinRead))
	if _, err := buf.ReadFrom(io.LimitReader(f, most+1)); err != nil {
		return nil, reason(err)
	}
	if int64(buf.Len()) > most {
		if info.Size() > most {
			return nil, fmt.Errorf("%s: files over %s are not read", size(info.Size()), size(most))
		}
		return nil, fmt.Errorf("it grew: files over %s are not read", size(most))
	}
	return buf.Bytes(), nil
}

// open opens a file, and nothing that is not one, whatever it was when it was
// listed.
func open(path string) (*os.File, fs.FileInfo, error) {
	f, err := openRaw(path)
	if err != nil {
		return nil, nil, reason(err)
	}
	info, err := f.Stat()
	if err == nil {
		err = regular(info)
	}
	if err != nil {
		f.Close()
		return nil, nil, reason(err)
	}
	return f, info, nil
}

// head returns how a file begins, or nil.
func head(path string) []byte {
	f, _, err := open(path)
	if err != nil {
		return nil
	}
	defer f.Close()
	buf := make([]byte, 1024)
	n, err := io.ReadFull(f, buf)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
		return nil
	}
	return buf[:n]
}

// sequences are what colours a terminal and moves its cursor: it is no part of
// what a text says.
var sequences = regexp.MustCompile("\x1b(?:\\[[0-9:;<=>?]{0,64}[ -/]{0,8}[@-~]|\\][^\x07\x1b\n]{0,999}(?:\x07|\x1b\\\\)|[()*+][0-9A-Za-z]|[=>78DEHMNOZc])")

// decode returns the text of a file without escape sequences of terminals.
func decode(file []byte) (string, error) {
	text, err := charset.Decode(file)
	return sequences.ReplaceAllString(text, ""), err
}
