package featuregates

import (
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"minikcm.dev/minikcm/internal/releases"
)

func TestNew(t *testing.T) {
	for _, test := range []struct {
		release releases.Minor
		items   string
		on, off []string
		err     string
	}{
		{on: []string{"HPAScaleToZero", "MutatingAdmissionPolicy"}, off: []string{GenericWorkload, APIServerIdentity, "Nonsense"}},
		{release: 33, on: []string{"SidecarContainers", "InPlacePodVerticalScaling"}, off: []string{"HPAScaleToZero", "DynamicResourceAllocation", "EnvFiles"}},
		{release: 31, on: []string{"SidecarContainers"}, off: []string{"InPlacePodVerticalScaling"}},
		{items: "GenericWorkload=true", on: []string{GenericWorkload}},
		{items: " GenericWorkload = true ,", on: []string{GenericWorkload}},
		{items: "GenericWorkload=true,GenericWorkload=false", off: []string{GenericWorkload}},
		{items: "AllAlpha=true,ContainerStopSignals=false", on: []string{"EmptyDirVolumeMode"}, off: []string{"ContainerStopSignals", GenericWorkload}},
		{items: "AllBeta=false", on: []string{"ImageVolume", "DRADeviceTaints"}, off: []string{"HPAScaleToZero"}},
		{release: 33, items: "DynamicResourceAllocation=true", on: []string{"DynamicResourceAllocation"}},
		{items: "StorageVersionAPI=true", on: []string{StorageVersionAPI, APIServerIdentity}},
		{items: "StorageVersionAPI=true,APIServerIdentity=false", err: "StorageVersionAPI is on, but depends on APIServerIdentity, which is off"},
		{items: "DRAPartitionableDevicesType=true", err: "depends on DRAResourcePoolStatus, which is off"},
		{items: "ImageVolume=false", err: "cannot set feature gate ImageVolume to false, feature is locked to true"},
		{items: "GenericWorkload=yes", err: `GenericWorkload must be true or false, not "yes"`},
		{items: "GenericWorkload", err: `GenericWorkload must be true or false, not ""`},
		{items: "GangScheduling=true", err: "Kubernetes v1.37 has merged it into GenericWorkload"},
		{items: "GenericWorkloads=true", err: "unrecognized feature gate: GenericWorkloads; did you mean GenericWorkload?"},
		{items: "Zzzzzz=true", err: "unrecognized feature gate: Zzzzzz"},
		{release: 32, items: "EnvFiles=true", err: "unrecognized feature gate: EnvFiles"},
	} {
		t.Run(test.release.String()+" "+test.items, func(t *testing.T) {
			set, err := Parse([]string{test.items})
			var g Gates
			if err == nil {
				g, err = New(test.release, set)
			}
			switch {
			case test.err == "" && err != nil:
				t.Fatal(err)
			case test.err != "" && (err == nil || !strings.Contains(err.Error(), test.err)):
				t.Fatalf("error %v, want %q in it", err, test.err)
			case err != nil:
				return
			}
			for _, name := range test.on {
				if !g.Enabled(name) {
					t.Errorf("%s is off", name)
				}
			}
			for _, name := range test.off {
				if g.Enabled(name) {
					t.Errorf("%s is on", name)
				}
			}
		})
	}
}

func TestIneffective(t *testing.T) {
	set, err := Parse([]string{"CompositePodGroup=true,OpportunisticBatching=false,WatchList=true,HPAScaleToZero=false"})
	if err != nil {
		t.Fatal(err)
	}
	g, err := New(releases.Newest, set)
	if err != nil {
		t.Fatal(err)
	}
	if got := g.Ineffective(); !slices.Equal(got, []string{"OpportunisticBatching"}) {
		t.Errorf("got %v", got)
	}
	if g.IsDefault() || !On().IsDefault() || !On("WatchList").IsDefault() || On().Key() == g.Key() {
		t.Errorf("keys %q, %q", On().Key(), g.Key())
	}
}

