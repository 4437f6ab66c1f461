package decide

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	resourcev1 "k8s.io/api/resource/v1"
	resourcev1alpha3 "k8s.io/api/resource/v1alpha3"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"
)

var now = time.Date(2026, 1, 5, 0, 0, 0, 0, time.UTC)

// slice is a ResourceSlice of the driver "d" in YAML, without its metadata.
func slice(t *testing.T, name, spec string) *resourcev1.ResourceSlice {
	t.Helper()
	s := &resourcev1.ResourceSlice{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: resourcev1.ResourceSliceSpec{Driver: "d", Pool: resourcev1.ResourcePool{ResourceSliceCount: 1}}}
	if err := yaml.UnmarshalStrict([]byte(spec), &s.Spec); err != nil {
		t.Fatal(err)
	}
	return s
}

// claim has devices, which are written as results of an allocation without their driver.
func claim(t *testing.T, name string, results ...string) *resourcev1.ResourceClaim {
	t.Helper()
	c := &resourcev1.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name}}
	if len(results) > 0 {
		c.Status.Allocation = &resourcev1.AllocationResult{}
	}
	for _, text := range results {
		r := resourcev1.DeviceRequestAllocationResult{Driver: "d"}
		if err := yaml.UnmarshalStrict([]byte(text), &r); err != nil {
			t.Fatal(err)
		}
		c.Status.Allocation.Devices.Results = append(c.Status.Allocation.Devices.Results, r)
	}
	return c
}

