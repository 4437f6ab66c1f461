package serviceip

import (
	"context"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"minikcm.dev/minikcm/clock"
)

// cluster is a store of Services with an allocator over it.
type cluster struct {
	*Allocator
	stored map[types.UID]*corev1.Service
}

func newCluster(config Config) *cluster {
	c := &cluster{stored: map[types.UID]*corev1.Service{}}
	config.Random = clock.NewRandom(1)
	config.List = func(context.Context) ([]*corev1.Service, error) {
		return slices.Collect(maps.Values(c.stored)), nil
	}
	c.Allocator = New(config)
	return c
}

// put allocates for svc and stores it.
func (c *cluster) put(svc *corev1.Service) error {
	done, err := c.Allocate(context.Background(), svc, c.stored[svc.UID])
	if err != nil {
		return err
	}
	c.stored[svc.UID] = svc
	done(true)
	return nil
}

func (c *cluster) remove(t *testing.T, uid types.UID) {
	t.Helper()
	done, err := c.Allocate(t.Context(), nil, c.stored[uid])
	if err != nil {
		t.Fatal(err)
	}
	delete(c.stored, uid)
	done(true)
}

func service(uid string, change func(spec *corev1.ServiceSpec)) *corev1.Service {
	svc := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: uid, Namespace: "default", UID: types.UID(uid)}}
	svc.Spec.Type = corev1.ServiceTypeClusterIP
	svc.Spec.Selector = map[string]string{"app": uid}
	svc.Spec.Ports = []corev1.ServicePort{{Port: 80, Protocol: corev1.ProtocolTCP}}
	if change != nil {
		change(&svc.Spec)
	}
	return svc
}

func withIP(ip string) func(*corev1.ServiceSpec) {
	return func(spec *corev1.ServiceSpec) { spec.ClusterIP, spec.ClusterIPs = ip, []string{ip} }
}

func withNodePort(port int32) func(*corev1.ServiceSpec) {
	return func(spec *corev1.ServiceSpec) {
		spec.Type = corev1.ServiceTypeNodePort
		spec.Ports[0].NodePort = port
	}
}

