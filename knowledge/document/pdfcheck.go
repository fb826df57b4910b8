package document

import (
	"bytes"
	"compress/zlib"
	"errors"
	"io"
)

// Bounds on the streams of a PDF that are not pictures, before the engine unpacks
// them: it has to have one whole.
const (
	maxPDFStream = 48 << 20            // bytes of one
	maxPDFAll    = 192 << 20           // bytes of all that are long
	longStream   = maxPDFStream / 1032 // packed, what is shorter cannot become too long
	streamHead   = 512                 // bytes before a stream that say what it is
)

var errPDFStream = errors.New("a page of it unpacks to more than is read of a file")

// checkPDF refuses a file with streams that unpack to more than a page can say.
// It finds the usual kind; the memory of the engine bounds the others.
func checkPDF(file []byte) error {
	all := int64(0)
	for at := 0; ; {
		i := bytes.Index(file[at:], []byte("stream"))
		if i < 0 {
			return nil
		}
		at += i + len("stream")
		body := bytes.TrimLeft(file[at:min(len(file), at+2)], "\r\n")
		start := min(len(file), at+2) - len(body)
		n := bytes.Index(file[start:], []byte("endstream"))
		if n < 0 {
			n = len(file) - start
		}
		if n > longStream && !isPicture(file[max(0, at-streamHead):at]) {
			length := unpacked(file[start : start+n])
			if all += length; length > maxPDFStream || all > maxPDFAll {
				return errPDFStream
			}
		}
		if at = start + n + len("endstream"); at >= len(file) {
			return nil
		}
	}
}

// isPicture reports whether what stands before a stream says that it is one.
func isPicture(before []byte) bool {
	if i := bytes.LastIndex(before, []byte(" obj")); i >= 0 {
		before = before[i:]
	}
	return bytes.Contains(before, []byte("/Image"))
}

// unpacked returns how long a stream is when it is unpacked, or a little more
// than may be; 0 if it is not packed in the usual way.
func unpacked(stream []byte) int64 {
	r, err := zlib.NewReader(bytes.NewReader(stream))
	if err != nil {
		return 0
	}
	defer r.Close()
	n, err := io.Copy(io.Discard, io.LimitReader(r, maxPDFStream+1))
	if err != nil {
		return n // damaged: what there is
	}
	return n
}
