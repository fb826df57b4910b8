package document

import (
	"encoding/binary"
	"fmt"
	"maps"
)

// trimWasm removes functions that exports cannot reach. Functions in the table stay,
// except virtual methods of classes whose method table no remaining function mentions,
// so no object exists. C++ stores such a table index only there. Equal numbers in code
// or memory are lengths, parts of tables or addresses of short names in this PDFium.
func trimWasm(file []byte, exports []string) ([]byte, error) {
	m, err := readWasm(file)
	if err != nil {
		return nil, err
	}
	t := &wasmTrim{wasmModule: m, stays: map[int]bool{}, mentioned: map[int]bool{}, class: map[int]*wasmClass{}, methods: map[int]bool{}}
	for _, b := range m.bodies {
		maps.Copy(t.mentioned, b.numbers)
	}
	t.findClasses()
	for i, f := range m.table {
		if !t.methods[m.first+i] {
			t.keepFunction(f)
		}
	}
	for _, name := range exports {
		f, ok := m.exports[name]
		if !ok {
			return nil, fmt.Errorf("function %s is missing", name)
		}
		t.keepFunction(f)
	}
	return m.encode(exports, t.stays), nil
}

type wasmTrim struct {
	*wasmModule
	stays     map[int]bool       // functions
	mentioned map[int]bool       // numbers in any function
	class     map[int]*wasmClass // by memory address of the methods
	methods   map[int]bool       // table indexes of their methods
}

type wasmClass struct {
	methods []int
	stays   bool
}

// findClasses finds method tables in memory, laid out as in C++: two zero words, then
// both destructors. A reference from memory is a static object.
func (t *wasmTrim) findClasses() {
	for at := 8; at+8 <= len(t.memory); {
		if t.wordAt(at-8) == 0 && t.wordAt(at-4) == 0 && t.mentioned[at] &&
			t.hasType(t.wordAt(at), "\x60\x01\x7f\x01\x7f") && t.hasType(t.wordAt(at+4), "\x60\x01\x7f\x00") {
			at = t.readClass(at) + 8
		} else {
			at += 4
		}
	}
	for at := 0; at+4 <= len(t.memory); at += 4 {
		t.keepClass(t.class[t.wordAt(at)])
	}
}

// readClass reads a class and returns its end. Methods of base classes may follow,
// each after a negative object offset and a zero word.
func (t *wasmTrim) readClass(from int) (at int) {
	c := &wasmClass{}
	for at = from; at+4 <= len(t.memory); {
		first := at == from
		if back := int32(t.wordAt(at)); !first && back < 0 && back > -4096 && t.wordAt(at+4) == 0 && t.mentioned[at+8] && t.hasType(t.wordAt(at+8), "") {
			at += 8
			first = true
		}
		if !t.hasType(t.wordAt(at), "") || t.mentioned[at] && !first {
			break
		}
		if first {
			t.class[at] = c
		}
		c.methods = append(c.methods, t.wordAt(at))
		t.methods[t.wordAt(at)] = true
		at += 4
	}
	return at
}

func (t *wasmTrim) wordAt(at int) int {
	if at+4 > len(t.memory) {
		return 0
	}
	return int(binary.LittleEndian.Uint32(t.memory[at:]))
}

func (t *wasmTrim) hasType(place int, want string) bool {
	i := place - t.first
	return i >= 0 && i < len(t.table) && (want == "" || string(t.types[t.of[t.table[i]]]) == want)
}

func (t *wasmTrim) keepFunction(f int) {
	if f < t.imports || t.stays[f] {
		return
	}
	t.stays[f] = true
	b := t.bodies[f-t.imports]
	for _, g := range b.calls {
		t.keepFunction(g)
	}
	for n := range b.numbers {
		t.keepClass(t.class[n])
	}
}

func (t *wasmTrim) keepClass(c *wasmClass) {
	if c == nil || c.stays {
		return
	}
	c.stays = true
	for _, place := range c.methods {
		t.keepFunction(t.table[place-t.first])
	}
}
