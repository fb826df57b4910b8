package document

import (
	"bytes"
	"encoding/binary"
	"strconv"
)

// PDFium is packed by LZMA. Before that, two things are done to it that make it smaller by
// a sixth: of tables, the differences of their rows are packed, and of the fonts that are
// encrypted (their keys are known to all) what they say.

// packBlock is how many bytes have the same difference taken of them.
const packBlock = 1024

// unpackPDFium returns PDFium as it was before it was packed.
func unpackPDFium() ([]byte, error) {
	b, err := unlzma(pdfium, pdfUnpacked)
	if err != nil {
		return nil, err
	}
	n := len(b) - (len(b)+packBlock)/(packBlock+1) // a byte for each block is at the end
	wasm, back := b[:n:n], b[n:]
	for block, k := range back {
		from := block * packBlock
		if k := int(k); k > 0 {
			for i := max(from, k); i < min(from+packBlock, n); i++ {
				wasm[i] += wasm[i-k]
			}
		}
	}
	return wasm, eachFont(wasm, encryptFont)
}

// eachFont calls f with what is encrypted of each font of the kind Type 1.
func eachFont(wasm []byte, f func([]byte)) error {
	for {
		_, rest, ok := bytes.Cut(wasm, []byte("currentfile eexec\r\x80\x02"))
		if !ok {
			return nil
		}
		if len(rest) < 4 || uint64(binary.LittleEndian.Uint32(rest)) > uint64(len(rest)-4) {
			return errLZMA
		}
		n := 4 + int(binary.LittleEndian.Uint32(rest))
		f(rest[4:n])
		wasm = rest[n:]
	}
}

// Keys of fonts.
const (
	fontKey  = 55665
	glyphKey = 4330
)

// encryptFont encrypts first what stands for each letter, and then all.
func encryptFont(font []byte) {
	for rest := font; ; {
		glyph, after := nextGlyph(rest)
		if glyph == nil {
			break
		}
		encrypt(glyph, glyphKey)
		rest = after
	}
	encrypt(font, fontKey)
}

// nextGlyph returns the next bytes in a font that draw something: they come after their
// number, as in "31 RD ".
func nextGlyph(font []byte) (glyph, rest []byte) {
	for {
		before, rest, ok := bytes.Cut(font, []byte(" RD "))
		if !ok {
			return nil, nil
		}
		number := before[bytes.LastIndexByte(before, ' ')+1:]
		if n, err := strconv.Atoi(string(number)); err == nil && n > 0 && n <= len(rest) {
			return rest[:n], rest[n:]
		}
		font = rest
	}
}

// encrypt is the cipher of Type 1.
func encrypt(b []byte, key uint16) {
	for i := range b {
		b[i] ^= byte(key >> 8)
		key = (uint16(b[i])+key)*52845 + 22719
	}
}
