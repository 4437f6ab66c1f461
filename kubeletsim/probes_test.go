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

// portProbe is a probe of a port each second, which may fail once.
func portProbe(handler corev1.ProbeHandler) *corev1.Probe {
	return &corev1.Probe{ProbeHandler: handler, PeriodSeconds: 1, FailureThreshold: 1, SuccessThreshold: 1, TimeoutSeconds: 1}
}

func httpProbe(port any) corev1.ProbeHandler {
	return corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: "/healthz?full=1", Port: portOf(port)}}
}

func tcpProbe(port any) corev1.ProbeHandler {
	return corev1.ProbeHandler{TCPSocket: &corev1.TCPSocketAction{Port: portOf(port)}}
}

func portOf(port any) intstr.IntOrString {
	if name, ok := port.(string); ok {
		return intstr.FromString(name)
	}
	return intstr.FromInt32(int32(port.(int)))
}

// Probes of ports reach what listens there, and are refused where it is known that nothing does. The address of pods is 10.244.0.*.
func TestPortProbes(t *testing.T) {
	t.Parallel()
	secure := httpProbe(8080)
	secure.HTTPGet.Scheme = corev1.URISchemeHTTPS
	elsewhere := tcpProbe(8080)
	elsewhere.TCPSocket.Host = "10.0.0.1"
	text := "listen:\n- port: 8080\n  mode: text\n  routes:\n  - {if: 'request.body.startsWith(\"GET \")', body: \"-ERR\\r\\n\"}\n- {port: 7, mode: echo}\n- {port: 9, mode: text, routes: [{unknown: true}]}\n"
	for name, tt := range map[string]struct {
		script  string
		server  string
		handler corev1.ProbeHandler
		// want is the message of the event; empty: the container is ready.
		want string
	}{
		"http of text":         {server: text, handler: httpProbe(8080), want: `Get "http://IP:8080/healthz?full=1": net/http: HTTP/1.x transport connection broken: malformed HTTP response "-ERR"`},
		"http of an echo":      {server: text, handler: httpProbe(7), want: `Get "http://IP:7/healthz?full=1": net/http: HTTP/1.x transport connection broken: malformed HTTP status code "/healthz?full=1"`},
		"http of unknown text": {server: text, handler: httpProbe(9), want: `Get "http://IP:9/healthz?full=1": EOF`},
		"https of text":        {server: text, handler: secure, want: `Get "https://IP:8080/healthz?full=1": EOF`},
		"tcp of text":          {server: text, handler: tcpProbe(8080)},
		"tcp":                  {script: "nc -lk -p 8080", handler: tcpProbe(8080)},
		"tcp elsewhere":        {script: "nc -lk -p 8080", handler: tcpProbe(8081), want: "dial tcp IP:8081: connect: connection refused"},
		"http of nc":           {script: "echo hello | nc -lk -p 8080 -e cat", handler: httpProbe(8080), want: `Get "http://IP:8080/healthz?full=1": net/http: HTTP/1.x transport connection broken: malformed HTTP status code "/healthz?full=1"`},
		"https of nc":          {script: "nc -lk -p 8080 -e cat", handler: secure, want: `Get "https://IP:8080/healthz?full=1": tls: first record does not look like a TLS handshake`},
		"http of httpd":        {script: "mkdir /www; echo ok >/www/healthz; httpd -f -p 8080 -h /www", handler: httpProbe(8080)},
		"http of a lost file":  {script: "mkdir /www; httpd -f -p 8080 -h /www", handler: httpProbe(8080), want: "HTTP probe failed with statuscode: 404"},
		"https of httpd":       {script: "mkdir /www; httpd -f -p 8080 -h /www", handler: secure, want: `Get "https://IP:8080/healthz?full=1": http: server gave HTTP response to HTTPS client`},
		"http elsewhere":       {script: "nc -lk -p 8080", handler: httpProbe(80), want: `Get "http://IP:80/healthz?full=1": dial tcp IP:80: connect: connection refused`},
		"grpc of nc":           {script: "nc -lk -p 8080", handler: corev1.ProbeHandler{GRPC: &corev1.GRPCAction{Port: 8080}}, want: `timeout: failed to connect service "IP:8080" within 1s: context deadline exceeded`},
		"a sleeper":            {script: "sleep 1000", handler: tcpProbe(8080), want: "dial tcp IP:8080: connect: connection refused"},
		"a script":             {script: "while true; do date >>/tmp/log; sleep 10; done", handler: tcpProbe(8080), want: "dial tcp IP:8080: connect: connection refused"},
		"another host":         {script: "sleep 1000", handler: elsewhere},
		"an unknown program":   {script: "sleep 0; exec /app/server", handler: tcpProbe(8080)},
		"no such port":         {script: "nc -lk -p 8080", handler: httpProbe("web"), want: `port "web" not found`},
		"no such tcp port":     {handler: tcpProbe("web"), want: `port "web" not found`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newCluster(t, Options{Nodes: 1})
			c.begin(podtest.Pod("web", "node-0", func(pod *corev1.Pod) {
				if tt.script != "" {
					podtest.Command("sh", "-c", tt.script)(pod)
				}
				if tt.server != "" {
					podtest.Annotated("server", tt.server)(pod)
				}
				pod.Spec.Containers[0].ReadinessProbe = portProbe(tt.handler)
			}))
			c.advance(1500 * time.Millisecond)
			want := strings.ReplaceAll(tt.want, "IP", c.pod("web").Status.PodIP)
			switch got := c.messages("web", "Unhealthy"); {
			case want == "" && (len(got) > 0 || !isReady(c.pod("web"))):
				t.Errorf("it is not ready: %q", got)
			case want != "" && (len(got) != 1 || isReady(c.pod("web"))):
				t.Errorf("ready: %v, events: %q", isReady(c.pod("web")), got)
			case want != "":
				_, reason, _ := strings.Cut(got[0], ": ")
				if reason != want {
					t.Errorf("got  %s\nwant %s", reason, want)
				}
			}
		})
	}
}

