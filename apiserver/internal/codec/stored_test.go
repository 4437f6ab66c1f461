package codec_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"

	"minikcm.dev/minikcm/apiserver/internal/codec"
)

// A flipped bit of a stored value is found, unless the object is the same without it.
func TestStoredValuesAreChecked(t *testing.T) {
	decoder := codec.NewDecoder(scheme.Scheme)
	data, err := codec.EncodeStored(kind, object())
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for bit := range len(data) * 8 {
		damaged := append([]byte{}, data...)
		damaged[bit/8] ^= 1 << (bit % 8)
		got := &corev1.ConfigMap{}
		switch err := decoder.DecodeStored(damaged, got); {
		case errors.Is(err, codec.ErrDamaged):
			found++
		case err == nil:
			if diff := cmp.Diff(object(), got); diff != "" {
				t.Errorf("bit %d: %s", bit, diff)
			}
		}
	}
	if found < len(data)*8/2 {
		t.Errorf("%d of %d flipped bits were found by the checksum", found, len(data)*8)
	}
}

// Other programs read stored values, and values that they store are read.
func TestStoredValuesOfOthers(t *testing.T) {
	data, err := codec.EncodeStored(kind, object())
	if err != nil {
		t.Fatal(err)
	}
	theirs, _, err := scheme.Codecs.UniversalDeserializer().Decode(data, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	theirs.GetObjectKind().SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind(""))
	theirs.(*corev1.ConfigMap).TypeMeta = object().TypeMeta
	if diff := cmp.Diff(runtime.Object(object()), theirs); diff != "" {
		t.Error(diff)
	}
	if data, err = codec.Encode(codec.Protobuf, kind, object()); err != nil {
		t.Fatal(err)
	}
	got := &corev1.ConfigMap{}
	if err := codec.NewDecoder(scheme.Scheme).DecodeStored(data, got); err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff(object(), got); diff != "" {
		t.Error(diff)
	}
}

// A flipped bit of a stored custom object is found, wherever it is.
func TestStoredJSONIsChecked(t *testing.T) {
	custom := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "example.com/v1", "kind": "Widget", "metadata": map[string]any{"name": "a"}, "spec": map[string]any{"size": int64(3), "text": "b c"},
	}}
	data, err := codec.EncodeStored(custom.GroupVersionKind(), custom)
	if err != nil {
		t.Fatal(err)
	}
	decoder := codec.NewDecoder(scheme.Scheme)
	for bit := range len(data) * 8 {
		damaged := append([]byte{}, data...)
		damaged[bit/8] ^= 1 << (bit % 8)
		got := &unstructured.Unstructured{}
		if err := decoder.DecodeStored(damaged, got); err == nil {
			t.Errorf("bit %d of %q is not found: %v", bit, damaged, got.Object)
		}
	}
	got := &unstructured.Unstructured{}
	if err := decoder.DecodeStored(data, got); err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff(custom.Object, got.Object); diff != "" {
		t.Error(diff)
	}
}

// Upstream's decoders read a stored custom object, and values without a checksum are read.
func TestStoredJSONOfOthers(t *testing.T) {
	custom := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "example.com/v1", "kind": "Widget", "metadata": map[string]any{"name": "a"}}}
	data, err := codec.EncodeStored(custom.GroupVersionKind(), custom)
	if err != nil {
		t.Fatal(err)
	}
	theirs, _, err := unstructured.UnstructuredJSONScheme.Decode(data, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(runtime.Object(custom), theirs); diff != "" {
		t.Error(diff)
	}
	decoder := codec.NewDecoder(scheme.Scheme)
	plain := bytes.TrimSpace(data)
	for _, space := range []string{"", "\n", " ", "\n\n", "\n               ", "                 ", "\n                 "} {
		got := &unstructured.Unstructured{}
		if err := decoder.DecodeStored(append(bytes.Clone(plain), space...), got); err != nil {
			t.Errorf("with %q behind it: %v", space, err)
		}
	}
}

// IsStored agrees with EncodeStored, also for objects of one length, and one after the other.
func TestIsStored(t *testing.T) {
	a, b, long := object(), object(), object()
	b.Data["k"], long.Data["k"] = "w", strings.Repeat("v", 300)
	custom := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "example.com/v1", "kind": "Widget", "metadata": map[string]any{"name": "a"}}}
	all := []runtime.Object{a, b, long, custom}
	for _, stored := range all {
		data, err := codec.EncodeStored(kind, stored)
		if err != nil {
			t.Fatal(err)
		}
		for i, obj := range all {
			if is, err := codec.IsStored(kind, obj, data); err != nil || is != (obj == stored) {
				t.Errorf("object %d: %t %v", i, is, err)
			}
		}
	}
	if _, err := codec.IsStored(kind, &metav1.Status{}, nil); err != nil {
		t.Error(err)
	}
}
