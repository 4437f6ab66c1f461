package spec

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/version"
	"k8s.io/utils/ptr"
)

// Pool is a number of like nodes.
type Pool struct {
	// Name is the prefix of its nodes' names, which end with -0, -1 and so on.
	Name string `yaml:"name"`
	// Nodes is the number of nodes; default 1.
	Nodes *int `yaml:"nodes"`
	// Labels, Annotations and Taints are added to the ones that every node has.
	Labels      map[string]string `yaml:"labels"`
	Annotations map[string]string `yaml:"annotations"`
	Taints      []Taint           `yaml:"taints"`
	// Zones are values of the label topology.kubernetes.io/zone, which the nodes get in turn.
	Zones []string `yaml:"zones"`
	// Capacity is the capacity of each node, by resource: {cpu: 4, memory: 16Gi, pods: 20}.
	Capacity map[string]string `yaml:"capacity"`
	// Allocatable is the part of it that pods may request, by resource; default all.
	Allocatable map[string]string `yaml:"allocatable"`
	// Unschedulable registers the nodes cordoned.
	Unschedulable bool `yaml:"unschedulable"`
	// Images are on each node from the beginning.
	Images []PoolImage `yaml:"images"`
	// Devices are the devices of each node, for dynamic resource allocation.
	Devices []PoolDevices `yaml:"devices"`
	// KubeletVersion is the version that the nodes report, such as v1.36.1.
	KubeletVersion string `yaml:"kubeletVersion"`
	// ReadyDelay is the time from a node's creation until it is Ready.
	ReadyDelay Duration `yaml:"readyDelay"`
}

// Taint keeps pods away that do not tolerate it.
type Taint struct {
	Key   string `yaml:"key"`
	Value string `yaml:"value"`
	// Effect is NoSchedule, PreferNoSchedule or NoExecute.
	Effect string `yaml:"effect"`
}

// PoolImage is an image that nodes have.
type PoolImage struct {
	// Name is its reference, such as registry.example.com/shop:2.
	Name string `yaml:"name"`
	// Size is in bytes, such as 120Mi; default 0.
	Size string `yaml:"size"`
}

// PoolDevices are the devices of one driver on each node, which are all equal.
type PoolDevices struct {
	// Driver is the name of the driver, such as gpu.example.com.
	Driver string `yaml:"driver"`
	// Count is the number of devices; default 1.
	Count *int `yaml:"count"`
	// Attributes and Capacity describe each device, by name: {model: a100}, {memory: 80Gi}.
	Attributes map[string]string `yaml:"attributes"`
	Capacity   map[string]string `yaml:"capacity"`
}

// The budget of a pool.
const (
	maxPoolZones  = 100
	maxPoolImages = 1000
	maxImageName  = 1024
)

// checkPools checks the pools of one cluster.
func (d *decoder) checkPools(pools []Pool, line int, field string) {
	var seen []string
	for i := range pools {
		p := &pools[i]
		at := fmt.Sprintf("%s[%d]", field, i)
		if slices.Contains(seen, p.Name) {
			d.problem(line, at+".name", "there are two pools called %s", p.Name)
		}
		seen = append(seen, p.Name)
		d.checkPool(p, line, at)
	}
}

func (d *decoder) checkPool(p *Pool, line int, at string) {
	if wrong := validation.IsDNS1123Subdomain(p.Name); len(wrong) > 0 {
		d.problem(line, at+".name", "%q is not a name: its nodes are called NAME-0 and so on", p.Name)
	}
	if p.Nodes == nil {
		p.Nodes = ptr.To(1)
	}
	if *p.Nodes < 0 {
		d.problem(line, at+".nodes", "must not be negative: %d", *p.Nodes)
	}
	d.checkQuantities(p.Capacity, line, at+".capacity")
	d.checkQuantities(p.Allocatable, line, at+".allocatable")
	d.checkTaints(p.Taints, line, at+".taints")
	d.checkPoolMetadata(p, line, at)
	d.checkPoolImages(p.Images, line, at+".images")
	d.checkPoolDevices(p, line, at)
	if p.KubeletVersion != "" {
		if _, err := version.ParseSemantic(p.KubeletVersion); err != nil {
			d.problem(line, at+".kubeletVersion", "%q is not a version such as v1.36.1", p.KubeletVersion)
		}
	}
	if _, both := p.Annotations[annotationReadyDelay]; both && p.ReadyDelay > 0 {
		d.problem(line, at+".readyDelay", "the annotation %s says that, too: leave one out", annotationReadyDelay)
	}
}

// The annotations of a Node that fields of a pool stand for.
const (
	annotationReadyDelay = "minikcm.dev/ready-delay"
	annotationDevices    = "minikcm.dev/devices"
)

