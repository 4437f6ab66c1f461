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
		"everything":            {Options{Nodes: NodeOptions{Count: 3}, Storage: StorageOptions{DataDir: "d"}, API: APIOptions{BindAddress: "::1", Port: 65535}, Clock: ClockOptions{Mode: clock.ModeScaled, Speed: 0.5}, Controllers: ControllerOptions{Selected: []string{"*", "-deployment-controller"}}}, ""},
		"virtual":               {Options{Clock: ClockOptions{Mode: clock.ModeVirtual}, Sharing: SharingOptions{Etcd: etcd}}, ""},
		"two stores":            {Options{Storage: StorageOptions{DataDir: "d"}, Sharing: SharingOptions{Etcd: etcd}}, "a data directory (d) and an external etcd were both given: choose one"},
		"objects and snapshot":  {Options{Storage: StorageOptions{Objects: dump.New("x", nil), Snapshot: "s.db"}}, "a snapshot (s.db) and objects to begin with were both given: choose one"},
		"objects and etcd":      {Options{Storage: StorageOptions{Objects: dump.New("x", nil)}, Sharing: SharingOptions{Etcd: etcd}}, "only a new cluster can begin with objects"},
		"objects in a new dir":  {Options{Storage: StorageOptions{Objects: dump.New("x", nil), DataDir: "nowhere"}}, ""},
		"negative port":         {Options{API: APIOptions{Port: -1}}, "port -1 is not between 0 and 65535"},
		"large port":            {Options{API: APIOptions{Port: 65536}}, "port 65536 is not between 0 and 65535"},
		"host name":             {Options{API: APIOptions{BindAddress: "localhost"}}, `bind address "localhost" is not an IP address`},
		"no factor":             {Options{Clock: ClockOptions{Mode: clock.ModeScaled}}, "a scaled clock needs a factor above 0, not 0"},
		"negative factor":       {Options{Clock: ClockOptions{Mode: clock.ModeScaled, Speed: -2}}, "not -2"},
		"no number":             {Options{Clock: ClockOptions{Mode: clock.ModeScaled, Speed: math.NaN()}}, "not NaN"},
		"boundless factor":      {Options{Clock: ClockOptions{Mode: clock.ModeScaled, Speed: math.Inf(1)}}, "not +Inf"},
		"config and modes":      {Options{Security: SecurityOptions{AuthorizationConfig: "a.yaml", AuthorizationModes: []string{"RBAC"}}}, "--authorization-config can not be specified when --authorization-mode or --authorization-webhook-* flags are defined"},
		"no config":             {Options{Security: SecurityOptions{AuthorizationConfig: "/missing/a.yaml"}}, "reading the authorization configuration: open /missing/a.yaml"},
		"reload of nothing":     {Options{Storage: StorageOptions{ReloadEncryptionConfig: true}}, "--encryption-provider-config-automatic-reload must be set with --encryption-provider-config"},
		"unknown clock":         {Options{Clock: ClockOptions{Mode: "sundial"}}, `clock "sundial" is none of real, scaled, virtual`},
		"unknown controller":    {Options{Controllers: ControllerOptions{Selected: []string{"*", "gardener"}}}, `"gardener" is not a controller; the controllers are `},
		"contrary controllers":  {Options{Controllers: ControllerOptions{Selected: []string{"deployment", "-deployment"}}}, "both selected and excluded"},
		"too many nodes":        {Options{Nodes: NodeOptions{Count: 16000, Pools: []Pool{{Name: "a", Count: 385}}}}, "at most 16384 nodes can be simulated"},
		"far too many nodes":    {Options{Nodes: NodeOptions{Count: math.MaxInt, Pools: []Pool{{Name: "a", Count: math.MaxInt}}}}, "at most 16384 nodes can be simulated"},
		"too many large nodes":  {Options{Nodes: NodeOptions{Count: 8193, Spec: NodeSpec{Capacity: pods("500")}}}, "at most 16384 nodes can be simulated"},
		"many large nodes":      {Options{Nodes: NodeOptions{Count: 8192, Spec: NodeSpec{Capacity: pods("500")}}}, ""},
		"same nodes twice":      {Options{Nodes: NodeOptions{Count: 1, Pools: []Pool{{Count: 1}}}}, "two pools have a node node-0"},
		"bad pool name":         {Options{Nodes: NodeOptions{Pools: []Pool{{Name: "A"}}}}, `pool "A": it cannot begin the names of nodes`},
		"bad label":             {Options{Nodes: NodeOptions{Pools: []Pool{{Name: "a", Node: NodeSpec{Labels: map[string]string{"k": "a b"}}}}}}, `pool "a": label k="a b"`},
		"bad annotation":        {Options{Nodes: NodeOptions{Spec: NodeSpec{Annotations: map[string]string{"a b": ""}}}}, `nodes: annotation "a b"`},
		"bad taint":             {Options{Nodes: NodeOptions{Spec: NodeSpec{Taints: []corev1.Taint{{Key: "k", Effect: "Never"}}}}}, `taint k: effect "Never" is none of`},
		"unknown resource":      {Options{Nodes: NodeOptions{Spec: NodeSpec{Capacity: corev1.ResourceList{"memroy": resource.MustParse("1")}}}}, `resource "memroy" is none of`},
		"broken pods":           {Options{Nodes: NodeOptions{Spec: NodeSpec{Capacity: pods("1500m")}}}, "capacity pods=1500m must be a whole number"},
		"too many pods":         {Options{Nodes: NodeOptions{Spec: NodeSpec{Capacity: pods("100k")}}}, "one node has addresses for at most 65533"},
		"unknown management":    {Options{Nodes: NodeOptions{Manage: "some"}}, `nodes to manage "some" are none of marked, all, none`},
		"pool of negative size": {Options{Nodes: NodeOptions{Pools: []Pool{{Name: "gpu", Count: -1}}}}, `pool "gpu": it has -1 nodes`},
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
	if o.Nodes.Count != 1 || !o.Clock.Start.Equal(DefaultClockStart) || o.Seed == 0 || o.Sharing.Etcd.DialTimeout == 0 {
		t.Errorf("defaults are missing: %+v", o)
	}
	o = Options{Nodes: NodeOptions{Count: -1}, Clock: ClockOptions{Start: time.Unix(1, 0)}, Seed: 7, Sharing: SharingOptions{Etcd: store.EtcdOptions{DialTimeout: time.Second}}}
	o.complete()
	if o.Nodes.Count != 0 || o.Clock.Start.Unix() != 1 || o.Seed != 7 || o.Sharing.Etcd.DialTimeout != time.Second {
		t.Errorf("what was given is lost: %+v", o)
	}
}
