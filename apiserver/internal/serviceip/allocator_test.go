package serviceip

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const oneStack = "10.96.0.0/16"

func TestAllocateFills(t *testing.T) {
	p := newWorld(t, oneStack).process(1, PortRange{})
	svc := service("a", withNodePort(0))
	svc.Spec.Ports = append(svc.Spec.Ports,
		corev1.ServicePort{Port: 53, Protocol: corev1.ProtocolTCP}, corev1.ServicePort{Port: 53, Protocol: corev1.ProtocolUDP})
	if err := p.put(svc); err != nil {
		t.Fatal(err)
	}
	ip, err := netip.ParseAddr(svc.Spec.ClusterIP)
	if err != nil || !netip.MustParsePrefix(oneStack).Contains(ip) || ip.Less(netip.MustParseAddr("10.96.1.1")) {
		t.Errorf("cluster IP %q", svc.Spec.ClusterIP)
	}
	if diff := cmp.Diff([]string{svc.Spec.ClusterIP}, svc.Spec.ClusterIPs); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]corev1.IPFamily{corev1.IPv4Protocol}, svc.Spec.IPFamilies); diff != "" {
		t.Error(diff)
	}
	if *svc.Spec.IPFamilyPolicy != corev1.IPFamilyPolicySingleStack {
		t.Errorf("policy %s", *svc.Spec.IPFamilyPolicy)
	}
	ports := svc.Spec.Ports
	for _, port := range ports {
		if port.NodePort < 30000+86 || port.NodePort > 32767 {
			t.Errorf("node port %d", port.NodePort)
		}
	}
	if ports[1].NodePort != ports[2].NodePort || ports[0].NodePort == ports[1].NodePort {
		t.Errorf("node ports %d %d %d", ports[0].NodePort, ports[1].NodePort, ports[2].NodePort)
	}
	lock := p.locks.byName[svc.Spec.ClusterIP]
	wantLabels := map[string]string{"ipaddress.kubernetes.io/ip-family": "IPv4", "ipaddress.kubernetes.io/managed-by": "ipallocator.k8s.io"}
	if diff := cmp.Diff(wantLabels, lock.Labels); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(&networkingv1.ParentReference{Resource: "services", Namespace: "default", Name: "a"}, lock.Spec.ParentRef); diff != "" {
		t.Error(diff)
	}
	second := service("a", withIP(svc.Spec.ClusterIP))
	second.Spec.Type = corev1.ServiceTypeNodePort
	second.Spec.Ports = append(slices.Clone(ports), corev1.ServicePort{Port: 80, Protocol: corev1.ProtocolUDP})
	if err := p.put(second); err != nil {
		t.Fatal(err)
	}
	if again := second.Spec.Ports; again[3].NodePort == again[0].NodePort || again[3].NodePort == 0 {
		t.Errorf("a port that was added shares the node port of an old one: %v", again)
	}
}

func TestAllocateLeavesAlone(t *testing.T) {
	p := newWorld(t, oneStack).process(1, PortRange{})
	external := service("a", func(spec *corev1.ServiceSpec) { spec.Type = corev1.ServiceTypeExternalName })
	headless := service("b", func(spec *corev1.ServiceSpec) {
		spec.ClusterIP, spec.ClusterIPs, spec.Selector = "None", []string{"None"}, nil
	})
	balanced := service("c", func(spec *corev1.ServiceSpec) {
		spec.Type, spec.ExternalTrafficPolicy = corev1.ServiceTypeLoadBalancer, corev1.ServiceExternalTrafficPolicyLocal
		spec.AllocateLoadBalancerNodePorts = pointer(false)
	})
	for _, svc := range []*corev1.Service{external, headless, balanced} {
		if err := p.put(svc); err != nil {
			t.Fatal(err)
		}
	}
	if external.Spec.ClusterIP != "" || external.Spec.IPFamilyPolicy != nil {
		t.Errorf("external name: %+v", external.Spec)
	}
	if *headless.Spec.IPFamilyPolicy != corev1.IPFamilyPolicyRequireDualStack || len(headless.Spec.IPFamilies) != 2 || headless.Spec.ClusterIP != "None" {
		t.Errorf("headless: %+v", headless.Spec)
	}
	if balanced.Spec.Ports[0].NodePort != 0 || balanced.Spec.HealthCheckNodePort == 0 {
		t.Errorf("load balancer: %+v", balanced.Spec)
	}
	if len(p.locks.byName) != 1 {
		t.Errorf("%d locks", len(p.locks.byName))
	}
}

