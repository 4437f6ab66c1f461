package lifecycle

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

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
