package lifecycle

import (
	"fmt"
	"net/netip"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"minikcm.dev/minikcm/internal/golden"
	"minikcm.dev/minikcm/internal/podspec"
	"minikcm.dev/minikcm/kubeletsim/internal/podtest"
)

// world is one pod in its simulated runtime, without engine or API.
type world struct {
	pod     *corev1.Pod
	state   State
	seen    *Observation
	known   bool
	now     time.Time
	wake    time.Time
	images  map[string]bool
	missing map[string]string
	lacking []Need
	lat     Latencies
	backoff Backoff
	// takeAddress is the input's TakeAddress.
	takeAddress func() (first, second netip.Addr)
	log         strings.Builder
}

func newWorld(pod *corev1.Pod) *world {
	w := &world{pod: pod, now: podtest.Epoch, images: map[string]bool{"nginx": true}, missing: map[string]string{}}
	w.takeAddress = podtest.Address("10.244.0.2")
	w.lat.JobRun = time.Second
	w.backoff.SetDefaults()
	return w
}

// step does the engine's work, with the API's part done at once.
func (w *world) step(faults ...Occurrence) {
	if !w.known {
		w.known = true
		w.state = Adopt(w.pod, w.seen, &w.lat, &w.backoff)
	}
	out := Step(Input{
		Pod: w.pod, State: w.state, Observed: w.seen, Now: w.now, Occurrences: faults,
		TakeAddress: w.takeAddress,
		HasImage:    func(image string) bool { return w.images[image] },
		PullError:   func(image string) string { return w.missing[image] },
		Missing:     w.lacking,
		Latencies:   &w.lat, Backoff: &w.backoff,
	})
	w.state, w.wake = out.State, out.Wake
	for _, image := range out.Images {
		w.images[image.Name] = true
	}
	for _, e := range out.Events {
		w.printf("%-7s %s %s: %s", e.Kind, e.FieldPath, e.Reason, e.Message)
	}
	before := summary(w.pod)
	pod := w.pod.DeepCopy()
	pod.Status = PodStatus(pod, &w.state, []string{"172.18.0.2"}, w.now)
	w.pod = pod
	if after := summary(pod); after != before {
		w.printf("        %s", after)
	}
}

func (w *world) printf(format string, args ...any) {
	line := fmt.Sprintf(format, args...)
	fmt.Fprintf(&w.log, "%8s  %s\n", w.now.Sub(podtest.Epoch), line)
}

// until goes from wake to wake.
func (w *world) until(d time.Duration) {
	end := podtest.Epoch.Add(d)
	for !w.wake.IsZero() && !w.wake.After(end) {
		if w.wake.After(w.now) {
			w.now = w.wake
		}
		w.step()
	}
	w.now = end
}

func (w *world) delete(grace time.Duration) {
	at, seconds := metav1.NewTime(w.now.Add(grace)), int64(grace/time.Second)
	w.pod = w.pod.DeepCopy()
	w.pod.DeletionTimestamp, w.pod.DeletionGracePeriodSeconds = &at, &seconds
	w.printf("        deleted")
	w.step()
}

func summary(pod *corev1.Pod) string {
	s := &pod.Status
	var b strings.Builder
	fmt.Fprintf(&b, "%s", s.Phase)
	if s.Reason != "" {
		fmt.Fprintf(&b, " (%s)", s.Reason)
	}
	for _, list := range [][]corev1.ContainerStatus{s.InitContainerStatuses, s.ContainerStatuses, s.EphemeralContainerStatuses} {
		for i := range list {
			c := &list[i]
			fmt.Fprintf(&b, " %s=%s", c.Name, stateText(c.State))
			if c.Ready {
				b.WriteString(",ready")
			}
			if c.RestartCount > 0 {
				fmt.Fprintf(&b, ",restarts=%d", c.RestartCount)
			}
			if c.LastTerminationState != (corev1.ContainerState{}) {
				fmt.Fprintf(&b, ",last=%s", stateText(c.LastTerminationState))
			}
		}
	}
	for _, c := range s.Conditions {
		if c.Status != corev1.ConditionTrue {
			fmt.Fprintf(&b, " !%s", c.Type)
			if c.Reason != "" {
				fmt.Fprintf(&b, "(%s)", c.Reason)
			}
		}
	}
	return b.String()
}

