package strategy_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"

	"minikcm.dev/minikcm/apiserver/resources"
	"minikcm.dev/minikcm/apiserver/strategy"
)

// TestMarkDeleted checks what a delete does to an object that may have finalizers, a grace
// period, and an earlier delete.
func TestMarkDeleted(t *testing.T) {
	now := metav1.NewTime(time.Date(2026, 1, 5, 12, 0, 0, 0, time.UTC))
	at := func(seconds int) *metav1.Time {
		return ptr.To(metav1.NewTime(now.Add(time.Duration(seconds) * time.Second)))
	}
	plain := &resources.Resource{}
	graceful := &resources.Resource{Strategy: resources.Strategy{GracePeriod: func(_ runtime.Object, asked *int64) int64 { return ptr.Deref(asked, 30) }}}
	foreground := metav1.DeletePropagationForeground
	for name, test := range map[string]struct {
		row      *resources.Resource
		old      metav1.ObjectMeta
		opts     metav1.DeleteOptions
		gone     bool
		deletion *metav1.Time
		seconds  *int64
	}{
		"plain":         {row: plain, gone: true},
		"finalizer":     {row: plain, old: metav1.ObjectMeta{Finalizers: []string{"a/b"}}, deletion: at(0), seconds: ptr.To[int64](0)},
		"foreground":    {row: plain, opts: metav1.DeleteOptions{PropagationPolicy: &foreground}, deletion: at(0), seconds: ptr.To[int64](0)},
		"grace":         {row: graceful, deletion: at(30), seconds: ptr.To[int64](30)},
		"no grace":      {row: graceful, opts: metav1.DeleteOptions{GracePeriodSeconds: ptr.To[int64](0)}, gone: true, deletion: at(0), seconds: ptr.To[int64](0)},
		"again":         {row: graceful, old: metav1.ObjectMeta{DeletionTimestamp: at(20), DeletionGracePeriodSeconds: ptr.To[int64](20)}, deletion: at(20), seconds: ptr.To[int64](20)},
		"again shorter": {row: graceful, old: metav1.ObjectMeta{DeletionTimestamp: at(20), DeletionGracePeriodSeconds: ptr.To[int64](20)}, opts: metav1.DeleteOptions{GracePeriodSeconds: ptr.To[int64](5)}, deletion: at(5), seconds: ptr.To[int64](5)},
		"again at once": {row: graceful, old: metav1.ObjectMeta{DeletionTimestamp: at(20), DeletionGracePeriodSeconds: ptr.To[int64](30)}, opts: metav1.DeleteOptions{GracePeriodSeconds: ptr.To[int64](0)}, gone: true, deletion: at(-10), seconds: ptr.To[int64](0)},
	} {
		old := &corev1.ConfigMap{ObjectMeta: test.old}
		obj, gone, err := strategy.MarkDeleted(test.row, old, &test.opts, now)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		m := obj.(*corev1.ConfigMap).ObjectMeta
		if gone != test.gone || !m.DeletionTimestamp.Equal(test.deletion) || !ptr.Equal(m.DeletionGracePeriodSeconds, test.seconds) {
			t.Errorf("%s: gone %t, at %v, %v seconds", name, gone, m.DeletionTimestamp, m.DeletionGracePeriodSeconds)
		}
	}
}
