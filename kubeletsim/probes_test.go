package kubeletsim

import (
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/internal/podspec"
	"minikcm.dev/minikcm/kubeletsim/internal/podtest"
	"minikcm.dev/minikcm/kubeletsim/internal/responses"
)

func execProbe(script string, change ...func(*corev1.Probe)) *corev1.Probe {
	probe := &corev1.Probe{ProbeHandler: corev1.ProbeHandler{Exec: &corev1.ExecAction{Command: []string{"sh", "-c", script}}}, PeriodSeconds: 5, FailureThreshold: 3, TimeoutSeconds: 1}
	for _, do := range change {
		do(probe)
	}
	return probe
}

// messages returns the messages of the pod's events with a reason. An event that was repeated counts once.
func (c *cluster) messages(pod, reason string) []string {
	c.t.Helper()
	if err := c.ledger.WaitIdle(c.ctx); err != nil {
		c.t.Fatal(err)
	}
	list, err := c.client.CoreV1().Events("").List(c.ctx, metav1.ListOptions{})
	if err != nil {
		c.t.Fatal(err)
	}
	var messages []string
	for _, e := range list.Items {
		if e.InvolvedObject.Name == pod && e.Reason == reason {
			messages = append(messages, e.Message)
		}
	}
	return messages
}

// begin creates a pod and waits until its containers run.
func (c *cluster) begin(pod *corev1.Pod) {
	c.t.Helper()
	c.create(pod)
	c.until(pod.Name+" runs", func() bool { return c.pod(pod.Name).Status.Phase == corev1.PodRunning })
	c.advance(0)
}

// A command that a probe runs finds what the container's process has made.
func TestExecReadiness(t *testing.T) {
	c := newCluster(t, Options{Nodes: 1})
	c.begin(podtest.Pod("web", "node-0", podtest.Command("sh", "-c", "sleep 7; touch /tmp/ready; sleep 20; rm /tmp/ready; sleep 1000"), func(pod *corev1.Pod) {
		pod.Spec.Containers[0].ReadinessProbe = execProbe("cat /tmp/ready", func(p *corev1.Probe) { p.SuccessThreshold = 2 })
	}))
	// Asked at 0, 5, 10, ...: it is there from 7 to 27. Two must succeed, three may fail.
	for _, at := range []struct {
		until time.Duration
		ready bool
	}{{14, false}, {16, true}, {39, true}, {41, false}, {100, false}} {
		passed := c.clock.Now().Sub(podtest.Epoch)
		c.advance(at.until*time.Second - passed)
		if got := isReady(c.pod("web")); got != at.ready {
			t.Errorf("after %ds, ready is %v", at.until, got)
		}
	}
	if got := c.messages("web", "Unhealthy"); len(got) != 1 || got[0] != "Readiness probe failed: cat: /tmp/ready: No such file or directory\n" {
		t.Errorf("events: %q", got)
	}
	if got := c.pod("web").Status.ContainerStatuses[0].RestartCount; got != 0 {
		t.Errorf("%d restarts", got)
	}
}

// If work takes turns, a probe follows what the container's commands do at the same instant,
// however long that takes them.
func TestProbesTakeTurns(t *testing.T) {
	ledger := clock.NewLedger()
	ledger.TakeTurns(1, false)
	c := newClusterOn(t, ledger, Options{Nodes: 1})
	for i := range 10 {
		name := "web-" + strconv.Itoa(i)
		script := "i=0; while [ $i -lt 600 ]; do i=$((i+1)); done; touch /tmp/ready; sleep 1000"
		c.begin(podtest.Pod(name, "node-0", podtest.Command("sh", "-c", script), func(pod *corev1.Pod) {
			pod.Spec.Containers[0].ReadinessProbe = execProbe("cat /tmp/ready")
		}))
		c.advance(time.Second)
		if got := c.messages(name, "Unhealthy"); len(got) > 0 || !isReady(c.pod(name)) {
			t.Errorf("%s is not ready from the beginning: %q", name, got)
		}
	}
}

