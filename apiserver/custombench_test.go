package apiserver_test

import (
	"strconv"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
)

// BenchmarkCustom creates and patches custom objects in memory.
func BenchmarkCustom(b *testing.B) {
	h := start(b)
	cfg := inMemory().config(h)
	h.mustSend("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", asJSON(b, parseDefinition(b, widgetDefinition)))
	client, err := dynamic.NewForConfigAndClient(cfg, h.httpClient(cfg))
	if err != nil {
		b.Fatal(err)
	}
	objects := client.Resource(widgets).Namespace("default")
	n := 0
	b.Run("create", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			n++
			if _, err := objects.Create(b.Context(), widget("w"+strconv.Itoa(n), map[string]any{"size": int64(3)}), metav1.CreateOptions{}); err != nil {
				b.Fatal(err)
			}
		}
	})
	size := 3
	b.Run("patch", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			size++
			patch := []byte(`{"spec":{"replicas":` + strconv.Itoa(size) + `}}`)
			if _, err := objects.Patch(b.Context(), "w1", types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
				b.Fatal(err)
			}
		}
	})
}