// TestGatesOfFieldsExist checks that each gate of fields and resources is one of a recorded release.
func TestGatesOfFieldsExist(t *testing.T) {
	for _, name := range Effective() {
		known := false
		for _, release := range releases.All() {
			_, ok := release.Gate(name)
			known = known || ok
		}
		if !known {
			t.Errorf("no release has the gate %s", name)
		}
	}
}

func TestRuntimeConfig(t *testing.T) {
	gvr := func(text string) schema.GroupVersionResource {
		parts := strings.Split(text, "/")
		if len(parts) == 2 {
			parts = append([]string{""}, parts...)
		}
		return schema.GroupVersionResource{Group: parts[0], Version: parts[1], Resource: parts[2]}
	}
	for _, test := range []struct {
		release releases.Minor
		items   string
		on, off []string
		err     string
	}{
		{on: []string{"v1/pods", "batch/v1/jobs"}, off: []string{"resource.k8s.io/v1beta1/resourceclaims", "flowcontrol.apiserver.k8s.io/v1beta3/flowschemas"}},
		{release: 31, on: []string{"flowcontrol.apiserver.k8s.io/v1beta3/flowschemas"}},
		{items: "resource.k8s.io/v1beta1", on: []string{"resource.k8s.io/v1beta1/resourceclaims"}, off: []string{"resource.k8s.io/v1beta2/resourceclaims"}},
		{items: "api/all=true", on: []string{"a/v1alpha1/b", "a/v1beta1/b", "v1/pods"}},
		{items: "api/all=false,api/ga=true", on: []string{"v1/pods"}, off: []string{"a/v1beta1/b"}},
		{items: "api/beta=true,a/v1beta1=false", on: []string{"a/v1beta2/b"}, off: []string{"a/v1beta1/b", "a/v1alpha1/b"}},
		{items: "batch/v1/cronjobs=false", on: []string{"batch/v1/jobs"}, off: []string{"batch/v1/cronjobs"}},
		{items: "batch/v1=false,batch/v1/jobs=true", on: []string{"batch/v1/jobs"}, off: []string{"batch/v1/cronjobs"}},
		{items: "api/legacy=false", off: []string{"v1/pods"}},
		{items: "batch/v1=on", err: `batch/v1 must be true or false, not "on"`},
		{items: "batch=true", err: "batch must be an API version"},
		{items: "batch/jobs=true", err: "batch/jobs must be an API version"},
		{items: "a/v1/b/c", err: "must be an API version"},
	} {
		t.Run(test.release.String()+" "+test.items, func(t *testing.T) {
			c, err := ParseRuntimeConfig([]string{test.items})
			if test.err != "" {
				if err == nil || !strings.Contains(err.Error(), test.err) {
					t.Fatalf("error %v, want %q in it", err, test.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			release := max(test.release, 30)
			if test.release == 0 {
				release = releases.Newest
			}
			for _, name := range test.on {
				if !c.Serves(release, gvr(name)) {
					t.Errorf("%s is off", name)
				}
			}
			for _, name := range test.off {
				if c.Serves(release, gvr(name)) {
					t.Errorf("%s is on", name)
				}
			}
		})
	}
}

func FuzzParse(f *testing.F) {
	f.Add("GenericWorkload=true", "scheduling.k8s.io/v1beta1=true")
	f.Add("a=b,,=", "=,x")
	f.Add("AllAlpha=true", "api/all")
	f.Fuzz(func(t *testing.T, gates, config string) {
		set, err := Parse([]string{gates})
		if err == nil {
			_, err = New(releases.Newest, set)
		}
		if err != nil && err.Error() == "" {
			t.Error("an error without a text")
		}
		c, err := ParseRuntimeConfig([]string{config})
		if err == nil {
			c.Serves(releases.Newest, schema.GroupVersionResource{Version: "v1", Resource: "pods"})
		}
	})
}
