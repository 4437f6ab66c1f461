package lifecycle

import (
	"regexp"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"minikcm.dev/minikcm/kubeletsim/internal/podtest"
)

// ago is a time before the pods of these tests are observed.
func ago(d time.Duration) metav1.Time { return metav1.NewTime(podtest.Epoch.Add(-d)) }

func running(since time.Duration) corev1.ContainerState {
	return corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: ago(since)}}
}

func waiting(reason, message string) corev1.ContainerState {
	return corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message}}
}

// terminated is the end of a run that lasted from one time to another.
func terminated(from, to time.Duration, code int32, reason string) corev1.ContainerState {
	return corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{StartedAt: ago(from), FinishedAt: ago(to), ExitCode: code, Reason: reason}}
}

// observed gives the pod a status that another kubelet wrote.
func observed(phase corev1.PodPhase, started time.Duration, statuses ...corev1.ContainerStatus) func(*corev1.Pod) {
	return func(pod *corev1.Pod) {
		start := ago(started)
		pod.Status = corev1.PodStatus{Phase: phase, StartTime: &start, PodIP: "10.0.0.7", PodIPs: []corev1.PodIP{{IP: "10.0.0.7"}}, ContainerStatuses: statuses}
	}
}

// initially gives the pod statuses of its init containers.
func initially(statuses ...corev1.ContainerStatus) func(*corev1.Pod) {
	return func(pod *corev1.Pod) { pod.Status.InitContainerStatuses = statuses }
}

func app(state, last corev1.ContainerState, restarts int32, ready bool) corev1.ContainerStatus {
	started := state.Running != nil
	return corev1.ContainerStatus{Name: "app", State: state, LastTerminationState: last, RestartCount: restarts, Ready: ready, Started: &started}
}

func addressless(pod *corev1.Pod) { pod.Status.PodIP, pod.Status.PodIPs = "", nil }

func probed(probe corev1.Probe) func(*corev1.Pod) {
	return func(pod *corev1.Pod) {
		probe.TCPSocket = &corev1.TCPSocketAction{}
		pod.Spec.Containers[0].ReadinessProbe = &probe
	}
}

