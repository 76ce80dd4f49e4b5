package democluster

import (
	"fmt"
	"strconv"
)

// rng is splitmix64: tiny, seedable from a hash, and the same on every platform and Go version.
type rng uint64

func (r *rng) next() uint64 {
	*r += 0x9e3779b97f4a7c15
	return mix(uint64(*r))
}

// float returns a number in [0, 1).
func (r *rng) float() float64 { return float64(r.next()>>11) / (1 << 53) }

// between returns a number in [lo, hi].
func (r *rng) between(lo, hi int64) int64 {
	if hi <= lo {
		return lo
	}
	return lo + int64(r.next()%uint64(hi-lo+1))
}

func mix(z uint64) uint64 {
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9
	z = (z ^ (z >> 27)) * 0x94d049bb133111eb
	return z ^ (z >> 31)
}

// keyOf derives a key from a parent key and names (FNV-1a, then mixed), so that each object has random numbers
// of its own and adding one object does not change another.
func keyOf(parent uint64, names ...string) uint64 {
	h := parent ^ 14695981039346656037
	for _, name := range names {
		for i := range len(name) {
			h = (h ^ uint64(name[i])) * 1099511628211
		}
		h = (h ^ '/') * 1099511628211
	}
	return mix(h)
}

// suffix returns n characters of the alphabet Kubernetes uses for generated names.
func suffix(key uint64, n int) string {
	const alphabet = "bcdfghjklmnpqrstvwxz2456789"
	out := make([]byte, n)
	r := rng(key)
	for i := range out {
		out[i] = alphabet[r.next()%uint64(len(alphabet))]
	}
	return string(out)
}

// uuid returns a version 4 UUID.
func uuid(key uint64) string {
	r := rng(key)
	a, b := r.next(), r.next()
	return fmt.Sprintf("%08x-%04x-4%03x-%04x-%012x", a>>32, a>>16&0xffff, a&0xfff, b>>48&0x3fff|0x8000, b&0xffffffffffff)
}

// hex64 returns 64 hexadecimal digits, the form of a container id or image digest.
func hex64(key uint64) string {
	r := rng(key)
	return fmt.Sprintf("%016x%016x%016x%016x", r.next(), r.next(), r.next(), r.next())
}

func address(network string, n int) string {
	return network + "." + strconv.Itoa(n/250) + "." + strconv.Itoa(n%250+1)
}
