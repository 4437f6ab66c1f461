package controllers_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/ptr"

	"minikcm.dev/minikcm/kubeletsim"
)

// oneRestart is the command of a container that exits with 42 in its first run, and ends as the
// given command in its second.
func oneRestart(then string) []string {
	return []string{"sh", "-c", "if [ -f /work/restarted ]; then " + then + "; else touch /work/restarted; sleep 10; exit 42; fi"}
}

// restartsAllOn42 is a pod whose container "app" restarts all containers by the exit code 42.
func restartsAllOn42(name string, command []string) *corev1.Pod {
	mounts := []corev1.VolumeMount{{Name: "work", MountPath: "/work"}}
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: corev1.PodSpec{
			RestartPolicy: corev1.RestartPolicyNever,
			Containers: []corev1.Container{{
				Name: "app", Image: "busybox", Command: command, VolumeMounts: mounts,
				RestartPolicy: ptr.To(corev1.ContainerRestartPolicyNever),
				RestartPolicyRules: []corev1.ContainerRestartRule{{
					Action:    corev1.ContainerRestartRuleActionRestartAllContainers,
					ExitCodes: &corev1.ContainerRestartRuleOnExitCodes{Operator: corev1.ContainerRestartRuleOnExitCodesOpIn, Values: []int32{42}},
				}},
			}},
			Volumes: []corev1.Volume{{Name: "work", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}},
		},
	}
}

// TestRestartAllContainers checks that the exit code of one container restarts the whole pod in
// place, and that its init container runs again.
func TestRestartAllContainers(t *testing.T) {
	w := newJobWorld(t)
	pods := w.Client().CoreV1().Pods("default")
	pod := restartsAllOn42("web", oneRestart("sleep infinity"))
	pod.Spec.InitContainers = []corev1.Container{{Name: "init", Image: "busybox", Command: []string{"sleep", "5"}}}
	pod.Spec.Containers = append(pod.Spec.Containers, corev1.Container{Name: "second", Image: "busybox", Command: []string{"sleep", "infinity"}})
	if _, err := pods.Create(t.Context(), pod, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	state := func() (*corev1.Pod, []string) {
		t.Helper()
		pod, err := pods.Get(t.Context(), "web", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return pod, restartState(pod)
	}
	w.advance(14 * time.Second)
	before, got := state()
	want := []string{"Running", "AllContainersRestarting=False", "init ended 0", "app running 0", "second running 0"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("before the exit (-want +got):\n%s", diff)
	}
	// The exit is at 15 s.
	for _, next := range []struct {
		after time.Duration
		want  []string
	}{
		{1500 * time.Millisecond, []string{"Running", "AllContainersRestarting=True RestartAllContainersStarted", "init ended 0", "app ended 0", "second ended 0"}},
		{time.Second, []string{"Running", "AllContainersRestarting=False", "init RestartingAllContainers 1", "app RestartingAllContainers 1", "second RestartingAllContainers 1"}},
		{time.Second, []string{"Pending", "AllContainersRestarting=False", "init running 1", "app PodInitializing 1", "second PodInitializing 1"}},
		{time.Minute, []string{"Running", "AllContainersRestarting=False", "init ended 1", "app running 1", "second running 1"}},
	} {
		w.advance(next.after)
		if _, got := state(); !cmp.Equal(next.want, got) {
			t.Errorf("%v later (-want +got):\n%s", next.after, cmp.Diff(next.want, got))
		}
	}
	after, _ := state()
	if before.UID != after.UID || before.Status.PodIP != after.Status.PodIP || before.Spec.NodeName != after.Spec.NodeName || !before.Status.StartTime.Equal(after.Status.StartTime) {
		t.Errorf("the pod moved: %+v, before %+v", after.Status, before.Status)
	}
	w.checkRestartEvents("web")
}

// restartState lists the pod's phase, its condition AllContainersRestarting, and the states and
// restart counts of its containers.
func restartState(pod *corev1.Pod) []string {
	all := []string{string(pod.Status.Phase)}
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.AllContainersRestarting {
			text := string(c.Type) + "=" + string(c.Status)
			if c.Reason != "" {
				text += " " + c.Reason
			}
			all = append(all, text)
		}
	}
	for _, cs := range slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses) {
		state := "ended"
		switch {
		case cs.State.Running != nil:
			state = "running"
		case cs.State.Waiting != nil:
			state = cs.State.Waiting.Reason
		}
		all = append(all, fmt.Sprintf("%s %s %d", cs.Name, state, cs.RestartCount))
	}
	return all
}