func stateText(s corev1.ContainerState) string {
	switch {
	case s.Running != nil:
		return "running"
	case s.Terminated != nil:
		return fmt.Sprintf("%s:%d", s.Terminated.Reason, s.Terminated.ExitCode)
	case s.Waiting != nil:
		return s.Waiting.Reason
	}
	return "?"
}

func TestLives(t *testing.T) {
	crashed := Occurrence{ExitCode: 2}
	tests := []struct {
		name string
		pod  []func(*corev1.Pod)
		play func(w *world)
	}{
		{"plain", nil, func(w *world) { w.until(time.Hour); w.delete(30 * time.Second); w.until(2 * time.Hour) }},
		{"start delay", []func(*corev1.Pod){podtest.Annotated("start-delay", "3s", "ready-delay", "2s")}, func(w *world) { w.until(time.Hour) }},
		{"never starts", []func(*corev1.Pod){podtest.Annotated("start-delay", "never")}, func(w *world) { w.until(time.Hour); w.delete(time.Second) }},
		{"slow to stop", []func(*corev1.Pod){podtest.Annotated("stop-delay", "20s")}, func(w *world) { w.delete(30 * time.Second); w.until(time.Hour) }},
		{"killed", []func(*corev1.Pod){podtest.Annotated("stop-delay", "never")}, func(w *world) { w.delete(30 * time.Second); w.until(time.Hour) }},
		{"killed sooner", []func(*corev1.Pod){podtest.Annotated("stop-delay", "never")}, func(w *world) {
			w.delete(30 * time.Second)
			w.until(5 * time.Second)
			w.delete(2 * time.Second)
			w.until(time.Hour)
		}},
		{"crash loop", []func(*corev1.Pod){podtest.Annotated("exit-after", "5s", "exit-code", "1")}, func(w *world) { w.until(20 * time.Minute) }},
		{"crashes far apart", nil, func(w *world) {
			for _, at := range []time.Duration{time.Hour, time.Hour + time.Minute, 2 * time.Hour, 2*time.Hour + 5*time.Second} {
				w.until(at)
				w.step(crashed)
			}
			w.until(3 * time.Hour)
		}},
		{"ends at once", []func(*corev1.Pod){podtest.Command("false")}, func(w *world) { w.until(time.Minute) }},
		{"job", []func(*corev1.Pod){podtest.Policy(corev1.RestartPolicyNever), podtest.OfJob}, func(w *world) { w.until(time.Hour) }},
		{"job that fails", []func(*corev1.Pod){podtest.Policy(corev1.RestartPolicyNever), podtest.OfJob, podtest.Command("sh", "-c", "sleep 3; exit 7")}, func(w *world) { w.until(time.Hour) }},
		{"on failure", []func(*corev1.Pod){podtest.Policy(corev1.RestartPolicyOnFailure), podtest.OfJob}, func(w *world) {
			w.step(crashed)
			w.until(time.Hour)
		}},
		{"deadline", []func(*corev1.Pod){func(pod *corev1.Pod) { limit := int64(60); pod.Spec.ActiveDeadlineSeconds = &limit }}, func(w *world) { w.until(time.Hour) }},
		{
			"init containers",
			[]func(*corev1.Pod){podtest.Initially(corev1.Container{Name: "one", Command: []string{"sleep", "1"}}, corev1.Container{Name: "two", Command: []string{"sleep", "2"}})},
			func(w *world) { w.until(time.Hour) },
		},
		{"init fails for good", []func(*corev1.Pod){podtest.Policy(corev1.RestartPolicyNever), podtest.Initially(corev1.Container{Name: "one", Command: []string{"false"}})}, func(w *world) { w.until(time.Hour) }},
		{"init fails again and again", []func(*corev1.Pod){podtest.Initially(corev1.Container{Name: "one", Command: []string{"sh", "-c", "sleep 1 && exit 3"}})}, func(w *world) { w.until(time.Minute) }},
		{"sidecar", []func(*corev1.Pod){podtest.Policy(corev1.RestartPolicyNever), podtest.OfJob, podtest.Initially(
			corev1.Container{Name: "side1", StartupProbe: &corev1.Probe{InitialDelaySeconds: 2}}, corev1.Container{Name: "side2"})}, func(w *world) {
			w.until(2500 * time.Millisecond)
			w.step(Occurrence{Container: "side1", ExitCode: 9})
			w.until(time.Hour)
		}},
		{"probes", []func(*corev1.Pod){func(pod *corev1.Pod) {
			pod.Spec.Containers[0].StartupProbe = &corev1.Probe{InitialDelaySeconds: 3}
			pod.Spec.Containers[0].ReadinessProbe = &corev1.Probe{InitialDelaySeconds: 5, PeriodSeconds: 10, SuccessThreshold: 2}
		}}, func(w *world) { w.until(time.Hour) }},
		{"readiness gate", []func(*corev1.Pod){func(pod *corev1.Pod) {
			pod.Spec.ReadinessGates = []corev1.PodReadinessGate{{ConditionType: "example.com/open"}}
		}}, func(w *world) {
			w.pod.Status.Conditions = append(w.pod.Status.Conditions, corev1.PodCondition{Type: "example.com/open", Status: corev1.ConditionTrue})
			w.step()
		}},
		{"unready", nil, func(w *world) {
			w.step(Occurrence{Kind: FailReadiness, Message: "no"})
			w.until(time.Minute)
			w.step(Occurrence{Kind: RestoreReadiness})
		}},
		{"image missing", []func(*corev1.Pod){func(pod *corev1.Pod) { pod.Spec.Containers[0].Image = "gone:1" }, podtest.Annotated("pull-error", "not found")}, func(w *world) {
			w.until(time.Minute)
			delete(w.pod.Annotations, podspec.AnnotationPullError)
			w.until(time.Hour)
		}},
		{"image changed", nil, func(w *world) {
			w.until(time.Minute)
			w.pod.Spec.Containers[0].Image = "nginx:2"
			w.step()
			w.until(time.Hour)
		}},
		{"container policy", []func(*corev1.Pod){podtest.Policy(corev1.RestartPolicyNever), podtest.OfJob, func(pod *corev1.Pod) {
			never := corev1.ContainerRestartPolicyNever
			pod.Spec.Containers[0].RestartPolicy = &never
			pod.Spec.Containers[0].RestartPolicyRules = []corev1.ContainerRestartRule{{
				Action:    corev1.ContainerRestartRuleActionRestart,
				ExitCodes: &corev1.ContainerRestartRuleOnExitCodes{Operator: corev1.ContainerRestartRuleOnExitCodesOpIn, Values: []int32{2}},
			}}
		}}, func(w *world) {
			w.step(crashed)
			w.step(Occurrence{ExitCode: 3})
			w.until(time.Hour)
		}},
		{"ephemeral container", nil, func(w *world) {
			w.pod.Spec.EphemeralContainers = []corev1.EphemeralContainer{{EphemeralContainerCommon: corev1.EphemeralContainerCommon{Name: "debug", Image: "busybox"}}}
			w.step()
			w.delete(time.Second)
		}},
		{"bad annotations", []func(*corev1.Pod){podtest.Annotated("exit-after", "soon", "exit-code.app", "256")}, func(w *world) { w.until(time.Hour) }},
		{"reboot", []func(*corev1.Pod){podtest.Initially(corev1.Container{Name: "one", Command: []string{"sleep", "1"}}), podtest.Annotated("start-delay", "1s")}, func(w *world) {
			w.until(time.Minute)
			w.step(Occurrence{Kind: Reboot})
			w.until(time.Hour)
		}},
		{"reboot of a job", []func(*corev1.Pod){podtest.Policy(corev1.RestartPolicyNever), podtest.OfJob}, func(w *world) { w.step(Occurrence{Kind: Reboot}) }},
		{"host network", []func(*corev1.Pod){func(pod *corev1.Pod) { pod.Spec.HostNetwork = true }}, func(w *world) { w.printf("%s", w.pod.Status.PodIP) }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(podtest.Pod("web", "node-0", tt.pod...))
			w.step()
			tt.play(w)
			golden.Compare(t, goldenFile(tt.name), w.log.String())
		})
	}
}

