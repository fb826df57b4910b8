package document

import (
	"encoding/binary"
	"errors"
)

var errLZMA = errors.New("it is damaged")

// unlzma unpacks a file of the format .lzma that ends with a mark, as xz writes it, to at
// most so many bytes. It takes 70 ms for a megabyte that was three.
func unlzma(file []byte, most int) ([]byte, error) {
	if len(file) < lzmaHead || file[0] >= 9*5*5 {
		return nil, errLZMA
	}
	n := uint(file[0])
	z := lzma{
		in: file[lzmaHead:], code: binary.BigEndian.Uint32(file[lzmaHead-4:]), span: 1<<32 - 1,
		out: make([]byte, 0, most), lc: n % 9, lp: n / 9 % 5, pb: n / 45,
	}
	z.even()
	if !z.run() || z.at > len(z.in) {
		return nil, errLZMA
	}
	return z.out, nil
}

// lzmaHead are the bytes that say how a file is packed and how long it is, and the first
// five of those that are.
const lzmaHead = 13 + 5

// An lzma unpacks. The file is one long number. Each bit takes of what is left of its
// span the part that is its by the odds so far of bits that stand where it does. The bits
// say either what the next byte is, or how many bytes are repeated, and from how far back.
type lzma struct {
	in         []byte
	at         int    // beyond in if that is too short
	span, code uint32 // what is left of the number's span, and where in it the number is
	out        []byte
	lc, lp, pb uint // bits that odds depend on: of the byte before, of the place of a byte, of that of a repeat

	state     int       // which kinds came last: below 7, a byte
	distances [4]uint32 // of the last repeats, less 1

	// odds
	bytes                 []uint16
	repeats               [12 << 4]uint16 // a byte or a repeat
	again                 [12]uint16      // a new distance or one of the last
	which                 [3][12]uint16   // of those
	single                [12 << 4]uint16 // a byte or more, from the last
	lengths, lengthsAgain lzmaLengths
	slots                 [4][64]uint16 // the highest bits of a distance, by the length
	near                  [128]uint16   // its other bits, of short ones
	low                   [16]uint16    // its lowest, of long ones
}

type lzmaLengths struct {
	choice      [2]uint16 // short, long or longest
	short, long [16][8]uint16
	longest     [256]uint16
}

// even sets all odds to one half.
func (z *lzma) even() {
	z.bytes = make([]uint16, 0x300<<(z.lc+z.lp))
	all := [][]uint16{z.bytes, z.repeats[:], z.single[:], z.again[:], z.near[:], z.low[:]}
	for i := range z.which {
		all = append(all, z.which[i][:])
	}
	for i := range z.slots {
		all = append(all, z.slots[i][:])
	}
	for _, l := range []*lzmaLengths{&z.lengths, &z.lengthsAgain} {
		all = append(all, l.choice[:], l.longest[:])
		for i := range l.short {
			all = append(all, l.short[i][:], l.long[i][:])
		}
	}
	for _, odds := range all {
		for i := range odds {
			odds[i] = 1 << 10
		}
	}
}

// bit reads a bit. It does not branch on what it reads, which no processor can foresee:
// so it takes half the time.
func (z *lzma) bit(odds *uint16) uint32 {
	if z.span < 1<<24 {
		z.more()
	}
	p := int32(*odds)
	bound := z.span >> 11 * uint32(p)
	zero := uint32((uint64(z.code) - uint64(bound)) >> 32) // all ones if the bit is 0
	z.span = (z.span-bound)&^zero | bound&zero
	z.code -= bound &^ zero
	*odds = uint16(p - (p+int32(zero)&(31-1<<11))>>5)
	return zero + 1
}

// coin reads a bit that may as well be the one as the other.
func (z *lzma) coin() uint32 {
	if z.span < 1<<24 {
		z.more()
	}
	z.span >>= 1
	zero := uint32((uint64(z.code) - uint64(z.span)) >> 32)
	z.code -= z.span &^ zero
	return zero + 1
}

func (z *lzma) more() {
	z.span <<= 8
	z.code <<= 8
	if z.at < len(z.in) {
		z.code |= uint32(z.in[z.at])
	}
	z.at++
}

