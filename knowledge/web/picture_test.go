package web

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
)

func TestPicture(t *testing.T) {
	const dot = "GIF89a\x01\x00\x01\x00\x80\x00\x00\x00\x00\x00\xff\xff\xff!"
	s := startSite(t, "127.0.0.1:0", func(w http.ResponseWriter, r *http.Request) {
		kind, body := "image/gif", dot
		switch r.URL.Path {
		case "/page":
			kind, body = "text/html", "<p>not there</p>"
		case "/large":
			body += strings.Repeat("x", MaxPicture)
		case "/gone":
			w.WriteHeader(http.StatusNotFound)
		case "/inside":
			http.Redirect(w, r, "http://10.0.0.1/icon.gif", http.StatusFound)
			return
		}
		w.Header().Set("Content-Type", kind)
		io.WriteString(w, body)
	})
	kept := newArchive(t)
	f := newTestFetcher(t, Options{Archive: kept, Allow: []string{"127.0.0.1"}})
	got, err := f.Picture(t.Context(), s.URL+"/icon.gif")
	if err != nil || string(got) != dot {
		t.Fatalf("%q, %v", got, err)
	}
	copies, err := kept.Copies(t.Context(), s.URL+"/icon.gif")
	if err != nil || len(copies) != 1 || copies[0].Hash != hexSHA256(dot) {
		t.Errorf("kept %+v, %v", copies, err)
	}
	var status *StatusError
	for path, ok := range map[string]func(error) bool{
		"/page": func(err error) bool { return errors.Is(err, ErrType) }, "/large": func(err error) bool { return errors.Is(err, ErrTooBig) },
		"/gone": func(err error) bool { return errors.As(err, &status) }, "/inside": func(err error) bool { return errors.Is(err, ErrRefused) },
	} {
		if _, err := f.Picture(t.Context(), s.URL+path); err == nil || !ok(err) {
			t.Errorf("%s: %v", path, err)
		}
	}
}
