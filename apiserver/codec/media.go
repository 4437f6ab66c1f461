package codec

import "strings"

// Media is a wire format.
type Media int

// The formats that the apiserver speaks.
const (
	JSON Media = iota
	YAML
	Protobuf
)

// Content types, as they stand in Accept and Content-Type.
const (
	TypeJSON     = "application/json"
	TypeYAML     = "application/yaml"
	TypeProtobuf = "application/vnd.kubernetes.protobuf"
)

// ProtobufOrJSON is the Accept header of clients that like protobuf best.
const ProtobufOrJSON = TypeProtobuf + "," + TypeJSON

// Supported lists the content types in the order that error messages name them.
func Supported() []string { return []string{TypeJSON, TypeYAML, TypeProtobuf} }

// Streamed lists those that a watch can be had in.
func Streamed() []string {
	return []string{TypeJSON + ";stream=watch", TypeProtobuf + ";stream=watch"}
}

// ContentType is the format's name in HTTP headers.
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

// StreamContentType is the Content-Type of a watch in this format.
func (m Media) StreamContentType() string {
	if m == Protobuf {
		return TypeProtobuf + ";stream=watch"
	}
	return m.ContentType()
}

// ParseMedia reads a bare content type (no parameters).
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
