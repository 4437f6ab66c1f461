package nesting

import "encoding/binary"

// Wire types of protobuf (Protocol Buffers documentation, "Encoding").
const (
	varint     = 0
	fixed64    = 1
	delimited  = 2
	startGroup = 3
	endGroup   = 4
	fixed32    = 5
)

// Protobuf returns a *TooDeepError if messages in data are nested more than limit
// levels deep. The encoding does not distinguish messages from strings and bytes:
// whatever parses as a message counts as one. Data that is not protobuf is left to the
// parser.
func Protobuf(data []byte, limit int) error {
	if deepest(data, limit) > limit {
		return &TooDeepError{limit}
	}
	return nil
}

// deepest returns the number of levels of the message in data, at most limit+1, or 0 if
// data is not a message. Each byte is read as part of a field's head at one level only,
// therefore the time is linear in the size.
func deepest(data []byte, limit int) int {
	if limit < 0 {
		return 1
	}
	levels := 1
	for len(data) > 0 {
		payload, rest, ok := field(data)
		if !ok {
			return 0
		}
		if len(payload) > 0 {
			if levels = max(levels, 1+deepest(payload, limit-1)); levels > limit {
				return levels
			}
		}
		data = rest
	}
	return levels
}

// field splits data behind its first field. payload is empty unless the field is
// length-delimited.
func field(data []byte) (payload, rest []byte, ok bool) {
	tag, n := binary.Uvarint(data)
	if n <= 0 || tag>>3 == 0 {
		return nil, nil, false
	}
	data = data[n:]
	size := 0
	switch tag & 7 {
	case varint:
		if _, size = binary.Uvarint(data); size <= 0 {
			return nil, nil, false
		}
	case fixed64:
		size = 8
	case fixed32:
		size = 4
	case delimited:
		length, n := binary.Uvarint(data)
		if n <= 0 || length > uint64(len(data)-n) {
			return nil, nil, false
		}
		return data[n : n+int(length)], data[n+int(length):], true
	case startGroup, endGroup: // parsers skip groups without recursion
	default:
		return nil, nil, false
	}
	if size > len(data) {
		return nil, nil, false
	}
	return nil, data[size:], true
}
