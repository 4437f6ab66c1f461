package serving

import (
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"minikcm.dev/minikcm/controllers"
)

// TestCollector checks that a failing key has a metric with its name.
func TestCollector(t *testing.T) {
	c := newCollector(func() []controllers.Status {
		return []controllers.Status{
			{Name: "off", State: controllers.Disabled},
			{Name: "ill", State: controllers.Failed, Restarts: 2},
			{
				Name: "job-controller", State: controllers.Running, Reconciles: 9, Failures: 4, Retries: 3, Panics: 1,
				InProgress: make([]controllers.InProgress, 2), Failing: []controllers.Failing{{Key: "a/poisoned", Failures: 4}, {Key: "a/poisoned", Failures: 1}},
			},
		}
	})
	want := `
# HELP minikcm_controller_failing_key Failures in a row of the keys that fail, for the worst of each controller.
# TYPE minikcm_controller_failing_key gauge
minikcm_controller_failing_key{controller="job-controller",key="a/poisoned"} 4
# HELP minikcm_controller_panics_total Panics of reconciles and event handlers.
# TYPE minikcm_controller_panics_total counter
minikcm_controller_panics_total{controller="ill"} 0
minikcm_controller_panics_total{controller="job-controller"} 1
# HELP minikcm_controller_running 1 while the controller runs, 0 while it waits to be restarted.
# TYPE minikcm_controller_running gauge
minikcm_controller_running{controller="ill"} 0
minikcm_controller_running{controller="job-controller"} 1
# HELP running_managed_controllers [BETA] Indicates where instances of a controller are currently running
# TYPE running_managed_controllers gauge
running_managed_controllers{manager="kube-controller-manager",name="ill"} 0
running_managed_controllers{manager="kube-controller-manager",name="job-controller"} 1
# HELP workqueue_retries_total [BETA] Total number of retries handled by workqueue
# TYPE workqueue_retries_total counter
workqueue_retries_total{name="ill"} 0
workqueue_retries_total{name="job-controller"} 3
`
	names := []string{"minikcm_controller_failing_key", "minikcm_controller_panics_total", "minikcm_controller_running", "running_managed_controllers", "workqueue_retries_total"}
	if err := testutil.CollectAndCompare(c, strings.NewReader(want), names...); err != nil {
		t.Error(err)
	}
}
