package deflate

import "hash/crc32"

// A CRC-32 is a polynomial over GF(2), of degree below 32, modulo crc32.IEEE; bit 31 is the
// coefficient of x^0. For sequences of bytes a and b, crc(a followed by b) =
// crc(a)*x^(8*len(b)) + crc(b): the inversions before and after cancel out.

const one = 1 << 31

// joined returns the checksum of two sequences of bytes, one after the other, from their
// checksums and the length of the second.
func joined(first, second uint32, length int) uint32 {
	return product(first, power(uint64(length)*8)) ^ second
}

// product multiplies two polynomials.
func product(a, b uint32) uint32 {
	var sum uint32
	for bit := uint32(one); bit != 0; bit >>= 1 {
		if a&bit != 0 {
			sum ^= b
		}
		// b times x
		if b&1 != 0 {
			b = b>>1 ^ crc32.IEEE
		} else {
			b >>= 1
		}
	}
	return sum
}

// power returns x^n.
func power(n uint64) uint32 {
	result, square := uint32(one), uint32(one>>1)
	for ; n > 0; n >>= 1 {
		if n&1 != 0 {
			result = product(square, result)
		}
		square = product(square, square)
	}
	return result
}
