package hash

import "hash/fnv"

// Of returns the FNV-1a hash of parts, each followed by a zero byte.
func Of(parts ...string) uint64 {
	h := fnv.New64a()
	for _, part := range parts {
		// Writing to a hash cannot fail.
		_, _ = h.Write([]byte(part))
		_, _ = h.Write([]byte{0})
	}
	return h.Sum64()
}

// Mix combines two numbers into one whose every bit depends on all of their bits (SplitMix64's
// finaliser).
func Mix(a, b uint64) uint64 {
	z := a + 0x9e3779b97f4a7c15*(b+1)
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}
