package apiserver_test

import (
	"strings"
	"testing"
)

// TestSLIs checks that the checks of an endpoint are counted, but neither excluded ones nor those that are
// asked for alone.
func TestSLIs(t *testing.T) {
	h := start(t)
	for _, path := range []string{"/healthz", "/healthz?exclude=etcd", "/livez?exclude=etcd", "/livez/ping"} {
		h.mustSend("GET", path, "")
	}
	got := string(h.mustSend("GET", "/metrics/slis", "").body)
	for _, want := range []string{
		`kubernetes_healthcheck{name="etcd",type="healthz"} 1`,
		`kubernetes_healthchecks_total{name="ping",status="success",type="healthz"} 2`,
		`kubernetes_healthchecks_total{name="etcd",status="success",type="healthz"} 1`,
		`kubernetes_healthchecks_total{name="ping",status="success",type="livez"} 1`,
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%s is not in\n%s", want, got)
		}
	}
	if err := h.store.Close(); err != nil {
		t.Fatal(err)
	}
	if r := h.send("GET", "/healthz", ""); r.code != 500 {
		t.Errorf("with the store gone: %d", r.code)
	}
	got = string(h.mustSend("GET", "/metrics/slis", "").body)
	for _, want := range []string{
		`kubernetes_healthcheck{name="etcd",type="healthz"} 0`, `kubernetes_healthchecks_total{name="etcd",status="error",type="healthz"} 1`,
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%s is not in\n%s", want, got)
		}
	}
}
