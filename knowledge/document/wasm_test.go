package document

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
)

// A wasmModule is a WebAssembly module as far as calls need it. Function numbers begin
// with the imports.
type wasmModule struct {
	sections []wasmSection
	types    [][]byte       // encoded function types
	imports  int            // number of imported functions
	of       []int          // type of each function
	exports  map[string]int // function numbers
	table    []int          // indirectly callable functions
	first    int            // table index of the first
	bodies   []wasmBody     // of functions that are not imported
	memory   []byte         // initial
}

type wasmSection struct {
	id   byte
	body []byte
}

// A wasmBody is a function with its calls and all numbers that may be table indexes or
// addresses.
type wasmBody struct {
	code    []byte
	calls   []int
	numbers map[int]bool
}

// Section IDs.
const (
	wasmTypes     = 1
	wasmImports   = 2
	wasmFunctions = 3
	wasmExports   = 7
	wasmElements  = 9
	wasmCode      = 10
	wasmData      = 11
)

type wasmReader struct{ rest []byte }

func (r *wasmReader) readBytes(n int) []byte {
	b := r.rest[:n]
	r.rest = r.rest[n:]
	return b
}

func (r *wasmReader) readByte() byte { return r.readBytes(1)[0] }

func (r *wasmReader) readUint() int {
	n, k := binary.Uvarint(r.rest)
	r.readBytes(k)
	return int(n)
}

func (r *wasmReader) readInt() int64 {
	n, shift := int64(0), 0
	for {
		b := r.readByte()
		n |= int64(b&0x7f) << shift
		if shift += 7; b < 0x80 {
			if b&0x40 != 0 && shift < 64 {
				n |= -1 << shift
			}
			return n
		}
	}
}

func (r *wasmReader) readBlob() []byte { return r.readBytes(r.readUint()) }

func (r *wasmReader) readOffset() int {
	if flag, op := r.readUint(), r.readByte(); flag != 0 || op != 0x41 {
		panic(fmt.Sprintf("a place is given by %d, %#x", flag, op))
	}
	at := r.readInt()
	if r.readByte() != 0x0b {
		panic("a place has no end")
	}
	return int(at)
}

func readWasm(file []byte) (m *wasmModule, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("read a module: %v", r)
		}
	}()
	r := wasmReader{file}
	if !bytes.Equal(r.readBytes(8), []byte("\x00asm\x01\x00\x00\x00")) {
		return nil, errors.New("read a module: it is none")
	}
	m = &wasmModule{exports: map[string]int{}}
	for len(r.rest) > 0 {
		s := wasmSection{r.readByte(), r.readBlob()}
		if s.id == 0 {
			continue // custom section
		}
		m.sections = append(m.sections, s)
		m.readSection(s.id, &wasmReader{s.body})
	}
	return m, nil
}

func (m *wasmModule) readSection(id byte, r *wasmReader) {
	switch id {
	case 4, 5, 6, 12, 13: // table, memory, globals, data count, tags
		return
	case wasmTypes, wasmImports, wasmFunctions, wasmExports, wasmElements, wasmCode, wasmData:
	default:
		panic(fmt.Sprintf("there is a section %d", id))
	}
	for range r.readUint() {
		switch id {
		case wasmTypes:
			from := r.rest
			r.readByte()
			r.readBlob()
			r.readBlob()
			m.types = append(m.types, from[:len(from)-len(r.rest)])
		case wasmImports:
			r.readBlob()
			r.readBlob()
			if r.readByte() != 0 {
				panic("it imports what is no function")
			}
			m.of = append(m.of, r.readUint())
			m.imports++
		case wasmFunctions:
			m.of = append(m.of, r.readUint())
		case wasmExports:
			name, kind, n := string(r.readBlob()), r.readByte(), r.readUint()
			if kind == 0 {
				m.exports[name] = n
			}
		case wasmElements:
			if m.table != nil {
				panic("there are several tables")
			}
			m.first = r.readOffset()
			for range r.readUint() {
				m.table = append(m.table, r.readUint())
			}
		case wasmCode:
			m.bodies = append(m.bodies, readBody(r.readBlob()))
		case wasmData:
			at, data := r.readOffset(), r.readBlob()
			if grow := at + len(data) - len(m.memory); grow > 0 {
				m.memory = append(m.memory, make([]byte, grow)...)
			}
			copy(m.memory[at:], data)
		}
	}
}

