package kubeletsim

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
)

func TestInterpret(t *testing.T) {
	tests := []struct {
		command string // words separated by |
		code    int32
		runs    time.Duration
		ok      bool
	}{
		{"", 0, 0, false},
		{"sleep|5", 0, 5 * time.Second, true},
		{"sleep|1m|2.5s", 0, 62500 * time.Millisecond, true},
		{"/bin/sleep|infinity", 0, forever, true},
		{"sleep|1e300", 0, forever, true},
		{"sleep|-1", 0, 0, false},
		{"sleep|x", 0, 0, false},
		{"sleep", 0, 0, false},
		{"true", 0, 0, true},
		{"/usr/bin/false", 1, 0, true},
		{"exit|1", 0, 0, false}, // no program, only a shell's word
		{"nginx|-g|daemon off;", 0, 0, false},
		{"sh|-c|exit 1", 1, 0, true},
		{"sh|-c|exit 300", 0, 0, false},
		{"/bin/sh|-ec|sleep 2; echo done && sleep 1\nexit 4; sleep 9", 4, 3 * time.Second, true},
		{"bash|-c|false && exit 4", 1, 0, true},
		{"sh|-c|false; true", 0, 0, true},
		{"sh|-c|echo \"hello\" world", 0, 0, true},
		{"sh|-c|echo $(date)", 0, 0, true},
		{"sh|-c|echo 'a; b' && sleep 2; exit 3", 3, 2 * time.Second, true},
		{"sh|-c|for i in 1 2 3; do echo $i; sleep 1; done", 0, 3 * time.Second, true},
		{"sh|-c|i=0; while [ $i -lt 4 ]; do i=$((i+1)); sleep 1; done; exit $i", 4, 4 * time.Second, true},
		{"sh|-c|i=0; while true; do echo $i; i=$((i+1)); sleep 1; done", 0, forever, true},
		{"sh|-c|for i in $(seq 3); do sleep $i; done; if false; then exit 1; else exit 7; fi", 7, 6 * time.Second, true},
		{"sh|-c|until false; do date; done", 0, forever, true},
		{"sh|-c|while true; do sleep 1; wget x; done", 0, 0, false},
		{"sh|-ec|false; exit 9", 1, 0, true},
		{"sh|-c|set -e; if false; then :; fi; ! true; (exit 5); exit 9", 5, 0, true},
		{"sh|-c|exec sleep 5; exit 1", 0, 5 * time.Second, true},
		{"sh|-c|echo x > /dev/null 2>&1; echo y >&2", 0, 0, true},
		{"sh|-c|echo x > /tmp/file", 0, 0, false},
		{"sh|-c|sleep 1 & wait", 0, 0, false},
		{"sh|-c|echo ~root", 0, 0, false},
		{"sh|-c|while true; do while true; do sleep 1; break 2; done; done; exit 2", 2, time.Second, true},
		{"echo|hello", 0, 0, true},
		{"sh|-c|sleep $N", 0, 0, false},
		{"sh|-c|while true; do echo hi; sleep 1; done", 0, forever, true},
		{"sh|-c|wget -q x || exit 1", 0, 0, false},
		{"sh|-c|if [ $(expr 7 % 2) -ne 0 ]; then exit 1; else exit 0; fi", 1, 0, true},
		{"sh|-c|if [ $(expr 6 % 2) -ne 0 ]; then exit 1; else exit 0; fi", 0, 0, true},
		{"sh|-c|i=0; while [ $i -lt 3 ]; do i=$(expr $i + 1); sleep 1; done; exit $i", 3, 3 * time.Second, true},
		{"expr|1|=|2", 1, 0, true},
		{"expr|1|+", 2, 0, true},
		{"expr|abc|:|a", 0, 0, false},
		{"sh|-c|while true; do echo $RANDOM; sleep 1; done", 0, forever, true},
		{"sh|-c|exit $(( $RANDOM / 32768 ))", 0, 0, true},
		{"sh|-c", 0, 0, false},
		{"sh|script.sh", 0, 0, false},
	}
	for _, tt := range tests {
		t.Run(tt.command, func(t *testing.T) {
			var words []string
			if tt.command != "" {
				words = strings.Split(tt.command, "|")
			}
			code, runs, ok := interpret(words, nil)
			if ok != tt.ok || ok && (code != tt.code || runs != tt.runs) {
				t.Errorf("got %d after %v, %v; want %d after %v, %v", code, runs, ok, tt.code, tt.runs, tt.ok)
			}
		})
	}
}