func (w jobWorld) checkRestartEvents(pod string) {
	w.t.Helper()
	list, err := w.Client().CoreV1().Events("default").List(w.t.Context(), metav1.ListOptions{FieldSelector: "involvedObject.kind=Pod,involvedObject.name=" + pod})
	if err != nil {
		w.t.Fatal(err)
	}
	counts := map[string]int32{}
	for _, e := range list.Items {
		if e.Reason == "Started" || e.Reason == "Killing" {
			counts[e.InvolvedObject.FieldPath+" "+e.Reason+": "+e.Message] += e.Count
		}
	}
	want := map[string]int32{
		"spec.initContainers{init} Started: Container started": 2,
		"spec.containers{app} Started: Container started":      2, "spec.containers{second} Started: Container started": 2,
		"spec.containers{second} Killing: killing": 1,
	}
	if diff := cmp.Diff(want, counts); diff != "" {
		w.t.Errorf("events (-want +got):\n%s", diff)
	}
}

// TestRestartAllContainersOfJob checks that a restart in place is no failure of a Job's pod.
func TestRestartAllContainersOfJob(t *testing.T) {
	w := newJobWorld(t)
	job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: "train"}, Spec: batchv1.JobSpec{
		BackoffLimit: ptr.To[int32](0),
		Template:     corev1.PodTemplateSpec{Spec: restartsAllOn42("", oneRestart("sleep 10")).Spec},
	}}
	if _, err := w.Client().BatchV1().Jobs("default").Create(t.Context(), job, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	w.advance(15 * time.Second)
	if s := w.get("train").Status; s.Active != 1 || s.Failed != 0 {
		t.Errorf("after the exit: %+v", s)
	}
	first := w.pods()
	w.advance(time.Minute)
	w.checkConditions("train", map[batchv1.JobConditionType]string{
		batchv1.JobSuccessCriteriaMet: batchv1.JobReasonCompletionsReached, batchv1.JobComplete: batchv1.JobReasonCompletionsReached,
	})
	last := w.pods()
	if s := w.get("train").Status; s.Succeeded != 1 || s.Failed != 0 || len(first) != 1 || len(last) != 1 || first[0].UID != last[0].UID {
		t.Fatalf("status %+v, pods %d and %d, want one pod that stays", s, len(first), len(last))
	}
	if got, want := restartState(&last[0]), []string{"Succeeded", "AllContainersRestarting=False PodCompleted", "app ended 1"}; !cmp.Equal(got, want) {
		t.Errorf("the pod: %q, want %q", got, want)
	}
}

// TestRestartAllContainersNeedsFeature checks that a pod with the action waits for a node that
// declares the feature: neither a Node without a kubelet nor an older kubelet does.
func TestRestartAllContainersNeedsFeature(t *testing.T) {
	w := newJobWorld(t)
	own, err := w.Client().CoreV1().Nodes().List(t.Context(), metav1.ListOptions{})
	if err != nil || len(own.Items) != 1 || !slices.Equal(own.Items[0].Status.DeclaredFeatures, []string{"RestartAllContainersOnContainerExits"}) {
		t.Fatalf("own nodes: %+v, %v", own, err)
	}
	capacity := own.Items[0].Status.Capacity
	for _, node := range []*corev1.Node{
		{ObjectMeta: metav1.ObjectMeta{Name: "bare"}},
		{ObjectMeta: metav1.ObjectMeta{Name: "old", Annotations: map[string]string{kubeletsim.AnnotationNode: kubeletsim.Simulated}}, Status: corev1.NodeStatus{NodeInfo: corev1.NodeSystemInfo{KubeletVersion: "v1.35.1"}}},
	} {
		node.Labels, node.Status.Capacity, node.Status.Allocatable = map[string]string{"pool": "other"}, capacity, capacity
		if _, err := w.Client().CoreV1().Nodes().Create(t.Context(), node, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	w.Settle()
	there, anywhere := restartsAllOn42("there", oneRestart("sleep infinity")), restartsAllOn42("anywhere", oneRestart("sleep infinity"))
	there.Spec.NodeSelector = map[string]string{"pool": "other"}
	there.Spec.Tolerations = []corev1.Toleration{{Operator: corev1.TolerationOpExists}}
	for _, pod := range []*corev1.Pod{there, anywhere} {
		if _, err := w.Client().CoreV1().Pods("default").Create(t.Context(), pod, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	w.Eventually("one pod to run, the other to wait", func(ctx context.Context, client kubernetes.Interface) error {
		for _, name := range []string{"there", "anywhere"} {
			pod, err := client.CoreV1().Pods("default").Get(ctx, name, metav1.GetOptions{})
			if err != nil {
				return err
			}
			if name == "anywhere" && (pod.Spec.NodeName != own.Items[0].Name || pod.Status.Phase != corev1.PodRunning) {
				return errors.New(name + " is " + string(pod.Status.Phase) + " on " + pod.Spec.NodeName)
			}
			if name == "there" && !slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
				return c.Type == corev1.PodScheduled && c.Message == "0/3 nodes are available: 1 node(s) didn't match Pod's node affinity/selector, 2 node(s) didn't match Pod's required features. preemption: 0/3 nodes are available: 3 Preemption is not helpful for scheduling."
			}) {
				return fmt.Errorf("%s has the conditions %+v", name, pod.Status.Conditions)
			}
		}
		return nil
	})
}
