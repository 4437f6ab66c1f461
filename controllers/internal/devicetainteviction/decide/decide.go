package decide

import (
	"time"

	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/dynamic-resource-allocation/resourceclaim"
)

// Device is a device of an allocation, with the taints that it has now.
type Device struct {
	Tolerations []resourcev1.DeviceToleration
	Taints      []resourcev1.DeviceTaint
}

// Due returns when the pod that uses the devices is evicted; zero: never. A taint without a time
// counts from now.
func Due(devices []Device, now time.Time) time.Time {
	var due time.Time
	for _, d := range devices {
		for i := range d.Taints {
			if d.Taints[i].Effect != resourcev1.DeviceTaintEffectNoExecute {
				continue
			}
			if at := dueFor(&d.Taints[i], d.Tolerations, now); !at.IsZero() && (due.IsZero() || at.Before(due)) {
				due = at
			}
		}
	}
	return due
}

// Evicts reports whether a taint evicts a pod with these tolerations, at once or later.
func Evicts(taint *resourcev1.DeviceTaint, tolerations []resourcev1.DeviceToleration) bool {
	return taint.Effect == resourcev1.DeviceTaintEffectNoExecute && !dueFor(taint, tolerations, time.Unix(1, 0)).IsZero()
}

// dueFor is Due for one taint: the shortest time for which it is tolerated counts.
func dueFor(taint *resourcev1.DeviceTaint, tolerations []resourcev1.DeviceToleration, now time.Time) time.Time {
	at := now
	if taint.TimeAdded != nil {
		at = taint.TimeAdded.Time
	}
	tolerated, seconds := false, int64(0)
	for _, t := range tolerations {
		if t.Effect != resourcev1.DeviceTaintEffectNoExecute || !resourceclaim.ToleratesTaint(t, *taint) {
			continue
		}
		if t.TolerationSeconds == nil {
			return time.Time{}
		}
		if stay := max(*t.TolerationSeconds, 0); !tolerated || stay < seconds {
			tolerated, seconds = true, stay
		}
	}
	return at.Add(time.Duration(seconds) * time.Second)
}
