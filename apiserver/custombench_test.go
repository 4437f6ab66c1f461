package apiserver_test

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
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

// BenchmarkCustomList lists 1,000 custom objects: from the watch cache, and the second
// half of a list in two pages, which is read from the store. The status of one kind has
// defaults.
func BenchmarkCustomList(b *testing.B) {
	for _, test := range []struct{ name, status string }{
		{"plain", "phase: {type: string, enum: [Ready, Broken]}"},
		{"status defaults", "phase: {type: string, enum: [Ready, Broken], default: Ready}"},
	} {
		b.Run(test.name, func(b *testing.B) {
			h := start(b)
			definition := strings.Replace(widgetDefinition, "phase: {type: string, enum: [Ready, Broken]}", test.status, 1)
			h.mustSend("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", asJSON(b, parseDefinition(b, definition)))
			const path = "/apis/example.com/v1/namespaces/default/widgets"
			for i := range 1000 {
				h.mustSend("POST", path, asJSON(b, widget(fmt.Sprintf("w%04d", i), map[string]any{"size": int64(3), "ports": []any{map[string]any{"name": "http", "port": int64(80)}}})))
			}
			first := struct{ Metadata metav1.ListMeta }{}
			h.mustSend("GET", path+"?limit=500", "").into(b, &first)
			benchmarkGet(b, h, "cache", path+"?resourceVersion=0")
			benchmarkGet(b, h, "store", path+"?limit=500&continue="+first.Metadata.Continue)
		})
	}
}

func benchmarkGet(b *testing.B, h *harness, name, path string) {
	b.Helper()
	cfg := inMemory().config(h)
	b.Run(name, func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if r := h.raw(cfg, "GET", path, ""); r.code != http.StatusOK {
				b.Fatalf("%d: %s", r.code, r.body)
			}
		}
	})
}
