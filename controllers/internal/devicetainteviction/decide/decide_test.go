package decide

import (
	"testing"
	"time"

	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

func TestDue(t *testing.T) {
	now := time.Date(2026, 1, 5, 0, 0, 0, 0, time.UTC)
	taint := func(key string, added time.Duration) resourcev1.DeviceTaint {
		return resourcev1.DeviceTaint{Key: key, Effect: resourcev1.DeviceTaintEffectNoExecute, TimeAdded: ptr.To(metav1.NewTime(now.Add(added)))}
	}
	tolerate := func(key string, seconds ...int64) resourcev1.DeviceToleration {
		d := resourcev1.DeviceToleration{Key: key, Operator: resourcev1.DeviceTolerationOpExists, Effect: resourcev1.DeviceTaintEffectNoExecute}
		if len(seconds) > 0 {
			d.TolerationSeconds = &seconds[0]
		}
		return d
	}
	taints := func(all ...resourcev1.DeviceTaint) []resourcev1.DeviceTaint { return all }
	tolerations := func(all ...resourcev1.DeviceToleration) []resourcev1.DeviceToleration { return all }
	never := time.Duration(-1)
	for name, test := range map[string]struct {
		devices []Device
		want    time.Duration
	}{
		"no devices":             {nil, never},
		"no taints":              {[]Device{{}}, never},
		"another effect":         {[]Device{{Taints: taints(resourcev1.DeviceTaint{Key: "a", Effect: resourcev1.DeviceTaintEffectNoSchedule})}}, never},
		"not tolerated":          {[]Device{{Taints: taints(taint("a", time.Second))}}, time.Second},
		"without a time":         {[]Device{{Taints: taints(resourcev1.DeviceTaint{Key: "a", Effect: resourcev1.DeviceTaintEffectNoExecute})}}, 0},
		"tolerated":              {[]Device{{tolerations(tolerate("a")), taints(taint("a", 0))}}, never},
		"another is tolerated":   {[]Device{{tolerations(tolerate("b")), taints(taint("a", 0))}}, 0},
		"for a while":            {[]Device{{tolerations(tolerate("a", 30)), taints(taint("a", 0))}}, 30 * time.Second},
		"the shortest counts":    {[]Device{{tolerations(tolerate("a", 30), tolerate("a", 10), tolerate("a", 20)), taints(taint("a", 0))}}, 10 * time.Second},
		"negative is none":       {[]Device{{tolerations(tolerate("a", -5)), taints(taint("a", 0))}}, 0},
		"the first of two":       {[]Device{{Taints: taints(taint("a", 2*time.Second))}, {Taints: taints(taint("b", time.Second))}}, time.Second},
		"only one is tolerated":  {[]Device{{tolerations(tolerate("a")), taints(taint("a", 0), taint("b", time.Minute))}}, time.Minute},
		"of any effect is not":   {[]Device{{tolerations(resourcev1.DeviceToleration{Operator: resourcev1.DeviceTolerationOpExists}), taints(taint("a", 0))}}, 0},
		"for a while or forever": {[]Device{{tolerations(tolerate("a", 30), tolerate("a")), taints(taint("a", 0))}}, never},
	} {
		t.Run(name, func(t *testing.T) {
			got := Due(test.devices, now)
			if want := now.Add(test.want); test.want == never && !got.IsZero() || test.want != never && !got.Equal(want) {
				t.Errorf("%v", got)
			}
		})
	}
}
