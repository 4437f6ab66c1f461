package lifecycle

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"pgregory.net/rapid"

	"minikcm.dev/minikcm/internal/podspec"
	"minikcm.dev/minikcm/kubeletsim/internal/podtest"
)

func drawPod(t *rapid.T) *corev1.Pod {
	durations := rapid.SampledFrom([]string{"0s", "1s", "7s", "45s", "20m", "never", "nonsense"})
	pod := podtest.Pod("web", "node-0", podtest.Policy(rapid.SampledFrom([]corev1.RestartPolicy{
		corev1.RestartPolicyAlways, corev1.RestartPolicyOnFailure, corev1.RestartPolicyNever,
	}).Draw(t, "policy")))
	for _, key := range []string{"start-delay", "ready-delay", "exit-after", "stop-delay"} {
		if rapid.Bool().Draw(t, key) {
			podtest.Annotated(key, durations.Draw(t, key))(pod)
		}
	}
	if rapid.Bool().Draw(t, "exits") {
		podtest.Annotated("exit-code", rapid.SampledFrom([]string{"0", "1"}).Draw(t, "code"))(pod)
	}
	for i := range rapid.IntRange(0, 3).Draw(t, "inits") {
		name := rapid.SampledFrom([]string{"init", "side"}).Draw(t, "init")
		podtest.Initially(corev1.Container{
			Name:    fmt.Sprintf("%s%d", name, i),
			Command: rapid.SampledFrom([][]string{nil, {"false"}, {"sleep", "3"}, {"sh", "-c", "sleep 2; exit 1"}}).Draw(t, "command"),
		})(pod)
	}
	if rapid.Bool().Draw(t, "second") {
		pod.Spec.Containers = append(pod.Spec.Containers, corev1.Container{Name: "second", Image: "nginx", Command: []string{"sleep", "5"}})
	}
	if rapid.Bool().Draw(t, "restart all") {
		restarts := rapid.SampledFrom([]*corev1.Container{&pod.Spec.Containers[0], &pod.Spec.Containers[len(pod.Spec.Containers)-1]}).Draw(t, "which")
		if len(pod.Spec.InitContainers) > 0 && rapid.Bool().Draw(t, "of init container") {
			restarts = &pod.Spec.InitContainers[0]
		}
		policy := corev1.ContainerRestartPolicyNever
		if restarts.RestartPolicy != nil {
			policy = *restarts.RestartPolicy
		}
		restartsOn(restarts, policy, corev1.ContainerRestartRuleActionRestartAllContainers, rapid.Int32Range(0, 2).Draw(t, "rule"))
	}
	if rapid.Bool().Draw(t, "deadline") {
		seconds := int64(30)
		pod.Spec.ActiveDeadlineSeconds = &seconds
	}
	if rapid.Bool().Draw(t, "job") {
		podtest.OfJob(pod)
	}
	return pod
}

// Whatever happens to a pod, a step acts at once and reports each event once, nothing is due before
// the named time, restart counts only grow, and an ended pod stays ended.
func TestStepKeepsItsPromises(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(drawPod(t))
		w.step()
		check := func(before *corev1.Pod) {
			quiet(t, w)
			if Finished(before) && before.Status.Phase != w.pod.Status.Phase {
				t.Fatalf("%s after %s\n%s", w.pod.Status.Phase, before.Status.Phase, w.log.String())
			}
			for _, ref := range podspec.Containers(before) {
				if was, is := statusOf(before, ref), statusOf(w.pod, ref); was != nil && is.RestartCount < was.RestartCount {
					t.Fatalf("restarts of %s: %d after %d\n%s", ref.Name, is.RestartCount, was.RestartCount, w.log.String())
				}
			}
			if w.state.Ended != Finished(w.pod) {
				t.Fatalf("ended is %v in phase %s\n%s", w.state.Ended, w.pod.Status.Phase, w.log.String())
			}
		}
		check(w.pod)
		for range rapid.IntRange(1, 30).Draw(t, "steps") {
			before := w.pod
			switch rapid.IntRange(0, 5).Draw(t, "what") {
			case 0:
				w.step(Occurrence{ExitCode: rapid.Int32Range(0, 2).Draw(t, "exit code")})
			case 1:
				w.step(Occurrence{Kind: rapid.SampledFrom([]OccurrenceKind{FailReadiness, RestoreReadiness, Reboot}).Draw(t, "fault"), Message: "no"})
			case 2:
				if w.pod.DeletionTimestamp == nil && rapid.Bool().Draw(t, "delete") {
					w.delete(time.Duration(rapid.IntRange(1, 60).Draw(t, "grace")) * time.Second)
				}
			default:
				if w.wake.After(w.now) {
					w.now = w.wake
				}
				w.step()
			}
			check(before)
		}
	})
}

// quiet checks that a look at the pod before it is due, or a second one now, finds
// nothing to do.
func quiet(t *rapid.T, w *world) {
	times := []time.Time{w.now}
	switch {
	case w.wake.IsZero():
		times = append(times, w.now.Add(24*time.Hour))
	case !w.wake.After(w.now):
		t.Fatalf("is due again at once\n%s", w.log.String())
	default:
		times = append(times, w.now.Add(w.wake.Sub(w.now)-1))
	}
	for _, at := range times {
		out := Step(Input{Pod: w.pod, State: w.state, Now: at, HasImage: func(string) bool { return true }, Latencies: &w.lat, Backoff: &w.backoff})
		status := PodStatus(w.pod, &out.State, []string{"172.18.0.2"}, at)
		if len(out.Events) > 0 || !equality.Semantic.DeepEqual(&w.pod.Status, &status) {
			t.Fatalf("at %v, before %v, something happens: %v\n%s", at.Sub(podtest.Epoch), w.wake.Sub(podtest.Epoch), out.Events, w.log.String())
		}
	}
}
