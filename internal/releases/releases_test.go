package releases

import (
	"slices"
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	for text, want := range map[string]Minor{"1.33": 33, "v1.30": 30, "1.37.9": 37, " v1.36.0 ": 36} {
		if got, err := Parse(text); err != nil || got != want {
			t.Errorf("%q is %v, %v", text, got, err)
		}
	}
	for text, want := range map[string]string{
		"": "such as 1.37", "1": "such as", "2.33": "such as", "1.x": "such as", "1.-3": "such as", "1.33.1.2": "such as",
		"1.29": "1.30 to 1.37", "1.38": "1.30 to 1.37", "1.99999999": "such as",
	} {
		if got, err := Parse(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q is %v, %v", text, got, err)
		}
	}
	if all := All(); len(all) != 8 || all[0].String() != "1.30" || Newest.Version() != "v1.37.2" {
		t.Errorf("got %v", all)
	}
}

func TestGates(t *testing.T) {
	for _, test := range []struct {
		release Minor
		name    string
		want    Gate
		absent  bool
	}{
		{release: 32, name: "InPlacePodVerticalScaling", want: Gate{Stage: Alpha}},
		{release: 33, name: "InPlacePodVerticalScaling", want: Gate{Stage: Beta, On: true}},
		{release: 35, name: "InPlacePodVerticalScaling", want: Gate{Stage: GA, On: true, Locked: true}},
		{release: 36, name: "HPAScaleToZero", want: Gate{Stage: Alpha}},
		{release: 36, name: "HPAGeneration", absent: true},
		{release: 37, name: "SidecarContainers", absent: true},
		{release: 37, name: "KubeProxyIPVS", want: Gate{Stage: Deprecated, On: true}},
	} {
		test.want.Name = test.name
		if got, ok := test.release.Gate(test.name); ok == test.absent || !test.absent && got != test.want {
			t.Errorf("%v: %s is %+v, %v", test.release, test.name, got, ok)
		}
	}
	if !Newest.Default("SidecarContainers") || Minor(30).Default("HPAGeneration") || Newest.Default("GangScheduling") {
		t.Error("defaults of gates that have gone or not come")
	}
	if names := Newest.Gates(); !slices.IsSorted(names) || len(names) < 240 {
		t.Errorf("there are %d gates", len(names))
	}
}

func TestLacks(t *testing.T) {
	stop, workload := Field{"api.core.v1.Lifecycle", "stopSignal"}, Field{"api.core.v1.PodSpec", "resources"}
	if lacking := Minor(31).Lacks(); !slices.Contains(lacking, stop) || !slices.Contains(lacking, workload) {
		t.Errorf("1.31 lacks %v", lacking)
	}
	if lacking := Minor(32).Lacks(); !slices.Contains(lacking, stop) || slices.Contains(lacking, workload) {
		t.Errorf("1.32 lacks %v", lacking)
	}
	if lacking := Newest.Lacks(); lacking != nil {
		t.Errorf("the newest release lacks %v", lacking)
	}
}
