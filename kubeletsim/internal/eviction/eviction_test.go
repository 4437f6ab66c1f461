package eviction

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"minikcm.dev/minikcm/internal/usage"
	"minikcm.dev/minikcm/kubeletsim/internal/podtest"
)

// start is a multiple of Interval.
var start = podtest.Epoch.Truncate(Interval)

// using is a pod whose only container has run since start.
func using(name, memory string, change ...func(*corev1.Pod)) Pod {
	object := podtest.Pod(name, "n", append([]func(*corev1.Pod){podtest.Annotated("memory", memory)}, change...)...)
	pod := NewPod(object, false)
	pod.Containers = []Container{NewContainer(usage.Model{}, object, &object.Spec.Containers[0], start)}
	return pod
}

func requesting(amount string) func(*corev1.Pod) {
	return func(pod *corev1.Pod) { pod.Spec.Containers[0].Resources.Requests = podtest.Resources("memory", amount) }
}

func limited(resource, amount string) func(*corev1.Pod) {
	return func(pod *corev1.Pod) { pod.Spec.Containers[0].Resources.Limits = podtest.Resources(resource, amount) }
}

func priority(p int32) func(*corev1.Pod) {
	return func(pod *corev1.Pod) { pod.Spec.Priority = ptr.To(p) }
}

func nodeOf(pods ...Pod) *Node {
	return &Node{Capacity: podtest.Resources("memory", "1Gi", "ephemeral-storage", "10Gi"), Pods: pods}
}

func defaults(t *testing.T, annotations ...string) *Policy {
	t.Helper()
	all := map[string]string{}
	for i := 0; i < len(annotations); i += 2 {
		all[annotations[i]] = annotations[i+1]
	}
	p, bad := ConfigurationOf(all).Policy()
	if len(bad) > 0 {
		t.Fatal(bad)
	}
	return &p
}

// run takes every look that Next plans until the end, and describes what happened. Evicted pods end
// at once.
func run(p *Policy, n *Node, length time.Duration) []string {
	var log []string
	var s State
	var conditions []corev1.NodeConditionType
	for now := start; ; {
		plan := Next(p, n, &s, now)
		if plan.At.IsZero() || plan.At.Sub(start) > length {
			return log
		}
		now = plan.At
		at := now.Sub(start)
		if v, ok := OutOfMemory(p, n, now); ok {
			log = append(log, fmt.Sprintf("%v kill %s", at, v.Pod))
			n.Pods = slices.DeleteFunc(n.Pods, func(pod Pod) bool { return pod.Object.UID == v.Pod })
			continue
		}
		if !plan.Look {
			continue
		}
		var out Outcome
		s, out = Step(p, n, s, now)
		if !slices.Equal(s.Conditions(), conditions) {
			conditions = s.Conditions()
			log = append(log, fmt.Sprintf("%v %v", at, conditions))
		}
		for _, e := range out.Evictions {
			log = append(log, fmt.Sprintf("%v evict %s within %v", at, e.Pod, e.Grace))
			n.Pods = slices.DeleteFunc(n.Pods, func(pod Pod) bool { return pod.Object.UID == e.Pod })
		}
	}
}

