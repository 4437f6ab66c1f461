package main

import (
	"strings"
	"testing"
)

// TestFiguresOfUp checks that "up" serves the metrics of its API server and of its controllers
// at one address.
func TestFiguresOfUp(t *testing.T) {
	t.Parallel()
	up, kubeconfig := launchUp(t, t.TempDir(), "--nodes=1")
	client := clientOf(t, kubeconfig)
	get := func(path string) string {
		t.Helper()
		data, err := client.Discovery().RESTClient().Get().AbsPath(path).DoRaw(t.Context())
		if err != nil {
			t.Fatalf("getting %s: %v", path, err)
		}
		return string(data)
	}
	for path, wants := range map[string][]string{
		"/metrics": {
			`workqueue_adds_total{name="deployment-controller"} `, `workqueue_depth{name="deployment-controller"} `,
			`workqueue_queue_duration_seconds_count{name="deployment-controller"} `, `workqueue_work_duration_seconds_count{name="deployment-controller"} `,
			`workqueue_unfinished_work_seconds{name="deployment-controller"} `, `workqueue_retries_total{name="deployment-controller"} `,
			`rest_client_requests_total{`, `rest_client_request_duration_seconds_count{`, `apiserver_request_total{`,
			`running_managed_controllers{manager="kube-controller-manager",name="deployment-controller"} `,
			`minikcm_controller_reconciles_total{controller="deployment-controller"} `, `process_start_time_seconds `, `go_goroutines `,
		},
		"/metrics/slis": {`kubernetes_healthcheck{name="ping",type="livez"} 1`, `kubernetes_healthchecks_total{name="etcd",status="success",type="livez"} `},
		"/debug/pprof/": {"goroutine"},
		"/minikcm/v1/controllers/garbage-collector-controller/debug": {"strict digraph"},
	} {
		if path == "/metrics/slis" {
			get("/livez")
		}
		text := get(path)
		for _, want := range wants {
			if !strings.Contains(text, want) {
				t.Errorf("%s has no %s", path, want)
			}
		}
	}
	up.stop()
}
