package codec

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestNameOf(t *testing.T) {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "web", GenerateName: "w"}, Spec: corev1.PodSpec{NodeName: "n"}}
	for _, media := range []Media{JSON, Protobuf} {
		data, err := Encode(media, corev1.SchemeGroupVersion.WithKind("Pod"), pod)
		if err != nil {
			t.Fatal(err)
		}
		if got := NameOf(data); got != "web" {
			t.Errorf("%v: %q", media, got)
		}
		for i := range data { // damaged ones have a name or none
			_ = NameOf(data[:i])
		}
	}
	for document, want := range map[string]string{`{"metadata":{"generateName":"w"}}`: "", `{"metadata":3}`: "", "": "", `{"metadata":{"name":"a"},"kind":"Site"}`: "a"} {
		if got := NameOf([]byte(document)); got != want {
			t.Errorf("%s: %q, want %q", document, got, want)
		}
	}
}

func FuzzNameOf(f *testing.F) {
	f.Add([]byte("k8s\x00\n\x04\n\x02v1\x12\x08\n\x06\n\x04name"))
	f.Add([]byte(`{"metadata":{"name":"a"}}`))
	f.Fuzz(func(_ *testing.T, data []byte) { NameOf(data) })
}
