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
	errZipBomb = errors.New("its unpacked size is too large")
	errMembers = fmt.Errorf("it contains more than %d files", maxMembers)
	errBroken  = errors.New("it is damaged")
)

// An unpacker reads ZIP members within the bounds.
type unpacker struct {
	members   map[string]*zip.File
	remaining int64 // remaining bytes
	limitErr  error // error beyond the bounds
}

func newUnpacker(file []byte) (*unpacker, error) {
	if bytes.Count(file, []byte("PK\x01\x02")) > maxMembers {
		return nil, errMembers
	}
	r, err := zip.NewReader(bytes.NewReader(file), int64(len(file)))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errBroken, err)
	}
	u := &unpacker{members: map[string]*zip.File{}, remaining: freeRatio + maxRatio*int64(len(file)), limitErr: errZipBomb}
	if u.remaining > maxUnpacked {
		u.remaining, u.limitErr = maxUnpacked, errTooMuch
	}
	for _, f := range r.File {
		if name := path.Clean(strings.TrimPrefix(strings.ReplaceAll(f.Name, `\`, "/"), "/")); u.members[name] == nil {
			u.members[name] = f
		}
	}
	return u, nil
}

// openMember returns a reader of a member. Reads fail beyond the bounds.
func (u *unpacker) openMember(name string) (io.ReadCloser, error) {
	f := u.members[path.Clean(strings.TrimPrefix(name, "/"))]
	if f == nil {
		return nil, fmt.Errorf("%w: it contains no %s", errBroken, name)
	}
	r, err := f.Open()
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errBroken, err)
	}
	return &memberReader{r, u}, nil
}

func (u *unpacker) readMember(name string) ([]byte, error) {
	r, err := u.openMember(name)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return io.ReadAll(r)
}

type memberReader struct {
	io.ReadCloser
	u *unpacker
}

func (r *memberReader) Read(p []byte) (int, error) {
	if r.u.remaining <= 0 {
		return 0, r.u.limitErr
	}
	n, err := r.ReadCloser.Read(p[:min(int64(len(p)), r.u.remaining)])
	r.u.remaining -= int64(n)
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

func (u *unpacker) parseXML(name string, on xmlEvents) error {
	r, err := u.openMember(name)
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
		case errors.Is(err, errZipBomb) || errors.Is(err, errTooMuch) || errors.Is(err, errBroken):
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

func attrValue(attrs []xml.Attr, name string) string {
	for _, a := range attrs {
		if a.Name.Local == name {
			return a.Value
		}
	}
	return ""
}

func (u *unpacker) elementTexts(member string, names ...string) map[string]string {
	found := map[string]string{}
	open := ""
	var text strings.Builder
	_ = u.parseXML(member, xmlEvents{ // a partial result is sufficient
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

func isEPUB(head []byte) bool {
	return bytes.HasPrefix(head, []byte("PK")) && len(head) > 58 && bytes.HasPrefix(head[30:], []byte("mimetypeapplication/epub+zip"))
}

// EPUB returns the chapters of a book in reading order.
func EPUB(file []byte) (Content, error) {
	u, err := newUnpacker(file)
	if err != nil {
		return Content{}, err
	}
	b, err := openEPUBPackage(u)
	if err != nil {
		return Content{}, err
	}
	if u.members["META-INF/rights.xml"] != nil {
		return Content{}, errors.New("it is encrypted")
	}
	meta := u.elementTexts(b.opf, "title", "creator", "date", "language")
	c := Content{Title: meta["title"], Author: meta["creator"], Published: parseDate(meta["date"]), Language: meta["language"]}
	length := 0
	for _, id := range b.spine {
		chapter, err := b.readChapter(u, id)
		if errors.Is(err, errZipBomb) || errors.Is(err, errTooMuch) {
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

type epubPackage struct {
	opf   string            // package file name
	items map[string]string // member names by ID
	spine []string          // IDs in reading order
}

func openEPUBPackage(u *unpacker) (*epubPackage, error) {
	b := &epubPackage{items: map[string]string{}}
	err := u.parseXML("META-INF/container.xml", xmlEvents{start: func(name string, attrs []xml.Attr) {
		if name == "rootfile" && b.opf == "" {
			b.opf = attrValue(attrs, "full-path")
		}
	}})
	if err != nil {
		return nil, err
	}
	if b.opf == "" {
		return nil, fmt.Errorf("%w: no package file is named", errBroken)
	}
	return b, u.parseXML(b.opf, xmlEvents{start: b.readElement})
}

func (b *epubPackage) readElement(name string, attrs []xml.Attr) {
	switch name {
	case "item":
		if kind := attrValue(attrs, "media-type"); !strings.Contains(kind, "html") || slices.Contains(strings.Fields(attrValue(attrs, "properties")), "nav") {
			return
		}
		href := attrValue(attrs, "href")
		if plain, err := url.PathUnescape(href); err == nil {
			href = plain
		}
		b.items[attrValue(attrs, "id")] = path.Join(path.Dir(b.opf), href)
	case "itemref":
		if len(b.spine) < maxChapters {
			b.spine = append(b.spine, attrValue(attrs, "idref"))
		}
	}
}

func (b *epubPackage) readChapter(u *unpacker, id string) ([]Block, error) {
	name := b.items[id]
	delete(b.items, id)
	if name == "" {
		return nil, nil
	}
	page, err := u.readMember(name)
	if err != nil {
		return nil, err
	}
	c, err := HTML(page)
	return c.Blocks, err
}