func TestStatus(t *testing.T) {
	const gpus = "devices: [{name: g0}, {name: g1}, {name: g2}]"
	const full = `{counterSet: gpu, counters: {memory: {value: "80"}}}`
	const half = `{counterSet: gpu, counters: {memory: {value: "40"}}}`
	const counters = `sharedCounters: [{name: gpu, counters: {memory: {value: "80"}}}]`
	partitions := func(attribute string) string {
		return attribute + `
pool: {name: p, generation: 1, resourceSliceCount: 2}
devices:
- {name: whole, attributes: {profile: {string: Full}}, consumesCounters: [` + full + `]}
- {name: first, attributes: {d/profile: {string: Half}}, consumesCounters: [` + half + `]}
- {name: second, attributes: {profile: {string: Half}}, consumesCounters: [` + half + `]}
- {name: other}
`
	}
	const ofCounters = "pool: {name: p, generation: 1, resourceSliceCount: 2}\n" + counters
	for name, test := range map[string]struct {
		slices []string
		claims [][]string
		rules  []resourcev1.DeviceTaintRuleSpec
		spec   string
		// want are the pools in short; without any, the request waits.
		want    []string
		message string
	}{
		"nothing":        {message: "Calculated status for 0 pools", want: []string{"0"}},
		"another driver": {slices: []string{"driver: e\npool: {name: p, generation: 1}\n" + gpus}, message: "Calculated status for 0 pools", want: []string{"0"}},
		"two pools by name": {
			slices:  []string{"nodeName: b\npool: {name: q, generation: 1}\n" + gpus, "allNodes: true\npool: {name: p, generation: 7}\n" + gpus},
			message: "Calculated status for 2 pools", want: []string{"2", "p@7 1 slices 3=0+3+0", "q@1 1 slices 3=0+3+0 on b"},
		},
		"one of them": {
			slices: []string{"pool: {name: q, generation: 1}\n" + gpus, "pool: {name: p, generation: 7}\n" + gpus}, spec: "poolName: q",
			message: "Calculated status for 1 pools", want: []string{"1", "q@1 1 slices 3=0+3+0"},
		},
		"a limit": {
			slices: []string{"pool: {name: q, generation: 1, resourceSliceCount: 2}\n" + gpus, "pool: {name: p, generation: 7}\n" + gpus}, spec: "limit: 1",
			message: "Calculated status for 1 pools", want: []string{"2", "p@7 1 slices 3=0+3+0"},
		},
		"incomplete": {slices: []string{"pool: {name: p, generation: 1, resourceSliceCount: 2}\n" + gpus}},
		"older generations do not count": {
			slices:  []string{"pool: {name: p, generation: 1}\n" + gpus, "pool: {name: p, generation: 2}\ndevices: [{name: g0}]", "pool: {name: p, generation: 1}\n" + gpus},
			message: "Calculated status for 1 pools", want: []string{"1", "p@2 1 slices 1=0+1+0"},
		},
		"the newest is incomplete": {slices: []string{"pool: {name: p, generation: 1}\n" + gpus, "pool: {name: p, generation: 2, resourceSliceCount: 2}\n" + gpus}},
		"nodes differ": {
			slices:  []string{"nodeName: a\npool: {name: p, generation: 1, resourceSliceCount: 2}\n" + gpus, "nodeName: b\npool: {name: p, generation: 1, resourceSliceCount: 2}\n" + gpus},
			message: "Calculated status for 1 pools", want: []string{"1", "p@1 2 slices 6=0+6+0"},
		},
		"allocated once, not by admins": {
			slices:  []string{"pool: {name: p, generation: 1}\n" + gpus},
			claims:  [][]string{{"{pool: p, device: g0}", "{pool: p, device: g1, adminAccess: true}"}, {"{pool: p, device: g0}", "{pool: q, device: g2}", "{driver: e, pool: p, device: g2}"}, {}},
			message: "Calculated status for 1 pools", want: []string{"1", "p@1 1 slices 3=1+2+0"},
		},
		"tainted": {
			slices: []string{"pool: {name: p, generation: 1}\ndevices: [{name: g0, taints: [{key: k, effect: NoSchedule}]}, {name: g1, taints: [{key: k, effect: None}]}, {name: g2}, {name: g3}]"},
			claims: [][]string{{"{pool: p, device: g2}"}},
			rules: []resourcev1.DeviceTaintRuleSpec{
				{DeviceSelector: &resourcev1.DeviceTaintSelector{Device: ptr.To("g2")}, Taint: resourcev1.DeviceTaint{Effect: resourcev1.DeviceTaintEffectNoExecute}},
				{DeviceSelector: &resourcev1.DeviceTaintSelector{Pool: ptr.To("q")}, Taint: resourcev1.DeviceTaint{Effect: resourcev1.DeviceTaintEffectNoExecute}},
			},
			message: "Calculated status for 1 pools", want: []string{"1", "p@1 1 slices 4=1+1+2"},
		},
		"partitions": {
			slices:  []string{ofCounters, partitions("partitionTypeAttribute: d/profile")},
			message: "Calculated status for 1 pools", want: []string{"1", "p@1 2 slices 4=0+4+0 d/profile:Full 1/1 d/profile:Half 2/2"},
		},
		"a partition is allocated": {
			slices: []string{ofCounters, partitions("partitionTypeAttribute: d/profile")}, claims: [][]string{{"{pool: p, device: first}"}},
			message: "Calculated status for 1 pools", want: []string{"1", "p@1 2 slices 4=1+3+0 d/profile:Full 0/1 d/profile:Half 1/2"},
		},
		"partitions without an attribute": {
			slices:  []string{ofCounters, partitions("")},
			message: "Calculated status for 1 pools", want: []string{"1", "p@1 2 slices 4=0+4+0"},
		},
		"partitions by the request's": {
			slices: []string{ofCounters, partitions("")}, spec: "defaultPartitionTypeAttribute: d/profile",
			message: "Calculated status for 1 pools", want: []string{"1", "p@1 2 slices 4=0+4+0 d/profile:Full 1/1 d/profile:Half 2/2"},
		},
		"the slice's takes precedence": {
			slices: []string{ofCounters, partitions("partitionTypeAttribute: d/profile")}, spec: "defaultPartitionTypeAttribute: d/other",
			message: "Calculated status for 1 pools", want: []string{"1", "p@1 2 slices 4=0+4+0 d/profile:Full 1/1 d/profile:Half 2/2"},
		},
		"an attribute without counters": {
			slices: []string{"pool: {name: p, generation: 1}\n" + gpus}, spec: "defaultPartitionTypeAttribute: d/profile",
			message: "Calculated status for 1 pools (1 incomplete)",
			want:    []string{"1", "p@1 1 slices 3=0+3+0 PartitionTypeMissing: pool d/p declares partitionTypeAttribute but publishes no sharedCounters"},
		},
		"a partition lacks the attribute": {
			slices: []string{ofCounters, partitions("")}, spec: "defaultPartitionTypeAttribute: e/profile",
			message: "Calculated status for 1 pools (1 incomplete)",
			want:    []string{"1", `p@1 2 slices 4=0+4+0 PartitionTypeMissing: device "whole" in pool d/p does not carry partition type attribute "e/profile"`},
		},
		"partitions that cost more": {
			slices: []string{ofCounters, `
partitionTypeAttribute: d/profile
pool: {name: p, generation: 1, resourceSliceCount: 2}
devices:
- {name: a, attributes: {profile: {string: Half}}, consumesCounters: [` + full + `]}
- {name: b, attributes: {profile: {string: Half}}, consumesCounters: [` + half + `]}`},
			message: "Calculated status for 1 pools (1 incomplete)",
			want:    []string{"1", `p@1 2 slices 2=0+2+0 PartitionCostMismatch: devices of partition type "Half" in pool d/p consume different counters`},
		},
		"shareable": {
			slices: []string{"pool: {name: p, generation: 1}\ndevices: [{name: a, allowMultipleAllocations: true, capacity: {memory: {value: 10Gi}}}, {name: b, allowMultipleAllocations: true, capacity: {memory: {value: 10Gi}, cores: {value: \"8\"}}}, {name: c, capacity: {memory: {value: 10Gi}}}]"},
			claims: [][]string{{"{pool: p, device: a, consumedCapacity: {memory: 1Gi}}"}, {"{pool: p, device: a, consumedCapacity: {memory: 2Gi}}"}}, message: "Calculated status for 1 pools",
			want: []string{"1", "p@1 1 slices 3=1+2+0 shared 1/1 cores 8-0=8 memory 20Gi-3Gi=17Gi"},
		},
		"more consumed than there is": {
			slices: []string{"pool: {name: p, generation: 1}\ndevices: [{name: a, allowMultipleAllocations: true, capacity: {memory: {value: 1Gi}}}]"},
			claims: [][]string{{"{pool: p, device: gone, consumedCapacity: {memory: 2Gi}}"}}, message: "Calculated status for 1 pools",
			want: []string{"1", "p@1 1 slices 1=1+0+0 shared 1/0 memory 1Gi-2Gi=0"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			in := Input{Request: &resourcev1alpha3.ResourcePoolStatusRequest{Spec: resourcev1alpha3.ResourcePoolStatusRequestSpec{Driver: "d"}}}
			if err := yaml.UnmarshalStrict([]byte(test.spec), &in.Request.Spec); err != nil {
				t.Fatal(err)
			}
			for i, spec := range test.slices {
				in.Slices = append(in.Slices, slice(t, fmt.Sprint("s", i), spec))
			}
			for i, results := range test.claims {
				in.Claims = append(in.Claims, claim(t, fmt.Sprint("c", i), results...))
			}
			for _, spec := range test.rules {
				in.Rules = append(in.Rules, &resourcev1.DeviceTaintRule{Spec: spec})
			}
			got := Status(in, now)
			if diff := cmp.Diff(test.want, short(got)); diff != "" {
				t.Error(diff)
			}
			if got != nil {
				checkCondition(t, got.Conditions, test.message)
			}
		})
	}
}

