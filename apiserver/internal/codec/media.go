package codec

import "strings"

// Media is an encoding of requests and responses.
type Media int

// The supported encodings.
const (
	JSON Media = iota
	YAML
	Protobuf
)

// Content types, as in Accept and Content-Type.
const (
	TypeJSON     = "application/json"
	TypeYAML     = "application/yaml"
	TypeProtobuf = "application/vnd.kubernetes.protobuf"
)

// ProtobufOrJSON is the Accept header of clients that prefer protobuf.
const ProtobufOrJSON = TypeProtobuf + "," + TypeJSON

// Supported returns the content types in the order in which error messages list them.
func Supported() []string { return []string{TypeJSON, TypeYAML, TypeProtobuf} }

// Streamed returns the content types of watches.
func Streamed() []string {
	return []string{TypeJSON + ";stream=watch", TypeProtobuf + ";stream=watch"}
}

// ContentType returns the content type of m.
func (m Media) ContentType() string {
	switch m {
	case YAML:
		return TypeYAML
	case Protobuf:
		return TypeProtobuf
	default:
		return TypeJSON
	}
}

// StreamContentType returns the Content-Type of a watch in this encoding.
func (m Media) StreamContentType() string {
	if m == Protobuf {
		return TypeProtobuf + ";stream=watch"
	}
	return m.ContentType()
}

// ParseMedia parses a content type without parameters.
func ParseMedia(contentType string) (Media, bool) {
	switch strings.ToLower(contentType) {
	case TypeJSON:
		return JSON, true
	case TypeYAML:
		return YAML, true
	case TypeProtobuf:
		return Protobuf, true
	}
	return JSON, false
}
