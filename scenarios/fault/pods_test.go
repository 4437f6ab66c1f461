package fault

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
)

func TestKill(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.web(4)
	before := b.names()
	b.run(read(t, "pods: {action: kill, selector: app=web, percent: 50}"))
	b.advance(10 * time.Second)
	kept := 0
	for name := range b.names() {
		if before[name] {
			kept++
		}
	}
	if kept != 2 || b.ready() != 4 {
		t.Errorf("%d pods are left of before, %d are ready: %v", kept, b.ready(), b.notes)
	}
	err := b.begin(t.Context(), read(t, "pods: {action: kill, selector: app=other}"))()
	if !errors.Is(err, errNoMatch) {
		t.Errorf("no pod to kill: %v", err)
	}
}

// A rate and a schedule hit as often as they say, at the times they say.
func TestRepeated(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]struct {
		hits int
		took time.Duration
	}{
		"{pods: {action: kill}, every: 10s, times: 3}":                          {3, 20 * time.Second},
		"{pods: {action: kill}, every: 10s, during: 25s}":                       {3, 20 * time.Second},
		"{pods: {action: kill}, schedule: '*/5 * * * *', times: 2}":             {2, 10*time.Minute - 10*time.Second},
		"{pods: {action: notReady}, for: 5s, every: 10s, times: 2}":             {2, 15 * time.Second},
		"{pods: {action: kill, selector: app=x}, every: 10s, times: 2}":         {0, 10 * time.Second},
		"{pods: {action: kill, names: [no-such-pod]}, every: 10s, during: 30s}": {0, 30 * time.Second},
	} {
		t.Run(text, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			b.web(2)
			begun := b.cluster.Clock().Now()
			b.run(read(t, text))
			hits := 0
			for _, note := range b.notes {
				if strings.HasSuffix(note, " killed") || strings.HasSuffix(note, " is not ready") {
					hits++
				}
			}
			if took := b.cluster.Clock().Since(begun); hits != want.hits || took.Truncate(time.Second) != want.took {
				t.Errorf("%d hits in %v, want %d in %v: %v", hits, took, want.hits, want.took, b.notes)
			}
		})
	}
}

// What is not heard of any more is taken back, also by an interrupt.
func TestInterrupted(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.web(2)
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("enough")
	wait := b.begin(ctx, read(t, "{pods: {action: notReady, all: true}, for: 1h}"))
	b.advance(time.Minute)
	b.wantReady(0)
	cancel(why)
	if err := wait(); !errors.Is(err, why) {
		t.Errorf("it ends with %v", err)
	}
	b.advance(time.Minute)
	b.wantReady(2)
}

func TestCrashAndOOM(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.web(1)
	b.run(read(t, "pods: {action: crash, container: web, exitCode: 3}"))
	b.advance(time.Second)
	if last := b.pods()[0].Status.ContainerStatuses[0].LastTerminationState.Terminated; last == nil || last.ExitCode != 3 {
		t.Errorf("it ended with %+v", last)
	}
	b.run(read(t, "pods: {action: oom}"))
	b.advance(time.Minute)
	if last := b.pods()[0].Status.ContainerStatuses[0].LastTerminationState.Terminated; last == nil || last.Reason != "OOMKilled" {
		t.Errorf("it ended with %+v", last)
	}
	b.wantReady(1)
}

func TestImageGone(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.web(1, func(spec *corev1.PodSpec) { spec.Containers[0].ImagePullPolicy = corev1.PullAlways })
	b.run(read(t, "pods: {action: imageGone}"))
	b.run(read(t, "pods: {action: kill}"))
	b.advance(time.Minute)
	if waiting := b.pods()[0].Status.ContainerStatuses[0].State.Waiting; waiting == nil || waiting.Reason != "ImagePullBackOff" {
		t.Errorf("it waits for %+v", waiting)
	}
	b.over()
	b.advance(10 * time.Minute)
	b.wantReady(1)
}

// An eviction that a budget refuses is noted, and no failure.
func TestEvict(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.web(2)
	b.budget("web", policyv1.PodDisruptionBudgetSpec{MaxUnavailable: ptr.To(intstr.FromInt32(1))})
	b.advance(10 * time.Second)
	b.run(read(t, "pods: {action: evict, all: true}"))
	notes := strings.Join(b.notes, "\n")
	if strings.Count(notes, " evicted") != 2 || strings.Count(notes, "was not evicted: ") != 1 {
		t.Errorf("notes:\n%s", notes)
	}
}