func TestAllocateRefuses(t *testing.T) {
	p := newWorld(t, oneStack).process(1, PortRange{})
	for _, svc := range []*corev1.Service{service("a", withIP("10.96.0.10")), service("b", withNodePort(30007))} {
		if err := p.put(svc); err != nil {
			t.Fatal(err)
		}
	}
	locks, ports := len(p.locks.byName), p.takenPorts(t)
	for _, test := range []struct {
		name string
		svc  *corev1.Service
		want string
	}{
		{"taken address", service("x", withIP("10.96.0.10")), `spec.clusterIPs: Invalid value: ["10.96.0.10"]: failed to allocate IP 10.96.0.10: provided IP is already allocated`},
		{"foreign address", service("x", withIP("10.0.0.1")), `spec.clusterIPs: Invalid value: ["10.0.0.1"]: failed to allocate IP 10.0.0.1: the provided network does not match the current range`},
		{"network's own address", service("x", withIP("10.96.0.0")), `failed to allocate IP 10.96.0.0: the provided network does not match the current range`},
		{"broadcast address", service("x", withIP("10.96.255.255")), `failed to allocate IP 10.96.255.255: the provided network does not match the current range`},
		{"foreign family", service("x", withIP("fd00::1")), `spec.clusterIPs[0]: Invalid value: ["fd00::1"]: IPv6 is not configured on this cluster`},
		{"taken port", service("x", withNodePort(30007)), "spec.ports[0].nodePort: Invalid value: 30007: provided port is already allocated"},
		{"foreign port", service("x", withNodePort(80)), "spec.ports[0].nodePort: Invalid value: 80: provided port is not in the valid range. The range of valid ports is 30000-32767"},
		{"taken health check port", service("x", func(spec *corev1.ServiceSpec) {
			spec.Type, spec.ExternalTrafficPolicy = corev1.ServiceTypeLoadBalancer, corev1.ServiceExternalTrafficPolicyLocal
			spec.HealthCheckNodePort = 30007
		}), "failed to allocate requested HealthCheck NodePort 30007: provided port is already allocated"},
		{"second family", service("x", func(spec *corev1.ServiceSpec) { spec.IPFamilies = []corev1.IPFamily{corev1.IPv6Protocol} }), `spec.ipFamilies[0]: Invalid value: "IPv6": not configured on this cluster`},
		{"both families", service("x", func(spec *corev1.ServiceSpec) {
			spec.IPFamilyPolicy = pointer(corev1.IPFamilyPolicyRequireDualStack)
		}), `spec.ipFamilyPolicy: Invalid value: "RequireDualStack": this cluster is not configured for dual-stack services`},
	} {
		for _, dryRun := range []bool{false, true} {
			t.Run(fmt.Sprint(test.name, dryRun), func(t *testing.T) {
				_, err := p.Allocate(t.Context(), test.svc.DeepCopy(), nil, dryRun)
				if err == nil || !strings.HasSuffix(err.Error(), test.want) {
					t.Errorf("got %v\nwant %s", err, test.want)
				}
			})
		}
	}
	if len(p.locks.byName) != locks || !slices.Equal(p.takenPorts(t), ports) {
		t.Errorf("still locked: %v %v", p.locks.byName, p.takenPorts(t))
	}
}

