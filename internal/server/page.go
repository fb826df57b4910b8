package server

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"mime"
	"net/http"
	"path"
	"strings"
	"sync"

	"ponder/internal/textkit"
)

// The policies of the page. Only its own scripts and styles run, and it connects only to this server.
//
// framePolicy is that of HTML files below assets/, which the page uses as frames for foreign drawings:
// they have no origin, no cookies and no network.
const (
	pagePolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; font-src 'self'; connect-src 'self'; " +
		"manifest-src 'self'; worker-src 'self'; frame-src 'self' blob:; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
	framePolicy = "sandbox allow-scripts; default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src data: blob:; font-src 'self'; " +
		"base-uri 'none'; form-action 'none'; frame-ancestors 'self'"
	pagePermissions = "accelerometer=(), camera=(), display-capture=(), geolocation=(), gyroscope=(), magnetometer=(), microphone=(), midi=(), payment=(), usb=()"
)

// Names of the files of the page.
const (
	indexName   = "index.html"
	assetFolder = "assets/"
	rootPattern = "GET /{$}"
)

// A webPage serves the files of the page. Files below assets/ have a digest in their names and never change.
type webPage struct{ files map[string]*pageFile } // by name, such as assets/index-1.js

type pageFile struct {
	kind   string // media type
	tag    string // ETag
	plain  []byte
	brotli []byte            // nil: none
	gzip   func() []byte     // nil: the file is compressed already, or small
	header map[string]string // besides type and length
}

// newWebPage returns the page with the files of tree, or nil without a file index.html. A file NAME.br or
// NAME.gz is the compressed form of NAME.
func newWebPage(tree fs.FS) (*webPage, error) {
	if tree == nil {
		return nil, nil
	}
	p, packed := &webPage{make(map[string]*pageFile)}, make(map[string][]byte)
	err := fs.WalkDir(tree, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := fs.ReadFile(tree, name)
		if err != nil {
			return err
		}
		if ext := path.Ext(name); ext == ".br" || ext == ".gz" {
			packed[name] = text
			return nil
		}
		p.files[name] = newPageFile(name, text)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read the files of the page: %w", err)
	}
	for name, f := range p.files {
		f.brotli = packed[name+".br"]
		if gz := packed[name+".gz"]; gz != nil {
			f.gzip = func() []byte { return gz }
		}
	}
	if p.files[indexName] == nil {
		return nil, nil
	}
	return p, nil
}

// minPacked is the size from which compression saves a packet.
const minPacked = 1 << 10

// pageTypes are media types that systems lack or name differently.
var pageTypes = map[string]string{
	".js": "text/javascript; charset=utf-8", ".mjs": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8", ".html": "text/html; charset=utf-8",
	".svg": "image/svg+xml", ".json": "application/json", ".webmanifest": "application/manifest+json", ".wasm": "application/wasm", ".woff2": "font/woff2",
	".png": "image/png", ".ico": "image/x-icon", ".txt": "text/plain; charset=utf-8",
}

func newPageFile(name string, text []byte) *pageFile {
	ext := path.Ext(name)
	f := &pageFile{kind: pageTypes[ext], plain: text, header: map[string]string{"Referrer-Policy": "same-origin", "Cache-Control": "no-cache"}}
	if f.kind == "" {
		f.kind = mime.TypeByExtension(ext)
	}
	if f.kind == "" {
		f.kind = "application/octet-stream"
	}
	sum := sha256.Sum256(text)
	f.tag = `"` + hex.EncodeToString(sum[:16]) + `"`
	if len(text) >= minPacked && ext != ".png" && ext != ".woff2" && ext != ".ico" {
		f.gzip = sync.OnceValue(func() []byte { return gzipped(text) })
	}
	asset := strings.HasPrefix(name, assetFolder)
	if asset {
		f.header["Cache-Control"] = "public, max-age=31536000, immutable"
		f.header["Access-Control-Allow-Origin"] = "*" // for frames, which have no origin
	}
	switch {
	case ext == ".html" && asset:
		f.header["Content-Security-Policy"], f.header["Cache-Control"] = framePolicy, "no-cache"
	case ext == ".html":
		f.header["Content-Security-Policy"], f.header["Permissions-Policy"], f.header["Cross-Origin-Opener-Policy"] = pagePolicy, pagePermissions, "same-origin"
	case ext == ".svg":
		f.header["Content-Security-Policy"] = "default-src 'none'; style-src 'unsafe-inline'; sandbox" // opened alone
	}
	return f
}