// What was observed of a pod goes on: it neither heals nor gets worse.
func TestObserve(t *testing.T) {
	var none corev1.ContainerState
	second := time.Second
	for name, test := range map[string]struct {
		change []func(*corev1.Pod)
		// now is the summary at once, and later the one after two hours; empty: the same.
		now, later string
	}{
		"serves": {
			change: []func(*corev1.Pod){observed(corev1.PodRunning, time.Hour, app(running(time.Hour), none, 0, true))},
			now:    "Running app=running,ready",
		},
		"serves, by a command that would fail here": {
			change: []func(*corev1.Pod){podtest.Command("sh", "-c", "sleep 5; exit 1"), observed(corev1.PodRunning, time.Hour, app(running(time.Hour), none, 0, true))},
			now:    "Running app=running,ready",
		},
		"a job goes on": {
			change: []func(*corev1.Pod){podtest.OfJob, podtest.Policy(corev1.RestartPolicyNever), observed(corev1.PodRunning, time.Hour, app(running(time.Hour), none, 0, true))},
			now:    "Running app=running,ready",
		},
		"a job with a known duration ends": {
			change: []func(*corev1.Pod){podtest.OfJob, podtest.Policy(corev1.RestartPolicyNever), podtest.Command("sleep", "5400"), observed(corev1.PodRunning, time.Hour, app(running(time.Hour), none, 0, true))},
			now:    "Running app=running,ready",
			later:  "Succeeded app=Completed:0 !PodReadyToStartContainers(PodSandboxNotReady) !Ready(PodCompleted) !ContainersReady(PodCompleted)",
		},
		"crashes": {
			change: []func(*corev1.Pod){observed(corev1.PodRunning, time.Hour, app(waiting("CrashLoopBackOff", "back-off 5m0s"), terminated(62*second, 60*second, 3, "Error"), 8, false))},
			now:    "Running app=CrashLoopBackOff,restarts=8,last=Error:3 !Ready(ContainersNotReady) !ContainersReady(ContainersNotReady)",
			later:  "Running app=CrashLoopBackOff,restarts=N,last=Error:3 !Ready(ContainersNotReady) !ContainersReady(ContainersNotReady)",
		},
		"is killed for its memory": {
			change: []func(*corev1.Pod){observed(corev1.PodRunning, time.Hour, app(waiting("CrashLoopBackOff", "back-off 5m0s"), terminated(162*second, 60*second, 137, "OOMKilled"), 8, false))},
			now:    "Running app=CrashLoopBackOff,restarts=8,last=OOMKilled:137 !Ready(ContainersNotReady) !ContainersReady(ContainersNotReady)",
			later:  "Running app=CrashLoopBackOff,restarts=N,last=OOMKilled:137 !Ready(ContainersNotReady) !ContainersReady(ContainersNotReady)",
		},
		"is between two crashes": {
			change: []func(*corev1.Pod){observed(corev1.PodRunning, time.Hour, app(running(10*second), terminated(400*second, 310*second, 1, "Error"), 8, false))},
			now:    "Running app=running,restarts=8,last=Error:1 !Ready(ContainersNotReady) !ContainersReady(ContainersNotReady)",
			later:  "Running app=CrashLoopBackOff,restarts=N,last=Error:1 !Ready(ContainersNotReady) !ContainersReady(ContainersNotReady)",
		},
		"has crashed long ago": {
			change: []func(*corev1.Pod){observed(corev1.PodRunning, 100*time.Hour, app(running(50*time.Hour), terminated(51*time.Hour, 50*time.Hour+20*second, 1, "Error"), 8, true))},
			now:    "Running app=running,ready,restarts=8,last=Error:1",
		},
		"is not ready": {
			change: []func(*corev1.Pod){probed(corev1.Probe{PeriodSeconds: 10}), observed(corev1.PodRunning, time.Hour, app(running(time.Hour), none, 0, false))},
			now:    "Running app=running !Ready(ContainersNotReady) !ContainersReady(ContainersNotReady)",
		},
		"is not ready, and has no probe": {
			change: []func(*corev1.Pod){observed(corev1.PodRunning, time.Hour, app(running(time.Hour), none, 0, false))},
			now:    "Running app=running !Ready(ContainersNotReady) !ContainersReady(ContainersNotReady)",
		},
		"is not ready yet": {
			change: []func(*corev1.Pod){probed(corev1.Probe{InitialDelaySeconds: 120, PeriodSeconds: 10}), observed(corev1.PodRunning, time.Minute, app(running(time.Minute), none, 0, false))},
			now:    "Running app=running !Ready(ContainersNotReady) !ContainersReady(ContainersNotReady)",
			later:  "Running app=running,ready",
		},
		"has no image": {
			change: []func(*corev1.Pod){observed(corev1.PodPending, time.Hour, app(waiting("ErrImagePull", "not found"), none, 0, false))},
			now:    "Pending app=ErrImagePull !Ready(ContainersNotReady) !ContainersReady(ContainersNotReady)",
		},
		"cannot be created": {
			change: []func(*corev1.Pod){observed(corev1.PodPending, time.Hour, app(waiting("CreateContainerError", "context deadline exceeded"), none, 0, false))},
			now:    "Pending app=CreateContainerError !Ready(ContainersNotReady) !ContainersReady(ContainersNotReady)",
		},
		"is stuck": {
			change: []func(*corev1.Pod){observed(corev1.PodPending, time.Hour, app(waiting("ContainerCreating", ""), none, 0, false)), addressless},
			now:    "Pending app=ContainerCreating !PodReadyToStartContainers(PodSandboxNotReady) !Ready(ContainersNotReady) !ContainersReady(ContainersNotReady)",
		},
		"starts": {
			change: []func(*corev1.Pod){observed(corev1.PodPending, 10*second, app(waiting("ContainerCreating", ""), none, 0, false)), addressless},
			now:    "Running app=running,ready",
		},
		"an init container hangs": {
			change: []func(*corev1.Pod){
				podtest.Initially(corev1.Container{Name: "first"}), observed(corev1.PodPending, time.Hour, app(waiting("PodInitializing", ""), none, 0, false)),
				initially(corev1.ContainerStatus{Name: "first", State: running(time.Hour)}),
			},
			now: "Pending first=running app=PodInitializing !Initialized(ContainersNotInitialized) !Ready(ContainersNotReady) !ContainersReady(ContainersNotReady)",
		},
		"an init container crashes": {
			change: []func(*corev1.Pod){
				podtest.Initially(corev1.Container{Name: "first"}), observed(corev1.PodPending, time.Hour, app(waiting("PodInitializing", ""), none, 0, false)),
				initially(corev1.ContainerStatus{Name: "first", State: waiting("CrashLoopBackOff", ""), LastTerminationState: terminated(12*second, 10*second, 1, "Error"), RestartCount: 9}),
			},
			now:   "Pending first=CrashLoopBackOff,restarts=9,last=Error:1 app=PodInitializing !Initialized(ContainersNotInitialized) !Ready(ContainersNotReady) !ContainersReady(ContainersNotReady)",
			later: "Pending first=CrashLoopBackOff,restarts=N,last=Error:1 app=PodInitializing !Initialized(ContainersNotInitialized) !Ready(ContainersNotReady) !ContainersReady(ContainersNotReady)",
		},
		"was evicted": {
			change: []func(*corev1.Pod){func(pod *corev1.Pod) {
				start := ago(time.Hour)
				pod.Status = corev1.PodStatus{Phase: corev1.PodFailed, Reason: "Evicted", Message: "short of memory", StartTime: &start}
			}},
			now: "Failed (Evicted)",
		},
		"was rejected": {
			change: []func(*corev1.Pod){func(pod *corev1.Pod) { pod.Status = corev1.PodStatus{Phase: corev1.PodFailed, Reason: "OutOfcpu"} }},
			now:    "Failed (OutOfcpu)",
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(podtest.Pod("web", "node-0", test.change...))
			w.seen = Observe(w.pod, &w.lat, w.now)
			w.step()
			if got := summary(w.pod); got != test.now {
				t.Errorf("at once:\n%s, want\n%s", got, test.now)
			}
			if test.later == "" {
				test.later = test.now
			}
			w.until(2 * time.Hour)
			got := summary(w.pod)
			if strings.Contains(test.later, "restarts=N") {
				got = regexp.MustCompile(`restarts=\d\d`).ReplaceAllString(got, "restarts=N")
			}
			if got != test.later {
				t.Errorf("later:\n%s, want\n%s\n%s", got, test.later, w.log.String())
			}
		})
	}
}

// A container that crashes was not ready in the cluster that was observed, and is not ready for the
// moment of each run either.
func TestObservedCrashesAreNeverReady(t *testing.T) {
	pod := podtest.Pod("web", "node-0", observed(corev1.PodRunning, time.Hour,
		app(waiting("CrashLoopBackOff", "back-off 5m0s"), terminated(70*time.Second, 60*time.Second, 1, "Error"), 8, false)))
	w := newWorld(pod)
	w.seen = Observe(pod, &w.lat, w.now)
	w.step()
	w.until(time.Hour)
	if log := w.log.String(); strings.Contains(log, ",ready") || !strings.Contains(log, "app=running") {
		t.Errorf("the pod was ready, or never ran:\n%s", log)
	}
}