// A port that a command opens later, in the container or by kubectl exec, counts from then on.
func TestProbesFollowSockets(t *testing.T) {
	t.Parallel()
	c := newCluster(t, Options{Nodes: 1})
	c.begin(podtest.Pod("web", "node-0", podtest.Command("sh", "-c", "sleep 5; timeout 5 nc -lk -p 8080; sleep 1000"), func(pod *corev1.Pod) {
		pod.Spec.Containers[0].ReadinessProbe = portProbe(tcpProbe(8080))
	}))
	var seen []string
	c.advance(500 * time.Millisecond)
	for range 4 {
		c.advance(4 * time.Second)
		seen = append(seen, map[bool]string{true: "ready", false: "not"}[isReady(c.pod("web"))])
	}
	if got := strings.Join(seen, " "); got != "not ready not not" {
		t.Errorf("at 4.5s, 8.5s, ...: %s", got)
	}
}

// A hook meets what its port has, and fails where nothing listens.
func TestPortHooks(t *testing.T) {
	t.Parallel()
	for script, fails := range map[string]bool{"nc -lk -p 8080 -e cat": true, "httpd -f -p 8080": false, "httpd -f -p 8081": true, "sleep 1000": true, "exec /app/server": false} {
		c := newCluster(t, Options{Nodes: 1})
		c.begin(podtest.Pod("web", "node-0", podtest.Command("sh", "-c", script), func(pod *corev1.Pod) {
			pod.Spec.Containers[0].Lifecycle = &corev1.Lifecycle{PostStart: &corev1.LifecycleHandler{HTTPGet: httpProbe(8080).HTTPGet}}
		}))
		if got := c.messages("web", "FailedPostStartHook"); (len(got) > 0) != fails {
			t.Errorf("%s: fails is %v: %q", script, fails, got)
		}
	}
}
