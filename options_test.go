package minikcm

import (
	"math"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/internal/dump"
	"minikcm.dev/minikcm/store"
)

func TestOptionsValidate(t *testing.T) {
	t.Parallel()
	etcd := store.EtcdOptions{Endpoints: []string{"http://127.0.0.1:2379"}}
	for name, test := range map[string]struct {
		opts Options
		want string // part of the error; empty: there is none
	}{
		"zero":                  {Options{}, ""},
		"everything":            {Options{Nodes: 3, DataDir: "d", BindAddress: "::1", Port: 65535, ClockMode: clock.ModeScaled, ClockFactor: 0.5, Controllers: []string{"*", "-deployment-controller"}}, ""},
		"virtual":               {Options{ClockMode: clock.ModeVirtual, Etcd: etcd}, ""},
		"two stores":            {Options{DataDir: "d", Etcd: etcd}, "a data directory (d) and an external etcd were both given: choose one"},
		"objects and snapshot":  {Options{Objects: dump.New("x", nil), Snapshot: "s.db"}, "a snapshot (s.db) and objects to begin with were both given: choose one"},
		"objects and etcd":      {Options{Objects: dump.New("x", nil), Etcd: etcd}, "only a new cluster can begin with objects"},
		"objects in a new dir":  {Options{Objects: dump.New("x", nil), DataDir: "nowhere"}, ""},
		"negative port":         {Options{Port: -1}, "port -1 is not between 0 and 65535"},
		"large port":            {Options{Port: 65536}, "port 65536 is not between 0 and 65535"},
		"host name":             {Options{BindAddress: "localhost"}, `bind address "localhost" is not an IP address`},
		"no factor":             {Options{ClockMode: clock.ModeScaled}, "a scaled clock needs a factor above 0, not 0"},
		"negative factor":       {Options{ClockMode: clock.ModeScaled, ClockFactor: -2}, "not -2"},
		"no number":             {Options{ClockMode: clock.ModeScaled, ClockFactor: math.NaN()}, "not NaN"},
		"boundless factor":      {Options{ClockMode: clock.ModeScaled, ClockFactor: math.Inf(1)}, "not +Inf"},
		"config and modes":      {Options{AuthorizationConfig: "a.yaml", AuthorizationModes: []string{"RBAC"}}, "--authorization-config can not be specified when --authorization-mode or --authorization-webhook-* flags are defined"},
		"no config":             {Options{AuthorizationConfig: "/missing/a.yaml"}, "reading the authorization configuration: open /missing/a.yaml"},
		"reload of nothing":     {Options{ReloadEncryptionConfig: true}, "--encryption-provider-config-automatic-reload must be set with --encryption-provider-config"},
		"unknown clock":         {Options{ClockMode: "sundial"}, `clock "sundial" is none of real, scaled, virtual`},
		"unknown controller":    {Options{Controllers: []string{"*", "gardener"}}, `"gardener" is not a controller; the controllers are `},
		"contrary controllers":  {Options{Controllers: []string{"deployment", "-deployment"}}, "both selected and excluded"},
		"too many nodes":        {Options{Nodes: 16000, Pools: []Pool{{Name: "a", Count: 385}}}, "at most 16384 nodes can be simulated"},
		"far too many nodes":    {Options{Nodes: math.MaxInt, Pools: []Pool{{Name: "a", Count: math.MaxInt}}}, "at most 16384 nodes can be simulated"},
		"too many large nodes":  {Options{Nodes: 8193, Node: NodeSpec{Capacity: pods("500")}}, "at most 16384 nodes can be simulated"},
		"many large nodes":      {Options{Nodes: 8192, Node: NodeSpec{Capacity: pods("500")}}, ""},
		"same nodes twice":      {Options{Nodes: 1, Pools: []Pool{{Count: 1}}}, "two pools have a node node-0"},
		"bad pool name":         {Options{Pools: []Pool{{Name: "A"}}}, `pool "A": it cannot begin the names of nodes`},
		"bad label":             {Options{Pools: []Pool{{Name: "a", Node: NodeSpec{Labels: map[string]string{"k": "a b"}}}}}, `pool "a": label k="a b"`},
		"bad annotation":        {Options{Node: NodeSpec{Annotations: map[string]string{"a b": ""}}}, `nodes: annotation "a b"`},
		"bad taint":             {Options{Node: NodeSpec{Taints: []corev1.Taint{{Key: "k", Effect: "Never"}}}}, `taint k: effect "Never" is none of`},
		"unknown resource":      {Options{Node: NodeSpec{Capacity: corev1.ResourceList{"memroy": resource.MustParse("1")}}}, `resource "memroy" is none of`},
		"broken pods":           {Options{Node: NodeSpec{Capacity: pods("1500m")}}, "capacity pods=1500m must be a whole number"},
		"too many pods":         {Options{Node: NodeSpec{Capacity: pods("100k")}}, "one node has addresses for at most 65533"},
		"unknown management":    {Options{ManageNodes: "some"}, `nodes to manage "some" are none of marked, all, none`},
		"pool of negative size": {Options{Pools: []Pool{{Name: "gpu", Count: -1}}}, `pool "gpu": it has -1 nodes`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := test.opts.Validate()
			switch {
			case test.want == "" && err != nil:
				t.Errorf("refused: %v", err)
			case test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)):
				t.Errorf("got %v, want an error with %q", err, test.want)
			}
		})
	}
}

func pods(quantity string) corev1.ResourceList {
	return corev1.ResourceList{corev1.ResourcePods: resource.MustParse(quantity)}
}

func TestOptionsComplete(t *testing.T) {
	t.Parallel()
	o := Options{}
	o.complete()
	if o.Nodes != 1 || !o.ClockStart.Equal(DefaultClockStart) || o.Seed == 0 || o.Etcd.DialTimeout == 0 {
		t.Errorf("defaults are missing: %+v", o)
	}
	o = Options{Nodes: -1, ClockStart: time.Unix(1, 0), Seed: 7, Etcd: store.EtcdOptions{DialTimeout: time.Second}}
	o.complete()
	if o.Nodes != 0 || o.ClockStart.Unix() != 1 || o.Seed != 7 || o.Etcd.DialTimeout != time.Second {
		t.Errorf("what was given is lost: %+v", o)
	}
}
