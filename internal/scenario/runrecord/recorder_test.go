package runrecord_test

import (
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"minikcm.dev/minikcm"
	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/internal/scenario/runrecord"
)

func startCluster(t *testing.T) *minikcm.Cluster {
	t.Helper()
	cluster, err := minikcm.Start(t.Context(), minikcm.Options{Nodes: minikcm.NodeOptions{Count: 2}, API: minikcm.APIOptions{NoHTTPS: true}, Seed: 1, Clock: minikcm.ClockOptions{Mode: clock.ModeVirtual}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cluster.Close(); err != nil {
			t.Error(err)
		}
	})
	return cluster
}

func deployment(name string, replicas int32) *appsv1.Deployment {
	labels := map[string]string{"app": name}
	return &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: appsv1.DeploymentSpec{
		Replicas: ptr.To(replicas), Selector: &metav1.LabelSelector{MatchLabels: labels},
		Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{
			Containers: []corev1.Container{{Name: "web", Image: "nginx"}},
		}},
	}}
}

func advance(t *testing.T, cluster *minikcm.Cluster, d time.Duration) {
	t.Helper()
	if err := cluster.Advance(t.Context(), d); err != nil {
		t.Fatal(err)
	}
}

// What happens on a cluster is in the record, with its times, writers and causes.
func TestRecorder(t *testing.T) {
	t.Parallel()
	cluster := startCluster(t)
	r := runrecord.Start(cluster, runrecord.Options{Scenario: runrecord.Scenario{Name: "test", Seed: 1}})
	step := r.Begin(nil, runrecord.Step, "three pods", 7)
	pods := cluster.Client().CoreV1().Pods("default")
	if _, err := cluster.Client().AppsV1().Deployments("default").Create(t.Context(), deployment("web", 3), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	advance(t, cluster, 20*time.Second)
	step.Note("%d pods", 3)
	step.End(nil)
	fault := r.Begin(step, runrecord.Fault, "kill", 0)
	list, err := pods.List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := pods.Delete(t.Context(), list.Items[0].Name, metav1.DeleteOptions{GracePeriodSeconds: ptr.To[int64](0)}); err != nil {
		t.Fatal(err)
	}
	advance(t, cluster, 20*time.Second)
	fault.End(errors.New("broken"))
	fault.End(nil)
	r.Fail(fault, runrecord.Failure{Message: "one is missing"})
	run := r.Stop(runrecord.Failed, "broken")

	if run.Cluster != 40*time.Second || run.Verdict != runrecord.Failed || len(run.Failures) != 1 || run.Failures[0].Span != 1 {
		t.Errorf("got %v, %s, failures %v", run.Cluster, run.Verdict, run.Failures)
	}
	for i := range run.Spans {
		if s := &run.Spans[i]; s.Kind == runrecord.Fault && s.BeginRevision >= s.EndRevision {
			t.Errorf("nothing was written between revisions %d and %d", s.BeginRevision, s.EndRevision)
		}
		run.Spans[i].Real, run.Spans[i].BeginRevision, run.Spans[i].EndRevision = 0, 0, 0
		for n := range run.Spans[i].Notes {
			run.Spans[i].Notes[n].Revision = 0
		}
	}
	if diff := cmp.Diff([]runrecord.Span{
		{Kind: runrecord.Step, Title: "three pods", Line: 7, Parent: -1, End: 20 * time.Second, Notes: []runrecord.Note{{At: 20 * time.Second, Text: "3 pods"}}},
		{Kind: runrecord.Fault, Title: "kill", Parent: 0, Begin: 20 * time.Second, End: 40 * time.Second, Failure: "broken"},
	}, run.Spans); diff != "" {
		t.Error(diff)
	}
	if run.Totals.PodsCreated != 4 || run.Totals.PodsDeleted != 1 || run.Totals.ByReason["Scheduled"] != 4 || run.Totals.ByActor["replicaset-controller"] == 0 {
		t.Errorf("totals: %+v", run.Totals)
	}
	ready := run.Pods.Phases[runrecord.Ready]
	if i := int(20 * time.Second / run.Pods.Width); ready.Last[len(ready.Last)-1] != 3 || ready.Min[i] != 2 {
		t.Errorf("at the kill there are %d ready pods, in the end %d", ready.Min[i], ready.Last[len(ready.Last)-1])
	}
	checkWrites(t, run)
	reconciles := int64(0)
	for _, c := range run.Controllers {
		for _, n := range c.Reconciles {
			reconciles += n
		}
	}
	if reconciles == 0 {
		t.Error("no controller reconciled anything")
	}
	data, err := json.Marshal(run)
	if err != nil {
		t.Fatal(err)
	}
	var back runrecord.Run
	if err := json.Unmarshal(data, &back); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(*run, back); diff != "" {
		t.Errorf("after saving, the run is another:\n%s", diff)
	}
}

func checkWrites(t *testing.T, run *runrecord.Run) {
	t.Helper()
	byRevision := map[int64]minikcm.Write{}
	for _, w := range run.Writes {
		byRevision[w.Revision] = w
	}
	created := 0
	for _, w := range run.Writes {
		if w.Kind == "Pod" && w.Effect == minikcm.Created {
			created++
			if len(w.Causes) == 0 || byRevision[w.Causes[0]].Name == "" {
				t.Errorf("no cause is known of the creation of pod %s", w.Name)
			}
		}
	}
	if created != 4 {
		t.Errorf("%d pods were created, want 4", created)
	}
}

// A run that is not recorded costs its callers no questions.
func TestNoRecorder(t *testing.T) {
	t.Parallel()
	var r *runrecord.Recorder
	span := r.Begin(nil, runrecord.Step, "step", 0)
	span.Note("note")
	span.End(nil)
	r.Fail(span, runrecord.Failure{})
	if run := r.Stop(runrecord.Passed, ""); run != nil {
		t.Error("there is a run")
	}
}
