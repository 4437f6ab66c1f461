package codec

import (
	"bytes"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	kjson "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"

	"minikcm.dev/minikcm/internal/envelope"
)

// DecodeDeleteOptions decodes DeleteOptions of any group and version: every group has its own
// DeleteOptions, and clients send the one of their request's group.
func DecodeDeleteOptions(m Media, data []byte) (*metav1.DeleteOptions, error) {
	if m == Protobuf {
		return decodeDeleteOptionsProtobuf(data)
	}
	if m == YAML {
		var err error
		if data, err = yaml.YAMLToJSON(data); err != nil {
			return nil, fmt.Errorf("couldn't get version/kind; json parse error: %w", err)
		}
	}
	if err := kjson.UnmarshalCaseSensitivePreserveInts(data, &metav1.TypeMeta{}); err != nil {
		return nil, fmt.Errorf("couldn't get version/kind; json parse error: %w", err)
	}
	opts := &metav1.DeleteOptions{}
	if err := kjson.UnmarshalCaseSensitivePreserveInts(data, opts); err != nil {
		return nil, err // upstream returns the bare error
	}
	kind := opts.Kind
	opts.TypeMeta = metav1.TypeMeta{}
	return opts, wantDeleteOptions(kind)
}

func decodeDeleteOptionsProtobuf(data []byte) (*metav1.DeleteOptions, error) {
	message, ok := bytes.CutPrefix(data, envelope.Magic)
	if !ok {
		return nil, fmt.Errorf("provided data does not appear to be a protobuf message, expected prefix %v", envelope.Magic)
	}
	unknown := &runtime.Unknown{}
	if err := unknown.Unmarshal(message); err != nil {
		return nil, fmt.Errorf("reading the envelope of DeleteOptions: %w", err)
	}
	opts := &metav1.DeleteOptions{}
	if err := opts.Unmarshal(unknown.Raw); err != nil {
		return nil, fmt.Errorf("reading DeleteOptions: %w", err)
	}
	return opts, wantDeleteOptions(unknown.Kind)
}

func wantDeleteOptions(kind string) error {
	if kind != "" && kind != "DeleteOptions" {
		return fmt.Errorf("decoded object cannot be converted to DeleteOptions: %s", kind)
	}
	return nil
}