func TestShortages(t *testing.T) {
	soft := []string{AnnotationSoft, "memory.available<400Mi", AnnotationSoftGrace, "memory.available=1m30s", AnnotationMaxPodGrace, "20"}
	tests := []struct {
		name   string
		policy []string
		pods   []Pod
		want   string
	}{
		{"enough", nil, []Pod{using("a", "500Mi"), using("b", "ramp 10Mi 400Mi 1h")}, ""},
		{"a leak", nil, []Pod{using("a", "500Mi", requesting("500Mi")), using("b", "ramp 0 600Mi 10m")}, "7m10s [MemoryPressure]; 7m10s evict uid-b within 1s; 12m10s []"},
		{
			"one after the other", nil,
			[]Pod{using("a", "400Mi"), using("b", "300Mi"), using("c", "steps 250Mi 1m 930Mi 1m 250Mi", requesting("1Gi"))},
			"0s [MemoryPressure]; 0s evict uid-a within 1s; 1m0s kill uid-b; 1m0s evict uid-c within 1s; 6m0s []",
		},
		{"soft", soft, []Pod{using("a", "steps 100Mi 1m 700Mi")}, "1m0s [MemoryPressure]; 2m30s evict uid-a within 20s; 7m30s []"},
		{"soft, too short", soft, []Pod{using("a", "steps 100Mi 1m 700Mi 1m 100Mi")}, "1m0s [MemoryPressure]; 6m50s []"},
		{
			"reclaim more",
			[]string{AnnotationMinReclaim, "memory.available=500Mi"},
			[]Pod{using("a", "500Mi"), using("b", "450Mi")},
			"0s [MemoryPressure]; 0s evict uid-a within 1s; 1s evict uid-b within 1s; 5m10s []",
		},
		{"critical pods", nil, []Pod{using("a", "1000Mi", priority(systemCriticalPriority))}, "0s [MemoryPressure]"},
		{"faster than a look", nil, []Pod{using("a", "steps 100Mi 1m5s 2Gi"), using("b", "100Mi", requesting("200Mi"))}, "1m5s kill uid-a"},
		{"disk", nil, []Pod{using("a", "0", podtest.Annotated("ephemeral-storage", "ramp 0 10Gi 10m"))}, "9m10s [DiskPressure]; 9m10s evict uid-a within 1s; 14m10s []"},
		{"own limit of disk", nil, []Pod{using("a", "0", podtest.Annotated("ephemeral-storage", "ramp 0 1Gi 10m"), limited("ephemeral-storage", "512Mi"))}, "5m10s evict uid-a within 1s"},
		{"PIDs", []string{AnnotationHard, "pid.available<50%"}, []Pod{using("a", "0", podtest.Annotated("pids", "3M"))}, "0s [PIDPressure]; 0s evict uid-a within 1s; 5m0s []"},
		{"another period", []string{AnnotationTransition, "30s"}, []Pod{using("a", "1000Mi")}, "0s [MemoryPressure]; 0s evict uid-a within 1s; 30s []"},
	}
	for _, tt := range tests {
		if got := strings.Join(run(defaults(t, tt.policy...), nodeOf(tt.pods...), 2*time.Hour), "; "); got != tt.want {
			t.Errorf("%s:\n%s\nwant\n%s", tt.name, got, tt.want)
		}
	}
}

// TestOrder: usage above requests first, then priority, then usage beyond the requests.
func TestOrder(t *testing.T) {
	n := nodeOf(
		using("within", "100Mi", requesting("200Mi")),
		using("within-low", "100Mi", requesting("300Mi"), priority(-1)),
		using("high", "600Mi", requesting("10Mi"), priority(10)),
		using("little", "60Mi", requesting("50Mi")),
		using("much", "160Mi", requesting("50Mi")),
		using("critical", "160Mi", priority(systemCriticalPriority)),
		using("mirror", "160Mi", func(pod *corev1.Pod) { pod.Annotations[corev1.MirrorPodAnnotationKey] = "x" }),
		using("static", "160Mi", func(pod *corev1.Pod) { pod.Annotations[annotationSource] = "file" }),
	)
	var names []string
	for _, pod := range n.rank(0, start) {
		names = append(names, pod.Object.Name)
	}
	if got := strings.Join(names, " "); got != "much little high within-low within" {
		t.Error(got)
	}
}

func TestMessages(t *testing.T) {
	p := defaults(t)
	_, out := Step(p, nodeOf(using("a", "1000Mi", requesting("10Mi"))), State{}, start)
	if out.Reclaim != "memory" || len(out.Evictions) != 1 || !out.Evictions[0].Disruption {
		t.Fatalf("%+v", out)
	}
	if got, want := out.Evictions[0].Message, "The node was low on resource: memory. Threshold quantity: 100Mi, available: 24Mi. Container app was using 1000Mi, request is 10Mi, has larger consumption of memory. "; got != want {
		t.Error(got)
	}
	_, out = Step(p, nodeOf(using("a", "1000000001")), State{}, start)
	if got := out.Evictions[0].Message; !strings.Contains(got, "available: 72013Ki. ") {
		t.Error(got)
	}
	full := using("a", "0", podtest.Annotated("ephemeral-storage", "9728Mi"))
	_, out = Step(p, nodeOf(full), State{}, start)
	if got, want := out.Evictions[0].Message, "The node was low on resource: ephemeral-storage. Threshold quantity: 1Gi, available: 512Mi. Container app was using 9728Mi, request is 0, has larger consumption of ephemeral-storage. "; got != want {
		t.Error(got)
	}
	over := using("a", "0", podtest.Annotated("ephemeral-storage", "3Gi"), limited("ephemeral-storage", "2Gi"))
	_, out = Step(p, nodeOf(over), State{}, start)
	if got, want := out.Evictions[0].Message, "Pod ephemeral local storage usage exceeds the total limit of containers 2Gi. "; got != want || out.Evictions[0].Disruption {
		t.Error(got)
	}
}