func TestAllocateFills(t *testing.T) {
	c := newCluster(Config{})
	svc := service("a", withNodePort(0))
	svc.Spec.Ports = append(svc.Spec.Ports,
		corev1.ServicePort{Port: 53, Protocol: corev1.ProtocolTCP}, corev1.ServicePort{Port: 53, Protocol: corev1.ProtocolUDP})
	if err := c.put(svc); err != nil {
		t.Fatal(err)
	}
	ip, err := netip.ParseAddr(svc.Spec.ClusterIP)
	if err != nil || !netip.MustParsePrefix("10.96.0.0/16").Contains(ip) || ip.Less(netip.MustParseAddr("10.96.1.1")) {
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
	for _, p := range ports {
		if p.NodePort < 30000+86 || p.NodePort > 32767 {
			t.Errorf("node port %d", p.NodePort)
		}
	}
	if ports[1].NodePort != ports[2].NodePort || ports[0].NodePort == ports[1].NodePort {
		t.Errorf("node ports %d %d %d", ports[0].NodePort, ports[1].NodePort, ports[2].NodePort)
	}
}

func TestAllocateLeavesAlone(t *testing.T) {
	c := newCluster(Config{})
	external := service("a", func(spec *corev1.ServiceSpec) { spec.Type = corev1.ServiceTypeExternalName })
	headless := service("b", func(spec *corev1.ServiceSpec) {
		spec.ClusterIP, spec.ClusterIPs, spec.Selector = "None", []string{"None"}, nil
	})
	balanced := service("c", func(spec *corev1.ServiceSpec) {
		spec.Type, spec.ExternalTrafficPolicy = corev1.ServiceTypeLoadBalancer, corev1.ServiceExternalTrafficPolicyLocal
		spec.AllocateLoadBalancerNodePorts = pointer(false)
	})
	for _, svc := range []*corev1.Service{external, headless, balanced} {
		if err := c.put(svc); err != nil {
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
}

func TestAllocateRefuses(t *testing.T) {
	c := newCluster(Config{})
	for _, svc := range []*corev1.Service{service("a", withIP("10.96.0.10")), service("b", withNodePort(30007))} {
		if err := c.put(svc); err != nil {
			t.Fatal(err)
		}
	}
	for _, test := range []struct {
		name string
		svc  *corev1.Service
		want string
	}{
		{"taken address", service("x", withIP("10.96.0.10")), `spec.clusterIPs: Invalid value: ["10.96.0.10"]: failed to allocate IP 10.96.0.10: provided IP is already allocated`},
		{"foreign address", service("x", withIP("10.0.0.1")), `spec.clusterIPs: Invalid value: ["10.0.0.1"]: failed to allocate IP 10.0.0.1: the provided IP (10.0.0.1) is not in the valid range. The range of valid IPs is 10.96.0.0/16`},
		{"taken port", service("x", withNodePort(30007)), "spec.ports[0].nodePort: Invalid value: 30007: provided port is already allocated"},
		{"foreign port", service("x", withNodePort(80)), "spec.ports[0].nodePort: Invalid value: 80: provided port is not in the valid range. The range of valid ports is 30000-32767"},
		{"second family", service("x", func(spec *corev1.ServiceSpec) { spec.IPFamilies = []corev1.IPFamily{corev1.IPv6Protocol} }), `spec.ipFamilies[0]: Invalid value: "IPv6": not configured on this cluster`},
		{"both families", service("x", func(spec *corev1.ServiceSpec) {
			spec.IPFamilyPolicy = pointer(corev1.IPFamilyPolicyRequireDualStack)
		}), `spec.ipFamilyPolicy: Invalid value: "RequireDualStack": this cluster is not configured for dual-stack services`},
	} {
		t.Run(test.name, func(t *testing.T) {
			err := c.put(test.svc)
			if !apierrors.IsInvalid(err) || !strings.HasSuffix(err.Error(), test.want) {
				t.Errorf("got %v\nwant %s", err, test.want)
			}
		})
	}
	if len(c.used.inFlight) > 0 || len(c.ports.inFlight) > 0 {
		t.Errorf("still held: %v %v", c.used.inFlight, c.ports.inFlight)
	}
}

// TestFreed covers addresses that come free: by a delete, by a write that failed,
// by a change of type, and by another process.
func TestFreed(t *testing.T) {
	c := newCluster(Config{})
	want := withIP("10.96.0.10")
	if err := c.put(service("a", want)); err != nil {
		t.Fatal(err)
	}
	c.remove(t, "a")
	done, err := c.Allocate(t.Context(), service("b", want), nil)
	if err != nil {
		t.Fatalf("after a delete: %v", err)
	}
	if err := c.put(service("c", want)); !apierrors.IsInvalid(err) {
		t.Fatalf("while being written: %v", err)
	}
	done(false)
	if err := c.put(service("c", want)); err != nil {
		t.Fatalf("after a failed write: %v", err)
	}
	if err := c.put(service("c", func(spec *corev1.ServiceSpec) { spec.Type = corev1.ServiceTypeExternalName })); err != nil {
		t.Fatal(err)
	}
	if err := c.put(service("d", want)); err != nil {
		t.Fatalf("after a change of type: %v", err)
	}
	delete(c.stored, "d")
	if err := c.put(service("e", want)); err != nil {
		t.Fatalf("after another process deleted it: %v", err)
	}
}

func TestFull(t *testing.T) {
	c := newCluster(Config{ClusterIPs: netip.MustParsePrefix("10.0.0.0/29"), NodePorts: PortRange{30000, 30001}})
	for i := range 6 {
		if err := c.put(service(fmt.Sprint(i), nil)); err != nil {
			t.Fatal(err)
		}
	}
	err := c.put(service("more", nil))
	if !apierrors.IsInternalError(err) || !strings.Contains(err.Error(), "failed to allocate a serviceIP: range is full") {
		t.Errorf("got %v", err)
	}
	c.remove(t, "3")
	if err := c.put(service("more", nil)); err != nil {
		t.Error(err)
	}
}

// TestUnique lets writes of many Services begin and end in any order, some of them
// failing, and demands that no two stored Services ever share anything.
func TestUnique(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := newCluster(Config{ClusterIPs: netip.MustParsePrefix("10.0.0.0/28"), NodePorts: PortRange{30000, 30011}})
		type pending struct {
			svc, old *corev1.Service
			done     func(bool)
		}
		var begun []pending
		writing := map[types.UID]bool{}
		t.Repeat(map[string]func(*rapid.T){
			"begin": func(t *rapid.T) {
				uid := fmt.Sprint(rapid.IntRange(0, 9).Draw(t, "service"))
				if writing[types.UID(uid)] {
					t.Skip("being written")
				}
				old := c.stored[types.UID(uid)]
				svc := service(uid, drawSpec(t))
				if old != nil && rapid.Bool().Draw(t, "delete") {
					svc = nil
				}
				done, err := c.Allocate(context.Background(), svc, old)
				if err != nil {
					if !apierrors.IsInvalid(err) && !apierrors.IsInternalError(err) {
						t.Fatal(err)
					}
					return
				}
				writing[types.UID(uid)] = true
				begun = append(begun, pending{svc, old, done})
			},
			"end": func(t *rapid.T) {
				if len(begun) == 0 {
					t.Skip("nothing begun")
				}
				i := rapid.IntRange(0, len(begun)-1).Draw(t, "write")
				w := begun[i]
				begun = slices.Delete(begun, i, i+1)
				uid := ownerOf(w.svc, w.old)
				stored := rapid.Bool().Draw(t, "stored")
				switch {
				case stored && w.svc == nil:
					delete(c.stored, uid)
				case stored:
					c.stored[uid] = w.svc
				}
				delete(writing, uid)
				w.done(stored)
			},
			"": func(t *rapid.T) {
				ips, ports := map[netip.Addr]types.UID{}, map[int32]types.UID{}
				for uid, svc := range c.stored {
					k := keysOf(svc)
					for ip := range k.ips {
						if other, taken := ips[ip]; taken {
							t.Fatalf("%s and %s share %s", uid, other, ip)
						}
						ips[ip] = uid
					}
					for port := range k.ports {
						if other, taken := ports[port]; taken {
							t.Fatalf("%s and %s share %d", uid, other, port)
						}
						ports[port] = uid
					}
				}
				if len(begun) == 0 && len(c.used.inFlight)+len(c.ports.inFlight) > 0 {
					t.Fatalf("held for nobody: %v %v", c.used.inFlight, c.ports.inFlight)
				}
			},
		})
	})
}

func drawSpec(t *rapid.T) func(*corev1.ServiceSpec) {
	return func(spec *corev1.ServiceSpec) {
		spec.Type = rapid.SampledFrom([]corev1.ServiceType{
			corev1.ServiceTypeClusterIP, corev1.ServiceTypeNodePort, corev1.ServiceTypeExternalName,
		}).Draw(t, "type")
		if spec.Type == corev1.ServiceTypeExternalName {
			return
		}
		if rapid.Bool().Draw(t, "wanted address") {
			withIP(fmt.Sprintf("10.0.0.%d", rapid.IntRange(1, 14).Draw(t, "address")))(spec)
		}
		if spec.Type == corev1.ServiceTypeNodePort && rapid.Bool().Draw(t, "wanted port") {
			spec.Ports[0].NodePort = int32(rapid.IntRange(30000, 30011).Draw(t, "port")) //nolint:gosec // a port
		}
	}
}
