package informers

import (
	"bytes"
	"encoding/binary"
	"io"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"

	"minikcm.dev/minikcm/clock"
)

func protobufFrame(t testing.TB, kind watch.EventType, object string) []byte {
	event := metav1.WatchEvent{Type: string(kind), Object: runtime.RawExtension{Raw: []byte(object)}}
	data, err := event.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(data))), data...)
}

func jsonFrame(_ testing.TB, kind watch.EventType, object string) []byte {
	return []byte(`{"type":"` + string(kind) + `","object":{"x":"` + object + "\"}}\n")
}

const endOfList = metav1.InitialEventsAnnotationKey

// A frame is counted when its first byte is handed out, as one of the initial list
// or as one after it, and bookmarks are not counted once they are seen to be that.
func TestBodyCountsFrames(t *testing.T) {
	for name, form := range map[string]struct {
		contentType string
		frame       func(testing.TB, watch.EventType, string) []byte
	}{
		"protobuf": {"application/vnd.kubernetes.protobuf;stream=watch", protobufFrame},
		"json":     {"application/json", jsonFrame},
	} {
		t.Run(name, func(t *testing.T) {
			stream := bytes.Join([][]byte{
				form.frame(t, watch.Added, "a"), form.frame(t, watch.Added, "b"), form.frame(t, watch.Deleted, "b"),
				form.frame(t, watch.Bookmark, "plain"), form.frame(t, watch.Bookmark, endOfList),
				form.frame(t, watch.Added, endOfList), form.frame(t, watch.Bookmark, "plain"),
				form.frame(t, watch.Deleted, "c"), form.frame(t, watch.Modified, "d"), form.frame(t, watch.Error, "e"),
			}, nil)
			for size := 1; size <= len(stream); size++ {
				f := newFlow(clock.NewLedger())
				turn := f.request()
				b := &body{
					ReadCloser: io.NopCloser(&pieces{data: stream, size: size}), flow: f, turn: turn,
					scan: scannerFor(form.contentType), initial: true,
				}
				got, err := io.ReadAll(b)
				if err != nil {
					t.Fatal(err)
				}
				if !bytes.Equal(got, stream) {
					t.Fatalf("in pieces of %d: the stream was changed", size)
				}
				if f.initialFrames != 2 || f.frames != 4 {
					t.Fatalf("in pieces of %d: counted %d frames of the list and %d after it, want 2 and 4", size, f.initialFrames, f.frames)
				}
			}
		})
	}
}

// pieces is a stream that comes in pieces of a size.
type pieces struct {
	data []byte
	size int
}

func (p *pieces) Read(into []byte) (int, error) {
	if len(p.data) == 0 {
		return 0, io.EOF
	}
	n := copy(into[:min(len(into), p.size)], p.data)
	p.data = p.data[n:]
	return n, nil
}

func TestScanJSONWithTheTypeLast(t *testing.T) {
	f, rest, whole := scanJSON([]byte(`{"object":{"type":"x"},"type":"BOOKMARK"}` + "\nnext"))
	if !whole || f.kind != watch.Bookmark || string(rest) != "next" {
		t.Errorf("got %q, %q, %t", f.kind, rest, whole)
	}
}

// FuzzBody: whatever a server sends, the client gets it unchanged, and the counting
// neither panics nor counts less than nothing.
func FuzzBody(f *testing.F) {
	f.Add(jsonFrame(f, watch.Added, "a"), false, 3)
	f.Add(protobufFrame(f, watch.Bookmark, endOfList), true, 5)
	f.Add([]byte{0xff, 0xff, 0xff, 0xff, 1}, true, 1)
	f.Add([]byte("\n\n{}\n"), false, 2)
	f.Fuzz(func(t *testing.T, stream []byte, protobuf bool, size int) {
		contentType := "application/json"
		if protobuf {
			contentType = "application/vnd.kubernetes.protobuf"
		}
		ledger := clock.NewLedger()
		fl := newFlow(ledger)
		fl.start()
		b := &body{
			ReadCloser: io.NopCloser(&pieces{data: stream, size: max(size, 1)}), flow: fl, turn: fl.request(),
			scan: scannerFor(contentType), initial: true,
		}
		got, err := io.ReadAll(b)
		if err != nil || !bytes.Equal(got, stream) {
			t.Errorf("got %q, %v, want %q", got, err, stream)
		}
		if fl.initialFrames < 0 || fl.frames < 0 {
			t.Errorf("counted %d and %d frames", fl.initialFrames, fl.frames)
		}
		fl.stop()
		if !ledger.Idle() {
			t.Errorf("in flight after the end: %s", ledger)
		}
	})
}