func checkCondition(t *testing.T, got []metav1.Condition, message string) {
	t.Helper()
	want := []metav1.Condition{{Type: "Complete", Status: metav1.ConditionTrue, LastTransitionTime: metav1.NewTime(now), Reason: "CalculationComplete", Message: message}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// short writes the number of pools, and of each pool shown: name@generation, slices, devices=allocated+available+unavailable,
// node, partition types with their allocatable/total, shared devices that are free/in use with their capacity, and the error.
func short(s *resourcev1alpha3.ResourcePoolStatusRequestStatus) []string {
	if s == nil {
		return nil
	}
	lines := []string{fmt.Sprint(*s.PoolCount)}
	for _, p := range s.Pools {
		line := fmt.Sprintf("%s@%d %d slices %d=%d+%d+%d", p.PoolName, p.Generation, *p.ResourceSliceCount, *p.TotalDevices, *p.AllocatedDevices, *p.AvailableDevices, *p.UnavailableDevices)
		if p.NodeName != nil {
			line += " on " + *p.NodeName
		}
		for _, t := range p.PartitionSummary {
			line += fmt.Sprintf(" %s:%s %d/%d", t.Attribute, t.Type, *t.Allocatable, *t.Total)
		}
		if shared := p.ShareableSummary; shared != nil {
			line += fmt.Sprintf(" shared %d/%d", *shared.FullyAvailableDevices, *shared.PartiallyAvailableDevices)
			for _, c := range shared.Capacity {
				line += fmt.Sprintf(" %s %v-%v=%v", c.Name, c.Total, c.Consumed, c.Available)
			}
		}
		if p.ValidationError != nil {
			line += " " + *p.ValidationError
		}
		lines = append(lines, line)
	}
	return lines
}

// TestManySummaries checks the limits of the lists in an answer, and that a long error is cut.
func TestManySummaries(t *testing.T) {
	pool := "pool: {name: " + strings.Repeat("p", 250) + ", generation: 1}\n"
	var capacity []string
	for i := range maxSummaries + 1 {
		capacity = append(capacity, fmt.Sprintf("c%d: {value: \"1\"}", i))
	}
	in := Input{
		Request: &resourcev1alpha3.ResourcePoolStatusRequest{Spec: resourcev1alpha3.ResourcePoolStatusRequestSpec{Driver: "d"}},
		Slices:  []*resourcev1.ResourceSlice{slice(t, "s", pool+"devices: [{name: a, allowMultipleAllocations: true, capacity: {"+strings.Join(capacity, ", ")+"}}]")},
	}
	got := Status(in, now).Pools[0]
	if got.ShareableSummary != nil || len(*got.ValidationError) != maxErrorBytes || !strings.HasPrefix(*got.ValidationError, "ShareableSummaryOverCap: pool d/ppp") {
		t.Errorf("%v, %q", got.ShareableSummary, *got.ValidationError)
	}
}

func TestExpiry(t *testing.T) {
	created := metav1.NewTime(now)
	condition := func(kind string) *resourcev1alpha3.ResourcePoolStatusRequestStatus {
		return &resourcev1alpha3.ResourcePoolStatusRequestStatus{Conditions: []metav1.Condition{{Type: kind, LastTransitionTime: metav1.NewTime(now.Add(time.Minute))}}}
	}
	for name, test := range map[string]struct {
		status *resourcev1alpha3.ResourcePoolStatusRequestStatus
		want   time.Duration
	}{
		"waits":               {nil, 24 * time.Hour},
		"complete":            {condition("Complete"), time.Hour + time.Minute},
		"failed":              {condition("Failed"), time.Hour + time.Minute},
		"without a condition": {condition("Other"), time.Hour},
	} {
		r := &resourcev1alpha3.ResourcePoolStatusRequest{ObjectMeta: metav1.ObjectMeta{CreationTimestamp: created}, Status: test.status}
		if got := Expiry(r); !got.Equal(now.Add(test.want)) {
			t.Errorf("%s: %v", name, got)
		}
	}
}
