package scenarios

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"minikcm.dev/minikcm/internal/scenario/spec"
)

// Scale sets how many replicas something has, through its scale subresource.
type Scale struct {
	Target    string `yaml:"target"`
	Namespace string `yaml:"namespace"`
	Replicas  *int   `yaml:"replicas"`
}

func (s *Scale) check(c *spec.Checker) {
	c.Check("target", spec.Named(s.Target))
	if s.Replicas == nil || *s.Replicas < 0 {
		c.Problem("replicas", "say how many, 0 or more")
	}
}

func (s *Scale) title() string { return fmt.Sprintf("scale %s to %d", s.Target, *s.Replicas) }

func (b *branch) scale(ctx context.Context, s *Scale) error {
	client, name, _, err := b.run.named(s.Target, s.Namespace)
	if err != nil {
		return err
	}
	data := fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, *s.Replicas)
	if _, err := client.Patch(ctx, name, types.MergePatchType, data, metav1.PatchOptions{FieldManager: fieldManager}, "scale"); err != nil {
		return fmt.Errorf("scaling %s: %w", s.Target, err)
	}
	return nil
}
