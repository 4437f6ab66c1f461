package apiserver_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"minikcm.dev/minikcm/apiserver"
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

// The sizes of what is stored, also of custom kinds, and of the write record are in the metrics.
func TestMetricsOfSizes(t *testing.T) {
	h := start(t, func(o *apiserver.Options) { o.RecordedWrites = 7 })
	h.mustSend("POST", definitionsPath, asJSON(t, parseDefinition(t, widgetDefinition)))
	h.mustSend("POST", "/apis/example.com/v1/namespaces/default/widgets", `{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"w"},"spec":{"size":1}}`)
	for i := range 10 {
		h.mustSend("POST", "/api/v1/namespaces/default/configmaps", fmt.Sprintf(`{"metadata":{"name":"m-%d"},"data":{"k":"v"}}`, i))
	}
	h.mustSend("GET", "/api/v1/configmaps", "")
	h.mustSend("GET", "/apis/example.com/v1/widgets", "")
	eventually(t, h, "the metrics", func() error {
		got := string(h.mustSend("GET", "/metrics", "").body)
		for _, want := range []string{
			`apiserver_resource_objects{group="",resource="configmaps"} 10`, `apiserver_resource_objects{group="example.com",resource="widgets"} 1`,
			`apiserver_resource_size_estimate_bytes{group="",resource="configmaps"} `,
			"minikcm_apiserver_write_records 7\n", "minikcm_apiserver_write_records_limit 7\n", "minikcm_apiserver_write_record_bytes ",
		} {
			if !strings.Contains(got, want) {
				return fmt.Errorf("%s is not among the metrics", want)
			}
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
