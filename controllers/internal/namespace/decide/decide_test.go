package decide

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
)

func TestGraceIsTheLongestOfRunningPods(t *testing.T) {
	deleted := time.Unix(1000, 0)
	pod := func(phase corev1.PodPhase, seconds int64) *corev1.Pod {
		return &corev1.Pod{Spec: corev1.PodSpec{TerminationGracePeriodSeconds: &seconds}, Status: corev1.PodStatus{Phase: phase}}
	}
	pods := []*corev1.Pod{pod(corev1.PodRunning, 10), pod(corev1.PodRunning, 30), pod(corev1.PodSucceeded, 90), {}}
	for elapsed, want := range map[time.Duration]time.Duration{
		0: 30 * time.Second, 29 * time.Second: 30 * time.Second, 30 * time.Second: 0, time.Hour: 0,
	} {
		if got := Grace(pods, deleted, deleted.Add(elapsed)); got != want {
			t.Errorf("Grace() after %v = %v, want %v", elapsed, got, want)
		}
	}
}

func TestRequeueAfter(t *testing.T) {
	for estimate, want := range map[time.Duration]time.Duration{
		30 * time.Second: 16 * time.Second, 15 * time.Second: 8 * time.Second, time.Second: time.Second,
	} {
		if got := RequeueAfter(estimate); got != want {
			t.Errorf("RequeueAfter(%v) = %v, want %v", estimate, got, want)
		}
	}
}

func TestAssess(t *testing.T) {
	held := metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Finalizers: []string{"x/y"}}}
	var free metav1.PartialObjectMetadata
	for name, tt := range map[string]struct {
		items    []metav1.PartialObjectMetadata
		grace    time.Duration
		estimate time.Duration
		err      bool
	}{
		"none":                {nil, time.Minute, 0, false},
		"graceful":            {[]metav1.PartialObjectMetadata{free}, time.Minute, time.Minute, false},
		"held by a finalizer": {[]metav1.PartialObjectMetadata{held, free}, 0, 15 * time.Second, false},
		"should be gone":      {[]metav1.PartialObjectMetadata{free}, 0, 0, true},
	} {
		t.Run(name, func(t *testing.T) {
			left, err := Assess(PodResource, "ns", tt.items, tt.grace)
			if left.Estimate != tt.estimate || left.Count != len(tt.items) || (err != nil) != tt.err {
				t.Errorf("Assess() = %+v, %v", left, err)
			}
		})
	}
}

func TestConditionsSayWhatIsWaitedFor(t *testing.T) {
	groups := map[schema.GroupVersion]error{{Group: "metrics.k8s.io", Version: "v1beta1"}: errors.New("down")}
	configMaps := schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}
	widgets := schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "widgets"}
	outcome := Outcome{
		DiscoveryErr: &discovery.ErrGroupDiscoveryFailed{Groups: groups}, FailedGroups: len(groups),
		ContentErrs: []error{errors.New("b"), errors.New("a")},
		Left: []Leftover{
			{Resource: widgets, Count: 2, Finalizers: map[string]int{"x/y": 2}},
			{Resource: configMaps, Count: 1, Finalizers: map[string]int{"x/y": 1, "a/b": 1}},
		},
	}
	got := map[corev1.NamespaceConditionType]string{}
	for _, c := range outcome.Conditions(metav1.Time{}) {
		got[c.Type] = string(c.Status) + " " + c.Reason + ": " + c.Message
	}
	want := map[corev1.NamespaceConditionType]string{
		corev1.NamespaceDeletionDiscoveryFailure: "True DiscoveryFailed: Discovery failed for some groups, 1 failing: unable to retrieve the complete list of server APIs: metrics.k8s.io/v1beta1: down",
		corev1.NamespaceDeletionGVParsingFailure: "False ParsedGroupVersions: All legacy kube types successfully parsed",
		corev1.NamespaceDeletionContentFailure:   "True ContentDeletionFailed: Failed to delete all resource types, 2 remaining: a, b",
		corev1.NamespaceContentRemaining:         "True SomeResourcesRemain: Some resources are remaining: configmaps. has 1 resource instances, widgets.example.com has 2 resource instances",
		corev1.NamespaceFinalizersRemaining:      "True SomeFinalizersRemain: Some content in the namespace has finalizers remaining: a/b in 1 resource instances, x/y in 3 resource instances",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestMergeConditionsKeepsWhatIsNotNews(t *testing.T) {
	early, late := metav1.Unix(1, 0), metav1.Unix(2, 0)
	first, changed := MergeConditions([]corev1.NamespaceCondition{{Type: "Other"}}, Outcome{}.Conditions(early))
	if !changed || len(first) != 6 {
		t.Fatalf("first merge: %v, %v", changed, first)
	}
	second, changed := MergeConditions(first, Outcome{}.Conditions(late))
	if diff := cmp.Diff(first, second); changed || diff != "" {
		t.Errorf("second merge changed %v: %s", changed, diff)
	}
	third, changed := MergeConditions(second, Outcome{ContentErrs: []error{errors.New("x")}}.Conditions(late))
	if !changed {
		t.Error("third merge changed nothing")
	}
	for _, c := range third {
		moved := c.LastTransitionTime.Equal(&late)
		if want := c.Type == corev1.NamespaceDeletionContentFailure; moved != want && c.Type != "Other" {
			t.Errorf("%s moved: %v", c.Type, moved)
		}
	}
}

func TestWithoutFinalizer(t *testing.T) {
	got := WithoutFinalizer([]corev1.FinalizerName{"a/b", corev1.FinalizerKubernetes})
	if diff := cmp.Diff([]corev1.FinalizerName{"a/b"}, got); diff != "" {
		t.Error(diff)
	}
}
