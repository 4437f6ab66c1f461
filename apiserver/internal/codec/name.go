package codec

import (
	"encoding/json"

	"google.golang.org/protobuf/encoding/protowire"

	"minikcm.dev/minikcm/internal/envelope"
)

// NameOf returns the name in the metadata of an object in JSON or protobuf; empty if it has none or
// cannot be read.
func NameOf(document []byte) string {
	if _, message, err := envelope.Open(document); err == nil {
		const metadata, name = 1, 1 // of all kinds, and of ObjectMeta
		return string(bytesField(bytesField(message, metadata), name))
	}
	var object struct {
		Metadata struct {
			Name string `json:"name"`
		} `json:"metadata"`
	}
	if json.Unmarshal(document, &object) != nil {
		return ""
	}
	return object.Metadata.Name
}

// bytesField returns a field of a protobuf message; nil if it has none of that number.
func bytesField(message []byte, wanted protowire.Number) []byte {
	for len(message) > 0 {
		number, kind, n := protowire.ConsumeTag(message)
		if n < 0 {
			return nil
		}
		message = message[n:]
		if number == wanted && kind == protowire.BytesType {
			value, _ := protowire.ConsumeBytes(message)
			return value
		}
		if n = protowire.ConsumeFieldValue(number, kind, message); n < 0 {
			return nil
		}
		message = message[n:]
	}
	return nil
}
