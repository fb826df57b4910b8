package document

import (
	"encoding/binary"
	"fmt"
	"maps"
)

// trimWasm leaves out of a module what cannot be called by these functions. Functions that
// can be called by their place in the table stay, but for the virtual methods of classes of
// which there can be no object: no function that stays mentions where their methods stand,
// and so none constructs one. C++ has the place of such a method nowhere else, so where its
// number stands in a function or in memory it is taken for another one. That was looked at,
// number by number, for the PDFium that is here: they are lengths, parts of tables, and
// where short names stand in memory.
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
			t.keep(f)
		}
	}
	for _, name := range exports {
		f, ok := m.exports[name]
		if !ok {
			return nil, fmt.Errorf("there is no %s", name)
		}
		t.keep(f)
	}
	return m.write(exports, t.stays), nil
}

// A wasmTrim finds what of a module stays.
type wasmTrim struct {
	*wasmModule
	stays     map[int]bool       // functions
	mentioned map[int]bool       // numbers in any function
	class     map[int]*wasmClass // by where in memory its methods stand
	methods   map[int]bool       // places in the table of methods of these classes
}

// A wasmClass is a class by the places in the table of its methods, and of those of the
// classes that it is made of.
type wasmClass struct {
	methods []int
	stays   bool
}

// findClasses finds where methods stand in memory, as C++ has it: two words that are 0,
// and then the destructor in both of its forms. What of the memory tells of such a place
// is an object that is there from the first.
func (t *wasmTrim) findClasses() {
	for at := 8; at+8 <= len(t.memory); {
		if t.word(at-8) == 0 && t.word(at-4) == 0 && t.mentioned[at] &&
			t.typed(t.word(at), "\x60\x01\x7f\x01\x7f") && t.typed(t.word(at+4), "\x60\x01\x7f\x00") {
			at = t.readClass(at) + 8
		} else {
			at += 4
		}
	}
	for at := 0; at+4 <= len(t.memory); at += 4 {
		t.construct(t.class[t.word(at)])
	}
}

// readClass reads a class, and returns where it ends. After its own methods there may be
// those of more classes that it is made of, each after a word that says how far before it
// in the object the whole begins, and one that is 0.
func (t *wasmTrim) readClass(from int) (at int) {
	c := &wasmClass{}
	for at = from; at+4 <= len(t.memory); {
		first := at == from
		if back := int32(t.word(at)); !first && back < 0 && back > -4096 && t.word(at+4) == 0 && t.mentioned[at+8] && t.typed(t.word(at+8), "") {
			at += 8
			first = true
		}
		if !t.typed(t.word(at), "") || t.mentioned[at] && !first {
			break
		}
		if first {
			t.class[at] = c
		}
		c.methods = append(c.methods, t.word(at))
		t.methods[t.word(at)] = true
		at += 4
	}
	return at
}

// word returns a word of the memory; beyond its end it is 0.
func (t *wasmTrim) word(at int) int {
	if at+4 > len(t.memory) {
		return 0
	}
	return int(binary.LittleEndian.Uint32(t.memory[at:]))
}

// typed reports whether at a place in the table there is a function of a type, or of any.
func (t *wasmTrim) typed(place int, want string) bool {
	i := place - t.first
	return i >= 0 && i < len(t.table) && (want == "" || string(t.types[t.of[t.table[i]]]) == want)
}

// keep keeps a function, and all that it may call.
func (t *wasmTrim) keep(f int) {
	if f < t.imports || t.stays[f] {
		return
	}
	t.stays[f] = true
	b := t.bodies[f-t.imports]
	for _, g := range b.calls {
		t.keep(g)
	}
	for n := range b.numbers {
		t.construct(t.class[n])
	}
}

// construct keeps the methods of a class, if it is one.
func (t *wasmTrim) construct(c *wasmClass) {
	if c == nil || c.stays {
		return
	}
	c.stays = true
	for _, place := range c.methods {
		t.keep(t.table[place-t.first])
	}
}
