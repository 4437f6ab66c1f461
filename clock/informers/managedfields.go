package informers

import (
	"k8s.io/apimachinery/pkg/api/meta"
)

// WithoutManagedFields leaves out of what the informers keep who owns which field:
// half of a small object, which no controller reads. Upstream's controller manager and
// scheduler do the same. An update of such an object leaves its managed fields alone.
func WithoutManagedFields() Option { return WithTransform(trim) }

func trim(obj any) (any, error) {
	if m, err := meta.Accessor(obj); err == nil && m.GetManagedFields() != nil {
		m.SetManagedFields(nil)
	}
	return obj, nil
}
