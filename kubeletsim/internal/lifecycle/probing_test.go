package lifecycle

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"minikcm.dev/minikcm/kubeletsim/internal/podtest"
	"minikcm.dev/minikcm/kubeletsim/internal/responses"
)

// A container whose liveness or startup probe fails three times is started again, after a
// while only.
func TestUnhealthyContainersAreRestarted(t *testing.T) {
	get := &corev1.Probe{
		ProbeHandler:        corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: "/healthz", Port: intstr.FromInt32(8080)}},
		InitialDelaySeconds: 5, PeriodSeconds: 10, FailureThreshold: 3,
	}
	connect := get.DeepCopy()
	connect.ProbeHandler = corev1.ProbeHandler{TCPSocket: &corev1.TCPSocketAction{Port: intstr.FromInt32(9090)}}
	for name, tt := range map[string]struct {
		liveness, startup *corev1.Probe
		http              string
		events            []string
	}{
		"alive":          {liveness: get, startup: get, http: "8080 /healthz 200"},
		"no annotation":  {liveness: get},
		"status":         {liveness: get, http: "8080 /healthz 503", events: []string{"Unhealthy: Liveness probe failed: HTTP probe failed with statuscode: 503", "Killing: Container main failed liveness probe, will be restarted"}},
		"no such path":   {liveness: get, http: "8080 / 200", events: []string{"Unhealthy: Liveness probe failed: HTTP probe failed with statuscode: 404"}},
		"no such port":   {liveness: get, http: "80 /* 200", events: []string{`Get "http://10.244.0.2:8080/healthz": dial tcp 10.244.0.2:8080: connect: connection refused`}},
		"closed":         {liveness: connect, http: "80 /* 200", events: []string{"Unhealthy: Liveness probe failed: dial tcp 10.244.0.2:9090: connect: connection refused"}},
		"does not start": {liveness: get, startup: connect, http: "80 /* 200", events: []string{"Unhealthy: Startup probe failed: dial tcp", "failed startup probe"}},
	} {
		t.Run(name, func(t *testing.T) {
			pod := podtest.Pod("web", "node-0")
			pod.Annotations = map[string]string{}
			if tt.http != "" {
				pod.Annotations[responses.AnnotationHTTP] = tt.http
			}
			main := &pod.Spec.Containers[0]
			main.Name, main.LivenessProbe, main.StartupProbe = "main", tt.liveness, tt.startup
			pod.CreationTimestamp = metav1.NewTime(podtest.Epoch)
			w := newWorld(pod)
			w.step()
			if strings.Contains(w.log.String(), "Unhealthy") {
				t.Fatal("it failed at once")
			}
			for range 10 {
				if w.wake.IsZero() || w.wake.After(podtest.Epoch.Add(26*time.Second)) {
					break
				}
				w.now = w.wake
				w.step()
			}
			log := w.log.String()
			for _, event := range tt.events {
				if !strings.Contains(log, event) {
					t.Errorf("%q is missing:\n%s", event, log)
				}
			}
			restarts := w.pod.Status.ContainerStatuses[0].RestartCount
			if want := int32(min(len(tt.events), 1)); restarts != want {
				t.Errorf("it was restarted %d times, want %d:\n%s", restarts, want, log)
			}
		})
	}
}

