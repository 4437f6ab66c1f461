package decide

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
)

var epoch = time.Unix(1_000_000, 0).UTC()

func after(d time.Duration) time.Time { return epoch.Add(d) }

func tolerate(key string, seconds ...int64) corev1.Toleration {
	t := corev1.Toleration{Key: key, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute}
	if len(seconds) > 0 {
		t.TolerationSeconds = &seconds[0]
	}
	return t
}

func TestDecide(t *testing.T) {
	a := corev1.Taint{Key: "a", Effect: corev1.TaintEffectNoExecute}
	b := corev1.Taint{Key: "b", Effect: corev1.TaintEffectNoExecute}
	early := &Eviction{Since: after(-10 * time.Second), Due: after(50 * time.Second)}
	due := &Eviction{Since: after(-60 * time.Second), Due: epoch}
	wait := func(since, till time.Duration) Decision {
		return Decision{Verb: Wait, Eviction: Eviction{Since: after(since), Due: after(till)}}
	}
	for name, tt := range map[string]struct {
		tolerations []corev1.Toleration
		taints      []corev1.Taint
		known       *Eviction
		want        Decision
	}{
		"no taints":                   {nil, nil, nil, Decision{}},
		"taints are gone":             {nil, nil, early, Decision{Verb: Cancel}},
		"not tolerated":               {nil, []corev1.Taint{a}, nil, Decision{Verb: Evict}},
		"not all tolerated":           {[]corev1.Toleration{tolerate("a")}, []corev1.Taint{a, b}, early, Decision{Verb: Evict}},
		"tolerated for ever":          {[]corev1.Toleration{tolerate("a")}, []corev1.Taint{a}, nil, Decision{}},
		"now tolerated for ever":      {[]corev1.Toleration{tolerate("a")}, []corev1.Taint{a}, early, Decision{Verb: Cancel}},
		"tolerated for a while":       {[]corev1.Toleration{tolerate("a", 300)}, []corev1.Taint{a}, nil, wait(0, 300*time.Second)},
		"the strictest counts":        {[]corev1.Toleration{tolerate("a", 300), tolerate("b", 30)}, []corev1.Taint{a, b}, nil, wait(0, 30*time.Second)},
		"for ever does not add":       {[]corev1.Toleration{tolerate("a", 300), tolerate("b")}, []corev1.Taint{a, b}, nil, wait(0, 300*time.Second)},
		"only what is needed counts":  {[]corev1.Toleration{tolerate("a", 300), tolerate("b", 30)}, []corev1.Taint{a}, nil, wait(0, 300*time.Second)},
		"its time runs already":       {[]corev1.Toleration{tolerate("a", 300)}, []corev1.Taint{a}, early, wait(-10*time.Second, 50*time.Second)},
		"its time is over":            {[]corev1.Toleration{tolerate("a", 60)}, []corev1.Taint{a}, due, Decision{Verb: Evict}},
		"no time at all":              {[]corev1.Toleration{tolerate("a", 0)}, []corev1.Taint{a}, nil, Decision{Verb: Evict}},
		"negative time is none":       {[]corev1.Toleration{tolerate("a", -5)}, []corev1.Taint{a}, nil, Decision{Verb: Evict}},
		"anything tolerated, forever": {[]corev1.Toleration{{Operator: corev1.TolerationOpExists}}, []corev1.Taint{a, b}, nil, Decision{}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, Pod(tt.tolerations, tt.taints, tt.known, epoch)); diff != "" {
				t.Error(diff)
			}
		})
	}
}
