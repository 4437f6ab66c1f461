package kubeletsim_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"minikcm.dev/minikcm/minikcmtest"
)

// A process that handles the signal to stop ends when it pleases, within the grace period.
func TestTraps(t *testing.T) {
	t.Parallel()
	c := minikcmtest.New(t, minikcmtest.WithVirtualTime(), minikcmtest.WithNodes(1))
	pods := c.Client().CoreV1().Pods("default")
	command := &corev1.LifecycleHandler{Exec: &corev1.ExecAction{Command: []string{"/bin/sleep", "10"}}}
	pause := &corev1.LifecycleHandler{Sleep: &corev1.SleepAction{Seconds: 10}}
	for _, tt := range []struct {
		name, script string
		preStop      *corev1.LifecycleHandler
		code         int32
		after        time.Duration
	}{
		{"loop", `trap 'echo stopping; exit 3' TERM; while [ ! -e /x ]; do sleep 1; done`, nil, 3, time.Second},
		{"wait", `trap 'echo stopping; exit 4' SIGTERM INT; tail -f /dev/null & wait`, nil, 4, 0},
		{"ignores", `trap '' TERM; cat /etc/hosts > /x; sleep 1000`, nil, 137, 30 * time.Second},
		{"late", `trap 'sleep 5; exit 5' 15; while [ ! -e /x ]; do sleep 1; done`, nil, 5, 6 * time.Second},
		{"takes back", `trap 'exit 6' 15; trap - TERM; while [ ! -e /x ]; do sleep 1; done`, nil, 143, time.Second},
		{"after its preStop command", `trap 'exit 7' TERM; tail -f /dev/null & wait`, command, 7, 10 * time.Second},
		{"after its preStop sleep", `trap 'exit 8' TERM; tail -f /dev/null & wait`, pause, 8, 10 * time.Second},
	} {
		t.Run(tt.name, func(t *testing.T) {
			pod := podNamed("stopped", func(pod *corev1.Pod) {
				pod.Finalizers = []string{"example.com/keep"}
				pod.Spec.RestartPolicy = corev1.RestartPolicyNever
				pod.Spec.Containers[0].Command = []string{"sh", "-c", tt.script}
				pod.Spec.Containers[0].Lifecycle = &corev1.Lifecycle{PreStop: tt.preStop}
			})
			if _, err := pods.Create(t.Context(), pod, metav1.CreateOptions{}); err != nil {
				t.Fatal(err)
			}
			advance(t, c, 1500*time.Millisecond)
			if err := pods.Delete(t.Context(), pod.Name, metav1.DeleteOptions{}); err != nil {
				t.Fatal(err)
			}
			// The script looks for the signal each second, and began half a second ago.
			early := max(tt.after-time.Second, 0)
			advance(t, c, early)
			if got := podIn(t, c, pod.Name).Status.Phase; tt.after > 0 && got != corev1.PodRunning {
				t.Errorf("after %v it is %s", early, got)
			}
			advance(t, c, tt.after-early)
			got := podIn(t, c, pod.Name).Status.ContainerStatuses[0].State
			if got.Terminated == nil || got.Terminated.ExitCode != tt.code {
				t.Errorf("after %v it is %+v", tt.after, got)
			}
			if _, err := pods.Patch(t.Context(), pod.Name, "application/merge-patch+json", []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{}); err != nil {
				t.Fatal(err)
			}
		})
	}
}

func advance(t *testing.T, c *minikcmtest.Cluster, d time.Duration) {
	t.Helper()
	if err := c.Advance(t.Context(), d); err != nil {
		t.Fatal(err)
	}
}

func podIn(t *testing.T, c *minikcmtest.Cluster, name string) *corev1.Pod {
	t.Helper()
	pod, err := c.Client().CoreV1().Pods("default").Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return pod
}
