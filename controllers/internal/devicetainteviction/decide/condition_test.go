package decide

import (
	"testing"

	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestCondition(t *testing.T) {
	const noUpdate = " if the effect was NoExecute. This information will not be updated again. Recreate the DeviceTaintRule to trigger an update."
	for name, test := range map[string]struct {
		effect          resourcev1.DeviceTaintEffect
		counts          Counts
		status          metav1.ConditionStatus
		reason, message string
	}{
		"nothing to do": {resourcev1.DeviceTaintEffectNoExecute, Counts{}, metav1.ConditionFalse, "NotStarted", ""},
		"one pod": {
			resourcev1.DeviceTaintEffectNoExecute,
			Counts{Pods: 1, Namespaces: 1},
			metav1.ConditionTrue, "PodsPendingEviction",
			"1 pod needs to be evicted in 1 namespace.",
		},
		"more pods": {
			resourcev1.DeviceTaintEffectNoExecute,
			Counts{Pods: 3, Namespaces: 2, Evicted: 1},
			metav1.ConditionTrue, "PodsPendingEviction",
			"3 pods need to be evicted in 2 different namespaces. 1 pod evicted since starting the controller.",
		},
		"done": {resourcev1.DeviceTaintEffectNoExecute, Counts{Evicted: 2}, metav1.ConditionFalse, "Completed", "2 pods evicted since starting the controller."},
		"none": {
			resourcev1.DeviceTaintEffectNone,
			Counts{Published: 1, Allocated: 2},
			metav1.ConditionFalse, "NoEffect",
			"1 published device selected. 2 allocated devices selected. 0 pods would be evicted in 0 different namespaces" + noUpdate,
		},
		"none with pods": {
			resourcev1.DeviceTaintEffectNone,
			Counts{Published: 2, Allocated: 1, Pods: 1, Namespaces: 1},
			metav1.ConditionFalse, "NoEffect",
			"2 published devices selected. 1 allocated device selected. 1 pod would be evicted in 1 namespace" + noUpdate,
		},
		"another": {resourcev1.DeviceTaintEffectNoSchedule, Counts{}, metav1.ConditionFalse, "OtherEffect", "Eviction only happens for the NoExecute effect."},
	} {
		t.Run(name, func(t *testing.T) {
			rule := &resourcev1.DeviceTaintRule{ObjectMeta: metav1.ObjectMeta{Generation: 7}, Spec: resourcev1.DeviceTaintRuleSpec{Taint: resourcev1.DeviceTaint{Effect: test.effect}}}
			want := metav1.Condition{Type: "EvictionInProgress", Status: test.status, ObservedGeneration: 7, Reason: test.reason, Message: test.message}
			if got := Condition(rule, test.counts); got != want {
				t.Errorf("%+v", got)
			}
		})
	}
}
