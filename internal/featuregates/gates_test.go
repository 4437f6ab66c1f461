package featuregates

import (
	"slices"
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	for _, test := range []struct {
		gates, config string
		on            []string
		err           string
	}{
		{},
		{gates: "GenericWorkload=true", config: "scheduling.k8s.io/v1beta1=true", on: []string{GenericWorkload}},
		{gates: "GenericWorkload=true", config: "scheduling.k8s.io/v1beta1", on: []string{GenericWorkload}},
		{gates: " GenericWorkload = true ,", config: ", scheduling.k8s.io/v1beta1 = true", on: []string{GenericWorkload}},
		{gates: "GenericWorkload=false", config: "scheduling.k8s.io/v1beta1=false"},
		{gates: "GenericWorkload=true,GenericWorkload=false"},
		{gates: "GenericWorkload=true", err: "has no effect without --runtime-config=scheduling.k8s.io/v1beta1=true"},
		{gates: "GenericWorkload=true", config: "scheduling.k8s.io/v1beta1=false", err: "has no effect without"},
		{config: "scheduling.k8s.io/v1beta1=true", err: "serves nothing without --feature-gates=GenericWorkload=true"},
		{gates: "GenericWorkload=yes", err: `GenericWorkload must be true or false, not "yes"`},
		{gates: "GenericWorkload", err: `GenericWorkload must be true or false, not ""`},
		{gates: "DRAResourcePoolStatus=true", config: "resource.k8s.io/v1alpha3=true", on: []string{DRAResourcePoolStatus}},
		{
			gates: "DRAPartitionableDevicesType=true,DRAResourcePoolStatus=true", config: "resource.k8s.io/v1alpha3=true",
			on: []string{DRAResourcePoolStatus, DRAPartitionableDevicesType},
		},
		{
			gates: "DRAResourcePoolStatus=true,GenericWorkload=true", config: "resource.k8s.io/v1alpha3=true,scheduling.k8s.io/v1beta1=true",
			on: []string{GenericWorkload, DRAResourcePoolStatus},
		},
		{gates: "DRAResourcePoolStatus=true", config: "scheduling.k8s.io/v1beta1=true", err: "serves nothing without --feature-gates=GenericWorkload=true"},
		{gates: "DRAResourcePoolStatus=true", err: "has no effect without --runtime-config=resource.k8s.io/v1alpha3=true"},
		{config: "resource.k8s.io/v1alpha3=true", err: "serves nothing without --feature-gates=DRAResourcePoolStatus=true"},
		{gates: "DRAPartitionableDevicesType=true", err: "depends on DRAResourcePoolStatus, which is off"},
		{
			gates: "StorageVersionAPI=true", config: "internal.apiserver.k8s.io/v1alpha1=true",
			on: []string{StorageVersionAPI, APIServerIdentity},
		},
		{
			gates: "StorageVersionAPI=true,APIServerIdentity=true", config: "internal.apiserver.k8s.io/v1alpha1=true",
			on: []string{StorageVersionAPI, APIServerIdentity},
		},
		{gates: "StorageVersionAPI=true,APIServerIdentity=false", err: "StorageVersionAPI is on, but depends on APIServerIdentity, which is off"},
		{gates: "StorageVersionAPI=true", err: "has no effect without --runtime-config=internal.apiserver.k8s.io/v1alpha1=true"},
		{gates: "APIServerIdentity=true", on: []string{APIServerIdentity}},
		{gates: "APIServerIdentity=false"},
		{gates: "GangScheduling=true", err: "Kubernetes v1.37 has merged it into GenericWorkload"},
		{gates: "CompositePodGroup=true", err: "CompositePodGroup of Kubernetes has no effect in minikcm"},
		{gates: "GenericWorkloads=true", err: "unrecognized feature gate GenericWorkloads; the gates that have an effect are GenericWorkload, DRAResourcePoolStatus, DRAPartitionableDevicesType, StorageVersionAPI and APIServerIdentity; did you mean GenericWorkload?"},
		{gates: "Zzzzzz=true", err: "unrecognized feature gate Zzzzzz"},
		{config: "api/all=true", err: "api/all cannot be turned on or off in minikcm, only scheduling.k8s.io/v1beta1, resource.k8s.io/v1alpha3 and internal.apiserver.k8s.io/v1alpha1"},
		{gates: "GenericWorkload=true", config: "scheduling.k8s.io/v1beta1=on", err: `must be true or false, not "on"`},
	} {
		t.Run(test.gates+" "+test.config, func(t *testing.T) {
			gates, err := Parse([]string{test.gates})
			if err == nil {
				err = ParseRuntimeConfig([]string{test.config}, gates)
			}
			switch {
			case test.err == "" && err != nil:
				t.Fatal(err)
			case test.err != "" && (err == nil || !strings.Contains(err.Error(), test.err)):
				t.Fatalf("error %v, want %q in it", err, test.err)
			case err != nil:
				return
			}
			for _, r := range table {
				if want := slices.Contains(test.on, r.name); gates.Enabled(r.name) != want {
					t.Errorf("%s is on: %v, want %v", r.name, !want, want)
				}
			}
		})
	}
}

func FuzzParse(f *testing.F) {
	f.Add("GenericWorkload=true", "scheduling.k8s.io/v1beta1=true")
	f.Add("a=b,,=", "=,x")
	f.Fuzz(func(t *testing.T, gates, config string) {
		g, err := Parse([]string{gates})
		if err == nil {
			err = ParseRuntimeConfig([]string{config}, g)
		}
		if err != nil && err.Error() == "" {
			t.Error("an error without a text")
		}
	})
}