// A pod that is taken over in the middle of its life goes on as it would have.
func TestAdopt(t *testing.T) {
	pod := podtest.Pod("web", "node-0", podtest.Annotated("exit-after", "20s", "exit-code", "1"))
	straight := newWorld(pod)
	straight.step()
	straight.until(12 * time.Minute)
	for at := time.Second; at < 5*time.Minute; at += 7 * time.Second {
		w := newWorld(pod)
		w.step()
		w.until(at)
		w.known = false
		w.step()
		w.until(12 * time.Minute)
		if diff := cmp.Diff(states(straight.log.String()), states(w.log.String())); diff != "" {
			t.Fatalf("taken over after %v (-without +with):\n%s", at, diff)
		}
	}
}

// states leaves the events out of a log: what was reported before the restart may be
// reported again.
func states(log string) []string {
	var lines []string
	for line := range strings.Lines(log) {
		if strings.Contains(line, "web=") || strings.Contains(line, "app=") {
			lines = append(lines, line)
		}
	}
	return lines
}

// The kubelets' own latencies hold for pods whose annotations do not say otherwise.
func TestDefaultDelays(t *testing.T) {
	for name, change := range map[string]func(*corev1.Pod){
		"default delays":   podtest.Initially(corev1.Container{Name: "first", Command: []string{"true"}}, corev1.Container{Name: "side"}),
		"annotated delays": podtest.Annotated("start-delay", "4s", "ready-delay", "0s"),
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(podtest.Pod("web", "node-0", change))
			w.lat.PodStart, w.lat.ContainerReady = 2*time.Second, time.Second
			w.step()
			w.until(time.Hour)
			golden.Compare(t, goldenFile(name), w.log.String())
		})
	}
}

