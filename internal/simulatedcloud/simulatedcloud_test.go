package simulatedcloud

import (
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
)

var created = time.Unix(1_000_000, 0)

func instance(name string) Instance {
	return Instance{
		Name: name, ProviderID: ProviderID("eu-1a", name, created), Type: "sim.2cpu.4gi", Zone: "eu-1a", Region: "eu-1", Address: "10.0.0.1",
	}
}

func TestAnInstanceIsReadAsItWasWritten(t *testing.T) {
	t.Parallel()
	for _, stopped := range []bool{false, true} {
		want := instance("node-0")
		want.Stopped = stopped
		got, ok := InstanceOf(want.ConfigMap())
		if !ok || got != want {
			t.Errorf("read %+v, %v, want %+v", got, ok, want)
		}
	}
}

func TestProviderIDs(t *testing.T) {
	t.Parallel()
	first, second := ProviderID("eu-1a", "node-0", created), ProviderID("eu-1a", "node-0", created.Add(time.Hour))
	if first == second {
		t.Errorf("two instances of a name have the ID %s", first)
	}
	digits, ok := strings.CutPrefix(first, "simulated:///eu-1a/i-")
	if !ok || len(digits) != idDigits || !IsProviderID(first) {
		t.Errorf("the ID is %s", first)
	}
	if IsProviderID("aws:///eu-1a/i-1") || IsProviderID("") {
		t.Error("IDs of other clouds are accepted")
	}
}

func TestStates(t *testing.T) {
	t.Parallel()
	i := instance("a")
	c := i.ConfigMap()
	if SetState(c, Running) || !SetState(c, Stopped) || SetState(c, Stopped) {
		t.Error("SetState does not tell a change")
	}
	if got, _ := InstanceOf(c); !got.Stopped {
		t.Errorf("a stopped instance is %+v", got)
	}
	if !SetState(&corev1.ConfigMap{}, Stopped) {
		t.Error("SetState of an empty ConfigMap")
	}
}

func TestOtherConfigMapsAreNoInstances(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*corev1.ConfigMap){
		"namespace": func(c *corev1.ConfigMap) { c.Namespace = "default" },
		"label":     func(c *corev1.ConfigMap) { c.Labels = nil },
		"ID":        func(c *corev1.ConfigMap) { c.Data[keyProviderID] = "aws:///a/i-1" },
		"data":      func(c *corev1.ConfigMap) { c.Data = nil },
	} {
		i := instance("a")
		c := i.ConfigMap()
		change(c)
		if got, ok := InstanceOf(c); ok {
			t.Errorf("with another %s: %+v", name, got)
		}
	}
}

func TestRouteNames(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"10.192.0.0/24", "fd00:7::/64", "::/0", "0.0.0.0/0", "2001:db8:1:2:3:4:5:6/128"} {
		name := RouteName(netip.MustParsePrefix(text))
		if wrong := validation.IsDNS1123Subdomain(name); len(wrong) > 0 {
			t.Errorf("%s: the name %s is wrong: %v", text, name, wrong)
		}
	}
}

func quotas(data map[string]string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: Namespace, Name: Quotas}, Data: data}
}

func TestInventory(t *testing.T) {
	t.Parallel()
	a := instance("a")
	toA := Route{Node: "a", Destination: netip.MustParsePrefix("10.0.0.0/24"), Hint: "uid"}
	toGone := Route{Node: "gone", Destination: netip.MustParsePrefix("10.0.1.0/24")}
	broken := toA.ConfigMap()
	broken.Data[keyDestination] = "no range"
	v := InventoryOf([]*corev1.ConfigMap{a.ConfigMap(), toA.ConfigMap(), toGone.ConfigMap(), broken, quotas(map[string]string{"routes": "2"})})
	toA.Name, toGone.Name, toGone.Blackhole = "route-10-0-0-0-24", "route-10-0-1-0-24", true
	want := Inventory{Instances: map[string]Instance{"a": a}, Routes: []Route{toA, toGone}, MaxRoutes: 2}
	if diff := cmp.Diff(want, v, cmpopts.EquateComparable(netip.Prefix{})); diff != "" {
		t.Errorf("InventoryOf() (-want +got):\n%s", diff)
	}
}

func TestCheckRoute(t *testing.T) {
	t.Parallel()
	a := instance("a")
	existing := Route{Node: "a", Destination: netip.MustParsePrefix("10.0.0.0/24")}
	for name, tt := range map[string]struct {
		quotas map[string]string
		route  Route
		want   string
	}{
		"free":          {nil, Route{Node: "a", Destination: netip.MustParsePrefix("10.0.1.0/24")}, ""},
		"no instance":   {nil, Route{Node: "b", Destination: netip.MustParsePrefix("10.0.1.0/24")}, "InvalidInstanceID.NotFound"},
		"taken":         {nil, Route{Node: "a", Destination: netip.MustParsePrefix("10.0.0.0/24")}, "RouteAlreadyExists"},
		"quota":         {map[string]string{"routes": "1"}, Route{Node: "a", Destination: netip.MustParsePrefix("10.0.1.0/24")}, "RouteLimitExceeded"},
		"quota of none": {map[string]string{"routes": "0"}, Route{Node: "a", Destination: netip.MustParsePrefix("10.0.1.0/24")}, "RouteLimitExceeded"},
		"no number":     {map[string]string{"routes": "many"}, Route{Node: "a", Destination: netip.MustParsePrefix("10.0.1.0/24")}, ""},
	} {
		v := InventoryOf([]*corev1.ConfigMap{a.ConfigMap(), existing.ConfigMap(), quotas(tt.quotas)})
		if err := v.CheckRoute(&tt.route); (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", name, err, tt.want)
		}
	}
}
