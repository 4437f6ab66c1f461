package decide

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/utils/ptr"

	"minikcm.dev/minikcm/internal/quantity"
)

// Annotation of a Node describes its simulated devices: lines of DRIVER COUNT [NAME=VALUE ...].
// Of a ResourceSlice, it says that the slice was made from such a line.
const Annotation = "minikcm.dev/devices"

// capacityPrefix marks the values that are capacities. The others are attributes.
const capacityPrefix = "capacity."

// The budget of one annotation.
const (
	maxDrivers   = 16
	maxDevices   = 1024
	maxNumbers   = resourcev1.ResourceSliceMaxAttributesAndCapacitiesPerDevice
	maxAttribute = resourcev1.DeviceAttributeMaxValueLength
)

// Driver is the devices of one driver on a node, which are all equal.
type Driver struct {
	Name       string
	Count      int
	Attributes map[resourcev1.QualifiedName]resourcev1.DeviceAttribute
	Capacity   map[resourcev1.QualifiedName]resourcev1.DeviceCapacity
}

// Parse reads the annotation. It returns the drivers of the valid lines in their order, and the
// errors of the others.
func Parse(annotation string) ([]Driver, error) {
	var drivers []Driver
	var errs []error
	for line := range strings.Lines(annotation) {
		fields := strings.Fields(line)
		if len(fields) == 0 {
			continue
		}
		d, err := parseLine(fields)
		switch {
		case err != nil:
		case slices.ContainsFunc(drivers, func(o Driver) bool { return o.Name == d.Name }):
			err = errors.New("the driver has another line")
		case len(drivers) == maxDrivers:
			err = fmt.Errorf("a node has at most %d drivers", maxDrivers)
		default:
			drivers = append(drivers, d)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("%q: %w", strings.TrimSpace(line), err))
		}
	}
	return drivers, errors.Join(errs...)
}

func parseLine(fields []string) (Driver, error) {
	d := Driver{Name: fields[0]}
	if problems := validation.IsDNS1123Subdomain(d.Name); len(problems) > 0 || len(d.Name) > resourcev1.DriverNameMaxLength {
		return d, fmt.Errorf("%s is not the name of a driver, such as gpu.example.com", d.Name)
	}
	if len(fields) == 1 {
		return d, errors.New("the number of devices is missing")
	}
	var err error
	if d.Count, err = strconv.Atoi(fields[1]); err != nil || d.Count < 1 || d.Count > maxDevices {
		return d, fmt.Errorf("%s is not a number of devices from 1 to %d", fields[1], maxDevices)
	}
	if len(fields)-2 > maxNumbers {
		return d, fmt.Errorf("a device has at most %d attributes and capacities", maxNumbers)
	}
	for _, pair := range fields[2:] {
		if err := d.set(pair); err != nil {
			return d, err
		}
	}
	return d, nil
}

// set adds the attribute or the capacity NAME=VALUE.
func (d *Driver) set(pair string) error {
	name, value, ok := strings.Cut(pair, "=")
	if !ok {
		return fmt.Errorf("%s is not NAME=VALUE", pair)
	}
	key, isCapacity := strings.CutPrefix(name, capacityPrefix)
	if problems := validation.IsCIdentifier(key); len(problems) > 0 || len(key) > resourcev1.DeviceMaxIDLength {
		return fmt.Errorf("%s is not the name of an attribute, such as model", key)
	}
	if isCapacity {
		amount, err := quantity.Parse(value)
		if err != nil {
			return fmt.Errorf("%s is not a quantity, such as 80Gi", value)
		}
		if d.Capacity == nil {
			d.Capacity = map[resourcev1.QualifiedName]resourcev1.DeviceCapacity{}
		}
		d.Capacity[resourcev1.QualifiedName(key)] = resourcev1.DeviceCapacity{Value: amount}
		return nil
	}
	if len(value) > maxAttribute {
		return fmt.Errorf("the value of %s has more than %d bytes", key, maxAttribute)
	}
	if d.Attributes == nil {
		d.Attributes = map[resourcev1.QualifiedName]resourcev1.DeviceAttribute{}
	}
	d.Attributes[resourcev1.QualifiedName(key)] = attribute(value)
	return nil
}

// attribute returns a value with the type that it looks like.
func attribute(value string) resourcev1.DeviceAttribute {
	if number, err := strconv.ParseInt(value, 10, 64); err == nil {
		return resourcev1.DeviceAttribute{IntValue: &number}
	}
	if value == "true" || value == "false" {
		return resourcev1.DeviceAttribute{BoolValue: ptr.To(value == "true")}
	}
	return resourcev1.DeviceAttribute{StringValue: &value}
}

// device returns one of the driver's devices. Its name begins as the driver's.
func (d *Driver) device(index int) resourcev1.Device {
	kind, _, _ := strings.Cut(d.Name, ".")
	kind = kind[:min(len(kind), resourcev1.DeviceMaxIDLength)]
	return resourcev1.Device{Name: fmt.Sprintf("%s-%d", kind, index), Attributes: maps.Clone(d.Attributes), Capacity: maps.Clone(d.Capacity)}
}