// TestFreed covers addresses that are freed by a delete, by a failed write, by a change
// of type, and by another process.
func TestFreed(t *testing.T) {
	w := newWorld(t, oneStack)
	p, other := w.process(1, PortRange{}), w.process(2, PortRange{})
	want := func(spec *corev1.ServiceSpec) {
		withIP("10.96.0.10")(spec)
		withNodePort(30010)(spec)
	}
	if err := p.put(service("a", want)); err != nil {
		t.Fatal(err)
	}
	p.remove(t, "a")
	done, err := p.Allocate(t.Context(), service("b", want), nil, false)
	if err != nil {
		t.Fatalf("after a delete: %v", err)
	}
	if err := other.put(service("c", want)); !apierrors.IsInvalid(err) {
		t.Fatalf("while being written by another process: %v", err)
	}
	done(NotStored)
	if err := other.put(service("c", want)); err != nil {
		t.Fatalf("after a failed write: %v", err)
	}
	if err := p.put(service("c", func(spec *corev1.ServiceSpec) { spec.Type = corev1.ServiceTypeExternalName })); err != nil {
		t.Fatal(err)
	}
	if err := p.put(service("d", want)); err != nil {
		t.Fatalf("after a change of type: %v", err)
	}
	other.remove(t, "d")
	dry, err := p.Allocate(t.Context(), service("e", want), nil, true)
	if err != nil {
		t.Fatalf("in a dry run, after another process deleted it: %v", err)
	}
	dry(NotStored)
	if err := p.put(service("f", want)); err != nil {
		t.Fatalf("after a dry run: %v", err)
	}
}

func TestFull(t *testing.T) {
	w := newWorld(t, "10.0.0.0/29")
	p, other := w.process(1, PortRange{30000, 30001}), w.process(2, PortRange{30000, 30001})
	for i := range 6 {
		if err := p.put(service(fmt.Sprint(i), nil)); err != nil {
			t.Fatal(err)
		}
	}
	err := other.put(service("more", nil))
	if !apierrors.IsInternalError(err) || !strings.Contains(err.Error(), `failed to allocate a serviceIP for Service "more": range is full`) {
		t.Errorf("got %v", err)
	}
	p.remove(t, "3")
	if err := other.put(service("more", nil)); err != nil {
		t.Error(err)
	}
	w.addCIDR("second", "10.0.1.0/29")
	svc := service("yet-more", nil)
	if err := p.put(svc); err != nil || !strings.HasPrefix(svc.Spec.ClusterIP, "10.0.1.") {
		t.Errorf("from a ServiceCIDR that was added: %q, %v", svc.Spec.ClusterIP, err)
	}
	for i, want := range []bool{true, true, false} {
		if err := p.put(service(fmt.Sprint("port", i), withNodePort(0))); (err == nil) != want {
			t.Errorf("node port %d: %v", i, err)
		}
	}
}

func TestCIDRsThatAreNotReady(t *testing.T) {
	w := newWorld(t, oneStack)
	p := w.process(1, PortRange{})
	going, unready := w.addCIDR("going", "10.1.0.0/24"), w.addCIDR("unready", "10.2.0.0/24")
	going.DeletionTimestamp = &metav1.Time{}
	unready.Status.Conditions = []metav1.Condition{{Type: "Ready", Status: metav1.ConditionFalse}}
	for _, ip := range []string{"10.1.0.1", "10.2.0.1"} {
		if err := p.put(service("x", withIP(ip))); !apierrors.IsInvalid(err) {
			t.Errorf("%s: %v", ip, err)
		}
	}
	unready.Status.Conditions[0].Status = metav1.ConditionTrue
	if err := p.put(service("x", withIP("10.2.0.1"))); err != nil {
		t.Error(err)
	}
}

// TestUnknownOutcome keeps the locks of a write with an unknown outcome until no
// Service can have them.
func TestUnknownOutcome(t *testing.T) {
	w := newWorld(t, oneStack)
	p := w.process(1, PortRange{})
	want := func(spec *corev1.ServiceSpec) {
		withIP("10.96.0.10")(spec)
		withNodePort(30010)(spec)
	}
	done, err := p.Allocate(t.Context(), service("a", want), nil, false)
	if err != nil {
		t.Fatal(err)
	}
	done(Unknown)
	for pass := range 3 {
		if err := p.Repair(t.Context()); err != nil {
			t.Fatal(err)
		}
		if locked := w.locks.byName["10.96.0.10"] != nil; locked != (pass == 0) {
			t.Errorf("pass %d: locked is %v", pass, locked)
		}
		if taken := len(p.takenPorts(t)) > 0; taken != (pass < 2) {
			t.Errorf("pass %d: the port is taken: %v", pass, taken)
		}
		if err := w.clock.Advance(t.Context(), RepairInterval); err != nil {
			t.Fatal(err)
		}
	}
	if err := p.put(service("b", want)); err != nil {
		t.Error(err)
	}
}

