package index

import (
	"encoding/binary"
	"slices"
	"time"
	"unique"
)

// An atom is a string that many documents have.
type atom = unique.Handle[string]

// A docMeta is what is known of a document without asking the database.
type docMeta struct {
	id          int64
	first       int64 // the number of its first passage
	at, n       int32 // its passages in the segment
	date        int64 // microseconds since 1970; 0 is unknown
	lang        uint8 // of languages
	owner, kind atom
	source      string
	tags        []atom
}

// What a document has as the one before it.
const (
	sameOwner = 1 << iota
	sameKind
	sameTags
	sameLang
)

// appendMeta appends a document and the lengths of its passages to those of a
// segment, behind another; before is nil at the first.
func appendMeta(b []byte, d, before *docMeta, lens []uint16) []byte {
	if before == nil {
		before = &docMeta{owner: unique.Make(""), kind: unique.Make("")}
	}
	flags := byte(0)
	set := func(same bool, flag byte) bool {
		if same {
			flags |= flag
		}
		return same
	}
	owner, kind := set(d.owner == before.owner, sameOwner), set(d.kind == before.kind, sameKind)
	tags, lang := set(slices.Equal(d.tags, before.tags), sameTags), set(d.lang == before.lang, sameLang)
	b = append(b, flags)
	b = appendSigned(b, d.id-before.id)
	b = appendSigned(b, d.first-before.first)
	b = appendSigned(b, d.date-before.date)
	b = appendString(b, d.source)
	if !owner {
		b = appendString(b, d.owner.Value())
	}
	if !kind {
		b = appendString(b, d.kind.Value())
	}
	if !lang {
		b = appendString(b, string(languages[d.lang]))
	}
	if !tags {
		b = binary.AppendUvarint(b, uint64(len(d.tags)))
		for _, t := range d.tags {
			b = appendString(b, t.Value())
		}
	}
	b = binary.AppendUvarint(b, uint64(len(lens)))
	for _, n := range lens {
		b = binary.AppendUvarint(b, uint64(n&maxLength)<<1|uint64(n/spoken))
	}
	return b
}

// readMeta reads the documents of a segment, whose passages are numbered from
// first on, and the lengths of their passages.
func readMeta(data string, first int64) (docs []docMeta, lens []uint16, ok bool) {
	before := docMeta{owner: unique.Make(""), kind: unique.Make("")}
	c := cursor{data: []byte(data)}
	text := func() string { // without a copy
		n := len(c.bytes())
		return data[c.at-n : c.at]
	}
	for !c.done() {
		d := before
		flags := c.data[c.at]
		c.at++
		d.id += c.signed()
		d.first += c.signed()
		d.date += c.signed()
		d.source = text()
		if flags&sameOwner == 0 {
			d.owner = unique.Make(text())
		}
		if flags&sameKind == 0 {
			d.kind = unique.Make(text())
		}
		if flags&sameLang == 0 {
			d.lang = languageNumber(text())
		}
		if flags&sameTags == 0 {
			d.tags = nil
			for n := c.int(len(data)); n > 0 && !c.bad; n-- {
				d.tags = append(d.tags, unique.Make(text()))
			}
		}
		d.at, d.n = int32(len(lens)), int32(c.int(len(data)))
		for n := d.n; n > 0 && !c.bad; n-- {
			n := c.int(maxLength<<1 | 1)
			lens = append(lens, uint16(n>>1|n&1*spoken))
		}
		docs = append(docs, d)
		before = d
	}
	for i := range docs {
		docs[i].first += first
	}
	return docs, lens, !c.bad
}

// micros returns a time as documents have it.
func micros(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMicro()
}
