package minikcmtest_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"minikcm.dev/minikcm/minikcmtest"
)

// traffic is a cluster with three pods behind the Service web.
type traffic struct {
	*minikcmtest.Cluster
	t *testing.T
}

func newTraffic(t *testing.T) *traffic {
	t.Helper()
	c := &traffic{minikcmtest.New(t, minikcmtest.WithVirtualTime(), minikcmtest.WithNodes(3)), t}
	labels := map[string]string{"app": "web"}
	deployment := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: "web"}, Spec: appsv1.DeploymentSpec{
		Replicas: ptr.To[int32](3), Selector: &metav1.LabelSelector{MatchLabels: labels},
		Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "nginx", Image: "nginx"}}}},
	}}
	if _, err := c.Client().AppsV1().Deployments("default").Create(t.Context(), deployment, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "web"}, Spec: corev1.ServiceSpec{Selector: labels, Ports: []corev1.ServicePort{{Port: 80}}}}
	if _, err := c.Client().CoreV1().Services("default").Create(t.Context(), service, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	c.pass(5 * time.Second)
	return c
}

func (c *traffic) pass(d time.Duration) {
	c.t.Helper()
	if err := c.Advance(c.t.Context(), d); err != nil {
		c.t.Fatal(err)
	}
}

// runs creates a pod that runs a script.
func (c *traffic) runs(name, script string) {
	c.t.Helper()
	pod := speaking(name, script)
	pod.Labels = map[string]string{"run": name}
	if _, err := c.Client().CoreV1().Pods("default").Create(c.t.Context(), pod, metav1.CreateOptions{}); err != nil {
		c.t.Fatal(err)
	}
}

func (c *traffic) log(name string) string {
	c.t.Helper()
	data, err := c.Client().CoreV1().Pods("default").GetLogs(name, &corev1.PodLogOptions{}).DoRaw(c.t.Context())
	if err != nil {
		c.t.Fatal(err)
	}
	return string(data)
}

const asks = "while true; do wget -qO- web | grep ^pod; sleep 1; done"

// Requests to a Service are spread over its pods.
func TestRequestsReachThePodsOfAService(t *testing.T) {
	t.Parallel()
	c := newTraffic(t)
	c.runs("client", asks)
	c.pass(time.Minute)
	count := map[string]int{}
	for line := range strings.Lines(c.log("client")) {
		count[strings.TrimSpace(line)]++
	}
	if len(count) != 3 {
		t.Errorf("the pods that answered: %v\n%s", count, c.log("client"))
	}
	for line, n := range count {
		if !strings.HasPrefix(line, "pod: web-") || n < 8 {
			t.Errorf("%q was written %d times: %v", line, n, count)
		}
	}
}

// A policy makes connections time out on the cluster's clock, and a changed one lets them through.
func TestPoliciesDenyConnections(t *testing.T) {
	t.Parallel()
	c := newTraffic(t)
	deny := &networkingv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{Name: "deny"}, Spec: networkingv1.NetworkPolicySpec{PodSelector: metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}}}
	policies := c.Client().NetworkingV1().NetworkPolicies("default")
	deny, err := policies.Create(t.Context(), deny, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	c.runs("short", "wget -T 5 -qO- web; echo $?; sleep infinity")
	c.runs("long", "curl -sS web; echo $?; sleep infinity")
	c.pass(20 * time.Second)
	if got, want := c.log("short"), "wget: download timed out\n1\n"; got != want {
		t.Errorf("short wrote %q, want %q", got, want)
	}
	if got := c.log("long"); got != "" {
		t.Errorf("long wrote %q before the time-out", got)
	}
	c.pass(2 * time.Minute)
	if got, want := c.log("long"), "curl: (28) Failed to connect to web port 80 after 127000 ms: Could not connect to server\n28\n"; got != want {
		t.Errorf("long wrote %q, want %q", got, want)
	}
	deny.Spec.Ingress = []networkingv1.NetworkPolicyIngressRule{{From: []networkingv1.NetworkPolicyPeer{{PodSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"run": "friend"}}}}}}
	if _, err := policies.Update(t.Context(), deny, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	c.runs("friend", "wget -T 5 -qO- web | grep -o pod:; sleep infinity")
	c.runs("stranger", "wget -T 5 -qO- web; echo $?; sleep infinity")
	c.pass(20 * time.Second)
	if got := c.log("friend") + c.log("stranger"); got != "pod:\nwget: download timed out\n1\n" {
		t.Errorf("friend and stranger wrote %q", got)
	}
}

// Names, refused connections, declared answers, and a wait for a Service that comes later.
func TestProgramsSeeTheCluster(t *testing.T) {
	t.Parallel()
	c := newTraffic(t)
	c.runs("waits", "until nc -z later 5432; do sleep 1; done 2>/dev/null; echo reached; sleep infinity")
	c.runs("names", "getent hosts kubernetes | awk '{print $1}'; wget -qO- nosuch; nc -z $(hostname -i) 80 || echo refused; sleep infinity")
	c.pass(20 * time.Second)
	if got, want := c.log("names"), "10.96.0.1\nwget: bad address 'nosuch'\nrefused\n"; got != want {
		t.Errorf("names wrote %q, want %q", got, want)
	}
	if got := c.log("waits"); got != "" {
		t.Errorf("waits wrote %q", got)
	}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "later", Labels: map[string]string{"app": "later"}, Annotations: map[string]string{"minikcm.dev/http": "8080 /* 200 declared"}}}
	pod.Spec.Containers = []corev1.Container{{Name: "db", Image: "postgres"}}
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "later"}, Spec: corev1.ServiceSpec{Selector: pod.Labels, Ports: []corev1.ServicePort{{Port: 5432, TargetPort: intstr.FromInt32(8080)}}}}
	if _, err := c.Client().CoreV1().Pods("default").Create(t.Context(), pod, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Client().CoreV1().Services("default").Create(t.Context(), service, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	c.runs("reads", "sleep 5; curl -s later:5432/x; sleep infinity")
	c.pass(20 * time.Second)
	if got := c.log("waits") + c.log("reads"); got != "reached\ndeclared\n" {
		t.Errorf("they wrote %q", got)
	}
}

// Equal seeds give equal traffic.
func TestTrafficFollowsFromTheSeed(t *testing.T) {
	t.Parallel()
	var logs []string
	for range 2 {
		c := newTraffic(t)
		for i := range 4 {
			c.runs(fmt.Sprintf("client-%d", i), asks)
		}
		c.pass(30 * time.Second)
		var all []string
		for i := range 4 {
			all = append(all, c.log(fmt.Sprintf("client-%d", i)))
		}
		logs = append(logs, strings.Join(all, "\n"))
		if len(slices.Compact(strings.Split(all[0], "\n"))) < 5 {
			t.Errorf("client-0 reached few pods:\n%s", all[0])
		}
	}
	if logs[0] != logs[1] {
		t.Errorf("one run has\n%s\nand another\n%s", logs[0], logs[1])
	}
}