// What is left to chance is different for every run, and the same whenever a run is worked
// out again.
func TestChanceOfARun(t *testing.T) {
	pod := testPod("web", "node-0", command("sh", "-c", "exit $(( $RANDOM / 16384 ))"))
	codes := map[int32]int{}
	for restarts := range int32(100) {
		does := behaviourOf(pod, &pod.Spec.Containers[0], appContainer, restarts, &Latencies{})
		again := behaviourOf(pod, &pod.Spec.Containers[0], appContainer, restarts, &Latencies{})
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
			pod := testPod("web", "node-0", command("sh", "-c", "if [ $(expr ${JOB_COMPLETION_INDEX} % 2) -ne 0 ]; then\n exit 1\nelse\n exit 0\nfi"))
			keys := map[string]string{"batch.kubernetes.io/job-completion-index": index}
			pod.Annotations, pod.Labels = keys, keys
			pod.Spec.Containers[0].Env = []corev1.EnvVar{{Name: "JOB_COMPLETION_INDEX", ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: path}}}}
			if got := behaviourOf(pod, &pod.Spec.Containers[0], appContainer, 0, &Latencies{}); got.exitCode != want || got.runs != 0 {
				t.Errorf("index %s from %s: %+v, want exit code %d", index, path, got, want)
			}
		}
	}
}

func FuzzInterpret(f *testing.F) {
	f.Add("sleep 1; exit 2")
	f.Add("while true; do sleep 1; done")
	f.Add("sleep 9999999999999999999d && sleep infinity")
	f.Fuzz(func(t *testing.T, script string) {
		code, runs, ok := interpret([]string{"sh", "-c", script}, nil)
		if code < 0 || code > 255 || runs < 0 {
			t.Errorf("%q: %d after %v, %v", script, code, runs, ok)
		}
		interpret(strings.Fields(script), nil)
	})
}

func TestBehaviour(t *testing.T) {
	lat := Latencies{JobRun: 7 * time.Second, InitRun: 3 * time.Second, ContainerStop: time.Second}
	hook := &corev1.Lifecycle{PreStop: &corev1.LifecycleHandler{Sleep: &corev1.SleepAction{Seconds: 4}}}
	tests := []struct {
		name string
		kind containerKind
		pod  []func(*corev1.Pod)
		want behaviour
	}{
		{"forever", appContainer, nil, behaviour{runs: forever, stops: time.Second}},
		{"init", initContainer, nil, behaviour{runs: 3 * time.Second, stops: time.Second}},
		{"init is not told by the pod", initContainer, []func(*corev1.Pod){annotated("exit-after", "1h")}, behaviour{runs: 3 * time.Second, stops: time.Second}},
		{"init by name", initContainer, []func(*corev1.Pod){annotated("exit-after.app", "1h")}, behaviour{runs: time.Hour, stops: time.Second}},
		{"of a job", appContainer, []func(*corev1.Pod){ofJob, policy(corev1.RestartPolicyNever)}, behaviour{runs: 7 * time.Second, stops: time.Second}},
		{"never restarted", appContainer, []func(*corev1.Pod){policy(corev1.RestartPolicyNever)}, behaviour{runs: forever, stops: time.Second}},
		{"exit code alone", appContainer, []func(*corev1.Pod){annotated("exit-code", "3")}, behaviour{runs: 7 * time.Second, exitCode: 3, stops: time.Second}},
		{
			"annotations win", appContainer,
			[]func(*corev1.Pod){command("sleep", "9"), annotated("exit-after", "1m", "stop-delay", "2m", "ready-delay", "never")},
			behaviour{runs: time.Minute, stops: 2 * time.Minute},
		},
		{"by name", appContainer, []func(*corev1.Pod){annotated("exit-after", "1m", "exit-after.app", "2m", "exit-after.other", "3m")}, behaviour{runs: 2 * time.Minute, stops: time.Second}},
		{"hook", appContainer, []func(*corev1.Pod){func(pod *corev1.Pod) { pod.Spec.Containers[0].Lifecycle = hook }}, behaviour{runs: forever, stops: 5 * time.Second}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			pod := testPod("web", "node-0", tt.pod...)
			if got := behaviourOf(pod, &pod.Spec.Containers[0], tt.kind, 0, &lat); got != tt.want {
				t.Errorf("got %+v, want %+v", got, tt.want)
			}
		})
	}
}

func TestImageName(t *testing.T) {
	digest := "@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
	for image, want := range map[string]string{
		"nginx":                         "nginx:latest",
		"nginx:1.2":                     "nginx:1.2",
		"me/app":                        "me/app:latest",
		"localhost:5000/app":            "localhost:5000/app:latest",
		"registry.example/pause:3.10":   "registry.example/pause:3.10",
		"registry.example/b/c" + digest: "registry.example/b/c" + digest,
	} {
		if got := imageName(image); got != want {
			t.Errorf("imageName(%q) = %q, want %q", image, got, want)
		}
	}
	if got := imageID("registry.example/b:1" + digest); got != "registry.example/b"+digest {
		t.Errorf("imageID of a pinned image: %q", got)
	}
	if imageID("nginx") != imageID("nginx:latest") || imageID("nginx") == imageID("nginx:1") {
		t.Error("imageID does not follow the full name")
	}
}
