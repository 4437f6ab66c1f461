package devicetaints

import (
	"testing"

	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/utils/ptr"
)

func TestTainted(t *testing.T) {
	slice := &resourcev1.ResourceSlice{Spec: resourcev1.ResourceSliceSpec{
		Driver: "d", Pool: resourcev1.ResourcePool{Name: "p"}, Devices: []resourcev1.Device{{Name: "x"}, {Name: "y"}},
	}}
	rule := func(s *resourcev1.DeviceTaintSelector) *resourcev1.DeviceTaintRule {
		return &resourcev1.DeviceTaintRule{Spec: resourcev1.DeviceTaintRuleSpec{DeviceSelector: s, Taint: resourcev1.DeviceTaint{Key: "k"}}}
	}
	for name, test := range map[string]struct {
		rules []*resourcev1.DeviceTaintRule
		x, y  int
	}{
		"none":           {nil, 0, 0},
		"no selector":    {[]*resourcev1.DeviceTaintRule{rule(nil)}, 0, 0},
		"all":            {[]*resourcev1.DeviceTaintRule{rule(&resourcev1.DeviceTaintSelector{})}, 1, 1},
		"one of both":    {[]*resourcev1.DeviceTaintRule{rule(&resourcev1.DeviceTaintSelector{Driver: ptr.To("d"), Pool: ptr.To("p"), Device: ptr.To("y")})}, 0, 1},
		"another driver": {[]*resourcev1.DeviceTaintRule{rule(&resourcev1.DeviceTaintSelector{Driver: ptr.To("e")})}, 0, 0},
		"another pool":   {[]*resourcev1.DeviceTaintRule{rule(&resourcev1.DeviceTaintSelector{Pool: ptr.To("q")})}, 0, 0},
		"two rules": {[]*resourcev1.DeviceTaintRule{
			rule(&resourcev1.DeviceTaintSelector{}), rule(&resourcev1.DeviceTaintSelector{Device: ptr.To("x")}),
		}, 2, 1},
	} {
		t.Run(name, func(t *testing.T) {
			got := Tainted([]*resourcev1.ResourceSlice{slice}, test.rules)[0].Spec.Devices
			if len(got[0].Taints) != test.x || len(got[1].Taints) != test.y || len(slice.Spec.Devices[0].Taints) > 0 {
				t.Errorf("%v", got)
			}
		})
	}
}
