package wire

import (
	"compress/gzip"
	"io"
	"net/http"
	"strings"
)

// coding returns how the body of an answer is encoded, or nothing.
func coding(resp *http.Response) string {
	c := strings.ToLower(strings.TrimSpace(resp.Header.Get("Content-Encoding")))
	switch c {
	case "identity":
		return ""
	case "x-gzip":
		return "gzip"
	}
	return c
}

// unzipped returns the body of an answer as it was before it was encoded. None is asked to
// be, but a proxy may do as it likes.
func unzipped(resp *http.Response) io.ReadCloser {
	if coding(resp) != "gzip" {
		return resp.Body
	}
	return &unzipper{ReadCloser: resp.Body}
}

// An unzipper reads what gzip has compressed, from its first Read on.
type unzipper struct {
	io.ReadCloser
	zip *gzip.Reader
}

func (u *unzipper) Read(p []byte) (n int, err error) {
	if u.zip == nil {
		if u.zip, err = gzip.NewReader(u.ReadCloser); err != nil {
			return 0, err
		}
	}
	return u.zip.Read(p)
}
