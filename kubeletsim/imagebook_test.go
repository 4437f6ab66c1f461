package kubeletsim

import (
	"fmt"
	"io"
	"net/http/httptest"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"minikcm.dev/minikcm/kubeletsim/internal/images"
	"minikcm.dev/minikcm/kubeletsim/internal/podtest"
)

func aboutImage(name string, data ...string) *corev1.ConfigMap {
	c := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, Labels: map[string]string{images.LabelImage: ""}}, Data: map[string]string{}}
	for i := 0; i < len(data); i += 2 {
		c.Data[data[i]] = data[i+1]
	}
	return c
}

// What a ConfigMap declares for an image holds for containers that run its own program, unless
// their pod says otherwise.
func TestImages(t *testing.T) {
	image := func(image string) func(*corev1.Pod) {
		return func(pod *corev1.Pod) { pod.Spec.Containers[0].Image = image }
	}
	args := func(args ...string) func(*corev1.Pod) {
		return func(pod *corev1.Pod) { pod.Spec.Containers[0].Args = args }
	}
	c := newCluster(t, Options{Nodes: 1},
		aboutImage("batch", "image", "shop/batch:*\nshop/old", "exit-after", "5s", "exit-code", "3"),
		aboutImage("gone", "image", "shop/gone", "pull-error", "not found"),
		aboutImage("tool", "image", "shop/tool:*", "command", "serve *\nlisten", "http", "8080 / 200 I am $(HOSTNAME)\n8080 /open 200 here\\"),
		aboutImage("www", "image", "shop/www:*", "http", "80 /* files /srv", "files", "/srv/index.html hello\n/etc/motd hi there"),
		aboutImage("zz-batch", "image", "shop/*", "exit-after", "1s"),
	)
	for _, tt := range []struct {
		name   string
		change []func(*corev1.Pod)
		state  string
	}{
		{"batch", []func(*corev1.Pod){image("shop/batch:v1")}, "exited 3"},
		{"tagged", []func(*corev1.Pod){image("shop/old")}, "exited 3"},
		{"own-command", []func(*corev1.Pod){image("shop/batch:v1"), podtest.Command("sleep", "infinity")}, "running"},
		{"own-words", []func(*corev1.Pod){image("shop/batch:v1"), podtest.Annotated("exit-code", "4")}, "exited 4"},
		{"gone", []func(*corev1.Pod){image("shop/gone"), podtest.Command("sleep", "infinity")}, "waiting ImagePullBackOff"},
		{"other", []func(*corev1.Pod){image("shop/other")}, "exited 0"},
		{"unknown", []func(*corev1.Pod){image("nginx")}, "running"},
		{"tool", []func(*corev1.Pod){image("shop/tool:v1"), args("serve", "--all"), podtest.Annotated("exit-after", "never")}, "running"},
		{"www", []func(*corev1.Pod){image("shop/www:v1"), podtest.Annotated("exit-after", "never")}, "running"},
	} {
		c.create(podtest.Pod(tt.name, "node-0", append(tt.change, restartPolicy(corev1.RestartPolicyNever))...))
		c.until(tt.name+" was started", func() bool { return c.pod(tt.name).Status.StartTime != nil })
		c.advance(6 * time.Second)
		if got := stateOf(c.pod(tt.name)); got != tt.state {
			t.Errorf("%s is %s, want %s", tt.name, got, tt.state)
		}
	}
	for _, tt := range []struct {
		pod, path string
		port      int32
		want      string
	}{
		{"tool", "/", 8080, "200 I am tool\n"},
		{"tool", "/open", 8080, "200 here"},
		{"www", "/", 80, "200 hello\n"},
		{"www", "/index.html", 80, "200 hello\n"},
		{"www", "/../etc/motd", 80, "404 404 page not found\n"},
		{"www", "/none", 80, "404 404 page not found\n"},
	} {
		open, err := c.kubelet.OpenPorts(c.pod(tt.pod))
		if err != nil {
			t.Fatal(err)
		}
		w := httptest.NewRecorder()
		open(tt.port).Handler.ServeHTTP(w, httptest.NewRequest("GET", tt.path, nil))
		body, _ := io.ReadAll(w.Result().Body)
		if got := fmt.Sprintf("%d %s", w.Code, body); got != tt.want {
			t.Errorf("%s of %s: %q, want %q", tt.path, tt.pod, got, tt.want)
		}
	}
}

func stateOf(pod *corev1.Pod) string {
	state := pod.Status.ContainerStatuses[0].State
	switch {
	case state.Terminated != nil:
		return fmt.Sprint("exited ", state.Terminated.ExitCode)
	case state.Waiting != nil:
		return "waiting " + state.Waiting.Reason
	}
	return "running"
}

// A port of the node belongs to one pod, until that has ended.
func TestHostPorts(t *testing.T) {
	port := func(p corev1.ContainerPort) func(*corev1.Pod) {
		return func(pod *corev1.Pod) { pod.Spec.Containers[0].Ports = []corev1.ContainerPort{p} }
	}
	c := newCluster(t, Options{Nodes: 2})
	for _, tt := range []struct {
		name, Node string
		port       corev1.ContainerPort
		reason     string
	}{
		{"first", "node-0", corev1.ContainerPort{HostPort: 80, ContainerPort: 80}, ""},
		{"second", "node-0", corev1.ContainerPort{HostPort: 80, ContainerPort: 8080, Protocol: corev1.ProtocolTCP}, "NodePorts"},
		{"udp", "node-0", corev1.ContainerPort{HostPort: 80, ContainerPort: 80, Protocol: corev1.ProtocolUDP}, ""},
		{"address", "node-0", corev1.ContainerPort{HostPort: 80, ContainerPort: 80, HostIP: "127.0.0.1"}, "NodePorts"},
		{"elsewhere", "node-1", corev1.ContainerPort{HostPort: 80, ContainerPort: 80, HostIP: "127.0.0.1"}, ""},
		{"beside", "node-1", corev1.ContainerPort{HostPort: 80, ContainerPort: 80, HostIP: "127.0.0.2"}, ""},
	} {
		c.create(podtest.Pod(tt.name, tt.Node, port(tt.port)))
		c.until(tt.name+" is looked at", func() bool { return c.pod(tt.name).Status.StartTime != nil })
		if got := c.pod(tt.name).Status; got.Reason != tt.reason || (got.Phase == corev1.PodFailed) != (tt.reason != "") {
			t.Errorf("%s is %s: %s %s", tt.name, got.Phase, got.Reason, got.Message)
		}
	}
	c.kubelet.nodes.Get("node-0").Release("uid-first")
	c.create(podtest.Pod("third", "node-0", port(corev1.ContainerPort{HostPort: 80, ContainerPort: 80})))
	c.until("the third runs", func() bool { return c.pod("third").Status.Phase == corev1.PodRunning })
}
