package kubeletsim

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"minikcm.dev/minikcm/kubeletsim/internal/images"
	"minikcm.dev/minikcm/kubeletsim/internal/podtest"
)

// What depends on the content of an image that nothing describes is assumed to be as the pod's author expected,
// in commands of containers and of init containers and in probes, and the log says so.
func TestUnknownContent(t *testing.T) {
	c := newCluster(t, Options{Nodes: 1})
	probed := func(words ...string) func(*corev1.Pod) {
		return func(pod *corev1.Pod) {
			pod.Spec.Containers[0].ReadinessProbe = &corev1.Probe{ProbeHandler: corev1.ProbeHandler{Exec: &corev1.ExecAction{Command: words}}, PeriodSeconds: 1, FailureThreshold: 1, TimeoutSeconds: 1}
		}
	}
	initially := func(words ...string) func(*corev1.Pod) {
		return podtest.Initially(corev1.Container{Name: "init", Command: words})
	}
	pods := map[string]func(*corev1.Pod){
		"probe-direct":  probed("redis-cli", "ping"),
		"probe-shell":   probed("sh", "-c", "redis-cli ping"),
		"probe-timeout": probed("timeout", "2", "redis-cli", "ping"),
		"probe-text":    probed("sh", "-c", `r=$(redis-cli ping); if [ "$r" != PONG ]; then exit 1; fi`),
		"probe-file":    probed("sh", "-c", "[ -f /opt/bitnami/x/.initialized ]"),
		"init-copy":     initially("sh", "-c", "cp /usr/local/bin/argocd /shared/ && /shared/argocd version"),
		"init-wait":     initially("sh", "-c", "until pg_isready -h db; do sleep 2; done; while ! redis-cli -h db ping; do sleep 1; done"),
		"init-bash":     initially("bash", "-euo", "pipefail", "-c", ". /opt/lib.sh; timeout 5 bash -c '</dev/tcp/db.example.com/5432'; sysctl -w vm.max_map_count=262144"),
		"init-tini":     initially("tini", "--", "sh", "-c", "unknown-tool || exit 1"),
		"server":        podtest.Command("sh", "-c", "setup --quick; exec server --port 80"),
		"wrapped":       podtest.Command("sh", "-c", "server & wait $!; exit 3"),
		"script":        podtest.Command("sh", "-c", "server; echo over"),
	}
	for name, change := range pods {
		c.create(podtest.Pod(name, "node-0", change))
	}
	c.advance(time.Second) // a connection takes time
	for name := range pods {
		c.until(name+" is ready", func() bool { return isReady(c.pod(name)) })
	}
	c.advance(time.Minute)
	for name := range pods {
		if pod := c.pod(name); !isReady(pod) || pod.Status.ContainerStatuses[0].RestartCount > 0 {
			t.Errorf("%s: %+v", name, pod.Status)
		}
	}
	for _, want := range []struct{ pod, container, text string }{
		{"probe-text", "app", "assumed that redis-cli succeeds\n"},
		{"probe-file", "app", "assumed that /opt/bitnami/x/.initialized exists\n"},
		{"probe-direct", "app", "minikcm: started its program of image nginx, whose output is unknown\n"},
		{"init-copy", "init", "the content of image nginx is unknown: assumed that /usr/local/bin/argocd exists\n"},
		{"init-bash", "init", "assumed that db.example.com accepts connections at port 5432\n"},
		{"server", "app", "assumed that server succeeds\n"},
		{"script", "app", "over\n"},
	} {
		if got := c.log(want.pod, want.container); strings.Count(got, want.text) != 1 {
			t.Errorf("the log of %s has not once %q:\n%s", want.pod, want.text, got)
		}
	}
}

// With a description of the image, what is absent is absent, but not with one of its pulls.
func TestKnownContent(t *testing.T) {
	profile := func(name string, data map[string]string) *corev1.ConfigMap {
		data["image"] = "*/" + name + ":*"
		return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, Labels: map[string]string{images.LabelImage: ""}}, Data: data}
	}
	c := newCluster(t, Options{Nodes: 1},
		profile("bare", map[string]string{}), profile("described", map[string]string{"files": "/opt/x y"}),
		profile("pulled", map[string]string{"size": "1Gi"}), profile("partly", map[string]string{"files": "/opt/x y", "content": "unknown"}),
	)
	for image, code := range map[string]int32{"bare": 127, "described": 127, "pulled": 0, "partly": 0} {
		c.create(podtest.Pod(image, "node-0", podtest.Command("sh", "-c", "unknown-tool; code=$?; [ -f /opt/other ] || exit $code"), podtest.OfJob, restartPolicy(corev1.RestartPolicyNever), func(pod *corev1.Pod) {
			pod.Spec.Containers[0].Image = "example.com/" + image + ":1"
		}))
		if got := c.exitOf(image); got.ExitCode != code {
			t.Errorf("%s ended with %d, want %d", image, got.ExitCode, code)
		}
	}
}

// An image that is in no list of those that exist cannot be pulled, until it is.
func TestRegistry(t *testing.T) {
	c := newCluster(t, Options{Nodes: 1}, &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "registry", Labels: map[string]string{images.LabelRegistry: ""}}, Data: map[string]string{"images": "nginx"},
	})
	c.create(podtest.Pod("there", "node-0"))
	c.create(podtest.Pod("missing", "node-0", func(pod *corev1.Pod) { pod.Spec.Containers[0].Image = "nosuch/image:doesnotexist" }))
	c.until("there runs", func() bool { return c.pod("there").Status.Phase == corev1.PodRunning })
	waits := func() string {
		statuses := c.pod("missing").Status.ContainerStatuses
		if len(statuses) == 0 || statuses[0].State.Waiting == nil {
			return ""
		}
		return statuses[0].State.Waiting.Reason + ": " + statuses[0].State.Waiting.Message
	}
	const why = `failed to pull and unpack image "docker.io/nosuch/image:doesnotexist": failed to resolve reference "docker.io/nosuch/image:doesnotexist": pull access denied`
	c.until("missing backs off", func() bool { return strings.HasPrefix(waits(), "ImagePullBackOff") })
	if got := waits(); !strings.Contains(got, `Back-off pulling image "nosuch/image:doesnotexist": ErrImagePull: rpc error: code = Unknown desc = `+why) {
		t.Error(got)
	}
}
