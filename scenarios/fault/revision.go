package fault

import (
	"context"
	"fmt"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// revision returns the cluster's newest revision.
func (e *Env) revision(ctx context.Context) (int64, error) {
	list, err := e.Client.CoreV1().Namespaces().List(ctx, metav1.ListOptions{})
	if err != nil {
		return 0, fmt.Errorf("reading the cluster's revision: %w", err)
	}
	revision, err := strconv.ParseInt(list.ResourceVersion, 10, 64)
	if err != nil || revision <= 0 {
		return 0, errNoRevision
	}
	return revision, nil
}
