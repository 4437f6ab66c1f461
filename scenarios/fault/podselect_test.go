package fault

import (
	"context"
	"errors"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Of pods that are on no node yet nothing can crash, and that is no failure of a fault that
// hits others; they can be killed.
func TestPodsWithoutNode(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.web(2)
	_, err := b.call(func(ctx context.Context) error {
		list, err := b.client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		for i := range list.Items {
			patch := []byte(`{"spec":{"unschedulable":true}}`)
			if _, err := b.client.CoreV1().Nodes().Patch(ctx, list.Items[i].Name, types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // the running ones, and those that wait for a node
		before := b.names()
		b.run(read(t, "pods: {action: kill, selector: app=web, all: true}"))
		b.advance(10 * time.Second)
		for name := range b.names() {
			if before[name] {
				t.Errorf("%s was not killed", name)
			}
		}
		if len(b.names()) != 2 || b.ready() != 0 {
			t.Errorf("there are %d pods, %d of them ready", len(b.names()), b.ready())
		}
	}
	for _, action := range []string{PodCrash, PodOOM, PodNotReady} {
		err := b.begin(t.Context(), read(t, "pods: {action: "+action+", selector: app=web, all: true}"))()
		if !errors.Is(err, errNoMatch) {
			t.Errorf("%s: %v", action, err)
		}
	}
}
