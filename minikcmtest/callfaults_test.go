package minikcmtest_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"minikcm.dev/minikcm/internal/network/ends"
	"minikcm.dev/minikcm/internal/network/faults"
)

// between returns a rule between two ends.
func between(t *testing.T, from, to string, r faults.Rule) *faults.Rule {
	t.Helper()
	for _, side := range []struct {
		text string
		into *ends.Set
	}{{from, &r.From}, {to, &r.To}} {
		e, err := ends.Parse("default", side.text)
		if err != nil {
			t.Fatal(err)
		}
		*side.into = ends.Set{e}
	}
	r.Percent, r.Direction = 100, faults.Both
	return &r
}

// Faults between the API server and a node meet port-forward, those between it and the pod do not.
func TestFaultsMeetPortForward(t *testing.T) {
	t.Parallel()
	c := newTraffic(t)
	c.serves("plain", "80 / 200 here", nil, func(pod *corev1.Pod) { pod.Spec.NodeName = "node-1" })
	c.pass(30 * time.Second)
	pod, err := c.Client().CoreV1().Pods("default").Get(t.Context(), "plain", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct{ name, to, want string }{
		{"the node", "node/node-1", "read tcp 172.18.0.3:10250: read: connection reset by peer"},
		{"another node", "node/node-0", ""},
		{"the pod", "pod/plain", ""},
	} {
		remove := c.Kubelets().DisturbNetwork(between(t, "apiserver", test.to, faults.Rule{Reset: true}))
		open, err := c.Kubelets().OpenPorts(pod)
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		if err := open(80).Arrive(t.Context(), httptest.NewRequest(http.MethodPost, "/", nil), true); err != nil {
			got = err.Error()
		}
		if got != test.want {
			t.Errorf("%s: got %q, want %q", test.name, got, test.want)
		}
		remove()
	}
}

// Faults between the API server and a node meet exec, logs and the node's proxy, with the errors and after the times of upstream.
func TestFaultsMeetCallsOfKubelets(t *testing.T) {
	t.Parallel()
	c := newTraffic(t)
	c.serves("plain", "80 / 200 here", nil, func(pod *corev1.Pod) { pod.Spec.NodeName = "node-1" })
	c.pass(30 * time.Second)
	text := func(r rest.Result) string {
		if err := r.Error(); err != nil {
			return err.Error()
		}
		return ""
	}
	client := c.Client().CoreV1()
	log := func() string {
		return text(client.Pods("default").GetLogs("plain", &corev1.PodLogOptions{}).Do(context.Background()))
	}
	stats := func() string {
		return text(client.RESTClient().Get().AbsPath("/api/v1/nodes/node-1/proxy/healthz").Do(context.Background()))
	}
	exec := func() string {
		return text(client.RESTClient().Post().AbsPath("/api/v1/namespaces/default/pods/plain/exec").Param("command", "true").Param("stdout", "true").Do(context.Background()))
	}
	const address = "172.18.0.3:10250"
	for _, test := range []struct {
		name, to string
		rule     faults.Rule
		why      string
		takes    time.Duration
	}{
		{"cut off", "node/node-1", faults.Rule{Partition: true}, "dial tcp " + address + ": i/o timeout", 30 * time.Second},
		{"reset", "node/node-1", faults.Rule{Reset: true}, "read tcp " + address + ": read: connection reset by peer", 0},
		{"late", "node/node-1", faults.Rule{Delay: time.Second}, "", 4 * time.Second},
		{"another node", "node/node-0", faults.Rule{Partition: true}, "", 0},
	} {
		remove := c.Kubelets().DisturbNetwork(between(t, "apiserver", test.to, test.rule))
		for _, call := range []struct {
			name, before string
			does         func() string
		}{
			{"log", `Get "https://` + address + `/containerLogs/default/plain/main": `, log},
			{"proxy of the node", "error trying to reach service: ", stats},
			{"exec", "error dialing backend: ", exec},
		} {
			c.takes(test.takes, func() {
				if got := call.does(); strings.Contains(got, " tcp ") != (test.why != "") || test.why != "" && got != call.before+test.why {
					t.Errorf("%s, %s: got %q, want %q", test.name, call.name, got, call.before+test.why)
				}
			})
		}
		remove()
	}
	if err := c.Kubelets().CrashNode("node-1"); err != nil {
		t.Fatal(err)
	}
	c.takes(3*time.Second, func() {
		if got, want := exec(), "error dialing backend: dial tcp "+address+": connect: no route to host"; got != want {
			t.Errorf("of a machine that is down, exec says %q, want %q", got, want)
		}
	})
}

// Faults between the API server and a pod meet webhooks and the subresource proxy, with the errors of net/http.
func TestFaultsMeetCallsOfTheAPIServer(t *testing.T) {
	t.Parallel()
	c := newTraffic(t)
	now := c.Clock().Now()
	ca := newAuthority(t, now)
	c.serves("safe", hookAnswers, ca.secret("safe.default.svc", now.Add(10_000*time.Hour)), nil)
	c.serves("plain", "80 / 200 here", nil, nil)
	c.pass(30 * time.Second)
	c.validates(hook(ca.pem(), "/deny"), admissionv1.Fail, 5)
	const denied, failing = `denied the request: not today`, `failed to call webhook: Post "https://safe.default.svc:443/deny?timeout=5s": `
	proxied := func() string {
		got, err := c.Client().CoreV1().RESTClient().Get().AbsPath("/api/v1/namespaces/default/pods/plain:80/proxy/").DoRaw(context.Background())
		if status := apierrors.APIStatus(nil); errors.As(err, &status) {
			return fmt.Sprintf("%+v %s", status.Status(), got)
		}
		return string(got)
	}
	for _, test := range []struct {
		name, from, to, hook, proxy string
		rule                        faults.Rule
		takes                       time.Duration
	}{
		{"cut off from the Service", "apiserver", "svc/safe", failing + "context deadline exceeded", "here", faults.Rule{Partition: true}, 5 * time.Second},
		{"cut off from the pod", "pod/safe", "apiserver", failing + "context deadline exceeded", "here", faults.Rule{Partition: true}, 5 * time.Second},
		{"cut off from another pod", "pod/plain", "apiserver", denied, "error trying to reach service: dial tcp ", faults.Rule{Partition: true}, 0},
		{"not named", "outside", "*", denied, "here", faults.Rule{Partition: true}, 0},
		{"reset", "apiserver", "*", failing + "read tcp ", "read: connection reset by peer", faults.Rule{Reset: true}, 0},
		{"late", "apiserver", "pod/safe", denied, "here", faults.Rule{Delay: time.Second}, 4 * time.Second},
		{"too late", "apiserver", "pod/safe", failing + "context deadline exceeded", "here", faults.Rule{Delay: 2 * time.Second}, 5 * time.Second},
		{"aborted", "apiserver", "svc/safe", failing + "EOF", "here", faults.Rule{HTTP: &faults.HTTP{Abort: true}}, 0},
	} {
		remove := c.Kubelets().DisturbNetwork(between(t, test.from, test.to, test.rule))
		c.takes(test.takes, func() {
			if _, err := c.create("a"); err == nil || !strings.Contains(err.Error(), test.hook) {
				t.Errorf("%s: got %v, want %q", test.name, err, test.hook)
			}
		})
		c.takes(0, func() {
			if got := proxied(); !strings.Contains(got, test.proxy) {
				t.Errorf("%s: the proxy answers %q, want %q", test.name, got, test.proxy)
			}
		})
		remove()
	}
}
