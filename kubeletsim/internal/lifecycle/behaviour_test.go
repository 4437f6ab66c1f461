package lifecycle

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"minikcm.dev/minikcm/internal/podspec"
	"minikcm.dev/minikcm/internal/span"
	"minikcm.dev/minikcm/kubeletsim/internal/podtest"
)

// What is left to chance is different for every run, and the same whenever a run is worked
// out again.
func TestChanceOfARun(t *testing.T) {
	pod := podtest.Pod("web", "node-0", podtest.Command("sh", "-c", "exit $(( $RANDOM / 16384 ))"))
	codes := map[int32]int{}
	for restarts := range int32(100) {
		does := behaviourOf(pod, &pod.Spec.Containers[0], podspec.AppContainer, restarts, &Latencies{}, Observed{})
		again := behaviourOf(pod, &pod.Spec.Containers[0], podspec.AppContainer, restarts, &Latencies{}, Observed{})
		if does != again {
			t.Fatalf("run %d: %+v, then %+v", restarts, does, again)
		}
		codes[does.exitCode]++
	}
	if codes[0] < 25 || codes[1] < 25 || codes[0]+codes[1] != 100 {
		t.Errorf("exit codes of 100 runs: %v", codes)
	}
}

// The index of a Job's pod comes to its command by the downward API.
func TestIndexInCommand(t *testing.T) {
	for index, want := range map[string]int32{"0": 0, "1": 1, "2": 0, "3": 1} {
		for _, path := range []string{"metadata.annotations['batch.kubernetes.io/job-completion-index']", "metadata.labels['batch.kubernetes.io/job-completion-index']"} {
			pod := podtest.Pod("web", "node-0", podtest.Command("sh", "-c", "if [ $(expr ${JOB_COMPLETION_INDEX} % 2) -ne 0 ]; then\n exit 1\nelse\n exit 0\nfi"))
			keys := map[string]string{"batch.kubernetes.io/job-completion-index": index}
			pod.Annotations, pod.Labels = keys, keys
			pod.Spec.Containers[0].Env = []corev1.EnvVar{{Name: "JOB_COMPLETION_INDEX", ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: path}}}}
			if got := behaviourOf(pod, &pod.Spec.Containers[0], podspec.AppContainer, 0, &Latencies{}, Observed{}); got.exitCode != want || got.runs != 0 {
				t.Errorf("index %s from %s: %+v, want exit code %d", index, path, got, want)
			}
		}
	}
}

func TestBehaviour(t *testing.T) {
	lat := Latencies{JobRun: 7 * time.Second, InitRun: 3 * time.Second, ContainerStop: time.Second}
	hook := &corev1.Lifecycle{PreStop: &corev1.LifecycleHandler{Sleep: &corev1.SleepAction{Seconds: 4}}}
	tests := []struct {
		name string
		kind podspec.Kind
		pod  []func(*corev1.Pod)
		want behaviour
	}{
		{"forever", podspec.AppContainer, nil, behaviour{runs: span.Forever, stops: time.Second}},
		{"init", podspec.InitContainer, nil, behaviour{runs: 3 * time.Second, stops: time.Second}},
		{"init ignores annotations for the pod", podspec.InitContainer, []func(*corev1.Pod){podtest.Annotated("exit-after", "1h")}, behaviour{runs: 3 * time.Second, stops: time.Second}},
		{"init by name", podspec.InitContainer, []func(*corev1.Pod){podtest.Annotated("exit-after.app", "1h")}, behaviour{runs: time.Hour, stops: time.Second}},
		{"of a job", podspec.AppContainer, []func(*corev1.Pod){podtest.OfJob, podtest.Policy(corev1.RestartPolicyNever)}, behaviour{runs: 7 * time.Second, stops: time.Second}},
		{"pause in a job", podspec.AppContainer, []func(*corev1.Pod){podtest.OfJob, podtest.Policy(corev1.RestartPolicyNever), func(pod *corev1.Pod) { pod.Spec.Containers[0].Image = "registry.example.com/x/pause:3.10@sha256:ab" }}, behaviour{runs: span.Forever, stops: time.Second, quiet: true}},
		{"never restarted", podspec.AppContainer, []func(*corev1.Pod){podtest.Policy(corev1.RestartPolicyNever)}, behaviour{runs: span.Forever, stops: time.Second}},
		{"exit code alone", podspec.AppContainer, []func(*corev1.Pod){podtest.Annotated("exit-code", "3")}, behaviour{runs: 7 * time.Second, exitCode: 3, stops: time.Second}},
		{
			"annotations win", podspec.AppContainer,
			[]func(*corev1.Pod){podtest.Command("sleep", "9"), podtest.Annotated("exit-after", "1m", "stop-delay", "2m", "ready-delay", "never")},
			behaviour{runs: time.Minute, stops: 2 * time.Minute, quiet: true},
		},
		{"by name", podspec.AppContainer, []func(*corev1.Pod){podtest.Annotated("exit-after", "1m", "exit-after.app", "2m", "exit-after.other", "3m")}, behaviour{runs: 2 * time.Minute, stops: time.Second}},
		{"hook", podspec.AppContainer, []func(*corev1.Pod){func(pod *corev1.Pod) { pod.Spec.Containers[0].Lifecycle = hook }}, behaviour{runs: span.Forever, stops: 5 * time.Second}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			pod := podtest.Pod("web", "node-0", tt.pod...)
			if got := behaviourOf(pod, &pod.Spec.Containers[0], tt.kind, 0, &lat, Observed{}); got != tt.want {
				t.Errorf("got %+v, want %+v", got, tt.want)
			}
		})
	}
}
