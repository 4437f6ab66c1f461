package openapi

import (
	"slices"
	"testing"
)

func TestEnums(t *testing.T) {
	enums := builtinMarkers().enums
	for name, values := range map[string][]string{
		"k8s.io/api/certificates/v1.KeyUsage":              {"digital signature", "any"},
		"k8s.io/api/discovery/v1.AddressType":              {"FQDN", "IPv4", "IPv6"},
		"k8s.io/api/networking/v1.PathType":                {"Exact", "ImplementationSpecific", "Prefix"},
		"k8s.io/api/resource/v1.DeviceAllocationMode":      {"All", "ExactCount"},
		"k8s.io/api/core/v1.HostPathType":                  {"", "Directory"},
		"k8s.io/api/core/v1.PersistentVolumeReclaimPolicy": {"Delete", "Recycle", "Retain"},
	} {
		for _, value := range values {
			if !slices.Contains(enums[name], value) {
				t.Errorf("%s has the values %q, without %q", name, enums[name], value)
			}
		}
	}
}

func TestEnumValues(t *testing.T) {
	got, err := enumValues(` a "" "b c" d`)
	if err != nil || !slices.Equal(got, []string{"a", "", "b c", "d"}) {
		t.Errorf("enumValues returns %q, %v", got, err)
	}
	if _, err := enumValues(`"a`); err == nil {
		t.Error("an open quote is no error")
	}
}