// tree reads a number of so many bits, the highest first.
func (z *lzma) tree(odds []uint16, bits int) int {
	n := uint32(1)
	for range bits {
		n = n<<1 | z.bit(&odds[n])
	}
	return int(n - 1<<bits)
}

// back reads a number of so many bits, the lowest first.
func (z *lzma) back(odds []uint16, bits uint32) (n uint32) {
	at := uint32(1)
	for i := range bits {
		b := z.bit(&odds[at])
		at = at<<1 | b
		n |= b << i
	}
	return n
}

func (z *lzma) run() bool {
	for {
		place := len(z.out) & (1<<z.pb - 1)
		if z.bit(&z.repeats[z.state<<4|place]) == 0 {
			if len(z.out) == cap(z.out) || !z.byte() {
				return false
			}
			continue
		}
		n := 0
		if z.bit(&z.again[z.state]) == 0 {
			n = z.length(&z.lengths, place)
			d := z.distance(n)
			if d == 1<<32-1 { // the mark
				return true
			}
			z.distances = [4]uint32{d, z.distances[0], z.distances[1], z.distances[2]}
			z.state = 7 + z.state/7*3
		} else {
			n = z.repeat(place)
		}
		if !z.write(n) {
			return false
		}
	}
}

// byte reads a byte. After a repeat it is likely to differ from what that would go on with.
func (z *lzma) byte() bool {
	last := byte(0)
	if len(z.out) > 0 {
		last = z.out[len(z.out)-1]
	}
	k := (uint(len(z.out))&(1<<z.lp-1))<<z.lc | uint(last)>>(8-z.lc)
	odds := z.bytes[0x300*k:][:0x300]
	n := uint32(1)
	if z.state < 7 {
		n = uint32(z.tree(odds, 8))
	} else {
		if uint64(z.distances[0]) >= uint64(len(z.out)) {
			return false
		}
		other, same := uint32(z.out[len(z.out)-1-int(z.distances[0])]), uint32(0x100)
		for n < 0x100 {
			other <<= 1
			o := other & same
			b := z.bit(&odds[same+o+n])
			n = n<<1 | b
			same &= o ^ (b - 1)
		}
	}
	z.out = append(z.out, byte(n))
	z.state = max(0, z.state-3-z.state/10*3)
	return true
}

// repeat reads which of the last distances comes again, and returns for how many bytes.
func (z *lzma) repeat(place int) int {
	s := z.state
	z.state = 8 + s/7*3
	if z.bit(&z.which[0][s]) == 0 {
		if z.bit(&z.single[s<<4|place]) == 0 {
			z.state = 9 + s/7*2
			return 1
		}
	} else {
		i := 1
		if z.bit(&z.which[1][s]) == 1 {
			i = 2 + int(z.bit(&z.which[2][s]))
		}
		d := z.distances[i]
		copy(z.distances[1:i+1], z.distances[:i])
		z.distances[0] = d
	}
	return z.length(&z.lengthsAgain, place)
}

func (z *lzma) length(l *lzmaLengths, place int) int {
	switch {
	case z.bit(&l.choice[0]) == 0:
		return 2 + z.tree(l.short[place][:], 3)
	case z.bit(&l.choice[1]) == 0:
		return 10 + z.tree(l.long[place][:], 3)
	default:
		return 18 + z.tree(l.longest[:], 8)
	}
}

func (z *lzma) distance(length int) uint32 {
	slot := uint32(z.tree(z.slots[min(length-2, 3)][:], 6))
	if slot < 4 {
		return slot
	}
	bits := slot>>1 - 1
	d := (2 | slot&1) << bits
	if slot < 14 {
		return d + z.back(z.near[d-slot:], bits)
	}
	n := uint32(0)
	for range bits - 4 {
		n = n<<1 | z.coin()
	}
	return d + n<<4 + z.back(z.low[:], 4)
}

// write writes a repeat from the last distance.
func (z *lzma) write(n int) bool {
	if uint64(z.distances[0]) >= uint64(len(z.out)) || n > cap(z.out)-len(z.out) {
		return false
	}
	from := len(z.out) - 1 - int(z.distances[0])
	for n > 0 {
		k := min(n, len(z.out)-from)
		z.out = append(z.out, z.out[from:from+k]...)
		n -= k
	}
	return true
}
