package minikcmtest_test

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// A hook's command and request reach what they name, and the container is stopped when the hook has ended.
func TestHooksAct(t *testing.T) {
	t.Parallel()
	c := described(t)
	c.describes("notes", "listen: [{port: 80, routes: [{path: /*, log: '${request.path}'}]}]", nil)
	exec := func(script string) *corev1.LifecycleHandler {
		return &corev1.LifecycleHandler{Exec: &corev1.ExecAction{Command: []string{"sh", "-c", script}}}
	}
	c.describes("worker", `
listen:
- port: 80
  routes: [{path: /quit, delay: 1s, calls: {n: "http://notes/quit"}}]
`, func(pod *corev1.Pod) {
		pod.Spec.Containers[0].Lifecycle = &corev1.Lifecycle{PostStart: exec("curl -s http://notes/started"), PreStop: exec("sleep 4; curl -s http://notes/stopping")}
		pod.Spec.Containers = append(pod.Spec.Containers, *pod.Spec.Containers[0].DeepCopy())
		pod.Spec.Containers[1].Name = "side"
		pod.Spec.Containers[1].Lifecycle = &corev1.Lifecycle{PreStop: &corev1.LifecycleHandler{HTTPGet: &corev1.HTTPGetAction{Path: "/quit", Port: intstr.FromInt32(80)}}}
	})
	if got := c.log("notes"); !strings.HasSuffix(got, "unknown\n/started\n") {
		t.Errorf("after the start, the server has noted %q", got)
	}
	if err := c.Client().CoreV1().Pods("default").Delete(t.Context(), "worker", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	c.pass(3 * time.Second)
	if _, err := c.Client().CoreV1().Pods("default").Get(t.Context(), "worker", metav1.GetOptions{}); err != nil {
		t.Errorf("while the hook runs: %v", err)
	}
	c.pass(3 * time.Second)
	if _, err := c.Client().CoreV1().Pods("default").Get(t.Context(), "worker", metav1.GetOptions{}); err == nil {
		t.Error("after the hook, the pod is still there")
	}
	if got := c.log("notes"); !strings.HasSuffix(got, "unknown\n/started\n/quit\n/stopping\n") {
		t.Errorf("after the end, the server has noted %q", got)
	}
}

// A hook that fails is reported, and one that does not end is over with the grace period.
func TestHooksFail(t *testing.T) {
	t.Parallel()
	c := described(t)
	exec := func(script string) *corev1.LifecycleHandler {
		return &corev1.LifecycleHandler{Exec: &corev1.ExecAction{Command: []string{"sh", "-c", script}}}
	}
	for name, hooks := range map[string]*corev1.Lifecycle{
		"failing-start": {PostStart: exec("exit 1")}, "failing-stop": {PreStop: exec("curl -s http://nowhere")}, "endless-stop": {PreStop: exec("while :; do date > /tmp/x; sleep 1; done")},
	} {
		pod := speaking(name, "sleep 1000")
		pod.Spec.TerminationGracePeriodSeconds = new(int64)
		*pod.Spec.TerminationGracePeriodSeconds = 10
		pod.Spec.Containers[0].Lifecycle = hooks
		if _, err := c.Client().CoreV1().Pods("default").Create(t.Context(), pod, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	c.pass(5 * time.Second)
	for _, name := range []string{"failing-stop", "endless-stop"} {
		if err := c.Client().CoreV1().Pods("default").Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	c.pass(8 * time.Second)
	if _, err := c.Client().CoreV1().Pods("default").Get(t.Context(), "endless-stop", metav1.GetOptions{}); err != nil {
		t.Errorf("before the end of the grace period: %v", err)
	}
	c.pass(5 * time.Second)
	list, err := c.Client().CoreV1().Events("default").List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var got strings.Builder
	for _, e := range list.Items {
		if strings.HasPrefix(e.Reason, "Failed") {
			got.WriteString(e.InvolvedObject.Name + " " + e.Reason + " " + e.Message + "\n")
		}
	}
	if want := "failing-start FailedPostStartHook PostStartHook failed\nfailing-stop FailedPreStopHook PreStopHook failed\n"; got.String() != want {
		t.Errorf("events:\n%swant\n%s", got.String(), want)
	}
	pods, err := c.Client().CoreV1().Pods("default").List(t.Context(), metav1.ListOptions{})
	if err != nil || len(pods.Items) != 1 {
		t.Errorf("%d pods are left, want failing-start only: %v", len(pods.Items), err)
	}
}
