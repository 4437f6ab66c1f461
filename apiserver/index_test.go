package apiserver_test

import (
	"encoding/json"
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestIndex(t *testing.T) {
	h := start(t)
	c := newCustoms(t, h, inMemory().config(h))
	c.define(widgetDefinition)
	var root metav1.RootPaths
	if err := json.Unmarshal(h.mustSend("GET", "/", "").body, &root); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/api", "/api/v1", "/apis", "/apis/apps/v1", "/apis/example.com/v1alpha1", "/healthz/ping", "/metrics", "/openapi/v3", "/version"} {
		if !slices.Contains(root.Paths, path) {
			t.Errorf("no %s in %q", path, root.Paths)
		}
	}
}
