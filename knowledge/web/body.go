package web

import (
	"bufio"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"fmt"
	"io"
	"net/http"
	"ponder/internal/textkit"
	"strings"
)

// Bounds on what is packed.
const (
	maxCodings = 2   // of an answer, one in the other
	bombRatio  = 100 // of what comes out to what went in; pages have less than 30
)

// readBody reads the body of an answer, unpacked.
func readBody(resp *http.Response, r ration) (body []byte, cut bool, err error) {
	codings, err := codingsOf(resp.Header.Values("Content-Encoding"))
	if err != nil {
		return nil, false, err
	}
	if len(codings) == 0 && !r.cut && resp.ContentLength > r.most {
		return nil, false, fmt.Errorf("%w: it has %d bytes, and %d are read", ErrTooBig, resp.ContentLength, r.most)
	}
	wire := &counted{r: resp.Body, most: r.most}
	from, err := unpack(wire, codings, r.most)
	if err != nil {
		return nil, false, broken(err)
	}
	body, err = io.ReadAll(io.LimitReader(from, r.most+1))
	over := int64(len(body)) > r.most || wire.over
	switch {
	case over && len(codings) > 0 && int64(len(body)) > bombRatio*wire.n:
		return nil, false, fmt.Errorf("%w: %d bytes unpack to more than %d", ErrTooBig, wire.n, r.most)
	case over && !r.cut:
		return nil, false, fmt.Errorf("%w: it has more than %d bytes", ErrTooBig, r.most)
	case over:
		return body[:min(int64(len(body)), r.most)], true, nil
	case err != nil:
		return nil, false, broken(err)
	}
	return body, false, nil
}

// broken says that a body did not come as it should have.
func broken(err error) error {
	if err == io.ErrUnexpectedEOF || err == io.EOF { //nolint:errorlint // as readers return them
		return fmt.Errorf("%w: it ended early", ErrBody)
	}
	return fmt.Errorf("%w: %w", ErrBody, plain(err))
}

// codingsOf returns how an answer is packed, the last first.
func codingsOf(values []string) ([]string, error) {
	var out []string
	for _, c := range strings.Split(strings.Join(values, ","), ",") {
		switch c = strings.ToLower(strings.TrimSpace(c)); c {
		case "", "identity":
		case "gzip", "x-gzip", "deflate":
			out = append([]string{c}, out...)
		default:
			return nil, fmt.Errorf("%w: it is packed with %q, which was not asked for", ErrBody, textkit.VisibleLine(c, 20))
		}
		if len(out) > maxCodings {
			return nil, fmt.Errorf("%w: it is packed more than %d times", ErrBody, maxCodings)
		}
	}
	return out, nil
}

// unpack puts what unpacks in front of a body. What stands between two codings
// is bounded too: a packed nothing may be of any length.
func unpack(r io.Reader, codings []string, most int64) (io.Reader, error) {
	for i, c := range codings {
		if i > 0 {
			r = &counted{r: r, most: 4 * most}
		}
		b := bufio.NewReader(r)
		var err error
		switch head, _ := b.Peek(2); {
		case len(head) == 0:
			return b, nil // an empty answer
		case c != "deflate":
			r, err = gzip.NewReader(b)
		case len(head) == 2 && head[0]&0x0f == 8 && (int(head[0])<<8|int(head[1]))%31 == 0:
			r, err = zlib.NewReader(b)
		default:
			r = flate.NewReader(b) // as some servers understand "deflate"
		}
		if err != nil {
			return nil, err
		}
	}
	return r, nil
}

// A counted reader ends with an error after most bytes.
type counted struct {
	r       io.Reader
	n, most int64
	over    bool
}

func (c *counted) Read(p []byte) (int, error) {
	if c.n > c.most {
		c.over = true
		return 0, ErrTooBig
	}
	n, err := c.r.Read(p[:min(int64(len(p)), c.most+1-c.n)])
	c.n += int64(n)
	return n, err
}
