package plugins

import (
	"testing"
	"time"

	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestDevicesReady checks the result of a decision for the conditions of a claim's device.
func TestDevicesReady(t *testing.T) {
	t.Parallel()
	allocated := time.Unix(1000, 0)
	condition := func(name string, status metav1.ConditionStatus) metav1.Condition {
		return metav1.Condition{Type: name, Status: status, Reason: "R", Message: "m"}
	}
	for _, test := range []struct {
		name          string
		required      []string
		device        string
		conditions    []metav1.Condition
		after         time.Duration
		ready, broken bool
		err           string
	}{
		{name: "no conditions", ready: true},
		{name: "no status", required: []string{"a"}},
		{name: "of another device", required: []string{"a"}, device: "other", conditions: []metav1.Condition{condition("a", metav1.ConditionTrue)}},
		{name: "one of two", required: []string{"a", "b"}, device: "d", conditions: []metav1.Condition{condition("a", metav1.ConditionTrue)}},
		{name: "unknown", required: []string{"a"}, device: "d", conditions: []metav1.Condition{condition("a", metav1.ConditionUnknown)}},
		{name: "true", required: []string{"a"}, device: "d", conditions: []metav1.Condition{condition("a", metav1.ConditionTrue)}, after: time.Hour, ready: true},
		{name: "not failed", required: []string{"a"}, device: "d", conditions: []metav1.Condition{condition("f", metav1.ConditionFalse)}},
		{
			name: "failed and true", required: []string{"a"}, device: "d", broken: true,
			conditions: []metav1.Condition{condition("a", metav1.ConditionTrue), condition("f", metav1.ConditionTrue)},
			err:        `device binding failed: claim=c, reason=R, message="m"`,
		},
		{name: "at the end of the time", required: []string{"a"}, after: time.Minute},
		{name: "too late", required: []string{"a"}, after: time.Minute + 1, broken: true},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			claim := &resourcev1.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Name: "c"}}
			if ready, err := DevicesReady(claim); ready || err != nil {
				t.Errorf("without an allocation: %t, %v", ready, err)
			}
			at := metav1.NewTime(allocated)
			claim.Status.Allocation = &resourcev1.AllocationResult{AllocationTimestamp: &at}
			claim.Status.Allocation.Devices.Results = []resourcev1.DeviceRequestAllocationResult{{
				Device: "d", BindingConditions: test.required, BindingFailureConditions: []string{"f"},
			}}
			if test.device != "" {
				claim.Status.Devices = []resourcev1.AllocatedDeviceStatus{{Device: test.device, Conditions: test.conditions}}
			}
			ready, err := DevicesReady(claim)
			message := ""
			if err != nil {
				message = err.Error()
			}
			if ready != test.ready || message != test.err {
				t.Errorf("ready %t, error %q", ready, message)
			}
			d := &Devices{Now: allocated.Add(test.after), BindingTimeout: time.Minute}
			if broken := d.broken(claim); broken != test.broken {
				t.Errorf("broken %t", broken)
			}
			if has := HasBindingConditions(claim); has != (len(test.required) > 0) {
				t.Errorf("has conditions: %t", has)
			}
		})
	}
}
