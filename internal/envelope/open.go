package envelope

import (
	"bytes"
	"encoding/binary"
	"errors"
)

var (
	// ErrNotProtobuf is returned for a document that does not begin with Magic.
	ErrNotProtobuf = errors.New("the document is not protobuf")
	// ErrTruncated is returned for an envelope that ends too early.
	ErrTruncated = errors.New("protobuf envelope is truncated")
)

// Open returns the fields typeMeta (1) and raw (2) of a document's runtime.Unknown without
// copying them. All fields (also contentEncoding and contentType) are length-delimited, so the others can
// be skipped.
func Open(document []byte) (typeMeta, raw []byte, err error) {
	rest, ok := bytes.CutPrefix(document, Magic)
	if !ok {
		return nil, nil, ErrNotProtobuf
	}
	for len(rest) > 0 {
		tag, n := binary.Uvarint(rest)
		if n <= 0 || tag&7 != 2 {
			return nil, nil, ErrTruncated
		}
		rest = rest[n:]
		size, n := binary.Uvarint(rest)
		if n <= 0 || size > uint64(len(rest)-n) {
			return nil, nil, ErrTruncated
		}
		field := rest[n : n+int(size)]
		rest = rest[n+int(size):]
		switch tag >> 3 {
		case 1:
			typeMeta = field
		case 2:
			raw = field
		}
	}
	return typeMeta, raw, nil
}
