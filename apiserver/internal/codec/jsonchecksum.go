package codec

import (
	"bytes"
	"hash/crc32"
)

// The checksum of a value in JSON is white space behind it, which every JSON decoder skips:
// behind the newline that ends the value, 16 characters of two bits each are the CRC-32C of
// the value and its newline. Programs that rewrite the value drop it.
const (
	jsonDigits       = " \t\n\r"
	jsonChecksumSize = crc32.Size * 8 / 2
)

// AppendJSONChecksum appends the checksum to a value in JSON that ends with a newline.
func AppendJSONChecksum(data []byte) []byte {
	digits := jsonChecksum(data)
	return append(data, digits[:]...)
}

func jsonChecksum(data []byte) (digits [jsonChecksumSize]byte) {
	sum := crc32.Checksum(data, castagnoli)
	for i := range digits {
		digits[i] = jsonDigits[sum&3]
		sum >>= 2
	}
	return digits
}

// verifyJSONChecksum returns an error if the value has a checksum that does not match. White
// space of another length is none.
func verifyJSONChecksum(data []byte) error {
	end := len(data) - jsonChecksumSize
	if end < 2 || data[end-1] != '\n' || len(bytes.TrimRight(data[end-2:], jsonDigits)) != 1 {
		return nil
	}
	if digits := jsonChecksum(data[:end]); !bytes.Equal(digits[:], data[end:]) {
		return ErrDamaged
	}
	return nil
}