// Probes and hooks reach what listens on the port of the pod, in whichever container it runs.
func TestProbesOfOtherContainers(t *testing.T) {
	get := func(port int32) *corev1.HTTPGetAction {
		return &corev1.HTTPGetAction{Path: "/", Port: intstr.FromInt32(port)}
	}
	type annotations map[string]string
	for name, tt := range map[string]struct {
		of    annotations
		probe corev1.ProbeHandler
		hooks corev1.Lifecycle
		want  string // an event; empty: the pod is ready and stays so
	}{
		"another one's answer":     {of: annotations{"http.side": "8080 / 503"}, probe: corev1.ProbeHandler{HTTPGet: get(8080)}, want: "Readiness probe failed: HTTP probe failed with statuscode: 503"},
		"another one's port":       {of: annotations{"http.app": "80 / 200", "http.side": "8080 / 200"}, probe: corev1.ProbeHandler{TCPSocket: &corev1.TCPSocketAction{Port: intstr.FromInt32(8080)}}},
		"a declared port":          {of: annotations{"http.app": "80 / 200"}, probe: corev1.ProbeHandler{HTTPGet: get(9000)}},
		"another one's checks":     {of: annotations{"grpc.side": "7000 NOT_SERVING"}, probe: corev1.ProbeHandler{GRPC: &corev1.GRPCAction{Port: 7000}}, want: `Readiness probe failed: service unhealthy (responded with "NOT_SERVING")`},
		"a closed port, by gRPC":   {of: annotations{"http.app": "80 / 200"}, probe: corev1.ProbeHandler{GRPC: &corev1.GRPCAction{Port: 81}}, want: `Readiness probe failed: timeout: failed to connect service "10.244.0.2:81" within 1s`},
		"no server of gRPC":        {of: annotations{"server.app": "listen: [{port: 80}]"}, probe: corev1.ProbeHandler{GRPC: &corev1.GRPCAction{Port: 80}}, want: `Readiness probe failed: timeout: failed to connect service`},
		"no server of TLS":         {of: annotations{"server.app": "listen: [{port: 80, routes: [{body: x}]}]"}, probe: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: "/", Port: intstr.FromInt32(80), Scheme: corev1.URISchemeHTTPS}}, want: `Readiness probe failed: Get "https://10.244.0.2:80/": http: server gave HTTP response to HTTPS client`},
		"an unknown server":        {of: annotations{"http.side": "8080 / 503"}, probe: corev1.ProbeHandler{HTTPGet: get(80)}},
		"a hook with an error":     {of: annotations{"http.app": "80 / 500"}, hooks: corev1.Lifecycle{PostStart: &corev1.LifecycleHandler{HTTPGet: get(80)}}},
		"a hook that is refused":   {of: annotations{"http.app": "80 / 200"}, hooks: corev1.Lifecycle{PostStart: &corev1.LifecycleHandler{HTTPGet: get(81)}}, want: "Warning spec.containers{app} FailedPostStartHook: PostStartHook failed"},
		"a hook without a program": {hooks: corev1.Lifecycle{PostStart: &corev1.LifecycleHandler{HTTPGet: get(81)}}},
	} {
		t.Run(name, func(t *testing.T) {
			pod := podtest.Pod("web", "node-0")
			for key, value := range tt.of {
				podtest.Annotated(key, value)(pod)
			}
			pod.CreationTimestamp = metav1.NewTime(podtest.Epoch)
			side := corev1.Container{Name: "side", Image: "nginx", Ports: []corev1.ContainerPort{{ContainerPort: 9000}}}
			pod.Spec.Containers = append([]corev1.Container{side}, pod.Spec.Containers...)
			app := &pod.Spec.Containers[1]
			app.Lifecycle = &tt.hooks
			if tt.probe != (corev1.ProbeHandler{}) {
				app.ReadinessProbe = &corev1.Probe{ProbeHandler: tt.probe, FailureThreshold: 1}
			}
			w := newWorld(pod)
			w.step()
			log := w.log.String()
			if tt.want == "" && (strings.Contains(log, "Warning") || !w.pod.Status.ContainerStatuses[1].Ready) || !strings.Contains(log, tt.want) {
				t.Errorf("want %q:\n%s", tt.want, log)
			}
		})
	}
}

// A preStop hook that is refused is reported, and delays nothing.
func TestRefusedPreStop(t *testing.T) {
	pod := podtest.Pod("web", "node-0", podtest.Annotated("http", "80 / 200"))
	pod.Spec.Containers[0].Lifecycle = &corev1.Lifecycle{PreStop: &corev1.LifecycleHandler{HTTPGet: &corev1.HTTPGetAction{Port: intstr.FromInt32(81)}}}
	w := newWorld(pod)
	w.step()
	w.now = w.now.Add(time.Second)
	w.pod.DeletionTimestamp, w.pod.DeletionGracePeriodSeconds = &metav1.Time{Time: w.now}, ptr.To[int64](30)
	w.step()
	if want := "FailedPreStopHook: PreStopHook failed"; !strings.Contains(w.log.String(), want) || !w.state.Ended {
		t.Errorf("want %q:\n%s", want, w.log.String())
	}
}
