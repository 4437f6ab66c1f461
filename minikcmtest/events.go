package minikcmtest

import (
	"context"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// EventuallyEvent returns when the namespace has an event about an object of that kind whose
// type, reason and message, joined by spaces, equal want. It waits as Eventually does,
// because recorders write events asynchronously.
func (c *Cluster) EventuallyEvent(namespace, kind, want string) {
	c.t.Helper()
	c.Eventually("the event", func(ctx context.Context, client kubernetes.Interface) error {
		list, err := client.CoreV1().Events(namespace).List(ctx, metav1.ListOptions{FieldSelector: "involvedObject.kind=" + kind})
		if err != nil {
			return err
		}
		var got []string
		for _, e := range list.Items {
			got = append(got, e.Type+" "+e.Reason+" "+e.Message)
		}
		if !slices.Contains(got, want) {
			return fmt.Errorf("%q is not among %q", want, got)
		}
		return nil
	})
}
