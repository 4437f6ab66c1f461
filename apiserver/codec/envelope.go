package codec

import (
	"encoding/binary"
	"errors"
)

var errTruncated = errors.New("protobuf envelope is truncated")

// unwrapProtobuf returns the field raw (2) of a runtime.Unknown without copying it. The
// other fields (typeMeta, contentEncoding, contentType) are all length-delimited, so
// they can be skipped.
func unwrapProtobuf(envelope []byte) ([]byte, error) {
	var raw []byte
	for len(envelope) > 0 {
		tag, n := binary.Uvarint(envelope)
		if n <= 0 || tag&7 != 2 {
			return nil, errTruncated
		}
		envelope = envelope[n:]
		size, n := binary.Uvarint(envelope)
		if n <= 0 || size > uint64(len(envelope)-n) {
			return nil, errTruncated
		}
		field := envelope[n : n+int(size)]
		envelope = envelope[n+int(size):]
		if tag>>3 == 2 {
			raw = field
		}
	}
	return raw, nil
}
