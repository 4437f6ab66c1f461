package scheduler

import (
	"context"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/controllers/internal/scheduler/config"
	"minikcm.dev/minikcm/controllers/internal/scheduler/explain"
	st "minikcm.dev/minikcm/controllers/internal/scheduler/schedulertest"
)

// Each pod is decided on by its profile; pods of other schedulers are left alone.
func TestProfiles(t *testing.T) {
	configured, err := config.Parse([]byte(`
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- schedulerName: spreader
- schedulerName: packer
  plugins: {score: {disabled: [{name: NodeResourcesBalancedAllocation}]}}
  pluginConfig: [{name: NodeResourcesFit, args: {scoringStrategy: {type: MostAllocated}}}]
`))
	if err != nil {
		t.Fatal(err)
	}
	tc := startConfigured(t, clock.Real(), clock.NewLedger(), configured, st.Node("n"), st.Node("m"), st.Pod("o", st.OnNode("n"), st.Requests("cpu", "1", "memory", "2Gi")))
	of := func(name string) st.PodOption { return func(p *corev1.Pod) { p.Spec.SchedulerName = name } }
	tc.create(st.Pod("left", of(Name)))
	tc.create(st.Pod("packed", of("packer"), st.Requests("cpu", "1", "memory", "2Gi")))
	tc.eventually("the packed pod", tc.bound("packed", "n"))
	tc.create(st.Pod("spread", of("spreader"), st.Requests("cpu", "1", "memory", "2Gi")))
	tc.eventually("the spread pod", tc.bound("spread", "m"))
	if pod := tc.pod(t.Context(), "left"); pod.Spec.NodeName != "" {
		t.Errorf("a pod of another scheduler is on %s", pod.Spec.NodeName)
	}
}

// A pod that asks for it has the explanation of its decisions in its annotations.
func TestExplains(t *testing.T) {
	tc := startCluster(t, clock.Real(), clock.NewLedger(), st.Node("n"))
	tc.create(st.Pod("p", st.Requests("cpu", "9"), func(p *corev1.Pod) { p.Annotations = map[string]string{explain.Asked: "true"} }))
	tc.eventually("the annotations", func(ctx context.Context) bool {
		pod := tc.pod(ctx, "p")
		return pod != nil && strings.Contains(pod.Annotations[explain.Filters], `{"n":{"NodeResourcesFit":"Insufficient cpu"`) &&
			strings.Contains(pod.Annotations[explain.Decided], "0/1 nodes are available")
	})
}
