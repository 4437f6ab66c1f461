package decide

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"minikcm.dev/minikcm/controllers/internal/protection"
)

var now = time.Date(2026, 1, 5, 0, 0, 0, 0, time.UTC)

func claim(name string, change ...func(*corev1.PersistentVolumeClaim)) *corev1.PersistentVolumeClaim {
	c := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "n", Finalizers: []string{Finalizer}}}
	for _, f := range change {
		f(c)
	}
	return c
}

func deleted(c *corev1.PersistentVolumeClaim) { c.DeletionTimestamp = ptr.To(metav1.NewTime(now)) }
func bound(c *corev1.PersistentVolumeClaim)   { c.Status.Phase = corev1.ClaimBound }

func pod(node string, volume corev1.VolumeSource, change ...func(*corev1.Pod)) *corev1.Pod {
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "p", Namespace: "n", UID: "1"},
		Spec:       corev1.PodSpec{NodeName: node, Volumes: []corev1.Volume{{Name: "v", VolumeSource: volume}}},
	}
	for _, f := range change {
		f(p)
	}
	return p
}

func ofClaim(name string) corev1.VolumeSource {
	return corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: name}}
}

func succeeded(p *corev1.Pod) { p.Status.Phase = corev1.PodSucceeded }

func shut(p *corev1.Pod) {
	p.DeletionTimestamp, p.DeletionGracePeriodSeconds = ptr.To(metav1.NewTime(now)), ptr.To[int64](0)
}

func TestClaimBeingDeleted(t *testing.T) {
	owned := claim("p-v", deleted, func(c *corev1.PersistentVolumeClaim) {
		c.OwnerReferences = []metav1.OwnerReference{{UID: "1", Controller: ptr.To(true)}}
	})
	own := corev1.VolumeSource{Ephemeral: &corev1.EphemeralVolumeSource{}}
	for name, test := range map[string]struct {
		claim    *corev1.PersistentVolumeClaim
		pods     []*corev1.Pod
		released bool
	}{
		"no pods":                        {claim("c", deleted), nil, true},
		"used":                           {claim("c", deleted), []*corev1.Pod{pod("a", ofClaim("c"))}, false},
		"used by an ended pod":           {claim("c", deleted), []*corev1.Pod{pod("a", ofClaim("c"), succeeded)}, false},
		"used by a pod without a node":   {claim("c", deleted), []*corev1.Pod{pod("", ofClaim("c"))}, true},
		"another claim is used":          {claim("c", deleted), []*corev1.Pod{pod("a", ofClaim("d"))}, true},
		"one of two pods uses it":        {claim("c", deleted), []*corev1.Pod{pod("a", ofClaim("d")), pod("a", ofClaim("c"))}, false},
		"of a pod's own":                 {owned, []*corev1.Pod{pod("a", own)}, false},
		"of a pod's own, not the pod's":  {claim("p-v", deleted), []*corev1.Pod{pod("a", own)}, true},
		"of a pod's own, being shut":     {owned, []*corev1.Pod{pod("a", own, shut)}, true},
		"used by a pod that is shut":     {claim("c", deleted), []*corev1.Pod{pod("a", ofClaim("c"), shut)}, false},
		"nothing to do":                  {claim("c"), []*corev1.Pod{pod("a", ofClaim("c"))}, false},
		"nothing to do without any pods": {claim("c"), nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			finalizers, released := protection.Finalizers(test.claim, Finalizer, func() bool { return InUse(test.claim, test.pods) })
			if condition := Condition(test.claim, test.pods, now); released != test.released || len(finalizers) > 0 || condition != nil {
				t.Errorf("finalizers %v, %v; condition %v", finalizers, released, condition)
			}
		})
	}
}

func TestUnusedCondition(t *testing.T) {
	has := func(status corev1.ConditionStatus) func(*corev1.PersistentVolumeClaim) {
		return func(c *corev1.PersistentVolumeClaim) {
			c.Status.Conditions = []corev1.PersistentVolumeClaimCondition{{Type: corev1.PersistentVolumeClaimUnused, Status: status}}
		}
	}
	using := []*corev1.Pod{pod("", ofClaim("c"))}
	for name, test := range map[string]struct {
		claim *corev1.PersistentVolumeClaim
		pods  []*corev1.Pod
		want  corev1.ConditionStatus
	}{
		"not bound":           {claim("c"), nil, ""},
		"being deleted":       {claim("c", bound, deleted), nil, ""},
		"unused":              {claim("c", bound), nil, corev1.ConditionTrue},
		"used":                {claim("c", bound), using, corev1.ConditionFalse},
		"used by an ended":    {claim("c", bound), []*corev1.Pod{pod("a", ofClaim("c"), succeeded)}, corev1.ConditionTrue},
		"still unused":        {claim("c", bound, has(corev1.ConditionTrue)), nil, ""},
		"still used":          {claim("c", bound, has(corev1.ConditionFalse)), using, ""},
		"no longer used":      {claim("c", bound, has(corev1.ConditionFalse)), nil, corev1.ConditionTrue},
		"used again":          {claim("c", bound, has(corev1.ConditionTrue)), using, corev1.ConditionFalse},
		"unknown, now unused": {claim("c", bound, has(corev1.ConditionUnknown)), nil, corev1.ConditionTrue},
	} {
		t.Run(name, func(t *testing.T) {
			var got corev1.ConditionStatus
			if condition := Condition(test.claim, test.pods, now); condition != nil {
				got = condition.Status
			}
			if got != test.want {
				t.Errorf("%q, not %q", got, test.want)
			}
		})
	}
}
