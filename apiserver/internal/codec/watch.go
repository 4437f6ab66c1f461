package codec

import (
	"encoding/binary"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
)

// AppendWatchFrame appends one event of a watch stream to buf: a line of JSON, or a
// protobuf message after its length in four bytes, big endian. object is the event's
// object as encoded by Encode with the same Media.
func AppendWatchFrame(buf []byte, m Media, event watch.EventType, object []byte) ([]byte, error) {
	if m != Protobuf {
		buf = append(buf, `{"type":"`...)
		buf = append(buf, event...)
		buf = append(buf, `","object":`...)
		buf = append(buf, trimNewline(object)...)
		return append(buf, "}\n"...), nil
	}
	frame := metav1.WatchEvent{Type: string(event), Object: runtime.RawExtension{Raw: object}}
	size := frame.Size()
	buf = binary.BigEndian.AppendUint32(buf, uint32(size))
	start := len(buf)
	buf = append(buf, make([]byte, size)...)
	if _, err := frame.MarshalToSizedBuffer(buf[start:]); err != nil {
		return nil, fmt.Errorf("encoding a %s event: %w", event, err)
	}
	return buf, nil
}

func trimNewline(data []byte) []byte {
	if n := len(data); n > 0 && data[n-1] == '\n' {
		return data[:n-1]
	}
	return data
}
