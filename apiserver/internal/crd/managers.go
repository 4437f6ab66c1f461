package crd

import (
	"fmt"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"

	"minikcm.dev/minikcm/apiserver/internal/openapi"
	"minikcm.dev/minikcm/apiserver/internal/resources"
)

// fieldManagers returns the field managers of the version's objects, each created at
// its first use.
func (v *oneVersion) fieldManagers() func(subresource string) (*managedfields.FieldManager, error) {
	lazily := func(subresource string, reset ...string) func() (*managedfields.FieldManager, error) {
		return sync.OnceValues(func() (*managedfields.FieldManager, error) { return v.newFieldManager(subresource, reset...) })
	}
	var reset []string
	if v.hasStatus() {
		reset = []string{"status"}
	}
	main, status, scale := lazily("", reset...), lazily("status", "metadata", "spec"), lazily("scale")
	return func(subresource string) (*managedfields.FieldManager, error) {
		switch subresource {
		case "status":
			return status()
		case "scale":
			return scale()
		}
		return main()
	}
}

func (v *oneVersion) newFieldManager(subresource string, reset ...string) (*managedfields.FieldManager, error) {
	types, err := v.converter()
	if err != nil {
		return nil, err
	}
	gvk := v.gvk()
	m, err := managedfields.NewDefaultCRDFieldManager(types, versions{v.kind}, versions{v.kind}, versions{v.kind}, gvk, gvk.GroupVersion(), subresource,
		resetting(gvk.GroupVersion(), reset...))
	if err != nil {
		return nil, fmt.Errorf("making the field manager of %v: %w", gvk, err)
	}
	return m, nil
}

// newTypeConverter returns the type converter, which gets the types of lists and maps
// from the schemas.
func (k *kind) newTypeConverter() (managedfields.TypeConverter, error) {
	var rows []*resources.Resource
	for _, v := range k.versions {
		if v.row != nil {
			rows = append(rows, v.row)
		}
	}
	models, err := openapi.Models(rows)
	if err != nil {
		return nil, fmt.Errorf("describing %s: %w", k.definition.Name, err)
	}
	types, err := managedfields.NewTypeConverter(models, k.definition.Spec.PreserveUnknownFields)
	if err != nil {
		return nil, fmt.Errorf("reading the schemas of %s: %w", k.definition.Name, err)
	}
	return types, nil
}

// versions implements the interfaces through which field managers convert, default and
// create objects of a kind's versions.
type versions struct{ *kind }

var (
	_ runtime.ObjectConvertor = versions{}
	_ runtime.ObjectDefaulter = versions{}
	_ runtime.ObjectCreater   = versions{}
)

// Convert is not used by field managers.
func (versions) Convert(_, _, _ any) error {
	return fmt.Errorf("custom objects are converted to a version, not into an object")
}

// ConvertToVersion converts an object to the version that target selects.
func (k versions) ConvertToVersion(in runtime.Object, target runtime.GroupVersioner) (runtime.Object, error) {
	from := in.GetObjectKind().GroupVersionKind()
	to, ok := target.KindForGroupVersionKinds([]schema.GroupVersionKind{from})
	if !ok {
		return nil, fmt.Errorf("%v is unstructured and is not suitable for converting to %q", from, target)
	}
	u, ok := in.(*unstructured.Unstructured)
	if !ok || k.versions[to.Version] == nil || to.Group != k.definition.Spec.Group {
		// Not a runtime.NotRegisteredError, which would make the library drop the fields that a manager owns in this version: an
		// apply beside it fails, as upstream.
		return nil, fmt.Errorf("request to convert CR to an invalid group/version: %s", to.GroupVersion())
	}
	if k.webhook() {
		return k.call(u.DeepCopy(), to.GroupVersion())
	}
	c := u.DeepCopy()
	c.SetAPIVersion(to.GroupVersion().String())
	return c, nil
}

// ConvertFieldLabel is not used by field managers.
func (versions) ConvertFieldLabel(_ schema.GroupVersionKind, label, value string) (string, string, error) {
	return label, value, nil
}

// Default sets an object's defaults.
func (k versions) Default(in runtime.Object) {
	u, ok := in.(*unstructured.Unstructured)
	if !ok {
		return
	}
	if v := k.versions[u.GroupVersionKind().Version]; v != nil {
		_ = v.setDefaults(u)
	}
}

// New returns an empty object.
func (versions) New(gvk schema.GroupVersionKind) (runtime.Object, error) {
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(gvk)
	return u, nil
}
