package decide

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

func TestParse(t *testing.T) {
	for name, test := range map[string]struct{ annotation, want, failed string }{
		"none":            {"", "", ""},
		"one":             {"gpu.example.com 8", "gpu.example.com 8;", ""},
		"two":             {"\ngpu.example.com 8\n\n  nic.example.com   2 \n", "gpu.example.com 8;nic.example.com 2;", ""},
		"attributes":      {"gpu.example.com 1 model=a100 numa=1 nvlink=true capacity.memory=80Gi", "gpu.example.com 1 model=a100 numa=1 nvlink=true memory:80Gi;", ""},
		"no number":       {"gpu.example.com", "", `"gpu.example.com": the number of devices is missing`},
		"not a number":    {"gpu.example.com many", "", `"gpu.example.com many": many is not a number of devices from 1 to 1024`},
		"too many":        {"gpu.example.com 1025", "", `"gpu.example.com 1025": 1025 is not a number of devices from 1 to 1024`},
		"not a driver":    {"GPU 1", "", `"GPU 1": GPU is not the name of a driver, such as gpu.example.com`},
		"not a pair":      {"gpu.example.com 1 a100", "", `"gpu.example.com 1 a100": a100 is not NAME=VALUE`},
		"not a name":      {"gpu.example.com 1 a-b=1", "", `"gpu.example.com 1 a-b=1": a-b is not the name of an attribute, such as model`},
		"not a quantity":  {"gpu.example.com 1 capacity.memory=big", "", `"gpu.example.com 1 capacity.memory=big": big is not a quantity, such as 80Gi`},
		"a long value":    {"g 1 m=" + strings.Repeat("x", 65), "", `"g 1 m=` + strings.Repeat("x", 65) + `": the value of m has more than 64 bytes`},
		"one of two":      {"a.example.com 1\nb.example.com 0", "a.example.com 1;", `"b.example.com 0": 0 is not a number of devices from 1 to 1024`},
		"the same driver": {"a.example.com 1\na.example.com 2", "a.example.com 1;", `"a.example.com 2": the driver has another line`},
	} {
		t.Run(name, func(t *testing.T) {
			drivers, err := Parse(test.annotation)
			got, failed := "", ""
			for _, d := range drivers {
				got += fmt.Sprintf("%s %d", d.Name, d.Count)
				for _, key := range []resourcev1.QualifiedName{"model", "numa", "nvlink"} {
					switch a := d.Attributes[key]; {
					case a.StringValue != nil:
						got += fmt.Sprintf(" %s=%s", key, *a.StringValue)
					case a.IntValue != nil:
						got += fmt.Sprintf(" %s=%d", key, *a.IntValue)
					case a.BoolValue != nil:
						got += fmt.Sprintf(" %s=%v", key, *a.BoolValue)
					}
				}
				for key, c := range d.Capacity {
					got += fmt.Sprintf(" %s:%s", key, c.Value.String())
				}
				got += ";"
			}
			if err != nil {
				failed = err.Error()
			}
			if got != test.want || failed != test.failed {
				t.Errorf("%q, %q; want %q, %q", got, failed, test.want, test.failed)
			}
		})
	}
}

func TestSlices(t *testing.T) {
	node := func(uid types.UID) *corev1.Node {
		return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n", UID: uid}}
	}
	driver := func(name string, count int) Driver { return Driver{Name: name, Count: count} }
	published := func(uid types.UID, drivers ...Driver) []*resourcev1.ResourceSlice {
		return Slices(node(uid), drivers, nil).Create
	}
	for name, test := range map[string]struct {
		drivers  []Driver
		existing []*resourcev1.ResourceSlice
		want     string
	}{
		"nothing":              {nil, nil, ""},
		"new":                  {[]Driver{driver("g.x", 2)}, nil, "create n-g.x-0 g-0..g-1 generation 1 of 1;"},
		"as it is":             {[]Driver{driver("g.x", 2)}, published("1", driver("g.x", 2)), ""},
		"more":                 {[]Driver{driver("g.x", 3)}, published("1", driver("g.x", 2)), "update n-g.x-0 g-0..g-2 generation 2 of 1;"},
		"more than one slice":  {[]Driver{driver("g.x", 130)}, published("1", driver("g.x", 2)), "update n-g.x-0 g-0..g-127 generation 2 of 2;create n-g.x-1 g-128..g-129 generation 2 of 2;"},
		"fewer slices":         {[]Driver{driver("g.x", 2)}, published("1", driver("g.x", 130)), "delete n-g.x-1;update n-g.x-0 g-0..g-1 generation 2 of 1;"},
		"another driver":       {[]Driver{driver("h.x", 1)}, published("1", driver("g.x", 1)), "delete n-g.x-0;create n-h.x-0 h-0..h-0 generation 1 of 1;"},
		"no drivers":           {nil, published("1", driver("g.x", 1)), "delete n-g.x-0;"},
		"of an earlier Node":   {[]Driver{driver("g.x", 1)}, published("0", driver("g.x", 1)), "delete n-g.x-0;"},
		"one of two is gone":   {[]Driver{driver("g.x", 130)}, published("1", driver("g.x", 130))[:1], "update n-g.x-0 g-0..g-127 generation 2 of 2;create n-g.x-1 g-128..g-129 generation 2 of 2;"},
		"one of two differs":   {[]Driver{driver("g.x", 1), driver("h.x", 2)}, published("1", driver("g.x", 1), driver("h.x", 1)), "update n-h.x-0 h-0..h-1 generation 2 of 1;"},
		"other attributes now": {[]Driver{{Name: "g.x", Count: 1, Attributes: map[resourcev1.QualifiedName]resourcev1.DeviceAttribute{"m": attribute("1")}}}, published("1", driver("g.x", 1)), "update n-g.x-0 g-0..g-0 generation 2 of 1;"},
	} {
		t.Run(name, func(t *testing.T) {
			p, got := Slices(node("1"), test.drivers, test.existing), ""
			for _, s := range p.Delete {
				got += "delete " + s.Name + ";"
			}
			show := func(verb string, all []*resourcev1.ResourceSlice) {
				for _, s := range all {
					devices := s.Spec.Devices
					got += fmt.Sprintf("%s %s %s..%s generation %d of %d;", verb, s.Name, devices[0].Name, devices[len(devices)-1].Name, s.Spec.Pool.Generation, s.Spec.Pool.ResourceSliceCount)
				}
			}
			show("update", p.Update)
			show("create", p.Create)
			if got != test.want {
				t.Errorf("%q, want %q", got, test.want)
			}
		})
	}
}

func TestMissing(t *testing.T) {
	missing := Missing([]Driver{{Name: "a.x"}, {Name: "b.x"}}, func(class string) bool { return class == "a.x" })
	if len(missing) != 1 || missing[0].Name != "b.x" || missing[0].Spec.Selectors[0].CEL.Expression != `device.driver == "b.x"` {
		t.Errorf("%+v", missing)
	}
}
