package storage

import (
	"math"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// ParseRevision parses a resourceVersion; empty is 0. The error is upstream's.
func ParseRevision(resourceVersion string) (int64, error) {
	if resourceVersion == "" {
		return 0, nil
	}
	revision, err := strconv.ParseUint(resourceVersion, 10, 64)
	if err != nil {
		return 0, field.Invalid(field.NewPath("resourceVersion"), resourceVersion, err.Error())
	}
	return int64(min(revision, math.MaxInt64)), nil
}

// ObjectRevision parses the resourceVersion of an object that a client sent; empty is
// 0. As upstream, the error for an invalid number is strconv's.
func ObjectRevision(m metav1.Object) (uint64, error) {
	if m.GetResourceVersion() == "" {
		return 0, nil
	}
	return strconv.ParseUint(m.GetResourceVersion(), 10, 64)
}
