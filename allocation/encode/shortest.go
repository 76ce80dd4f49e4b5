package encode

import (
	"encoding/binary"
	"math"
	"math/bits"
	"slices"
)

// mantissaBits is how many bits of a float64 are its mantissa. wholeExponent is the stored exponent of a float64 whose mantissa is
// its whole value.
const (
	mantissaBits  = 52
	wholeExponent = 1023 + mantissaBits
)

// fives are the powers of five that scale fractions: at most 22 digits follow the point.
var fives = [...]uint64{
	1, 5, 25, 125, 625, 3125, 15625, 78125, 390625, 1953125, 9765625, 48828125, 244140625, 1220703125, 6103515625, 30517578125,
	152587890625, 762939453125, 3814697265625, 19073486328125, 95367431640625, 476837158203125, 2384185791015625,
}

// isFraction reports whether appendFraction can write v: it is in range, it is not a power of two, and so its two neighbors are
// equally far. Whole numbers are written elsewhere.
func isFraction(v float64) bool {
	abs := math.Abs(v)
	return abs >= 1e-6 && abs < 1<<mantissaBits && math.Float64bits(v)<<(64-mantissaBits) != 0
}

// zeroDigits is eight zeros as text.
const zeroDigits = 0x3030303030303030

// padded is more than the digits of any fraction, leading zeros included.
const padded = 24

// appendFraction appends the shortest decimal that reads back as v, and of these the one closest to v, as strconv does with
// 'f'. For numbers of isFraction, exact arithmetic of 128 bits replaces strconv's table of powers and takes half the time.
// With strconv in its place, whole answers of many rows take 17 to 26 % more processor time (BENCHMARKS.md).
func appendFraction(b []byte, v float64) []byte {
	if v < 0 {
		b, v = append(b, '-'), -v
	}
	digits, places := shortest(v)
	var text [2 * padded]byte // a copy of fixed length is faster than one of just the digits
	high := digits / 1e8
	highest := high / 1e8
	binary.LittleEndian.PutUint64(text[0:], highest<<56|zeroDigits) // one of 17 at most
	binary.LittleEndian.PutUint64(text[8:], eightDigits(high-highest*1e8))
	binary.LittleEndian.PutUint64(text[16:], eightDigits(digits-high*1e8))
	whole, point := 1, padded-places
	for power := uint64(10); power <= uint64(v); power *= 10 {
		whole++
	}
	n := len(b)
	b = slices.Grow(b, 2*padded)[:n+2*padded]
	*(*[padded]byte)(b[n:]) = *(*[padded]byte)(text[point-whole:])
	n += whole
	b[n] = '.'
	n++
	*(*[padded]byte)(b[n:]) = *(*[padded]byte)(text[point:])
	return b[:n+places]
}

// shortest is the digits of a positive fraction, and how many of them follow the point.
func shortest(v float64) (digits uint64, places int) {
	stored := math.Float64bits(v)
	mantissa := stored&(1<<mantissaBits-1) | 1<<mantissaBits
	twos := wholeExponent - int(stored>>mantissaBits) // v is mantissa/2^twos, twos from 1 to 72
	places = twos*1233>>12 + 1                        // by the logarithm of 2: numbers like v are 1 to 10 units of 10^-places apart

	// v is units and a rest of 2^-shift. A decimal closer to v than half the distance to a neighbor reads back as v. One at
	// exactly half of it does if the mantissa is even.
	shift := 2 + twos - places
	high, low := bits.Mul64(4*mantissa, fives[places])
	units, rest := high<<(64-shift)|low>>shift, low&(1<<shift-1)
	near := 2*fives[places] + 1 - mantissa&1

	tens := units / 10
	below := (units-10*tens)<<shift | rest
	switch above := 10<<shift - below; {
	case below < near:
		return trim(tens, places-1)
	case above < near:
		return trim(tens+1, places-1)
	case rest > 1<<(shift-1), rest == 1<<(shift-1) && units&1 == 1:
		units++
	}
	return units, places
}

// trim removes trailing zeros. Most numbers have none or many.
func trim(digits uint64, places int) (uint64, int) {
	if digits%1e1 != 0 {
		return digits, places
	}
	if digits%1e8 == 0 {
		digits, places = digits/1e8, places-8
	}
	for digits%1e1 == 0 {
		digits, places = digits/1e1, places-1
	}
	return digits, places
}

// eightDigits is the digits of a number below 10^8 as text, the first one in the lowest byte. It splits the number into two of
// four digits, then four of two, then eight of one; it divides by multiplication.
func eightDigits(v uint64) uint64 {
	high := v / 1e4
	v = high | (v-high*1e4)<<32
	high = v * 10486 >> 20 & 0x7f0000007f
	v = high | (v-high*100)<<16
	high = v * 103 >> 10 & 0xf000f000f000f
	return high | (v-high*10)<<8 | zeroDigits
}
