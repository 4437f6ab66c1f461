package reference_test

import (
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"

	"minikcm.dev/minikcm/internal/reference"
)

func decoderOf(table *reference.Table) runtime.Decoder {
	codecs := table.Serializer(scheme.Codecs.WithoutConversion())
	info, _ := runtime.SerializerInfoForMediaType(codecs.SupportedMediaTypes(), runtime.ContentTypeProtobuf)
	return codecs.DecoderToVersion(info.Serializer, corev1.SchemeGroupVersion)
}

func TestReferences(t *testing.T) {
	var table reference.Table
	decoder := decoderOf(&table)
	first := table.Begin()
	pod, node := &corev1.Pod{}, &corev1.Node{}
	toPod, toNode := first.Put(pod), first.Put(node)

	if got, err := runtime.Decode(decoder, toNode); err != nil || got != node {
		t.Errorf("decoded %v, %v; want the same Node", got, err)
	}
	if _, err := runtime.Decode(decoder, toNode); err == nil {
		t.Error("a reference was decoded twice")
	}
	second := table.Begin()
	if _, err := runtime.Decode(decoder, toPod); err == nil {
		t.Error("a reference of the watch before was decoded")
	}
	if _, err := runtime.Decode(decoder, first.Put(pod)); err == nil {
		t.Error("the watch before could add an object")
	}
	if got, err := runtime.Decode(decoder, second.Put(pod)); err != nil || got != pod {
		t.Errorf("decoded %v, %v; want the same Pod", got, err)
	}
	if _, err := runtime.Decode(decoder, toPod[:7]); err == nil {
		t.Error("half a reference was decoded")
	}
}

func TestEncodedObjects(t *testing.T) {
	var table reference.Table
	codecs := scheme.Codecs.WithoutConversion()
	info, _ := runtime.SerializerInfoForMediaType(codecs.SupportedMediaTypes(), runtime.ContentTypeProtobuf)
	pod := &corev1.Pod{}
	pod.Name = "web"
	data, err := runtime.Encode(codecs.EncoderForVersion(info.Serializer, corev1.SchemeGroupVersion), pod)
	if err != nil {
		t.Fatal(err)
	}
	got, err := runtime.Decode(decoderOf(&table), data)
	if err != nil || got.(*corev1.Pod).Name != "web" {
		t.Errorf("decoded %v, %v", got, err)
	}
}

func TestStreamOf(t *testing.T) {
	var table reference.Table
	s := table.Begin()
	if got := reference.StreamOf(reference.WithStream(context.Background(), s)); got != s {
		t.Error("the context lost its stream")
	}
	if reference.StreamOf(context.Background()) != nil {
		t.Error("a context without a stream has one")
	}
}
