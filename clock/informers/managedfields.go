package informers

import (
	"k8s.io/apimachinery/pkg/api/meta"
)

// WithoutManagedFields drops managed fields from the objects that informers store: they are
// half of a small object, and no controller reads them. Upstream's controller manager and
// scheduler do the same. An update with such an object leaves its managed fields unchanged.
func WithoutManagedFields() Option { return WithTransform(trim) }

func trim(obj any) (any, error) {
	if m, err := meta.Accessor(obj); err == nil && m.GetManagedFields() != nil {
		m.SetManagedFields(nil)
	}
	return obj, nil
}
