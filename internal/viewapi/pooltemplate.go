package viewapi

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"minikcm.dev/minikcm"
	"minikcm.dev/minikcm/internal/scenario/nodepools"
	"minikcm.dev/minikcm/internal/scenario/spec"
	"minikcm.dev/minikcm/kubeletsim"
)

// template says how the nodes of a pool are made.
type template struct {
	pool minikcm.Pool
	// fields are the spec of the object without nodes.
	fields map[string]any
}

// templatesOf returns the templates of the pools that a cluster begins with.
func templatesOf(pools []minikcm.Pool) map[string]template {
	all := map[string]template{}
	for i := range pools {
		all[pools[i].Name] = template{pool: pools[i], fields: fieldsOf(&pools[i])}
	}
	return all
}

// templateLike returns the template of a pool that is known by its nodes alone.
func templateLike(name string, node *corev1.Node) template {
	pool := minikcm.Pool{Name: name, Node: kubeletsim.NodeSpecLike(node)}
	return template{pool: pool, fields: fieldsOf(&pool)}
}

// fieldsOf returns the spec of a pool without the number of nodes.
func fieldsOf(p *minikcm.Pool) map[string]any {
	fields := map[string]any{}
	set := func(name string, value any, empty bool) {
		if !empty {
			fields[name] = value
		}
	}
	set("zones", p.Zones, len(p.Zones) == 0)
	set("labels", p.Node.Labels, len(p.Node.Labels) == 0)
	set("annotations", p.Node.Annotations, len(p.Node.Annotations) == 0)
	set("capacity", p.Node.Capacity, len(p.Node.Capacity) == 0)
	set("allocatable", p.Node.Allocatable, len(p.Node.Allocatable) == 0)
	set("kubeletVersion", p.Node.KubeletVersion, p.Node.KubeletVersion == "")
	set("unschedulable", true, !p.Node.Unschedulable)
	var taints, images []map[string]any
	for _, t := range p.Node.Taints {
		taint := map[string]any{"key": t.Key, "effect": t.Effect}
		if t.Value != "" {
			taint["value"] = t.Value
		}
		taints = append(taints, taint)
	}
	for _, i := range p.Node.Images {
		image := map[string]any{"name": i.Name}
		if i.Size != 0 {
			image["size"] = fmt.Sprint(i.Size)
		}
		images = append(images, image)
	}
	set("taints", taints, len(taints) == 0)
	set("images", images, len(images) == 0)
	return fields
}

// parse reads the spec of a NodePool: its template, and the number of nodes.
func parse(name string, data []byte) (template, int, error) {
	var fields map[string]any
	if err := json.Unmarshal(data, &fields); err != nil {
		return template{}, 0, apierrors.NewBadRequest(fmt.Sprintf("reading the spec of a NodePool: %v", err))
	}
	given := maps.Clone(fields)
	if given == nil {
		given = map[string]any{}
	}
	given["name"] = name
	file, err := json.Marshal(map[string]any{
		"apiVersion": "minikcm.dev/v1alpha1", "kind": "NodePools", "spec": map[string]any{"pools": []any{given}},
	})
	if err != nil {
		return template{}, 0, err
	}
	pools, err := nodepools.Parse("", file)
	if err != nil {
		return template{}, 0, apierrors.NewInvalid(poolKind, name, causes(err))
	}
	delete(fields, "nodes")
	return template{pool: pools[0], fields: fields}, pools[0].Count, nil
}

// causes returns what is wrong with the fields of a spec.
func causes(err error) field.ErrorList {
	path := field.NewPath("spec")
	var problems spec.Problems
	if !errors.As(err, &problems) {
		return field.ErrorList{field.Invalid(path, field.OmitValueType{}, err.Error())}
	}
	var all field.ErrorList
	for _, p := range problems {
		at := strings.TrimPrefix(strings.TrimPrefix(p.Field, "spec.pools[0]"), ".")
		switch at {
		case "":
			all = append(all, field.Invalid(path, field.OmitValueType{}, p.Message))
		case "name":
			all = append(all, field.Invalid(field.NewPath("metadata", "name"), field.OmitValueType{}, p.Message))
		default:
			all = append(all, field.Invalid(path.Child(at), field.OmitValueType{}, p.Message))
		}
	}
	return all
}

// differs returns the fields that are not equal in two specs, sorted.
func differs(a, b map[string]any) ([]string, error) {
	names := map[string]bool{}
	for _, fields := range []map[string]any{a, b} {
		for name := range fields {
			names[name] = true
		}
	}
	var all []string
	for _, name := range slices.Sorted(maps.Keys(names)) {
		one, errOne := json.Marshal(a[name])
		other, errOther := json.Marshal(b[name])
		if err := errors.Join(errOne, errOther); err != nil {
			return nil, err
		}
		if string(one) != string(other) {
			all = append(all, name)
		}
	}
	return all, nil
}
