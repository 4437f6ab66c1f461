package partitiontype

import (
	"testing"

	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/utils/ptr"
)

func TestAttribute(t *testing.T) {
	text := func(s string) resourcev1.DeviceAttribute { return resourcev1.DeviceAttribute{StringValue: ptr.To(s)} }
	attributes := map[resourcev1.QualifiedName]resourcev1.DeviceAttribute{
		"both": text("bare"), "d.example/both": text("qualified"), "bare": text("bare"), "e.example/other": text("other"),
	}
	for name, want := range map[string]string{
		"d.example/both": "qualified", "d.example/bare": "bare", "e.example/other": "other",
		"d.example/other": "", "e.example/bare": "", "bare/": "",
	} {
		got := ""
		if a := Attribute("d.example", attributes, name); a != nil {
			got = *a.StringValue
		}
		if got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}