// TestServicesWithoutLocks takes over a store written by a program without locks.
func TestServicesWithoutLocks(t *testing.T) {
	w := newWorld(t, oneStack)
	for _, svc := range []*corev1.Service{service("a", withIP("10.96.0.10")), service("b", withIP("10.5.0.1")), service("c", withNodePort(30010))} {
		w.services[svc.UID] = svc
	}
	p := w.process(1, PortRange{})
	for _, change := range []func(*corev1.ServiceSpec){withIP("10.96.0.10"), withNodePort(30010)} {
		if err := p.put(service("x", change)); !apierrors.IsInvalid(err) {
			t.Errorf("what another has: %v", err)
		}
	}
	if len(w.locks.byName) != 1 || !isFor(w.locks.byName["10.96.0.10"], w.services["a"]) {
		t.Errorf("locks %v", w.locks.byName)
	}
	p.remove(t, "a")
	if len(w.locks.byName) != 0 {
		t.Errorf("locks %v", w.locks.byName)
	}
}

func TestRepairReplacesForeignLocks(t *testing.T) {
	w := newWorld(t, oneStack)
	p := w.process(1, PortRange{})
	if err := p.put(service("a", withIP("10.96.0.10"))); err != nil {
		t.Fatal(err)
	}
	w.locks.byName["10.96.0.10"].Spec.ParentRef.Name = "other"
	if err := p.Repair(t.Context()); err != nil {
		t.Fatal(err)
	}
	if !isFor(w.locks.byName["10.96.0.10"], w.services["a"]) {
		t.Errorf("lock %v", w.locks.byName["10.96.0.10"].Spec.ParentRef)
	}
	gateway := lockOf(service("g", nil), netip.MustParseAddr("10.96.0.77"))
	gateway.Labels = nil
	if _, err := w.locks.Create(t.Context(), gateway); err != nil {
		t.Fatal(err)
	}
	if err := w.clock.Advance(t.Context(), time.Hour); err != nil {
		t.Fatal(err)
	}
	if err := p.Repair(t.Context()); err != nil {
		t.Fatal(err)
	}
	if w.locks.byName["10.96.0.77"] == nil {
		t.Error("deleted the IPAddress of another Service")
	}
}

// TestTheServiceKubernetesOutlivesACrash takes over the address that a process locked
// before it was killed.
func TestTheServiceKubernetesOutlivesACrash(t *testing.T) {
	w := newWorld(t, oneStack)
	own := service("kubernetes", withIP("10.96.0.1"))
	if _, err := w.process(1, PortRange{}).Allocate(t.Context(), own.DeepCopy(), nil, false); err != nil {
		t.Fatal(err)
	}
	if err := w.process(2, PortRange{}).put(own); err != nil {
		t.Fatal(err)
	}
	if w.locks.byName["10.96.0.1"] == nil {
		t.Error("not locked")
	}
}

func TestLockFails(t *testing.T) {
	w := newWorld(t, oneStack)
	p := w.process(1, PortRange{})
	w.locks.fail = apierrors.NewServiceUnavailable("gone")
	if err := p.put(service("a", nil)); !apierrors.IsServiceUnavailable(err) {
		t.Errorf("got %v", err)
	}
	w.locks.fail = errors.New("odd")
	if err := p.put(service("a", nil)); !apierrors.IsInternalError(err) {
		t.Errorf("got %v", err)
	}
	w.locks.fail = nil
	if err := p.put(service("a", nil)); err != nil {
		t.Error(err)
	}
}
