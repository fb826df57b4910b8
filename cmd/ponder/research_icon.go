package main

import (
	"bytes"
	"context"
	"encoding/base64"
	"html"
	"net/http"
	"net/url"
	"regexp"
	"strings"

	"ponder/archive"
	"ponder/internal/report"
	"ponder/store/sqlite"
)

// icons gives the evidence of a report the pictures of their sites, as far as those
// were kept: nothing is fetched for it.
func (a *app) icons(ctx context.Context, store *sqlite.Store, r *report.Research) {
	kept, err := archive.Open(ctx, store.SQL())
	if err != nil {
		return
	}
	used, known := r.Used(), make(map[string]string)
	for i := range r.Evidence {
		e := &r.Evidence[i]
		if e.Original == "" || !used[e.ID] {
			continue
		}
		uri, ok := known[e.Original]
		if !ok {
			uri = iconIn(ctx, kept, e.Original)
			known[e.Original] = uri
		}
		e.Icon = uri
	}
}

// Bounds of icons.
const (
	maxHead = 256 << 10 // bytes of a page in which one is looked for
	maxIcon = 40 << 10  // bytes of one
)

var (
	linkTag  = regexp.MustCompile(`(?is)<link\b[^>]*>`)
	iconRel  = regexp.MustCompile(`(?is)\brel\s*=\s*["']?[^"'>]*\bicon\b`)
	iconHref = regexp.MustCompile(`(?is)\bhref\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s>]+))`)
)

// iconIn returns the icon that a page names as a data URI, or "" if it names none, or
// none that was kept.
func iconIn(ctx context.Context, kept *archive.Archive, hash string) string {
	page, err := kept.Get(ctx, hash)
	if err != nil {
		return ""
	}
	head := page.Bytes[:min(len(page.Bytes), maxHead)]
	for _, tag := range linkTag.FindAll(head, 20) {
		m := iconHref.FindSubmatch(tag)
		if m == nil || !iconRel.Match(tag) {
			continue
		}
		if uri := iconAt(ctx, kept, page.Source, html.UnescapeString(string(bytes.Join(m[1:], nil)))); uri != "" {
			return uri
		}
	}
	return iconAt(ctx, kept, page.Source, "/favicon.ico")
}

// iconAt returns the icon at an address, as a page writes it.
func iconAt(ctx context.Context, kept *archive.Archive, page, to string) string {
	if rest, ok := strings.CutPrefix(to, "data:"); ok {
		_, body, found := strings.Cut(rest, ";base64,")
		if raw, err := base64.StdEncoding.DecodeString(strings.TrimSpace(body)); found && err == nil {
			return pictureURI(raw)
		}
		return ""
	}
	base, err := url.Parse(page)
	if err != nil {
		return ""
	}
	at, err := base.Parse(to)
	if err != nil {
		return ""
	}
	copies, err := kept.Copies(ctx, at.String())
	if err != nil || len(copies) == 0 {
		return ""
	}
	o, err := kept.Get(ctx, copies[0].Hash)
	if err != nil {
		return ""
	}
	return pictureURI(o.Bytes)
}

// pictureURI returns a small picture as a data URI, by what its bytes are and not by
// what they are called. What can run something, such as SVG, is none.
func pictureURI(raw []byte) string {
	kind := http.DetectContentType(raw)
	switch kind {
	case "image/png", "image/gif", "image/jpeg", "image/webp", "image/x-icon":
	case "image/vnd.microsoft.icon":
		kind = "image/x-icon"
	default:
		return ""
	}
	if len(raw) > maxIcon {
		return ""
	}
	return "data:" + kind + ";base64," + base64.StdEncoding.EncodeToString(raw)
}
