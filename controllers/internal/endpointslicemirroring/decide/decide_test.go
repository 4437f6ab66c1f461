package decide

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"minikcm.dev/minikcm/controllers/internal/plan"
)

func endpointsOf(subsets ...corev1.EndpointSubset) *corev1.Endpoints {
	return &corev1.Endpoints{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "a", Name: "web", UID: "u",
			Labels: map[string]string{"app": "web"},
			Annotations: map[string]string{
				"note": "x", corev1.EndpointsLastChangeTriggerTime: "then", corev1.LastAppliedConfigAnnotation: "{}",
			},
		},
		Subsets: subsets,
	}
}

func subset(port int32, ready, notReady string) corev1.EndpointSubset {
	s := corev1.EndpointSubset{}
	if port != 0 {
		s.Ports = []corev1.EndpointPort{{Name: fmt.Sprint("p", port), Port: port, Protocol: corev1.ProtocolTCP}}
	}
	for _, ip := range strings.Fields(ready) {
		s.Addresses = append(s.Addresses, corev1.EndpointAddress{IP: ip})
	}
	for _, ip := range strings.Fields(notReady) {
		s.NotReadyAddresses = append(s.NotReadyAddresses, corev1.EndpointAddress{IP: ip})
	}
	return s
}

// brief formats a plan, one line per slice.
func brief(p plan.Plan[struct{}]) []string {
	var lines []string
	for _, action := range p.Actions {
		for _, o := range action.Objects {
			slice, _ := o.(*discoveryv1.EndpointSlice)
			lines = append(lines, fmt.Sprintf("%s %s%s %s", action.Verb, slice.GenerateName, slice.Name, contentOf(slice)))
		}
	}
	for _, e := range p.Events {
		lines = append(lines, e.Reason+": "+e.Message)
	}
	return lines
}

func contentOf(slice *discoveryv1.EndpointSlice) string {
	var b strings.Builder
	b.WriteString(string(slice.AddressType))
	for _, p := range slice.Ports {
		fmt.Fprintf(&b, " %d", *p.Port)
	}
	b.WriteString(":")
	for _, e := range slice.Endpoints {
		fmt.Fprintf(&b, " %s", e.Addresses[0])
		if !*e.Conditions.Ready {
			b.WriteString("!")
		}
	}
	return b.String()
}

// stored returns the slices that the plan creates.
func stored(p plan.Plan[struct{}]) []*discoveryv1.EndpointSlice {
	var made []*discoveryv1.EndpointSlice
	for _, action := range p.Actions {
		for _, o := range action.Objects {
			slice, _ := o.(*discoveryv1.EndpointSlice)
			slice = slice.DeepCopy()
			slice.Name = fmt.Sprint("s", len(made))
			slice.GenerateName = ""
			slice.UID = types.UID(slice.Name)
			made = append(made, slice)
		}
	}
	return made
}

