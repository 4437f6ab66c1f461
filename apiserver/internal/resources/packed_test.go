package resources

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// An encoded object has the same fields as the object.
func TestPackedFields(t *testing.T) {
	full := &corev1.Event{
		ObjectMeta: metav1.ObjectMeta{Name: "a.1", Namespace: "default"}, Reason: "Started", Message: "m", Type: "Normal", Count: 3,
		InvolvedObject:      corev1.ObjectReference{Kind: "Pod", Namespace: "ns", Name: "a", UID: "u", APIVersion: "v1", ResourceVersion: "7", FieldPath: "spec"},
		Source:              corev1.EventSource{Component: "kubelet", Host: "h"},
		ReportingController: "c", ReportingInstance: "i", Series: &corev1.EventSeries{Count: 2},
	}
	reported := full.DeepCopy()
	reported.Source = corev1.EventSource{}
	row := eventRow()
	if len(row.Packed) != len(row.SelectableFields)+2 {
		t.Errorf("%d paths for %d fields", len(row.Packed), len(row.SelectableFields))
	}
	for name, event := range map[string]*corev1.Event{"full": full, "reported": reported, "empty": {}} {
		message, err := event.Marshal()
		if err != nil {
			t.Fatal(err)
		}
		packed, object := row.PackedFields(message), row.FieldsOf(event)
		for label := range row.Packed {
			if got, want := packed.Get(label), object.Get(label); got != want || !packed.Has(label) {
				t.Errorf("%s: %s is %q, want %q", name, label, got, want)
			}
		}
		if packed.Has("message") || packed.Get("message") != "" {
			t.Errorf("%s: a field that is not selectable", name)
		}
	}
}

// Bytes that are no message have no fields.
func FuzzPackedFields(f *testing.F) {
	message, err := (&corev1.Event{InvolvedObject: corev1.ObjectReference{Name: "a"}}).Marshal()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(message)
	f.Add([]byte{0x12, 0xff, 0xff, 0xff, 0xff, 0x0f})
	row := eventRow()
	f.Fuzz(func(t *testing.T, message []byte) {
		for label := range row.Packed {
			if value := row.PackedFields(message).Get(label); len(value) > len(message) {
				t.Errorf("%s is %q", label, value)
			}
		}
	})
}
