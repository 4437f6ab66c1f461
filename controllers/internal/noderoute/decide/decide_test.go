package decide

import (
	"net/netip"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"minikcm.dev/minikcm/internal/simulatedcloud"
)

func node(name string, networks ...string) *corev1.Node {
	return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID("uid-" + name)}, Spec: corev1.NodeSpec{PodCIDRs: networks}}
}

func route(node, destination string) simulatedcloud.Route {
	return simulatedcloud.Route{Node: node, Destination: netip.MustParsePrefix(destination)}
}

func created(node, destination string) simulatedcloud.Route {
	r := route(node, destination)
	r.Hint = "uid-" + node
	return r
}

func TestRoutes(t *testing.T) {
	t.Parallel()
	clusters := []netip.Prefix{netip.MustParsePrefix("10.0.0.0/16"), netip.MustParsePrefix("fd00::/48")}
	blackhole := route("a", "10.0.0.0/24")
	blackhole.Blackhole = true
	for name, tt := range map[string]struct {
		nodes  []*corev1.Node
		routes []simulatedcloud.Route
		want   Plan
	}{
		"nothing to do":       {[]*corev1.Node{node("a", "10.0.0.0/24")}, []simulatedcloud.Route{route("a", "10.0.0.0/24")}, Plan{}},
		"a new node":          {[]*corev1.Node{node("a", "10.0.0.0/24")}, nil, Plan{Create: []simulatedcloud.Route{created("a", "10.0.0.0/24")}}},
		"two families":        {[]*corev1.Node{node("a", "10.0.0.0/24", "fd00::/64")}, nil, Plan{Create: []simulatedcloud.Route{created("a", "10.0.0.0/24"), created("a", "fd00::/64")}}},
		"no network yet":      {[]*corev1.Node{node("a")}, nil, Plan{}},
		"a node is gone":      {nil, []simulatedcloud.Route{route("a", "10.0.0.0/24")}, Plan{Delete: []simulatedcloud.Route{route("a", "10.0.0.0/24")}}},
		"route of others":     {nil, []simulatedcloud.Route{route("vpn", "192.168.0.0/24")}, Plan{}},
		"a range around ours": {nil, []simulatedcloud.Route{route("vpn", "8.0.0.0/6")}, Plan{}},
		"it ends in ours":     {nil, []simulatedcloud.Route{route("vpn", "fd00::/16")}, Plan{Delete: []simulatedcloud.Route{route("vpn", "fd00::/16")}}},
		"another node's now": {
			[]*corev1.Node{node("b", "10.0.0.0/24")},
			[]simulatedcloud.Route{route("a", "10.0.0.0/24")},
			Plan{Delete: []simulatedcloud.Route{route("a", "10.0.0.0/24")}, Create: []simulatedcloud.Route{created("b", "10.0.0.0/24")}},
		},
		"its instance is gone": {
			[]*corev1.Node{node("a", "10.0.0.0/24")},
			[]simulatedcloud.Route{blackhole},
			Plan{Delete: []simulatedcloud.Route{blackhole}, Create: []simulatedcloud.Route{created("a", "10.0.0.0/24")}},
		},
		"two nodes state one network": {
			[]*corev1.Node{node("a", "10.0.0.0/24"), node("b", "10.0.0.0/24")},
			nil,
			Plan{Create: []simulatedcloud.Route{created("a", "10.0.0.0/24")}},
		},
		"no network": {[]*corev1.Node{node("a", "nonsense")}, nil, Plan{}},
	} {
		got := Routes(tt.nodes, tt.routes, clusters)
		if diff := cmp.Diff(tt.want, got, cmpopts.EquateComparable(netip.Prefix{})); diff != "" {
			t.Errorf("%s: Routes() (-want +got):\n%s", name, diff)
		}
	}
}

func TestReaches(t *testing.T) {
	t.Parallel()
	routes := []simulatedcloud.Route{route("a", "10.0.0.0/24"), route("b", "10.0.1.0/24")}
	for name, tt := range map[string]struct {
		node *corev1.Node
		want bool
	}{
		"all":            {node("a", "10.0.0.0/24"), true},
		"one of two":     {node("a", "10.0.0.0/24", "fd00::/64"), false},
		"another node's": {node("c", "10.0.0.0/24"), false},
		"no networks":    {node("a"), false},
		"no network":     {node("a", "10.0.0.0/24", "nonsense"), false},
	} {
		if got := TableOf(routes).Reaches(tt.node); got != tt.want {
			t.Errorf("%s: Reaches() = %v", name, got)
		}
	}
	if got := TableOf(routes).Targets(); len(got) != 2 || !got["a"] || !got["b"] {
		t.Errorf("Targets() = %v", got)
	}
}

func TestCondition(t *testing.T) {
	t.Parallel()
	now := metav1.NewTime(time.Unix(1_000_000, 0))
	n := node("a")
	for _, hasRoutes := range []bool{true, false} {
		c := Condition(n, hasRoutes, now)
		want := corev1.NodeCondition{
			Type: "NetworkUnavailable", Status: "True", Reason: "NoRouteCreated", Message: "RouteController failed to create a route",
			LastHeartbeatTime: now, LastTransitionTime: now,
		}
		if hasRoutes {
			want.Status, want.Reason, want.Message = "False", "RouteCreated", "RouteController created a route"
		}
		if diff := cmp.Diff(&want, c); diff != "" {
			t.Fatalf("Condition() (-want +got):\n%s", diff)
		}
		n.Status.Conditions = []corev1.NodeCondition{*c}
		if again := Condition(n, hasRoutes, now); again != nil {
			t.Errorf("Condition() of a Node that has it = %v", again)
		}
	}
	n.Status.Conditions[0].Reason = "CalicoIsUp"
	if Condition(n, false, now) == nil {
		t.Error("a condition of another component is left")
	}
}
