package strategy_test

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"

	"minikcm.dev/minikcm/apiserver/internal/resources"
	"minikcm.dev/minikcm/apiserver/internal/strategy"
)

// TestDelete checks what a delete does to an object that may have finalizers, a grace
// period, and an earlier delete.
func TestDelete(t *testing.T) {
	now := metav1.NewTime(time.Date(2026, 1, 5, 12, 0, 0, 0, time.UTC))
	at := func(seconds int) *metav1.Time {
		return ptr.To(metav1.NewTime(now.Add(time.Duration(seconds) * time.Second)))
	}
	deleting := func(ends, grace int) metav1.ObjectMeta {
		return metav1.ObjectMeta{DeletionTimestamp: at(ends), DeletionGracePeriodSeconds: ptr.To(int64(grace))}
	}
	with := func(m metav1.ObjectMeta, finalizers ...string) metav1.ObjectMeta {
		m.Finalizers = finalizers
		return m
	}
	grace := func(seconds int64) metav1.DeleteOptions {
		return metav1.DeleteOptions{GracePeriodSeconds: &seconds}
	}
	policy := func(p metav1.DeletionPropagation) metav1.DeleteOptions {
		return metav1.DeleteOptions{PropagationPolicy: &p}
	}
	const foreground, orphan = metav1.FinalizerDeleteDependents, metav1.FinalizerOrphanDependents
	plain := &resources.Resource{}
	graceful := &resources.Resource{Strategy: resources.Strategy{GracePeriod: func(_ runtime.Object, asked *int64) int64 { return ptr.Deref(asked, 30) }}}
	orphaning := &resources.Resource{Strategy: resources.Strategy{OrphanByDefault: true}}
	lonely := &resources.Resource{Strategy: resources.Strategy{NoDependents: true}}
	special := &resources.Resource{Strategy: resources.Strategy{
		MarkDeleted: func(obj runtime.Object) { obj.(*corev1.ConfigMap).Data = map[string]string{"marked": "yes"} },
		Finalizing:  func(obj runtime.Object) bool { return obj.(*corev1.ConfigMap).Immutable != nil },
	}}
	for name, test := range map[string]struct {
		row          *resources.Resource
		old          metav1.ObjectMeta
		opts         metav1.DeleteOptions
		marked, gone bool
		deletion     *metav1.Time
		seconds      *int64
		finalizers   string
		generation   int64
	}{
		"plain":                     {row: plain, gone: true},
		"plain with a generation":   {row: plain, old: metav1.ObjectMeta{Generation: 3}, gone: true, generation: 3},
		"finalizer":                 {row: plain, old: with(metav1.ObjectMeta{Generation: 3}, "a/b"), marked: true, deletion: at(0), seconds: ptr.To[int64](0), finalizers: "a/b", generation: 4},
		"finalizer again":           {row: plain, old: with(deleting(-9, 0), "a/b"), marked: true, deletion: at(-9), seconds: ptr.To[int64](0), finalizers: "a/b"},
		"foreground":                {row: plain, opts: policy(metav1.DeletePropagationForeground), marked: true, deletion: at(0), seconds: ptr.To[int64](0), finalizers: foreground},
		"orphan":                    {row: plain, opts: policy(metav1.DeletePropagationOrphan), marked: true, deletion: at(0), seconds: ptr.To[int64](0), finalizers: orphan},
		"background, after orphan":  {row: plain, old: with(deleting(-9, 0), orphan), opts: policy(metav1.DeletePropagationBackground), gone: true, deletion: at(-9), seconds: ptr.To[int64](0)},
		"orphan by default":         {row: orphaning, marked: true, deletion: at(0), seconds: ptr.To[int64](0), finalizers: orphan},
		"orphan without dependents": {row: lonely, opts: policy(metav1.DeletePropagationOrphan), gone: true},
		"grace":                     {row: graceful, old: metav1.ObjectMeta{Generation: 3}, marked: true, deletion: at(30), seconds: ptr.To[int64](30), generation: 4},
		"grace, foreground":         {row: graceful, opts: policy(metav1.DeletePropagationForeground), marked: true, deletion: at(30), seconds: ptr.To[int64](30), finalizers: foreground},
		"no grace":                  {row: graceful, old: metav1.ObjectMeta{Generation: 3}, opts: grace(0), marked: true, gone: true, deletion: at(0), seconds: ptr.To[int64](0), generation: 4},
		"no grace, finalizer":       {row: graceful, old: with(metav1.ObjectMeta{}, "a/b"), opts: grace(0), marked: true, deletion: at(0), seconds: ptr.To[int64](0), finalizers: "a/b"},
		"again":                     {row: graceful, old: deleting(20, 20), deletion: at(20), seconds: ptr.To[int64](20)},
		"again, foreground":         {row: graceful, old: deleting(20, 20), opts: policy(metav1.DeletePropagationForeground), deletion: at(20), seconds: ptr.To[int64](20)},
		"again shorter":             {row: graceful, old: deleting(20, 20), opts: grace(5), marked: true, deletion: at(5), seconds: ptr.To[int64](5)},
		"again negative":            {row: graceful, old: deleting(20, 20), opts: grace(-5), marked: true, deletion: at(1), seconds: ptr.To[int64](1)},
		"again shorter than past":   {row: graceful, old: deleting(10, 30), opts: grace(5), marked: true, deletion: at(0), seconds: ptr.To[int64](1)},
		"again longer":              {row: graceful, old: deleting(20, 20), opts: grace(50), deletion: at(20), seconds: ptr.To[int64](20)},
		"again at once":             {row: graceful, old: deleting(20, 30), opts: grace(0), marked: true, gone: true, deletion: at(0), seconds: ptr.To[int64](0)},
		"again after the end":       {row: graceful, old: deleting(-5, 0), opts: grace(0), gone: true, deletion: at(-5), seconds: ptr.To[int64](0)},
		"special":                   {row: special, old: metav1.ObjectMeta{Generation: 3}, marked: true, deletion: at(0), generation: 3},
		"special again":             {row: special, old: metav1.ObjectMeta{DeletionTimestamp: at(-9)}, gone: true, deletion: at(-9)},
		"special again, finalizer":  {row: special, old: with(metav1.ObjectMeta{DeletionTimestamp: at(-9)}, "a/b"), marked: true, deletion: at(-9), seconds: ptr.To[int64](0), finalizers: "a/b"},
	} {
		d, err := strategy.Delete(test.row, &corev1.ConfigMap{ObjectMeta: test.old}, &test.opts, now)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		m := d.Object.(*corev1.ConfigMap).ObjectMeta
		if d.Marked != test.marked || d.Gone != test.gone || !m.DeletionTimestamp.Equal(test.deletion) || !ptr.Equal(m.DeletionGracePeriodSeconds, test.seconds) ||
			strings.Join(m.Finalizers, ",") != test.finalizers || m.Generation != test.generation {
			t.Errorf("%s: marked %t, gone %t, at %v, %v seconds, finalizers %v, generation %d", name, d.Marked, d.Gone, m.DeletionTimestamp, m.DeletionGracePeriodSeconds, m.Finalizers, m.Generation)
		}
	}
}