// Pods wait for the objects that they need.
func TestNeedy(t *testing.T) {
	w := newWorld(podtest.Pod("web", "node-0"))
	w.lacking = []Need{{Name: "settings", volume: "etc"}, {Name: "settings", Key: "user", container: "app"}}
	w.step()
	w.step()
	w.printf("        the object comes, without the key")
	w.lacking = []Need{{Name: "settings", Key: "user", container: "app", Found: true}}
	w.step()
	w.step()
	w.printf("        the key comes")
	w.lacking = nil
	w.step()
	golden.Compare(t, "testdata/needy.txt", w.log.String())
}

func TestNeedsOf(t *testing.T) {
	yes := true
	pod := podtest.Pod("web", "node-0", func(pod *corev1.Pod) {
		named := func(name string) corev1.LocalObjectReference { return corev1.LocalObjectReference{Name: name} }
		pod.Spec.Volumes = []corev1.Volume{
			{Name: "empty", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}},
			{Name: "map", VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: named("m"), Items: []corev1.KeyToPath{{Key: "k"}}}}},
			{Name: "secret", VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "s"}}},
			{Name: "optional", VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "o", Optional: &yes}}},
			{Name: "both", VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{Sources: []corev1.VolumeProjection{
				{ConfigMap: &corev1.ConfigMapProjection{LocalObjectReference: named("m2")}},
				{Secret: &corev1.SecretProjection{LocalObjectReference: named("s2")}},
			}}}},
		}
		app := &pod.Spec.Containers[0]
		app.EnvFrom = []corev1.EnvFromSource{{ConfigMapRef: &corev1.ConfigMapEnvSource{LocalObjectReference: named("e")}}, {SecretRef: &corev1.SecretEnvSource{LocalObjectReference: named("o"), Optional: &yes}}}
		app.Env = []corev1.EnvVar{
			{Name: "PLAIN", Value: "v"},
			{Name: "A", ValueFrom: &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{LocalObjectReference: named("s"), Key: "a"}}},
			{Name: "B", ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.name"}}},
		}
	})
	want := []Need{
		{Name: "m", volume: "map"},
		{Name: "m", Key: "k", volume: "map"},
		{Secret: true, Name: "s", volume: "secret"},
		{Name: "m2", volume: "both"},
		{Secret: true, Name: "s2", volume: "both"},
		{Name: "e", container: "app"},
		{Secret: true, Name: "s", Key: "a", container: "app"},
	}
	if diff := cmp.Diff(want, Needs(pod), cmp.AllowUnexported(Need{})); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// goldenFile returns the path of the golden file of the test case of that name.
func goldenFile(name string) string {
	return filepath.Join("testdata", strings.ReplaceAll(name, " ", "-")+".txt")
}

// A pod takes an address with its sandbox, however often it was looked at before: otherwise the
// addresses of pods would depend on how many changes each sync saw.
func TestAddressTakenWithSandbox(t *testing.T) {
	w := newWorld(podtest.Pod("web", "node-0"))
	w.lat.PodStart = time.Second
	taken := 0
	w.takeAddress = func() (first, second netip.Addr) {
		taken++
		return podtest.Address("10.244.0.2")()
	}
	for range 3 {
		w.step()
	}
	if taken != 0 {
		t.Errorf("%d addresses are taken before the sandbox is due", taken)
	}
	w.until(2 * time.Second)
	w.step()
	if taken != 1 || !w.state.Sandbox {
		t.Errorf("%d addresses are taken, sandbox %v, want one with a sandbox", taken, w.state.Sandbox)
	}
}
