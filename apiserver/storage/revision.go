package storage

import (
	"math"
	"strconv"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// ParseRevision reads a resourceVersion; empty is 0. What is wrong with it is said as
// upstream says it.
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
