package partitiontype

import (
	"strings"

	resourcev1 "k8s.io/api/resource/v1"
)

// Attribute returns the attribute of a driver's device with a fully qualified name; nil: the device has none. The name
// of an attribute in the driver's own domain may lack the domain; the full name takes precedence.
func Attribute(driver string, attributes map[resourcev1.QualifiedName]resourcev1.DeviceAttribute, name string) *resourcev1.DeviceAttribute {
	if a, ok := attributes[resourcev1.QualifiedName(name)]; ok {
		return &a
	}
	if bare, own := strings.CutPrefix(name, driver+"/"); own {
		if a, ok := attributes[resourcev1.QualifiedName(bare)]; ok {
			return &a
		}
	}
	return nil
}
