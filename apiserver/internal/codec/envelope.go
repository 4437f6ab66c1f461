package codec

import (
	"bytes"
	"encoding/binary"
	"errors"
)

var (
	errNotProtobuf = errors.New("the document is not protobuf")
	errTruncated   = errors.New("protobuf envelope is truncated")
)

// unwrapProtobuf returns the fields typeMeta (1) and raw (2) of a document's runtime.Unknown without
// copying them. All fields (also contentEncoding and contentType) are length-delimited, so the others can
// be skipped.
func unwrapProtobuf(document []byte) (typeMeta, raw []byte, err error) {
	envelope, ok := bytes.CutPrefix(document, protoMagic)
	if !ok {
		return nil, nil, errNotProtobuf
	}
	for len(envelope) > 0 {
		tag, n := binary.Uvarint(envelope)
		if n <= 0 || tag&7 != 2 {
			return nil, nil, errTruncated
		}
		envelope = envelope[n:]
		size, n := binary.Uvarint(envelope)
		if n <= 0 || size > uint64(len(envelope)-n) {
			return nil, nil, errTruncated
		}
		field := envelope[n : n+int(size)]
		envelope = envelope[n+int(size):]
		switch tag >> 3 {
		case 1:
			typeMeta = field
		case 2:
			raw = field
		}
	}
	return typeMeta, raw, nil
}
