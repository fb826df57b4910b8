package app

import (
	"bytes"
	"context"
	"encoding/base64"
	"html"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"time"

	"ponder/internal/report"
	"ponder/knowledge/archive"
	"ponder/knowledge/web"
	"ponder/store/sqlite"
	webtool "ponder/tool/web"
)

// icons gives the evidence of a report the pictures of their sites, as far as those
// were kept; see fetchIcons.
func (a *App) Icons(ctx context.Context, store *sqlite.Store, r *report.Research) {
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
	MaxIcon = web.MaxPicture
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
	for _, to := range iconsOf(page) {
		if raw, ok := inlined(to); ok {
			if uri := pictureURI(raw); uri != "" {
				return uri
			}
		} else if uri := iconAt(ctx, kept, to); uri != "" {
			return uri
		}
	}
	return ""
}

// iconsOf returns the addresses of the icons of a page, as it names them, and the one
// that is asked for where none is named.
func iconsOf(page archive.Original) (list []string) {
	base, err := url.Parse(page.Source)
	if err != nil {
		return nil
	}
	head := page.Bytes[:min(len(page.Bytes), maxHead)]
	var names []string
	for _, tag := range linkTag.FindAll(head, 20) {
		if m := iconHref.FindSubmatch(tag); m != nil && iconRel.Match(tag) {
			names = append(names, html.UnescapeString(string(bytes.Join(m[1:], nil))))
		}
	}
	for _, name := range append(names, "/favicon.ico") {
		if strings.HasPrefix(name, "data:") {
			list = append(list, name)
		} else if at, err := base.Parse(name); err == nil {
			list = append(list, at.String())
		}
	}
	return list
}

// inlined returns the bytes of a data URI, if it is one.
func inlined(uri string) ([]byte, bool) {
	rest, ok := strings.CutPrefix(uri, "data:")
	if !ok {
		return nil, false
	}
	_, body, _ := strings.Cut(rest, ";base64,")
	raw, err := base64.StdEncoding.DecodeString(strings.TrimSpace(body))
	if err != nil {
		return nil, true
	}
	return raw, true
}

func iconAt(ctx context.Context, kept *archive.Archive, at string) string {
	copies, err := kept.Copies(ctx, at)
	if err != nil || len(copies) == 0 {
		return ""
	}
	o, err := kept.Get(ctx, copies[0].Hash)
	if err != nil {
		return ""
	}
	return pictureURI(o.Bytes)
}

// Bounds on icons that are fetched for a report.
const (
	maxIcons = 20 // sites
	iconTime = 3 * time.Second
)

// fetchIcons fetches the icons of the pages that a report cites and that came over the
// network, each from the host of its page. What does not come soon is left out.
func (a *App) FetchIcons(ctx context.Context, store *sqlite.Store, r *report.Research) {
	kept, err := archive.Open(ctx, store.SQL())
	if err != nil {
		return
	}
	f, err := a.WebFetcher(kept)
	if err != nil {
		return
	}
	defer f.Close()
	ctx, cancel := context.WithTimeout(ctx, iconTime)
	defer cancel()
	used, hosts := r.Used(), make(map[string]bool)
	var wg sync.WaitGroup
	for _, e := range r.Evidence {
		u, err := url.Parse(e.URL)
		if err != nil || u.Host == "" || hosts[u.Host] || len(hosts) == maxIcons || !used[e.ID] || e.Original == "" || e.Tool != webtool.FetchName || e.Provider == "folder" {
			continue
		}
		hosts[u.Host] = true
		wg.Go(func() { fetchIcon(ctx, f, kept, e.Original) })
	}
	wg.Wait()
}

// fetchIcon fetches the first icon that a page names and its host has.
func fetchIcon(ctx context.Context, f *web.Fetcher, kept *archive.Archive, hash string) {
	page, err := kept.Get(ctx, hash)
	if err != nil || iconIn(ctx, kept, hash) != "" {
		return
	}
	own, err := url.Parse(page.Source)
	if err != nil {
		return
	}
	for _, to := range iconsOf(page) {
		if u, err := url.Parse(to); err != nil || u.Host != own.Host {
			continue
		}
		if raw, err := f.Picture(ctx, to); err == nil && pictureURI(raw) != "" {
			return
		}
	}
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
	if len(raw) > MaxIcon {
		return ""
	}
	return "data:" + kind + ";base64," + base64.StdEncoding.EncodeToString(raw)
}
