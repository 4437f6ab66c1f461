package storage

import (
	"fmt"
	"strconv"
)

// ParseRevision reads a resourceVersion; empty is 0.
func ParseRevision(resourceVersion string) (int64, error) {
	if resourceVersion == "" {
		return 0, nil
	}
	revision, err := strconv.ParseUint(resourceVersion, 10, 63)
	if err != nil {
		return 0, fmt.Errorf("invalid resource version %q: %w", resourceVersion, err)
	}
	return int64(revision), nil
}