// A liveness or startup probe that has failed as often as it may ends the container's run.
func TestExecLiveness(t *testing.T) {
	c := newCluster(t, Options{Nodes: 1})
	for name, tt := range map[string]struct {
		change            func(*corev1.Container)
		restarted         time.Duration
		unhealthy, killed string
	}{
		"liveness": {
			change: func(main *corev1.Container) {
				main.Command = []string{"sh", "-c", "touch /tmp/healthy; sleep 30; rm -f /tmp/healthy; sleep 600"}
				main.LivenessProbe = execProbe("cat /tmp/healthy", func(p *corev1.Probe) { p.InitialDelaySeconds = 5 })
			},
			restarted: 40 * time.Second, unhealthy: "Liveness probe failed: cat: /tmp/healthy: No such file or directory\n", killed: "Container app failed liveness probe, will be restarted",
		},
		"startup": {
			change: func(main *corev1.Container) {
				main.StartupProbe = execProbe("echo no; exit 3", func(p *corev1.Probe) { p.FailureThreshold = 4 })
				main.LivenessProbe = execProbe("false")
			},
			restarted: 15 * time.Second, unhealthy: "Startup probe failed: no\n", killed: "Container app failed startup probe, will be restarted",
		},
		"timeout": {
			change:    func(main *corev1.Container) { main.LivenessProbe = execProbe("sleep 3") },
			restarted: 11 * time.Second, unhealthy: `Liveness probe failed: command timed out: "sh -c sleep 3" timed out after 1s`,
			killed: "Container app failed liveness probe, will be restarted",
		},
		"healthy": {change: func(main *corev1.Container) {
			main.StartupProbe, main.LivenessProbe = execProbe("test -d /tmp"), execProbe("hostname | grep -q healthy")
		}},
		"unknown": {change: func(main *corev1.Container) {
			main.LivenessProbe, main.ReadinessProbe = execProbe("pg_isready -U postgres || exit 1"), execProbe("")
			main.ReadinessProbe.Exec.Command = []string{"/usr/bin/pg_isready"}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			began := c.clock.Now()
			c.begin(podtest.Pod(name, "node-0", func(pod *corev1.Pod) { tt.change(&pod.Spec.Containers[0]) }))
			restarts := func() int32 { return c.pod(name).Status.ContainerStatuses[0].RestartCount }
			if tt.restarted == 0 {
				c.advance(5 * time.Minute)
				if restarts() != 0 || !isReady(c.pod(name)) {
					t.Errorf("%+v", c.pod(name).Status)
				}
				return
			}
			c.advance(tt.restarted - time.Millisecond - c.clock.Now().Sub(began))
			if restarts() != 0 {
				t.Errorf("it was restarted early")
			}
			c.advance(time.Millisecond)
			if restarts() != 1 {
				t.Errorf("it was restarted %d times: %+v", restarts(), c.pod(name).Status)
			}
			if got := c.messages(name, "Unhealthy"); len(got) != 1 || got[0] != tt.unhealthy {
				t.Errorf("events: %q", got)
			}
			if got := c.messages(name, "Killing"); len(got) != 1 || got[0] != tt.killed {
				t.Errorf("events: %q", got)
			}
		})
	}
}

// What the annotation says of a port decides about health checks.
func TestGRPCProbes(t *testing.T) {
	service := "shop.Cart"
	for text, want := range map[string]string{
		"":                                        "",
		"9090 SERVING\n9090 shop.Cart SERVING":    "",
		"9090 SERVING\n9090 shop.Cart UNKNOWN":    `service unhealthy (responded with "UNKNOWN")`,
		"9090 SERVING":                            "error: health rpc probe failed: rpc error: code = NotFound desc = unknown service",
		"8080 shop.Cart SERVING":                  `timeout: failed to connect service "10.0.0.1:9090" within 2s: context deadline exceeded`,
		"9090 shop.Cart NOT_SERVING":              `service unhealthy (responded with "NOT_SERVING")`,
		"9090 shop.Cart MAYBE":                    "",
		"\n 9090  shop.Cart   NOT_SERVING \n  \n": `service unhealthy (responded with "NOT_SERVING")`,
	} {
		pod := podtest.Pod("web", "node-0", podtest.Annotated("grpc", text))
		probe := &corev1.Probe{ProbeHandler: corev1.ProbeHandler{GRPC: &corev1.GRPCAction{Port: 9090, Service: &service}}, TimeoutSeconds: 2}
		got := ""
		if answers := responses.GRPCOf(pod, "app", podspec.AppContainer); answers != nil {
			got = responses.GRPCFailure(answers, probe, "10.0.0.1")
		}
		if got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

// A server of files answers probes with what is there at the moment.
func TestProbesOfFiles(t *testing.T) {
	c := newCluster(t, Options{Nodes: 1})
	c.begin(podtest.Pod("web", "node-0", podtest.Command("sh", "-c", "mkdir -p /srv/www; echo hi > /srv/www/index.html; sleep 10; mv /srv/www/index.html /tmp; sleep 10; mv /tmp/index.html /srv/www; sleep 1000"),
		podtest.Annotated("http", "80 /* files /srv/www"), func(pod *corev1.Pod) {
			pod.Spec.Containers[0].ReadinessProbe = &corev1.Probe{
				ProbeHandler:  corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: "/index.html", Port: intstr.FromInt32(80)}},
				PeriodSeconds: 1, FailureThreshold: 1, SuccessThreshold: 1, TimeoutSeconds: 1,
			}
		}))
	var seen []string
	for range 5 {
		c.advance(5500 * time.Millisecond)
		seen = append(seen, map[bool]string{true: "ready", false: "not"}[isReady(c.pod("web"))])
	}
	if got := strings.Join(seen, " "); got != "ready not not ready ready" {
		t.Errorf("at 5.5s, 11s, ...: %s", got)
	}
	if got := c.messages("web", "Unhealthy"); len(got) != 1 || got[0] != "Readiness probe failed: HTTP probe failed with statuscode: 404" {
		t.Errorf("events: %q", got)
	}
}
