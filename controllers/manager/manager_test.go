package manager

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"

	"minikcm.dev/minikcm/controllers/devicedriver"
	"minikcm.dev/minikcm/controllers/volumeattacher"
	"minikcm.dev/minikcm/controllers/volumeprovisioner"
	"minikcm.dev/minikcm/internal/featuregates"
)

func TestTable(t *testing.T) {
	simulated := []string{volumeprovisioner.Name, volumeattacher.Name, devicedriver.Name} // upstream has none of these
	known := map[string]bool{}
	for _, d := range Descriptors() {
		if d.New == nil || d.About == "" || d.Account == "" || d.Docs == "" || len(d.Watches) == 0 || len(d.Writes) == 0 {
			t.Errorf("the row of %s has gaps", d.Name)
		}
		for _, name := range append([]string{d.Name}, d.Aliases...) {
			if known[name] {
				t.Errorf("the name %q is taken twice", name)
			}
			known[name] = true
			if aliases, ok := upstreamNames()[d.Name]; !slices.Contains(simulated, d.Name) && !ok || !slices.Equal(aliases, d.Aliases) {
				t.Errorf("upstream calls %s %v, not %v", d.Name, aliases, d.Aliases)
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
	if o := nodeLifecycleOptions(s); o.Zones.EvictionRate != -1 || o.MonitorGracePeriod != 50*time.Second {
		t.Errorf("options of the node lifecycle controller = %+v", o)
	}
	if o := podGCOptions(s); o.TerminatedPodThreshold != -1 {
		t.Errorf("options of the pod garbage collector = %+v", o)
	}
}

func TestParseSelection(t *testing.T) {
	offByDefault := []string{"bootstrap-signer-controller", "token-cleaner-controller", "selinux-warning-controller"}
	allBut := func(excluded ...string) []string {
		return slices.DeleteFunc(Names(), func(n string) bool { return slices.Contains(append(excluded, offByDefault...), n) })
	}
	const gated = "podgroup-protection-controller"
	all := allBut(gated)
	for name, tt := range map[string]struct {
		text string
		want []string
		err  string
		gate bool
	}{
		"default":        {"", all, "", false},
		"star":           {"*", all, "", false},
		"one":            {"replicaset-controller", []string{"replicaset-controller"}, "", false},
		"alias":          {"replicaset", []string{"replicaset-controller"}, "", false},
		"all but one":    {"*,-namespace-controller", allBut("namespace-controller", gated), "", false},
		"name then star": {"-namespace, *", allBut("namespace-controller", gated), "", false},
		"off by default": {"*,bootstrap-signer-controller,tokencleaner,selinux-warning-controller", Names(), "", true},
		"only excluded":  {"-namespace", []string{}, "", false},
		"unknown":        {"*,-nmespace", nil, `"nmespace" is not a controller; the controllers are `, false},
		"absent":         {"node-route-controller", nil, "that minikcm does not have", false},
		"absent, out":    {"*,-node-route-controller,-route", all, "", false},
		"both":           {"namespace,-namespace-controller", nil, "both selected and excluded", false},
		"gate on":        {"*", allBut(), "", true},
		"gated":          {gated, []string{gated}, "", true},
		"gate off":       {gated, nil, "needs the feature gate GenericWorkload", false},
		"gate off, out":  {"*,-" + gated, all, "", false},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := ParseSelection(tt.text, featuregates.Gates{GenericWorkload: tt.gate})
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
