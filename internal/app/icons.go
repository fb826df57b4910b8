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

// Icons adds the kept icons of sites to the evidence of a report; see FetchIcons.
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

const (
	maxHead = 256 << 10 // bytes of a page
	MaxIcon = web.MaxPicture
)

var (
	linkTag  = regexp.MustCompile(`(?is)<link\b[^>]*>`)
	iconRel  = regexp.MustCompile(`(?is)\brel\s*=\s*["']?[^"'>]*\bicon\b`)
	iconHref = regexp.MustCompile(`(?is)\bhref\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s>]+))`)
)

// iconIn returns a page's first kept icon as a data URI, or "".
func iconIn(ctx context.Context, kept *archive.Archive, hash string) string {
	page, err := kept.Get(ctx, hash)
	if err != nil {
		return ""
	}
	for _, to := range iconsOf(page) {
		if raw, ok := decodeDataURI(to); ok {
			if uri := pictureURI(raw); uri != "" {
				return uri
			}
		} else if uri := iconAt(ctx, kept, to); uri != "" {
			return uri
		}
	}
	return ""
}

// iconsOf returns the icon addresses that a page names, and the default one.
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

func decodeDataURI(uri string) ([]byte, bool) {
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

const (
	maxIcons = 20
	iconTime = 3 * time.Second
)

// FetchIcons fetches the icons of cited web pages, each from its page's host. It skips slow
// ones.
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

// pictureURI returns a small picture as a data URI, judged by its bytes. It refuses active
// content such as SVG.
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
