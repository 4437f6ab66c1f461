package codec

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"minikcm.dev/minikcm/internal/envelope"
)

// ErrDamaged is returned for a stored value that differs from the written one.
var ErrDamaged = errors.New("the stored value is damaged: its checksum does not match")

// The checksum is the last field of the envelope, number 15, which runtime.Unknown does not
// have and other readers skip: four bytes, the CRC-32C of everything before.
const (
	checksumTag  = "\x7a\x04"
	checksumSize = len(checksumTag) + crc32.Size
)

// castagnoli is the polynomial of CRC-32C, which processors compute.
var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func appendChecksum(data []byte) []byte {
	sum := crc32.Checksum(data, castagnoli)
	return binary.BigEndian.AppendUint32(append(data, checksumTag...), sum)
}

func verifyChecksum(data []byte) error {
	at := len(data) - checksumSize
	// The values of other programs end with empty fields.
	if at < 0 || string(data[at:at+len(checksumTag)]) != checksumTag || bytes.HasSuffix(data, []byte(envelopeEnd)) {
		return nil
	}
	if binary.BigEndian.Uint32(data[at+len(checksumTag):]) != crc32.Checksum(data[:at], castagnoli) {
		return ErrDamaged
	}
	return nil
}

// VerifyStored returns ErrDamaged if a stored value has a checksum that does not match.
func VerifyStored(data []byte) error {
	if bytes.HasPrefix(data, envelope.Magic) {
		return verifyChecksum(data)
	}
	return verifyJSONChecksum(data)
}

// EncodeStored returns the bytes that are stored in etcd, which upstream's apiserver can
// read: protobuf in its envelope for a built-in kind, and JSON for a custom kind, with a
// checksum that other readers skip. obj must have no resourceVersion.
func EncodeStored(gvk schema.GroupVersionKind, obj runtime.Object) ([]byte, error) {
	if isUntyped(obj) {
		data, err := Encode(JSON, gvk, obj)
		if err != nil {
			return nil, err
		}
		return AppendJSONChecksum(data), nil
	}
	data, err := encodeProtobuf(gvk, obj)
	if err != nil {
		return nil, err
	}
	return appendChecksum(data), nil
}

// buffers holds the buffers that IsStored reuses.
var buffers sync.Pool

// IsStored reports whether EncodeStored encodes obj as data. An object of a built-in kind is only
// encoded, into a reused buffer, if its encoding has the length of data.
func IsStored(gvk schema.GroupVersionKind, obj runtime.Object, data []byte) (bool, error) {
	message, ok := obj.(protoMarshaler)
	if !ok || isUntyped(obj) {
		encoded, err := EncodeStored(gvk, obj)
		return err == nil && bytes.Equal(encoded, data), err
	}
	e := envelope.New(gvk, message)
	if e.Length+checksumSize != len(data) {
		return false, nil
	}
	buffer, ok := buffers.Get().(*[]byte)
	if !ok {
		buffer = new([]byte)
	}
	defer buffers.Put(buffer)
	*buffer = slices.Grow((*buffer)[:0], len(data))[:e.Length]
	if err := e.WriteTo(*buffer); err != nil {
		return false, err
	}
	return bytes.Equal(appendChecksum(*buffer), data), nil
}

// StoredMessage returns the protobuf message in a stored value, without a copy. ok is false if the
// value is not protobuf.
func StoredMessage(data []byte) (message []byte, ok bool) {
	_, message, err := envelope.Open(data)
	return message, err == nil
}

// DecodeStored decodes the bytes of EncodeStored or of an upstream apiserver, protobuf or
// JSON, into into. The error wraps ErrDamaged if the checksum does not match; bytes without
// one are accepted.
func (d *Decoder) DecodeStored(data []byte, into runtime.Object) error {
	if err := VerifyStored(data); err != nil {
		return err
	}
	if !bytes.HasPrefix(data, envelope.Magic) {
		_, _, err := d.json.Decode(data, nil, into)
		if err != nil && !runtime.IsStrictDecodingError(err) {
			return err
		}
		clearTypeMeta(into)
		return nil
	}
	message, ok := into.(protoUnmarshaler)
	if !ok {
		return fmt.Errorf("%T has no protobuf form", into)
	}
	_, raw, err := envelope.Open(data)
	if err != nil {
		return err
	}
	return message.Unmarshal(raw)
}