// sortedKeys returns the keys of a mapping in an order that problems can be reported in.
func sortedKeys(m map[string]string) []string { return slices.Sorted(maps.Keys(m)) }

func (d *decoder) checkQuantities(quantities map[string]string, line int, at string) {
	for _, name := range sortedKeys(quantities) {
		if _, err := resource.ParseQuantity(quantities[name]); err != nil {
			d.problem(line, at+"."+name, "%q is not a quantity, such as 4, 500m or 16Gi", quantities[name])
		}
	}
}

func (d *decoder) checkTaints(taints []Taint, line int, at string) {
	effects := []string{"NoSchedule", "PreferNoSchedule", "NoExecute"}
	for j, taint := range taints {
		if taint.Key == "" {
			d.problem(line, fmt.Sprintf("%s[%d].key", at, j), "is missing")
		}
		if !slices.Contains(effects, taint.Effect) {
			d.problem(line, fmt.Sprintf("%s[%d].effect", at, j), "%q is not an effect; %s", taint.Effect, DidYouMean(taint.Effect, effects))
		}
	}
}

// checkPoolMetadata checks the labels and zones of a pool's nodes. The rest is checked with the
// cluster.
func (d *decoder) checkPoolMetadata(p *Pool, line int, at string) {
	for _, key := range sortedKeys(p.Labels) {
		for _, wrong := range append(validation.IsQualifiedName(key), validation.IsValidLabelValue(p.Labels[key])...) {
			d.problem(line, at+".labels."+key, "%s", wrong)
		}
	}
	for j, zone := range p.Zones {
		for _, wrong := range validation.IsValidLabelValue(zone) {
			d.problem(line, fmt.Sprintf("%s.zones[%d]", at, j), "%s", wrong)
		}
	}
	switch {
	case len(p.Zones) > maxPoolZones:
		d.problem(line, at+".zones", "has more than %d zones", maxPoolZones)
	case len(p.Zones) > 0 && p.Labels[corev1.LabelTopologyZone] != "":
		d.problem(line, at+".zones", "the label %s says that, too: leave one out", corev1.LabelTopologyZone)
	}
}

func (d *decoder) checkPoolImages(images []PoolImage, line int, at string) {
	if len(images) > maxPoolImages {
		d.problem(line, at, "has more than %d images", maxPoolImages)
	}
	seen := map[string]bool{}
	for j, image := range images {
		field := fmt.Sprintf("%s[%d]", at, j)
		switch {
		case image.Name == "":
			d.problem(line, field+".name", "is missing")
		case hasSpace(image.Name) || len(image.Name) > maxImageName:
			d.problem(line, field+".name", "%q is not a reference such as nginx:1.29", image.Name)
		case seen[image.Name]:
			d.problem(line, field+".name", "there are two images called %s", image.Name)
		}
		seen[image.Name] = true
		if image.Size == "" {
			continue
		}
		if size, err := resource.ParseQuantity(image.Size); err != nil || size.Sign() < 0 {
			d.problem(line, field+".size", "%q is not a number of bytes, such as 120Mi", image.Size)
		}
	}
}

// checkPoolDevices checks that the devices can be written as an annotation. The rest is checked
// with the cluster.
func (d *decoder) checkPoolDevices(p *Pool, line int, at string) {
	for j := range p.Devices {
		devices := &p.Devices[j]
		field := fmt.Sprintf("%s.devices[%d]", at, j)
		if devices.Count == nil {
			devices.Count = ptr.To(1)
		}
		if devices.Driver == "" || hasSpace(devices.Driver) {
			d.problem(line, field+".driver", "%q is not the name of a driver, such as gpu.example.com", devices.Driver)
		}
		for _, key := range sortedKeys(devices.Attributes) {
			if hasSpace(key) || strings.ContainsAny(key, "=.") || hasSpace(devices.Attributes[key]) || devices.Attributes[key] == "" {
				d.problem(line, field+".attributes."+key, "%q is not a value without spaces, of a name such as model", devices.Attributes[key])
			}
		}
		for _, key := range sortedKeys(devices.Capacity) {
			if hasSpace(key) || strings.ContainsAny(key, "=.") {
				d.problem(line, field+".capacity."+key, "is not a name such as memory")
			}
		}
		d.checkQuantities(devices.Capacity, line, field+".capacity")
	}
	if _, both := p.Annotations[annotationDevices]; both && len(p.Devices) > 0 {
		d.problem(line, at+".devices", "the annotation %s says that, too: leave one out", annotationDevices)
	}
}

func hasSpace(text string) bool {
	return len(strings.Fields(text)) != 1 || strings.TrimSpace(text) != text
}
