package controllers

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"

	"minikcm.dev/minikcm/controllers/internal/devicedriver"
	"minikcm.dev/minikcm/controllers/internal/simulatedingress"
	"minikcm.dev/minikcm/controllers/internal/volumeattacher"
	"minikcm.dev/minikcm/controllers/internal/volumeprovisioner"
	"minikcm.dev/minikcm/internal/featuregates"
)

func TestTable(t *testing.T) {
	simulated := []string{volumeprovisioner.Name, volumeattacher.Name, devicedriver.Name, simulatedingress.Name} // upstream has none of these
	known := map[string]bool{}
	for _, d := range Descriptors() {
		if d.Build == nil || d.About == "" || d.Account == "" || d.Docs == "" || len(d.Watches) == 0 || len(d.Writes) == 0 {
			t.Errorf("the row of %s has gaps", d.Name)
		}
		for _, name := range append([]string{d.Name}, d.Aliases...) {
			if known[name] {
				t.Errorf("the name %q is taken twice", name)
			}
			known[name] = true
			if aliases, ok := upstreamNames()[d.Name]; !slices.Contains(simulated, d.Name) && !ok || !slices.Equal(aliases, d.Aliases) {
				t.Errorf("upstream calls %s %v, not %v (upstreamNames has its names)", d.Name, aliases, d.Aliases)
			}
			if name == "" || strings.ContainsAny(name, "*, ") || strings.HasPrefix(name, "-") {
				t.Errorf("%q cannot be written in a selection", name)
			}
		}
	}
}

// TestFlags checks that every flag has a unique name and a default that Defaults sets.
func TestFlags(t *testing.T) {
	fs, s := pflag.NewFlagSet("all", pflag.ContinueOnError), Defaults()
	for _, d := range Descriptors() {
		d.AddFlags(fs, s)
	}
	if err := fs.Parse([]string{"--concurrent-deployment-syncs=7", "--node-eviction-rate=0", "--terminated-pod-gc-threshold=0"}); err != nil {
		t.Fatal(err)
	}
	if s.DeploymentController.ConcurrentDeploymentSyncs != 7 || s.ReplicaSetController.ConcurrentRSSyncs != 5 {
		t.Errorf("settings = %+v", s)
	}
	if c := &s.NodeLifecycleController; c.NodeEvictionRate != 0 || c.NodeMonitorGracePeriod.Duration != 50*time.Second {
		t.Errorf("settings of the node lifecycle controller = %+v", c)
	}
	if c := &s.PodGCController; c.TerminatedPodGCThreshold != 0 {
		t.Errorf("settings of the pod garbage collector = %+v", c)
	}
}

func TestParseSelection(t *testing.T) {
	offByDefault := []string{"bootstrap-signer-controller", "token-cleaner-controller", "selinux-warning-controller"}
	allBut := func(excluded ...string) []string {
		return slices.DeleteFunc(Names(), func(n string) bool { return slices.Contains(append(excluded, offByDefault...), n) })
	}
	const gated = "podgroup-protection-controller"
	others := []string{"resourcepoolstatusrequest-controller", "storageversion-garbage-collector-controller"}
	all := allBut(append(others, gated)...)
	groups := featuregates.On(featuregates.GenericWorkload)
	for name, tt := range map[string]struct {
		text string
		want []string
		err  string
		gate featuregates.Gates
	}{
		"default":        {"", all, "", featuregates.Gates{}},
		"star":           {"*", all, "", featuregates.Gates{}},
		"one":            {"replicaset-controller", []string{"replicaset-controller"}, "", featuregates.Gates{}},
		"alias":          {"replicaset", []string{"replicaset-controller"}, "", featuregates.Gates{}},
		"all but one":    {"*,-namespace-controller", allBut(append(others, gated, "namespace-controller")...), "", featuregates.Gates{}},
		"name then star": {"-namespace, *", allBut(append(others, gated, "namespace-controller")...), "", featuregates.Gates{}},
		"off by default": {"*,bootstrap-signer-controller,tokencleaner,selinux-warning-controller", Names(), "", featuregates.On(featuregates.GenericWorkload, featuregates.DRAResourcePoolStatus, featuregates.StorageVersionAPI)},
		"only excluded":  {"-namespace", []string{}, "", featuregates.Gates{}},
		"unknown":        {"*,-nmespace", nil, `"nmespace" is not a controller; the controllers are `, featuregates.Gates{}},
		"both":           {"namespace,-namespace-controller", nil, "both selected and excluded", featuregates.Gates{}},
		"gate on":        {"*", allBut(others...), "", groups},
		"gated":          {gated, []string{gated}, "", groups},
		"gate off":       {gated, nil, "needs the feature gate GenericWorkload", featuregates.On(featuregates.DRAResourcePoolStatus)},
		"gate off, out":  {"*,-" + gated, all, "", featuregates.Gates{}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := ParseSelection(tt.text, tt.gate)
			if tt.err != "" {
				if err == nil || !strings.Contains(err.Error(), tt.err) {
					t.Fatalf("ParseSelection() error = %v, want %q in it", err, tt.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("ParseSelection() (-want +got):\n%s", diff)
			}
		})
	}
}