func gzipped(text []byte) []byte {
	var b bytes.Buffer
	w, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err == nil {
		_, err = w.Write(text)
	}
	if err = errors.Join(err, w.Close()); err != nil { // memory does not fail
		return nil
	}
	return b.Bytes()
}

// fileOf returns the file of a request, or nil. Only browsers get index.html: see [acceptsHTML].
func (p *webPage) fileOf(r *http.Request) *pageFile {
	if r.URL.Path == "/" {
		if acceptsHTML(r) {
			return p.files[indexName]
		}
		return nil
	}
	name := strings.TrimPrefix(r.URL.Path, "/")
	if name == indexName {
		return nil
	}
	return p.files[name]
}

// acceptsHTML reports whether the client is a browser that opens a page. Clients of Ollama send */* or
// nothing.
func acceptsHTML(r *http.Request) bool {
	return strings.Contains(strings.ToLower(strings.Join(r.Header.Values("Accept"), ",")), "text/html")
}

// isPublic reports whether a request reads a file of the page.
func (p *webPage) isPublic(r *http.Request) bool {
	return p != nil && (p.fileOf(r) != nil || strings.HasPrefix(r.URL.Path, "/"+assetFolder))
}

// mountOn adds the routes of the page. The root keeps its route for other clients.
func (p *webPage) mountOn(routes map[string]http.Handler) {
	if p == nil {
		return
	}
	other := routes[rootPattern]
	routes[rootPattern] = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Add("Vary", "Accept")
		if other != nil && !acceptsHTML(r) {
			other.ServeHTTP(w, r)
			return
		}
		p.ServeHTTP(w, r)
	})
	routes["GET /"+assetFolder] = p
	for name := range maps.Keys(p.files) {
		if name != indexName && !strings.Contains(name, "/") {
			routes["GET /"+name] = p
		}
	}
}

// ServeHTTP serves a file of the page.
func (p *webPage) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f := p.fileOf(r)
	if f == nil {
		writeProblem(w, http.StatusNotFound, "the page has no file "+textkit.Truncate(textkit.OneLine(r.URL.Path), 80)+": reload the page")
		return
	}
	h := w.Header()
	for name, value := range f.header {
		h.Set(name, value)
	}
	h.Set("ETag", f.tag)
	h.Add("Vary", "Accept-Encoding")
	if strings.Contains(r.Header.Get("If-None-Match"), f.tag) {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	body, coding := f.encoded(r.Header.Get("Accept-Encoding"))
	if coding != "" {
		h.Set("Content-Encoding", coding)
	}
	h.Set("Content-Type", f.kind)
	h.Set("Content-Length", fmt.Sprint(len(body)))
	if r.Method != http.MethodHead {
		_, _ = w.Write(body) // the client may have disconnected
	}
}

// encoded returns the smallest form that a client accepts.
func (f *pageFile) encoded(accept string) (body []byte, coding string) {
	if f.brotli != nil && acceptsCoding(accept, "br") {
		return f.brotli, "br"
	}
	if f.gzip != nil && acceptsCoding(accept, "gzip") {
		if body := f.gzip(); body != nil {
			return body, "gzip"
		}
	}
	return f.plain, ""
}

// acceptsCoding reports whether a header Accept-Encoding names a coding without excluding it.
func acceptsCoding(accept, coding string) bool {
	for one := range strings.SplitSeq(accept, ",") {
		name, weight, _ := strings.Cut(strings.TrimSpace(one), ";")
		weight = strings.ReplaceAll(weight, " ", "")
		if strings.EqualFold(strings.TrimSpace(name), coding) && strings.Trim(weight, "0.") != "q=" {
			return true
		}
	}
	return false
}