func TestRefusal(t *testing.T) {
	memory, disk := []corev1.NodeConditionType{corev1.NodeMemoryPressure}, []corev1.NodeConditionType{corev1.NodeDiskPressure}
	bestEffort := podtest.Pod("a", "n")
	tolerant := podtest.Pod("a", "n", func(pod *corev1.Pod) {
		pod.Spec.Tolerations = []corev1.Toleration{{Key: corev1.TaintNodeMemoryPressure, Operator: corev1.TolerationOpExists}}
	})
	for i, tt := range []struct {
		conditions []corev1.NodeConditionType
		pod        *corev1.Pod
		want       string
	}{
		{nil, bestEffort, ""},
		{memory, bestEffort, "The node had condition: [MemoryPressure]. "},
		{memory, tolerant, ""},
		{memory, podtest.Pod("a", "n", requesting("1Mi")), ""},
		{memory, podtest.Pod("a", "n", priority(systemCriticalPriority)), ""},
		{disk, tolerant, "The node had condition: [DiskPressure]. "},
		{append(disk, memory...), podtest.Pod("a", "n", requesting("1Mi")), "The node had condition: [DiskPressure MemoryPressure]. "},
	} {
		if got := Refusal(tt.conditions, tt.pod); got != tt.want {
			t.Errorf("%d: %q", i, got)
		}
	}
}

// TestOutOfMemory: the kernel kills the container with the most memory, after the classes of
// quality of service.
func TestOutOfMemory(t *testing.T) {
	guaranteed := using("guaranteed", "600Mi", func(pod *corev1.Pod) { pod.Status.QOSClass = corev1.PodQOSGuaranteed })
	burstable := using("burstable", "500Mi", requesting("500Mi"))
	small := using("small", "10Mi")
	p, now := defaults(t), start.Add(time.Minute)
	for _, tt := range []struct {
		pods []Pod
		want types.UID
	}{
		{[]Pod{guaranteed, burstable, small}, "uid-small"},
		{[]Pod{guaranteed, burstable}, "uid-burstable"},
		{[]Pod{burstable, small}, ""},
	} {
		if victim, _ := OutOfMemory(p, nodeOf(tt.pods...), now); victim.Pod != tt.want {
			t.Errorf("%q, want %q", victim.Pod, tt.want)
		}
	}
	if _, kills := OutOfMemory(p, nodeOf(using("a", "2Gi")), start); kills {
		t.Error("killed at its start")
	}
}

// TestAllocatable: what is reserved for the system is not the pods'.
func TestAllocatable(t *testing.T) {
	n := nodeOf(using("a", "520Mi"))
	n.Allocatable = podtest.Resources("memory", "512Mi")
	if got := strings.Join(run(defaults(t), n, time.Minute), "; "); got != "0s [MemoryPressure]; 0s evict uid-a within 1s" {
		t.Error(got)
	}
}

func TestBadConfiguration(t *testing.T) {
	for _, tt := range [][2]string{
		{AnnotationHard, "memory.available"},
		{AnnotationHard, "memory.free<1Gi"},
		{AnnotationHard, "memory.available<much"},
		{AnnotationHard, "memory.available<-1"},
		{AnnotationHard, "memory.available<101%"},
		{AnnotationHard, "memory.available<1 memory.available<2"},
		{AnnotationHard, strings.Repeat("pid.available<1 ", 100)},
		{AnnotationSoft, "memory.available<1Gi"},
		{AnnotationSoftGrace, "memory.available=soon"},
		{AnnotationMinReclaim, "memory.available=some"},
		{AnnotationMaxPodGrace, "1m"},
		{AnnotationTransition, "-1s"},
		{AnnotationImageHigh, "all"},
		{AnnotationImageHigh, "101"},
		{AnnotationImageLow, "85"},
		{AnnotationImageMinAge, "old"},
	} {
		p, bad := ConfigurationOf(map[string]string{tt[0]: tt[1]}).Policy()
		if len(bad) != 1 || !strings.HasPrefix(bad[0], "annotation "+tt[0]+" is ignored: ") {
			t.Errorf("%s=%s: %q", tt[0], tt[1], bad)
		}
		if len(p.Thresholds) != 2 || p.Transition != defaultTransition || p.Images != (ImagePolicy{85, 80, 2 * time.Minute}) {
			t.Errorf("%s=%s: the defaults do not apply: %+v", tt[0], tt[1], p)
		}
	}
}

func FuzzConfiguration(f *testing.F) {
	f.Add("memory.available<100Mi,nodefs.available<10%", "memory.available<1Gi", "memory.available=1m30s")
	f.Fuzz(func(t *testing.T, hard, soft, grace string) {
		p, _ := Configuration{hard, soft, grace, hard, soft, grace}.Policy()
		for i := range p.Thresholds {
			if amount := p.Thresholds[i].Below.of(1 << 30); amount < 0 {
				t.Errorf("%v", amount)
			}
		}
	})
}