func TestDecideCreates(t *testing.T) {
	for name, tt := range map[string]struct {
		subsets []corev1.EndpointSubset
		want    []string
	}{
		"nothing":              {nil, nil},
		"no addresses":         {[]corev1.EndpointSubset{subset(80, "", "")}, nil},
		"ready and not":        {[]corev1.EndpointSubset{subset(80, "10.0.0.2", "10.0.0.1")}, []string{"create web- IPv4 80: 10.0.0.2 10.0.0.1!"}},
		"both families":        {[]corev1.EndpointSubset{subset(80, "10.0.0.1 fd00::1", "")}, []string{"create web- IPv4 80: 10.0.0.1", "create web- IPv6 80: fd00::1"}},
		"same ports":           {[]corev1.EndpointSubset{subset(80, "10.0.0.1", ""), subset(80, "10.0.0.2", "")}, []string{"create web- IPv4 80: 10.0.0.1 10.0.0.2"}},
		"same addresses":       {[]corev1.EndpointSubset{subset(80, "10.0.0.1", ""), subset(81, "10.0.0.1", "")}, []string{"create web- IPv4 80 81: 10.0.0.1"}},
		"two ports, two hosts": {[]corev1.EndpointSubset{subset(80, "10.0.0.1", ""), subset(81, "10.0.0.2", "")}, []string{"create web- IPv4 80: 10.0.0.1", "create web- IPv4 81: 10.0.0.2"}},
		"not ready wins":       {[]corev1.EndpointSubset{subset(80, "10.0.0.1", ""), subset(80, "", "10.0.0.1")}, []string{"create web- IPv4 80: 10.0.0.1!"}},
		"without ports":        {[]corev1.EndpointSubset{subset(0, "10.0.0.1", "")}, []string{"create web- IPv4: 10.0.0.1"}},
		"old form of address":  {[]corev1.EndpointSubset{subset(80, "010.000.000.001", "")}, []string{"create web- IPv4 80: 10.0.0.1"}},
		"no addresses at all": {
			[]corev1.EndpointSubset{subset(80, "10.0.0.1 1.2.3.4.5", "")},
			[]string{"create web- IPv4 80: 10.0.0.1", "InvalidIPAddress: Skipped 1 invalid IP addresses when mirroring to EndpointSlices"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, brief(EndpointSlices(endpointsOf(tt.subsets...), nil))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestDecideChanges(t *testing.T) {
	base := endpointsOf(subset(80, "10.0.0.1", "10.0.0.2"))
	for name, tt := range map[string]struct {
		before *corev1.Endpoints
		change func(e *corev1.Endpoints)
		want   []string
	}{
		"nothing":      {base, func(*corev1.Endpoints) {}, nil},
		"address":      {base, func(e *corev1.Endpoints) { e.Subsets[0].Addresses[0].IP = "10.0.0.3" }, []string{"update s0 IPv4 80: 10.0.0.3 10.0.0.2!"}},
		"readiness":    {base, func(e *corev1.Endpoints) { e.Subsets = endpointsOf(subset(80, "10.0.0.1 10.0.0.2", "")).Subsets }, []string{"update s0 IPv4 80: 10.0.0.1 10.0.0.2"}},
		"label":        {base, func(e *corev1.Endpoints) { e.Labels["app"] = "y" }, []string{"update s0 IPv4 80: 10.0.0.1 10.0.0.2!"}},
		"annotation":   {base, func(e *corev1.Endpoints) { e.Annotations["note"] = "y" }, []string{"update s0 IPv4 80: 10.0.0.1 10.0.0.2!"}},
		"trigger time": {base, func(e *corev1.Endpoints) { e.Annotations[corev1.EndpointsLastChangeTriggerTime] = "now" }, nil},
		"made again":   {base, func(e *corev1.Endpoints) { e.UID = "v" }, []string{"update s0 IPv4 80: 10.0.0.1 10.0.0.2!"}},
		"other port":   {base, func(e *corev1.Endpoints) { e.Subsets[0].Ports[0].Port = 81 }, []string{"update s0 IPv4 81: 10.0.0.1 10.0.0.2!"}},
		"other family": {base, func(e *corev1.Endpoints) { e.Subsets = endpointsOf(subset(80, "fd00::1", "")).Subsets }, []string{"create web- IPv6 80: fd00::1", "delete s0 IPv4 80: 10.0.0.1 10.0.0.2!"}},
		"emptied":      {base, func(e *corev1.Endpoints) { e.Subsets = nil }, []string{"delete s0 IPv4 80: 10.0.0.1 10.0.0.2!"}},
		"going, new port": {base, func(e *corev1.Endpoints) {
			e.DeletionTimestamp = &metav1.Time{}
			e.Subsets = append(e.Subsets, subset(81, "10.0.0.9", ""))
		}, nil},
		"one of two": {
			endpointsOf(subset(80, "10.0.0.1", ""), subset(81, "10.0.0.2", "")),
			func(e *corev1.Endpoints) { e.Subsets = e.Subsets[:1] },
			[]string{"delete s1 IPv4 81: 10.0.0.2"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			slices := stored(EndpointSlices(tt.before, nil))
			after := tt.before.DeepCopy()
			tt.change(after)
			if diff := cmp.Diff(tt.want, brief(EndpointSlices(after, slices))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestDecideMetadata(t *testing.T) {
	slice := stored(EndpointSlices(endpointsOf(subset(80, "10.0.0.1", "")), nil))[0]
	yes := true
	want := metav1.ObjectMeta{
		Namespace: "a", Name: "s0", UID: "s0",
		Labels:          map[string]string{"app": "web", "kubernetes.io/service-name": "web", "endpointslice.kubernetes.io/managed-by": "endpointslicemirroring-controller.k8s.io"},
		Annotations:     map[string]string{"note": "x"},
		OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "Endpoints", Name: "web", UID: "u", Controller: &yes, BlockOwnerDeletion: &yes}},
	}
	if diff := cmp.Diff(want, slice.ObjectMeta); diff != "" {
		t.Error(diff)
	}
}

func TestDecideKeepsOneOfTwoAlike(t *testing.T) {
	endpoints := endpointsOf(subset(80, "10.0.0.1", ""))
	first := stored(EndpointSlices(endpoints, nil))[0]
	second := first.DeepCopy()
	second.Name = "s9"
	if diff := cmp.Diff([]string{"delete s9 IPv4 80: 10.0.0.1"}, brief(EndpointSlices(endpoints, []*discoveryv1.EndpointSlice{second, first}))); diff != "" {
		t.Error(diff)
	}
}

func TestDecideMirrorsAThousandOfASubset(t *testing.T) {
	var ready, notReady []string
	for i := range 700 {
		ready = append(ready, fmt.Sprintf("10.1.%d.%d", i/256, i%256))
		notReady = append(notReady, fmt.Sprintf("10.2.%d.%d", i/256, i%256))
	}
	decided := EndpointSlices(endpointsOf(subset(80, strings.Join(ready, " "), strings.Join(notReady, " "))), nil)
	slice := stored(decided)[0]
	if len(slice.Endpoints) != maxPerSubset || !*slice.Endpoints[699].Conditions.Ready || *slice.Endpoints[700].Conditions.Ready {
		t.Errorf("%d endpoints", len(slice.Endpoints))
	}
	want := "TooManyAddressesToMirror: A max of 1000 addresses can be mirrored to EndpointSlices per Endpoints subset. 400 addresses were skipped"
	if lines := brief(decided); lines[len(lines)-1] != want {
		t.Errorf("events: %q", lines[1:])
	}
}

func TestMirrored(t *testing.T) {
	plain := &corev1.Service{}
	for name, tt := range map[string]struct {
		endpoints *corev1.Endpoints
		service   *corev1.Service
		want      bool
	}{
		"both":           {&corev1.Endpoints{}, plain, true},
		"no endpoints":   {nil, plain, false},
		"no service":     {&corev1.Endpoints{}, nil, false},
		"selector":       {&corev1.Endpoints{}, &corev1.Service{Spec: corev1.ServiceSpec{Selector: map[string]string{"a": "b"}}}, false},
		"empty selector": {&corev1.Endpoints{}, &corev1.Service{Spec: corev1.ServiceSpec{Selector: map[string]string{}}}, false},
		"skipped":        {&corev1.Endpoints{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"endpointslice.kubernetes.io/skip-mirror": "true"}}}, plain, false},
		"not skipped":    {&corev1.Endpoints{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"endpointslice.kubernetes.io/skip-mirror": "false"}}}, plain, true},
		"a lock":         {&corev1.Endpoints{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{"control-plane.alpha.kubernetes.io/leader": "{}"}}}, plain, false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := Mirrored(tt.endpoints, tt.service); got != tt.want {
				t.Errorf("Mirrored() = %v", got)
			}
		})
	}
}
