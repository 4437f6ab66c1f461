package apiserver_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"minikcm.dev/minikcm/clock"
)

// The metrics of a custom kind end with it.
func TestMetricsOfDeletedKinds(t *testing.T) {
	h := start(t)
	c := newCustoms(t, h, inMemory().config(h))
	h.mustSend("POST", definitionsPath, asJSON(t, parseDefinition(t, widgetDefinition)))
	const path = "/apis/example.com/v1/namespaces/default/widgets"
	h.mustSend("GET", path, "")
	widgets := c.dynamic.Resource(schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "widgets"}).Namespace("default")
	watcher := must(widgets.Watch(h.ctx, metav1.ListOptions{}))(t)
	series := func() int { return strings.Count(string(h.mustSend("GET", "/metrics", "").body), `resource="widgets"`) }
	if series() == 0 {
		t.Error("the requests are not counted")
	}
	h.mustSend("DELETE", definitionsPath+"/widgets.example.com", "")
	for range watcher.ResultChan() { // until the kind has ended
		continue
	}
	eventually(t, h, "the series to end", func() error {
		if n := series(); n != 0 {
			return fmt.Errorf("there are %d series", n)
		}
		return nil
	})
}

// eventually retries check for what follows without an event to wait for.
func eventually(t *testing.T, h *harness, what string, check func() error) {
	t.Helper()
	for {
		err := check()
		if err == nil {
			return
		}
		select {
		case <-clock.Real().After(20 * time.Millisecond):
		case <-h.ctx.Done():
			t.Fatalf("%s: %v", what, err)
		}
	}
}
