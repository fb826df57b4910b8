package document

import (
	"archive/zip"
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net/url"
	"path"
	"slices"
	"strings"

	"ponder/internal/textkit/charset"
)

// Bounds on archives.
const (
	maxMembers  = 20_000
	maxUnpacked = 64 << 20 // bytes of all read members
	maxRatio    = 100
	freeRatio   = 8 << 20 // bytes free of the ratio limit
	maxDocText  = 32 << 20
	maxXMLDepth = 1000
)

var (
	errBomb    = errors.New("it unpacks to far more than it is")
	errMembers = fmt.Errorf("it has more than %d files in it", maxMembers)
	errBroken  = errors.New("it is broken")
)

// An unpacker reads ZIP members within the bounds.
type unpacker struct {
	members map[string]*zip.File
	left    int64 // remaining bytes
	full    error // error beyond the bounds
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

// open returns a reader of a member. Reads fail beyond the bounds.
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

func (u *unpacker) read(name string) ([]byte, error) {
	r, err := u.open(name)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return io.ReadAll(r)
}

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

// An xmlEvents holds XML callbacks. Names come without namespace.
type xmlEvents struct {
	start func(name string, attrs []xml.Attr)
	end   func(name string)
	text  func(s []byte)
}

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

func attr(attrs []xml.Attr, name string) string {
	for _, a := range attrs {
		if a.Name.Local == name {
			return a.Value
		}
	}
	return ""
}

func (u *unpacker) gather(member string, names ...string) map[string]string {
	found := map[string]string{}
	open := ""
	var text strings.Builder
	_ = u.eachXML(member, xmlEvents{ // a partial result is sufficient
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

const maxChapters = 5000

func looksEPUB(head []byte) bool {
	return bytes.HasPrefix(head, []byte("PK")) && len(head) > 58 && bytes.HasPrefix(head[30:], []byte("mimetypeapplication/epub+zip"))
}

// EPUB returns the chapters of a book in reading order.
func EPUB(file []byte) (Content, error) {
	u, err := newUnpacker(file)
	if err != nil {
		return Content{}, err
	}
	b, err := openBook(u)
	if err != nil {
		return Content{}, err
	}
	if u.members["META-INF/rights.xml"] != nil {
		return Content{}, errors.New("it is encrypted")
	}
	meta := u.gather(b.opf, "title", "creator", "date", "language")
	c := Content{Title: meta["title"], Author: meta["creator"], Published: parseDate(meta["date"]), Language: meta["language"]}
	length := 0
	for _, id := range b.spine {
		chapter, err := b.chapter(u, id)
		if errors.Is(err, errBomb) || errors.Is(err, errTooMuch) {
			return Content{}, err
		}
		for _, block := range chapter { // unreadable chapters are skipped
			length += len(block.Text)
			c.Blocks = append(c.Blocks, block)
		}
		if length > maxDocText {
			return Content{}, errTooMuch
		}
	}
	return c, nil
}

type book struct {
	opf   string            // package file name
	items map[string]string // member names by ID
	spine []string          // IDs in reading order
}

func openBook(u *unpacker) (*book, error) {
	b := &book{items: map[string]string{}}
	err := u.eachXML("META-INF/container.xml", xmlEvents{start: func(name string, attrs []xml.Attr) {
		if name == "rootfile" && b.opf == "" {
			b.opf = attr(attrs, "full-path")
		}
	}})
	if err != nil {
		return nil, err
	}
	if b.opf == "" {
		return nil, fmt.Errorf("%w: it does not name its package", errBroken)
	}
	return b, u.eachXML(b.opf, xmlEvents{start: b.element})
}

func (b *book) element(name string, attrs []xml.Attr) {
	switch name {
	case "item":
		if kind := attr(attrs, "media-type"); !strings.Contains(kind, "html") || slices.Contains(strings.Fields(attr(attrs, "properties")), "nav") {
			return
		}
		href := attr(attrs, "href")
		if plain, err := url.PathUnescape(href); err == nil {
			href = plain
		}
		b.items[attr(attrs, "id")] = path.Join(path.Dir(b.opf), href)
	case "itemref":
		if len(b.spine) < maxChapters {
			b.spine = append(b.spine, attr(attrs, "idref"))
		}
	}
}

func (b *book) chapter(u *unpacker, id string) ([]Block, error) {
	name := b.items[id]
	delete(b.items, id)
	if name == "" {
		return nil, nil
	}
	page, err := u.read(name)
	if err != nil {
		return nil, err
	}
	c, err := HTML(page)
	return c.Blocks, err
}
