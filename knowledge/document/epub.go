package document

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"net/url"
	"path"
	"slices"
	"strings"
)

// maxChapters is the most files of a book that are read.
const maxChapters = 5000

func looksEPUB(head []byte) bool {
	return bytes.HasPrefix(head, []byte("PK")) && len(head) > 58 && bytes.HasPrefix(head[30:], []byte("mimetypeapplication/epub+zip"))
}

// EPUB takes a book apart: its chapters, in the order of reading.
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
		for _, block := range chapter { // one that cannot be read is left out
			length += len(block.Text)
			c.Blocks = append(c.Blocks, block)
		}
		if length > maxDocText {
			return Content{}, errTooMuch
		}
	}
	return c, nil
}

// A book is what the package of an EPUB says of it.
type book struct {
	opf   string            // the name of the package
	items map[string]string // names of members, by id
	spine []string          // ids in the order of reading
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

// element takes an element of the package.
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

// chapter returns the blocks of a chapter; of one that is named twice, once.
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