func readBody(code []byte) wasmBody {
	b := wasmBody{code: code, numbers: map[int]bool{}}
	r := &wasmReader{code}
	for range r.readUint() {
		r.readUint()
		r.readByte()
	}
	for len(r.rest) > 0 {
		switch op := r.readByte(); {
		case op == 0x10: // call
			b.calls = append(b.calls, r.readUint())
		case op == 0x41 || op == 0x42: // constants
			n := r.readInt()
			b.numbers[int(uint32(n))] = true
			b.numbers[int(uint32(n>>32))] = true // 64 bits may hold two
		case op >= 0x28 && op <= 0x3e: // memory access; the offset
			r.readUint()
			b.numbers[r.readUint()] = true
		case op == 0x43: // a float
			r.readBytes(4)
		case op == 0x44:
			r.readBytes(8)
		case op >= 0x02 && op <= 0x04, op == 0xd0: // blocks; null
			r.readInt()
		case op == 0x3f, op == 0x40: // memory size
			r.readByte()
		case op == 0x1f: // block with handlers
			r.readInt()
			for range r.readUint() {
				if kind := r.readByte(); kind < 2 {
					r.readUint() // tag
				}
				r.readUint() // label
			}
		case op == 0x08, op == 0x0c, op == 0x0d, op >= 0x20 && op <= 0x24: // throws; branches; variables
			r.readUint()
		case op == 0x11: // indirect call
			r.readUint()
			r.readUint()
		case op == 0x0e: // branch table
			for range r.readUint() + 1 {
				r.readUint()
			}
		case op == 0xfc:
			b.skipLong(r)
		case op == 0xfd:
			b.skipVector(r)
		case op <= 0x01, op == 0x05, op == 0x0a, op == 0x0b, op == 0x0f, op == 0x1a, op == 0x1b, op >= 0x45 && op <= 0xc4:
		default:
			panic(fmt.Sprintf("there is an instruction %#x", op))
		}
	}
	return b
}

func (wasmBody) skipLong(r *wasmReader) {
	switch op := r.readUint(); {
	case op <= 7: // floats to integers
	case op == 10: // copy memory
		r.readBytes(2)
	case op == 11: // fill memory
		r.readByte()
	default:
		panic(fmt.Sprintf("there is an instruction 0xfc %d", op))
	}
}

func (b wasmBody) skipVector(r *wasmReader) {
	op := r.readUint()
	lane := op >= 84 && op <= 91
	if op <= 11 || lane || op == 92 || op == 93 { // memory access
		r.readUint()
		b.numbers[r.readUint()] = true
	}
	switch {
	case op == 12 || op == 13: // constants; shuffle
		r.readBytes(16)
	case op >= 21 && op <= 34 || lane:
		r.readByte()
	}
}

// encode encodes the module with only these exports and function bodies. Other
// functions keep their numbers but trap.
func (m *wasmModule) encode(exports []string, functions map[int]bool) []byte {
	out := []byte("\x00asm\x01\x00\x00\x00")
	for _, s := range m.sections {
		body := s.body
		switch s.id {
		case wasmExports:
			body = onlyExports(body, exports)
		case wasmCode:
			body = binary.AppendUvarint(nil, uint64(len(m.bodies)))
			for i, b := range m.bodies {
				code := b.code
				if !functions[m.imports+i] {
					code = []byte{0, 0, 0x0b} // no variables; unreachable; end
				}
				body = append(binary.AppendUvarint(body, uint64(len(code))), code...)
			}
		}
		out = append(binary.AppendUvarint(append(out, s.id), uint64(len(body))), body...)
	}
	return out
}

func onlyExports(section []byte, names []string) []byte {
	r, n := wasmReader{section}, 0
	var out []byte
	for range r.readUint() {
		from := r.rest
		name, kind := string(r.readBlob()), r.readByte()
		r.readUint()
		if kind != 0 && kind != 1 || slices.Contains(names, name) { // functions and tables
			out = append(out, from[:len(from)-len(r.rest)]...)
			n++
		}
	}
	return append(binary.AppendUvarint(nil, uint64(n)), out...)
}
