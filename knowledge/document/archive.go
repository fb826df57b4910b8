package document

import (
	"archive/zip"
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"

	"ponder/internal/textkit/charset"
)

// Bounds on a file that is an archive. What is unpacked must also be in
// proportion to the file.
const (
	maxMembers  = 20_000
	maxUnpacked = 64 << 20 // bytes of the members that are read
	maxRatio    = 100
	freeRatio   = 8 << 20 // bytes that may be unpacked whatever the ratio
	maxDocText  = 32 << 20
	maxXMLDepth = 1000
)

var (
	errBomb    = errors.New("it unpacks to far more than it is")
	errMembers = fmt.Errorf("it has more than %d files in it", maxMembers)
	errBroken  = errors.New("it is broken")
)

// An unpacker reads the members of a ZIP archive, and stops when they become too
// much.
type unpacker struct {
	members map[string]*zip.File
	left    int64 // bytes that may still be unpacked
	full    error // what it is to unpack more
}

func newUnpacker(file []byte) (*unpacker, error) {
	if bytes.Count(file, []byte("PK\x01\x02")) > maxMembers {
		return nil, errMembers
	}
	r, err := zip.NewReader(bytes.NewReader(file), int64(len(file)))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errBroken, err)
	}
	u := &unpacker{members: map[string]*zip.File{}, left: freeRatio + maxRatio*int64(len(file)), full: errBomb}
	if u.left > maxUnpacked {
		u.left, u.full = maxUnpacked, errTooMuch
	}
	for _, f := range r.File {
		if name := path.Clean(strings.TrimPrefix(strings.ReplaceAll(f.Name, `\`, "/"), "/")); u.members[name] == nil {
			u.members[name] = f
		}
	}
	return u, nil
}

// open returns a reader of a member. To read it is an error beyond the bounds.
func (u *unpacker) open(name string) (io.ReadCloser, error) {
	f := u.members[path.Clean(strings.TrimPrefix(name, "/"))]
	if f == nil {
		return nil, fmt.Errorf("%w: there is no %s in it", errBroken, name)
	}
	r, err := f.Open()
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errBroken, err)
	}
	return &unpacking{r, u}, nil
}

// read returns a member.
func (u *unpacker) read(name string) ([]byte, error) {
	r, err := u.open(name)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return io.ReadAll(r)
}

// unpacking is the reading of one member.
type unpacking struct {
	io.ReadCloser
	u *unpacker
}

func (r *unpacking) Read(p []byte) (int, error) {
	if r.u.left <= 0 {
		return 0, r.u.full
	}
	n, err := r.ReadCloser.Read(p[:min(int64(len(p)), r.u.left)])
	r.u.left -= int64(n)
	if err != nil && !errors.Is(err, io.EOF) {
		err = fmt.Errorf("%w: %w", errBroken, err)
	}
	return n, err
}

// xmlEvents are called for what stands in a text with XML. Names are without
// their space.
type xmlEvents struct {
	start func(name string, attrs []xml.Attr)
	end   func(name string)
	text  func(s []byte)
}

// eachXML reads the XML of a member.
func (u *unpacker) eachXML(name string, on xmlEvents) error {
	r, err := u.open(name)
	if err != nil {
		return err
	}
	defer r.Close()
	d := xml.NewDecoder(r)
	d.CharsetReader = charset.NewReader
	for depth := 0; ; {
		t, err := d.RawToken()
		switch {
		case errors.Is(err, io.EOF) && depth == 0:
			return nil
		case errors.Is(err, errBomb) || errors.Is(err, errTooMuch) || errors.Is(err, errBroken):
			return err
		case err != nil:
			return fmt.Errorf("%w: %s: %w", errBroken, name, err)
		}
		switch t := t.(type) {
		case xml.StartElement:
			if depth++; depth > maxXMLDepth {
				return errDeep
			}
			on.start(t.Name.Local, t.Attr)
		case xml.EndElement:
			if depth--; depth < 0 {
				return fmt.Errorf("%w: %s", errBroken, name)
			}
			if on.end != nil {
				on.end(t.Name.Local)
			}
		case xml.CharData:
			if on.text != nil {
				on.text(t)
			}
		}
	}
}

// attr returns an attribute, by its name without its space.
func attr(attrs []xml.Attr, name string) string {
	for _, a := range attrs {
		if a.Name.Local == name {
			return a.Value
		}
	}
	return ""
}

// gather returns the text of each element that has one of the names, by name: of
// several, the first that is not empty.
func (u *unpacker) gather(member string, names ...string) map[string]string {
	found := map[string]string{}
	open := ""
	var text strings.Builder
	_ = u.eachXML(member, xmlEvents{ // what can be read is good enough
		start: func(name string, _ []xml.Attr) {
			open = name
			text.Reset()
		},
		end: func(name string) {
			for _, n := range names {
				if n == name && n == open && found[n] == "" {
					found[n] = oneLine(text.String())
				}
			}
		},
		text: func(s []byte) {
			if text.Len() < maxMeta {
				text.Write(s)
			}
		},
	})
	return found
}
